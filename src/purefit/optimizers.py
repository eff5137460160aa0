"""Optimizers: a name becomes a function of `hyper` that returns an Optax chain.

The chain is built while tracing, from traced values: a learning rate, a decay or a clipping norm can
change, be swept or be differentiated without compiling again. A stage exists if `hyper` has its key.
"""

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

import jax
import numpy as np
import optax
from jaxtyping import Array, PyTree

from purefit.errors import InputError

Hyper = Mapping[str, Any]


def as_arrays(hyper: Hyper) -> dict[str, np.ndarray]:
    """`hyper` with every number as a float32 array, so that no value has a type of its own to compile."""
    return {name: np.asarray(value, np.float32) for name, value in hyper.items()}


NOT_OFFERED = {"scale_by_rprop", "noisy_sgd", "optimistic_adam"}
"""A part of an optimizer; one whose noise wants a key of its own; one that Optax has renamed."""


@cache
def rules() -> dict[str, Callable[..., optax.GradientTransformation]]:
    """Every Optax optimizer that needs a learning rate and no more, by name.

    >>> {"adam", "adamw", "sgd", "lion"} <= set(rules())
    True
    """
    functions = {name: f for name, f in vars(optax).items() if inspect.isfunction(f) and name[0] != "_"}
    return {name: f for name, f in functions.items() if _needs_only_a_rate(f) and name not in NOT_OFFERED}


def _needs_only_a_rate(function: Callable[..., Any]) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].name != "learning_rate" or parameters[0].default is not inspect.Parameter.empty:
        return False
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in variadic for p in parameters[1:])


def matrices(params: PyTree[Array]) -> PyTree[bool]:
    """True for the leaves that weight decay is for: those of two axes or more, not biases or norms.

    >>> matrices({"weight": jax.numpy.ones((2, 3)), "bias": jax.numpy.ones(3)})
    {'bias': False, 'weight': True}
    """
    return jax.tree.map(lambda leaf: leaf.ndim > 1, params)


@cache  # the same name is the same function, so that `jit` compiles it once
def optimizer(name: str) -> Callable[[Hyper], optax.GradientTransformation]:
    """The function from `hyper` to the Optax chain of `name`, any key of `rules()`.

    hyper: "learning_rate"; optionally "clip_norm" (gradients are scaled down to this global norm) and
        "weight_decay" (of matrices alone: decoupled where the optimizer has its own, as adamw does;
        otherwise added to the gradient, as L2 regularisation).
    Raises InputError for a name that isn't there, naming the nearest.

    >>> chain = optimizer("adam")({"learning_rate": 1e-3, "clip_norm": 1.0})
    >>> chain.init({"weight": jax.numpy.zeros(2)})[1][0].mu
    {'weight': Array([0., 0.], dtype=float32)}
    """
    rule = find_rule(name)
    accepted = inspect.signature(rule).parameters

    def chain(hyper: Hyper) -> optax.GradientTransformation:
        stages = []
        options: dict[str, Any] = {}
        if "clip_norm" in hyper:
            stages.append(optax.clip_by_global_norm(hyper["clip_norm"]))
        if "weight_decay" in hyper and "weight_decay" in accepted:
            options["weight_decay"] = hyper["weight_decay"]
        elif "weight_decay" in hyper:
            stages.append(optax.add_decayed_weights(hyper["weight_decay"], mask=matrices))
        if "mask" in accepted:
            options["mask"] = matrices
        return optax.chain(*stages, rule(hyper["learning_rate"], **options))

    return chain


def find_rule(name: str) -> Callable[..., optax.GradientTransformation]:
    """The Optax optimizer called `name`; InputError with the nearest name where there is none."""
    if name in rules():
        return rules()[name]
    near = get_close_matches(name.lower(), rules(), n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(sorted(rules()))}"
    raise InputError(f"no optimizer named {name!r}{hint}")
