"""Layers: pure functions of parameters and a batch, of which `mlp` and `convnet` are made."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
    "elu": jax.nn.elu,
    "selu": jax.nn.selu,
    "sigmoid": jax.nn.sigmoid,
    "softplus": jax.nn.softplus,
    "leaky_relu": jax.nn.leaky_relu,
    "mish": jax.nn.mish,
    "hard_swish": jax.nn.hard_swish,
    "softsign": jax.nn.soft_sign,
    "identity": lambda x: x,
}

MOMENTUM, EPSILON = 0.9, 1e-5
"""Of norms: what a running mean keeps at each step, and what is added to a variance."""


def dense(key: Key[Array, ""], inputs: int, outputs: int) -> dict[str, Array]:
    """The parameters of one dense layer: weights normal with variance 2/inputs (He et al., 2015), biases 0.

    >>> jax.tree.map(jnp.shape, dense(jax.random.key(0), 4, 3))
    {'bias': (3,), 'weight': (4, 3)}
    """
    weight = jax.random.normal(key, (inputs, outputs)) * jnp.sqrt(2 / inputs)
    return {"weight": weight, "bias": jnp.zeros(outputs)}


def affine(layer: dict[str, Array], x: Float[Array, "*batch inputs"]) -> Float[Array, "*batch outputs"]:
    """A dense layer's outputs: x @ weight + bias."""
    return x @ layer["weight"] + layer["bias"].reshape((1,) * (x.ndim - 1) + (-1,))


def convolve(layer: dict[str, Array], x: Float[Array, "batch height width channels"], size: int = 3) -> Array:
    """A convolution, `size` × `size`, of stride 1, padded with zeros to the size it came in.

    layer: a dense layer's parameters, whose inputs are the size · size · channels numbers of a patch.

    On a CPU XLA's own convolution is tens of times slower inside a loop than outside (jax issue 12868). There
    the patches are laid side by side, and one matrix product does it: the same sums, in another order.
    """
    channels, outputs = x.shape[-1], layer["weight"].shape[-1]

    def as_product(x: Array, weight: Array) -> Array:
        return patches(x, size) @ weight

    def as_convolution(x: Array, weight: Array) -> Array:
        kernel = weight.reshape(size, size, channels, outputs)
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    y: Array = lax.platform_dependent(x, layer["weight"], cpu=as_product, default=as_convolution)
    return y + layer["bias"].reshape(1, 1, 1, -1)


def patches(x: Float[Array, "batch height width channels"], size: int) -> Float[Array, "batch height width patch"]:
    """The `size` × `size` neighbourhood of every pixel, row by row, as its channels; zeros beyond the edges.

    >>> patches(jnp.arange(4.0).reshape(1, 2, 2, 1), 3)[0, 0, 0].tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 3.0]
    """
    before, after = (size - 1) // 2, size // 2
    padded = jnp.pad(x, ((0, 0), (before, after), (before, after), (0, 0)))
    height, width = x.shape[1:3]
    shifted = [padded[:, i : i + height, j : j + width] for i in range(size) for j in range(size)]
    return jnp.concatenate(shifted, axis=-1)


def max_pool(x: Float[Array, "batch height width channels"]) -> Array:
    """The greatest of every 2 × 2 pixels; an odd last row or column is left out."""
    height, width = x.shape[1] // 2 * 2, x.shape[2] // 2 * 2
    rows = jnp.maximum(x[:, 0:height:2], x[:, 1:height:2])
    return jnp.maximum(rows[:, :, 0:width:2], rows[:, :, 1:width:2])


def dropout(key: Key[Array, ""], rate: Any, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """`x` with a share of `rate` of its numbers at 0, and the others made larger to keep the mean.

    rate: from 0 to below 1, traced or not; exact to 1/65,536, as 16 random bits decide about each number:
    half the cost of 32, which on a CPU is most of what dropout costs.
    """
    rate = jnp.asarray(rate, x.dtype)
    kept = jax.random.bits(key, x.shape, "uint16") >= jnp.round(rate * 65536).astype(jnp.uint16)
    return jnp.where(kept, x / (1 - rate), 0)


def norm_params(features: int) -> dict[str, Array]:
    """The parameters of a norm: scales 1, offsets 0."""
    return {"scale": jnp.ones(features), "offset": jnp.zeros(features)}


def norm_state(features: int) -> dict[str, Array]:
    """What a batch norm starts from: means 0, variances 1."""
    return {"mean": jnp.zeros(features), "variance": jnp.ones(features)}


def layer_norm(params: dict[str, Array], x: Float[Array, "... features"]) -> Float[Array, "... features"]:
    """Each example's features at mean 0 and variance 1, then scaled and offset (Ba et al., 2016)."""
    mean, variance = jnp.mean(x, axis=-1, keepdims=True), jnp.var(x, axis=-1, keepdims=True)
    return _normalized(params, x, mean, variance)


def batch_norm(
    params: dict[str, Array], state: dict[str, Array], x: Float[Array, "... features"], train: bool
) -> tuple[Float[Array, "... features"], dict[str, Array]]:
    """Each feature at mean 0 and variance 1 over the batch (Ioffe and Szegedy, 2015), and the new state.

    When training the batch's own mean and variance are used, and kept as running ones; otherwise the latter.
    """
    axes = tuple(range(x.ndim - 1))
    if train:
        mean, variance = jnp.mean(x, axis=axes), jnp.var(x, axis=axes)
        new = {"mean": mean, "variance": variance}
        state = jax.tree.map(lambda old, new: MOMENTUM * old + (1 - MOMENTUM) * new, state, new)
    else:
        mean, variance = state["mean"], state["variance"]
    along = (1,) * (x.ndim - 1) + (-1,)
    return _normalized(params, x, mean.reshape(along), variance.reshape(along)), state


def _normalized(params: dict[str, Array], x: Array, mean: Array, variance: Array) -> Array:
    along = (1,) * (x.ndim - 1) + (-1,)
    factor = lax.rsqrt(variance + EPSILON) * params["scale"].reshape(along)
    return (x - mean) * factor + params["offset"].reshape(along)
