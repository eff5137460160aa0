"""Flax NNX modules as models: what is an `nnx.Param` is learned, other variables are the state.

An NNX module is an object that changes; a model is a pair of functions. So a module is taken apart into
its graph, which is constant, and its arrays; `apply` puts them together, calls the module, and takes out
the state that it has then. The arrays are kept in dicts by dotted paths, such as "layers.0.kernel".
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Key

from purefit.examples import Examples
from purefit.models import Model, own_arrays, with_types_of
from purefit.signatures import cached, maker, parameter_names, train_arguments


class Parts(NamedTuple):
    """A module's arrays by dotted path; `streams` are the keys and counters of its random numbers."""

    params: dict[str, Any]
    state: dict[str, Any]
    streams: dict[str, Any]


class Frame(NamedTuple):
    """What of a module is the same for every key: its graph, and where each array belongs in it."""

    graph: Any
    paths: dict[str, tuple[Any, ...]]


def from_nnx(make: Any) -> Model:
    """The model of an `nnx.Module`, whose `__call__` takes a batch.

    make: a class or a function that builds the module from `rngs`, so that a run's key gives its first
        weights: those of `make(nnx.Rngs(key))`. Or a module, whose weights every run starts from.

    The module is set to `train()` or `eval()`; `__call__` is given `train=` (or another of `TRAIN_FLAGS`)
    and `rngs=` if it has parameters of these names. All of the module's random streams start anew from
    the step's key in every step; when predicting none should be read, and they start from a constant.

    >>> class Net(nnx.Module):
    ...     def __init__(self, rngs):
    ...         self.out = nnx.Linear(3, 2, rngs=rngs)
    ...     def __call__(self, x):
    ...         return self.out(x)
    >>> params, state = from_nnx(Net).init(jax.random.key(0), Examples(jnp.ones((5, 3)), jnp.ones(5), jnp.ones(5)))
    >>> params["out.kernel"].shape, state
    ((3, 2), {})
    """
    if isinstance(make, nnx.Module):
        frame, parts = take_apart(make)  # now: the module may change later
        return model_of(frame, parts.streams, lambda key: parts)
    return from_maker(make)


@cached
def from_maker(make: Callable[..., Any]) -> Model:
    """`from_nnx` of a class or a function."""
    build = maker(make, "rngs")
    frame, shapes = outline(build)
    return model_of(frame, shapes.streams, lambda key: take_apart(build(nnx.Rngs(key)))[1])


def to_nnx(make: Any, weights: Any) -> Any:
    """The module with the weights of a `TrainState` or `Best` (such as `run.best`), set to `eval()`.

    make: what was given to `from_nnx`.
    """
    frame, parts = take_apart(make) if isinstance(make, nnx.Module) else outline(maker(make, "rngs"))
    module = put_together(frame, weights.params, weights.model_state, seeded(parts.streams, jax.random.key(0)))
    module.eval()
    return module


def model_of(frame: Frame, streams: dict[str, Any], start: Callable[[Any], Parts]) -> Model:
    """The model of modules with this frame, whose arrays at the start are `start(key)`."""

    def init(key: Key[Array, ""], examples: Examples) -> tuple[Any, Any]:
        del examples  # an NNX module knows its shapes
        parts = start(key)
        return own_arrays(parts.params), own_arrays(parts.state)

    def apply(
        params: Any, state: Any, x: Any, *, key: Key[Array, ""] | None = None, train: bool = False
    ) -> tuple[Any, Any]:
        # Some modules split their streams whether they use them or not (nnx.split_rngs): they need some key.
        stream_key = jax.random.key(0) if key is None else key
        module = put_together(frame, params, state, seeded(streams, stream_key))
        module.train() if train else module.eval()
        arguments: dict[str, Any] = train_arguments(type(module).__call__, train)
        if "rngs" in parameter_names(type(module).__call__):
            arguments["rngs"] = None if key is None else nnx.Rngs(jax.random.fold_in(key, len(streams)))
        outputs = module(x, **arguments)
        if not train:
            return outputs, state
        after = take_apart(module)[1].state
        # What a call leaves behind besides (sown values) is no part of the state.
        return outputs, with_types_of(state, {name: after[name] for name in state})

    return Model(init, apply)


def take_apart(module: Any) -> tuple[Frame, Parts]:
    for _, part in nnx.iter_modules(module):
        for name, value in [*vars(part).items()]:
            if isinstance(value, jax.Array):
                setattr(part, name, nnx.data(value))  # while it is traced, Flax takes a plain array for static
    graph, arrays = nnx.split(module)
    frame, parts = Frame(graph, {}), Parts({}, {}, {})
    for path, leaf in nnx.to_flat_state(arrays):
        name = ".".join(map(str, path))
        value = leaf.get_value() if isinstance(leaf, nnx.Variable) else leaf
        frame.paths[name] = path
        if isinstance(leaf, nnx.Param):
            parts.params[name] = value
        elif isinstance(leaf, nnx.RngState):
            parts.streams[name] = value
        else:
            parts.state[name] = value
    return frame, parts


def put_together(frame: Frame, *parts: dict[str, Any]) -> Any:
    values = {name: value for part in parts for name, value in part.items()}
    state = nnx.from_flat_state([(path, values[name]) for name, path in frame.paths.items()])
    return nnx.merge(frame.graph, state)


def outline(build: Callable[[Any], Any]) -> tuple[Frame, Parts]:
    """The frame of what `build(rngs)` returns, and the shapes of its arrays; nothing is computed."""
    frames: list[Frame] = []

    def parts(key: Any) -> Parts:
        frame, parts = take_apart(build(nnx.Rngs(key)))
        frames.append(frame)
        return parts

    shapes = jax.eval_shape(parts, jax.eval_shape(lambda: jax.random.key(0)))
    return frames[-1], shapes


def seeded(streams: dict[str, Any], key: Key[Array, ""]) -> dict[str, Any]:
    """Streams of these shapes that start from `key`, each with a key of its own."""

    def start(number: int, leaf: Any) -> Any:
        if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jnp.zeros(leaf.shape, leaf.dtype)  # how many numbers were drawn
        own = jax.random.fold_in(key, number)
        return jax.random.split(own, leaf.shape) if leaf.shape else own

    return {name: start(number, leaf) for number, (name, leaf) in enumerate(streams.items())}
