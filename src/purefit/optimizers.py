"""Optimizers: a name becomes a function of `hyper` that returns an Optax chain.

The chain is built while tracing, from traced values: a learning rate, a decay, a clipping norm or any
other number can change, be swept or be differentiated without compiling again. A stage exists if `hyper`
has its key.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, PyTree

from purefit.adam import adam, adamw
from purefit.averaging import average_weights
from purefit.errors import InputError
from purefit.hyper import Hyper

Rule = Callable[..., optax.GradientTransformation]

RATES = ("learning_rate", "max_learning_rate")
DECAYS = ("weight_decay", "weight_decay_rate")
MASKS = ("mask", "weight_decay_mask")
NOT_OFFERED = {"scale_by_rprop", "scale_by_madgrad", "scale_by_learning_rate", "optimistic_adam"}
"""Parts of an optimizer, and one that Optax has renamed. What needs a gradient for each example, or keeps
two sets of weights in the parameters (dpsgd, lookahead), isn't found by `rules` either."""


@cache
def rules() -> dict[str, Rule]:
    """Every Optax optimizer by name, those of `optax.contrib` included.

    >>> {"adam", "adamw", "sgd", "lion", "muon", "prodigy", "schedule_free", "lbfgs"} <= set(rules())
    True
    """
    functions = {**vars(optax.contrib), **vars(optax)}
    offered = {
        name: function
        for name, function in functions.items()
        if inspect.isfunction(function) and name not in NOT_OFFERED and _needs_only_a_rate(function)
    }
    ours = {"adam": adam, "adamw": adamw, "schedule_free": schedule_free, "sam": sam, "mechanize": mechanize}
    return dict(sorted({**offered, **ours, "noisy_sgd": noisy_sgd, "sophia": sophia}.items()))


def _needs_only_a_rate(function: Callable[..., Any]) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    return bool(parameters) and parameters[0].name in RATES and all(p.default is not p.empty for p in parameters[1:])


def schedule_free(
    learning_rate: Any, base_optimizer: str = "sgd", b1: Any = 0.9, weight_lr_power: Any = 2.0
) -> optax.GradientTransformation:
    """`optax.contrib.schedule_free` around an optimizer of this name; evaluated at its averaged weights."""
    base = find_rule(base_optimizer)(learning_rate)
    return optax.contrib.schedule_free(base, learning_rate, b1, weight_lr_power)


def sam(
    learning_rate: Any, base_optimizer: str = "sgd", rho: Any = 0.05, sync_period: int = 2, reset_state: bool = True
) -> optax.GradientTransformation:
    """`optax.contrib.sam`: of `sync_period` steps all but the last climb, by `rho` along the gradient."""
    climb = optax.chain(optax.contrib.normalize(), optax.sgd(rho))
    both = optax.contrib.sam(find_rule(base_optimizer)(learning_rate), climb, sync_period, reset_state)
    # It refuses arguments that it doesn't know, instead of passing over them.
    return optax.GradientTransformation(
        both.init, lambda updates, state, params=None: both.update(updates, state, params)
    )


def mechanize(
    learning_rate: Any = 1.0, base_optimizer: str = "adam", weight_decay: Any = 0.01, eps: Any = 1e-8
) -> optax.GradientTransformation:
    """`optax.contrib.mechanize` around an optimizer of this name: it finds the scale of its steps itself."""
    return optax.contrib.mechanize(find_rule(base_optimizer)(learning_rate), weight_decay, eps)


def noisy_sgd(learning_rate: Any, eta: Any = 0.01, gamma: Any = 0.55) -> optax.GradientTransformation:
    """`optax.noisy_sgd`, its noise drawn with the run's key."""
    noise = with_step_key(optax.add_noise(eta, gamma, 0), "rng_key")
    return optax.chain(noise, optax.scale_by_learning_rate(learning_rate))


def sophia(learning_rate: Any, **options: Any) -> optax.GradientTransformation:
    """`optax.contrib.sophia`, its probes of the Hessian drawn with the run's key."""
    probe = with_step_key(optax.contrib.hutchinson_estimator_diag_hessian(), "key")

    def update(updates: PyTree, state: Any, params: PyTree = None, *, value_fn: Any, **more: Any) -> tuple[PyTree, Any]:
        return probe.update(updates, state, params, obj_fn=value_fn, **more)

    diagonal = optax.GradientTransformationExtraArgs(probe.init, update)
    return optax.contrib.sophia(learning_rate, hessian_diagonal_fn=diagonal, **options)


