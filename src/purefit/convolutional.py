"""A small convolutional network for images, that is fast inside a compiled epoch, on a CPU as well."""

from typing import Any

import jax
from jaxtyping import Array, Key

from purefit.errors import InputError
from purefit.examples import Examples
from purefit.layers import (
    ACTIVATIONS,
    affine,
    batch_norm,
    convolve,
    dense,
    dropout,
    layer_norm,
    max_pool,
    norm_params,
    norm_state,
)
from purefit.models import Model, described
from purefit.perceptron import Norm, check


@described
def convnet(
    channels: tuple[int, ...],
    hidden: tuple[int, ...],
    outputs: int,
    activation: str = "relu",
    *,
    norm: Norm = "none",
    dropout_rate: Any = 0.0,
) -> Model:
    """A convolutional network for images `(n, height, width)` or `(n, height, width, channels)`.

    channels: one stage for each: a 3 × 3 convolution to so many channels, the greatest of every 2 × 2
        pixels, norm, activation. hidden: the widths of the dense layers after them, with dropout before each.
    activation, norm, dropout_rate: as for `mlp`.
    Its params are a list of layers as an mlp's: the weight of a convolution is (9 · inputs, outputs).

    >>> model = convnet((8, 16), (32,), 10)
    >>> examples = Examples(jax.numpy.zeros((5, 28, 28)), jax.numpy.zeros(5, int), jax.numpy.ones(5))
    >>> params, state = model.init(jax.random.key(0), examples)
    >>> [layer["weight"].shape for layer in params]
    [(9, 8), (72, 16), (784, 32), (32, 10)]
    >>> model.apply(params, state, examples.x, key=None, train=False)[0].shape
    (5, 10)
    """
    check(activation, norm, dropout_rate)
    if not channels or not all(width > 0 for width in (*channels, *hidden, outputs)):
        raise InputError(f"a convnet has one or more stages and positive widths, not {channels} and {hidden}")
    nonlinearity = ACTIVATIONS[activation]
    drops = not (isinstance(dropout_rate, int | float) and dropout_rate == 0)

    def init(key: Key[Array, ""], examples: Examples) -> tuple[Any, Any]:
        height, width, depth = as_images(examples.x).shape[1:]
        if min(height, width) >> len(channels) == 0:
            raise InputError(f"images of {height} × {width} pixels can't be halved {len(channels)} times")
        pixels = (height >> len(channels)) * (width >> len(channels))
        inputs = [9 * depth, *(9 * each for each in channels[:-1]), pixels * channels[-1], *hidden]
        sizes = list(zip(inputs, (*channels, *hidden, outputs), strict=True))
        layers: list[Any] = [
            dense(key, *size) for key, size in zip(jax.random.split(key, len(sizes)), sizes, strict=True)
        ]
        for layer, features in zip(layers, channels, strict=False):
            if norm != "none":
                layer["norm"] = norm_params(features)
        return layers, [norm_state(features) for features in channels] if norm == "batch" else ()

    def apply(
        params: Any, state: Any, x: Array, *, key: Key[Array, ""] | None = None, train: bool = False
    ) -> tuple[Array, Any]:
        x, states = as_images(x), list(state)
        for number, layer in enumerate(params[: len(channels)]):
            x = max_pool(convolve(layer, x))  # before what follows: it then has a quarter of the work
            if norm == "layer":
                x = layer_norm(layer["norm"], x)
            elif norm == "batch":
                x, states[number] = batch_norm(layer["norm"], states[number], x, train)
            x = nonlinearity(x)
        x = x.reshape(len(x), -1)
        for number, layer in enumerate(params[len(channels) :]):
            x = nonlinearity(x) if number else x
            if drops and train and key is not None:
                x = dropout(jax.random.fold_in(key, number), dropout_rate, x)
            x = affine(layer, x)
        return x, states if norm == "batch" else state

    return Model(init, apply)


def as_images(x: Array) -> Array:
    """Images with an axis for their channels. Raises InputError for what isn't images."""
    if x.ndim not in (3, 4):
        raise InputError(f"a convnet is for images, (height, width) or with channels, not inputs of {x.shape[1:]}")
    return x[..., None] if x.ndim == 3 else x
