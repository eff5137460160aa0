"""Equinox modules as models: floating arrays are learned, other arrays and `eqx.nn.State` are the state.

An Equinox module is a tree with arrays and other things for leaves. The arrays are kept in dicts by
dotted paths, such as "layers.0.weight"; `apply` puts them where they were, among the other things.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Key

from purefit.errors import InputError
from purefit.examples import Examples
from purefit.models import Model, example_keys, own_arrays, with_types_of
from purefit.signatures import cached, maker, parameter_names


class Parts(NamedTuple):
    """The arrays of a module and its `eqx.nn.State` by dotted path."""

    params: dict[str, Any]
    state: dict[str, Any]


def from_equinox(make: Any) -> Model:
    """The model of an `eqx.Module`, whose `__call__` takes one example: it is mapped over the batch.

    make: a class or a function that builds the module from `key`, so that a run's key gives its first
        weights. Or a module, or the pair `(module, state)`, whose weights every run starts from.

    `__call__` is given `key=` if it has a parameter of this name: another one for each example, None when
    predicting. A module with stateful layers is called with its state too, and returns `(output, state)`.
    The batch is the axis "batch", or what its BatchNorm layers call it. When predicting, the module is in
    `inference_mode`.

    >>> import jax.numpy as jnp
    >>> model = from_equinox(lambda key: eqx.nn.Linear(3, 2, key=key))
    >>> params, state = model.init(jax.random.key(0), Examples(jnp.ones((5, 3)), jnp.ones(5), jnp.ones(5)))
    >>> params["weight"].shape, state
    ((2, 3), {})
    """
    if is_instance(make):
        pair = with_state(make)
        return model_of(pair, lambda key: pair)
    return from_maker(make)


@cached
def from_maker(make: Callable[..., Any]) -> Model:
    """`from_equinox` of a class or a function."""
    build = eqx.nn.make_with_state(maker(make, "key"))
    return model_of(outline(build), build)


def to_equinox(make: Any, weights: Any) -> Any:
    """The module with the weights of a `TrainState` or `Best` (such as `run.best`), in `inference_mode`.

    make: what was given to `from_equinox`. Where there are stateful layers, the pair `(module, state)`.
    """
    outlined = with_state(make) if is_instance(make) else outline(eqx.nn.make_with_state(maker(make, "key")))
    module, state = put_together(outlined, Parts(weights.params, weights.model_state))
    module = eqx.nn.inference_mode(module)
    return (module, state) if jax.tree.leaves(state) else module


def is_instance(network: Any) -> bool:
    """Whether it is a module, or the pair of a module and its state; else it should make one."""
    pair = isinstance(network, tuple) and len(network) == 2 and isinstance(network[1], eqx.nn.State)
    return pair or isinstance(network, eqx.Module)


def with_state(network: Any) -> Any:
    """The pair of a module and its state, from either."""
    if isinstance(network, tuple):
        return network
    try:
        return eqx.nn.make_with_state(lambda: network)()
    except ValueError as error:
        name = type(network).__name__
        raise InputError(f"{name}: its state was taken out by make_with_state; give both, (module, state)") from error


def outline(build: Callable[[Any], Any]) -> Any:
    """What `build(key)` returns, with shapes in place of arrays; nothing is computed."""
    return eqx.filter_eval_shape(build, jax.eval_shape(lambda: jax.random.key(0)))


def model_of(outlined: Any, start: Callable[[Any], Any]) -> Model:
    """The model of pairs (module, state) like `outlined`; the first one is `start(key)`."""
    call = type(outlined[0]).__call__
    takes_key = "key" in parameter_names(call)
    stateful = bool(jax.tree.leaves(outlined[1]))
    axis_name = batch_axis(outlined[0])

    def init(key: Key[Array, ""], examples: Examples) -> tuple[Any, Any]:
        del examples  # an Equinox module knows its shapes
        parts = take_apart(start(key))
        return own_arrays(parts.params), own_arrays(parts.state)

    def apply(
        params: Any, state: Any, x: Any, *, key: Key[Array, ""] | None = None, train: bool = False
    ) -> tuple[Any, Any]:
        module, before = put_together(outlined, Parts(params, state))
        module = module if train else eqx.nn.inference_mode(module)

        def one(x: Any, key: Key[Array, ""] | None) -> tuple[Any, Any]:
            arguments = {"key": key} if takes_key else {}
            return module(x, before, **arguments) if stateful else (module(x, **arguments), before)

        keys = example_keys(key, x) if takes_key else None
        outputs, after = jax.vmap(one, out_axes=(0, None), axis_name=axis_name)(x, keys)
        return outputs, with_types_of(state, take_apart((module, after)).state) if train else state

    return Model(init, apply)


def named_leaves(pair: Any) -> tuple[list[tuple[str, str, Any]], Any]:
    """([("module" or "state", dotted path, leaf), …], structure) of a pair of a module and its state."""
    module, state = pair
    leaves, structure = jax.tree_util.tree_flatten_with_path({"module": module, "state": state})
    dotted = partial(jax.tree_util.keystr, simple=True, separator=".")
    names = [(path[0].key, dotted(path[1:]), leaf) for path, leaf in leaves]
    return names, structure


def take_apart(pair: Any) -> Parts:
    parts = Parts({}, {})
    for part, name, leaf in named_leaves(pair)[0]:
        if part == "module" and eqx.is_inexact_array(leaf):
            parts.params[name] = leaf
        elif eqx.is_array(leaf):
            parts.state[f"{part}.{name}"] = leaf
    return parts


def put_together(outlined: Any, parts: Parts) -> Any:
    names, structure = named_leaves(outlined)
    leaves = [
        parts.params[name] if part == "module" and name in parts.params else parts.state.get(f"{part}.{name}", leaf)
        for part, name, leaf in names
    ]
    tree = jax.tree.unflatten(structure, leaves)
    return tree["module"], tree["state"]


def batch_axis(module: Any) -> Any:
    """What the module's BatchNorm layers call the batch's axis; "batch" if there are none."""

    def is_norm(part: Any) -> bool:
        return isinstance(part, eqx.nn.BatchNorm)

    layers = [part for part in jax.tree.leaves(module, is_leaf=is_norm) if is_norm(part)]
    names = {name for layer in layers for name in axis_names(layer.axis_name)}
    if len(names) > 1:
        raise InputError(f"{type(module).__name__}: BatchNorm layers must name one axis, not {sorted(map(str, names))}")
    return names.pop() if names else "batch"


def axis_names(names: Any) -> tuple[Any, ...]:
    return tuple(names) if isinstance(names, (list, tuple)) else (names,)