sophia.__signature__ = inspect.signature(optax.contrib.sophia)  # type: ignore[attr-defined]


def with_step_key(transformation: optax.GradientTransformation, field: str) -> optax.GradientTransformationExtraArgs:
    """The transformation with the step's key, instead of one of its own in the `field` of its state."""
    inner = optax.with_extra_args_support(transformation)

    def init(params: PyTree) -> Any:
        return inner.init(params)._replace(**{field: None})

    def update(updates: PyTree, state: Any, params: PyTree = None, *, key: Array, **more: Any) -> tuple[PyTree, Any]:
        updates, state = inner.update(updates, state._replace(**{field: key}), params, **more)
        return updates, state._replace(**{field: None})

    return optax.GradientTransformationExtraArgs(init, update)


def decayed(params: PyTree[Array]) -> PyTree[bool]:
    """True for the leaves that weight decay is for: those of two axes or more that aren't biases or norms'.

    >>> decayed({"weight": jnp.ones((2, 3)), "bias": jnp.ones((3, 1, 1)), "scale": jnp.ones(3)})
    {'bias': False, 'scale': False, 'weight': True}
    """

    def decays(path: Any, leaf: Array) -> bool:
        names = {str(getattr(key, "key", getattr(key, "name", ""))) for key in path[-2:]}
        return leaf.ndim > 1 and not names & {"bias", "b", "scale", "offset"}

    return jax.tree_util.tree_map_with_path(decays, params)


def global_norm(gradient: PyTree) -> Array:
    """The norm of all leaves taken together."""
    return jnp.asarray(optax.tree.norm(gradient))


def snapshots(opt_state: PyTree) -> dict[str, Array]:
    """The scalars that stages `optax.snapshot(name, measure)` of a chain measured in its last update."""
    nodes = jax.tree.leaves(opt_state, is_leaf=lambda node: isinstance(node, optax.SnapshotState))
    taken = [node.measurement for node in nodes if isinstance(node, optax.SnapshotState)]
    return {name: value for each in taken for name, value in each.items() if jnp.ndim(value) == 0}


@cache  # the same description is the same function, so that `jit` compiles it once
def optimizer(
    name: str, *, accumulate: int = 1, **options: Any
) -> Callable[[Hyper], optax.GradientTransformationExtraArgs]:
    """The function from `hyper` to the Optax chain of `name`, any key of `rules()`.

    options: arguments of the Optax function, by name. Those that are numbers may stand in `hyper` instead.
    accumulate: gradients of this many batches are averaged for one update (`optax.MultiSteps`).
    hyper: "learning_rate", unless the optimizer has its own; optionally
        "clip_norm" (gradients are scaled down to this global norm, what is left of it is recorded),
        "weight_decay" (of matrices, not of biases and norms: decoupled where the optimizer has its own, as
        adamw does; otherwise added to the gradient, as L2 regularisation; the few that have no mask decay
        all weights), "ema" (the decay of an average of the weights, which predicts), and any number that
        the Optax function takes.
    Raises InputError for a name or an option that isn't there, naming the nearest.

    >>> chain = optimizer("adam", nesterov=True)({"learning_rate": 1e-3, "clip_norm": 1.0, "b2": 0.99})
    >>> state = chain.init({"weight": jax.numpy.zeros(2)})
    >>> optax.tree.get(state, "mu")
    {'weight': Array([0., 0.], dtype=float32)}
    """
    rule = find_rule(name)
    accepted = inspect.signature(rule).parameters
    check_options(name, options)
    if accumulate < 1:
        raise InputError(f"gradients are accumulated over 1 batch or more, not {accumulate}")
    [rate] = [each for each in RATES if each in accepted]
    decay = next((each for each in DECAYS if each in accepted), None)
    masks = {each: decayed for each in MASKS if each in accepted}

    def chain(hyper: Hyper) -> optax.GradientTransformationExtraArgs:
        before: list[optax.GradientTransformation] = []
        chosen = masks | options | {each: hyper[each] for each in options_of(name) if each in hyper}
        if "learning_rate" in hyper:
            chosen[rate] = hyper["learning_rate"]
        if "clip_norm" in hyper:
            before += [optax.clip_by_global_norm(hyper["clip_norm"]), optax.snapshot("clipped_norm", global_norm)]
        if "weight_decay" in hyper and decay:
            chosen[decay] = hyper["weight_decay"]
        elif "weight_decay" in hyper:
            before += [optax.add_decayed_weights(hyper["weight_decay"], mask=decayed)]
        after = [average_weights(hyper["ema"])] if "ema" in hyper else []
        stages = optax.chain(*before, rule(**chosen), *after)
        if accumulate > 1:
            stages = optax.MultiSteps(stages, accumulate).gradient_transformation()
        return optax.with_extra_args_support(stages)

    return chain


def options_of(name: str) -> tuple[str, ...]:
    """What may be chosen of an optimizer besides its learning rate, its weight decay and what that is for.

    >>> options_of("sgd")
    ('momentum', 'nesterov', 'accumulator_dtype')
    """
    parameters = inspect.signature(find_rule(name)).parameters
    return tuple(option for option in parameters if option not in (*RATES, *DECAYS, *MASKS))


def check_options(name: str, options: Iterable[str]) -> None:
    """Raises InputError for an option that the optimizer doesn't have, naming the nearest."""
    for option in options:
        if option not in options_of(name):
            raise InputError(f"optimizer {name} has no option {option!r}{hint(option, options_of(name))}")


def default_rate(name: str) -> float | None:
    """The learning rate if nobody says one: the optimizer's own, None if it does without; else 0.001.

    >>> default_rate("adam"), default_rate("prodigy"), default_rate("lbfgs")
    (0.001, 1.0, None)
    """
    parameters = inspect.signature(find_rule(name)).parameters
    own = next(parameters[each].default for each in RATES if each in parameters)
    return 1e-3 if own is inspect.Parameter.empty else own


def numbers_of(name: str, options: Mapping[str, Any]) -> dict[str, float]:
    """Those of an optimizer's options that may be traced: fractions that its function does not look at.

    >>> numbers_of("adam", {"b1": 0.8, "nesterov": True})
    {'b1': 0.8}
    """

    params = {"weight": jnp.zeros((2, 2)), "bias": jnp.zeros(2)}

    def one_update(option: str, value: Any) -> Any:
        chain = optimizer(name)({"learning_rate": 1e-3, option: value})
        more = {"value": jnp.zeros(()), "grad": params, "value_fn": global_norm, "key": jax.random.key(0)}
        return chain.update(params, chain.init(params), params, **more)

    fractions = {option: value for option, value in options.items() if isinstance(value, float)}
    return {option: value for option, value in fractions.items() if may_trace(one_update, option, value)}


def may_trace(function: Callable[..., Any], option: str, value: float) -> bool:
    """Whether `function(option, value)` can be traced with an abstract value."""
    try:
        jax.eval_shape(lambda traced: function(option, traced), value)
    except (TypeError, ValueError, jax.errors.ConcretizationTypeError):
        return False
    return True


def steady(transformation: optax.GradientTransformation) -> optax.GradientTransformationExtraArgs:
    """The transformation, with a state whose types never change.

    Optax's own may come out of `init` weakly typed, or of a step in another type: a second compilation, or
    a scan that refuses it.
    """
    inner = optax.with_extra_args_support(transformation)

    def strong(leaf: Any) -> Array:
        leaf = jnp.asarray(leaf)
        return jax.lax.convert_element_type(leaf, leaf.dtype)

    def as_before(new: Array, old: Array) -> Array:
        return new if new.dtype == old.dtype and not new.weak_type else jax.lax.convert_element_type(new, old.dtype)

    def init(params: PyTree) -> Any:
        return jax.tree.map(strong, inner.init(params))

    def update(updates: PyTree, state: Any, params: PyTree = None, **more: Any) -> tuple[PyTree, Any]:
        updates, new = inner.update(updates, state, params, **more)
        return updates, jax.tree.map(as_before, new, state)

    return optax.GradientTransformationExtraArgs(init, update)


def find_rule(name: str) -> Rule:
    """The Optax optimizer called `name`; InputError with the nearest name where there is none."""
    if name in rules():
        return rules()[name]
    raise InputError(f"no optimizer named {name!r}{hint(name, rules())}")


def hint(name: str, names: Iterable[str]) -> str:
    """How an error about an unknown name goes on: with the nearest of `names`, or with all of them."""
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(sorted(names)) or 'none'}"
