"""Convolutions as matrix products: for models of any library, on a CPU, where XLA's own are slow in a loop.

Inside a compiled loop (an epoch is one) XLA's convolutions on a CPU are tens of times slower than outside
(jax issue 12868). The same sums as the products of patches have no such trouble. On accelerators nothing
changes: there the convolution stays what it is.
"""

from itertools import product
from math import prod
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from purefit.models import Model
from purefit.rewriting import rewritten_model


def with_patches(model: Model) -> Model:
    """The model with its convolutions computed as products of patches where it runs on a CPU."""
    return rewritten_model(model, {"conv_general_dilated": as_patches_on_cpu})


def as_patches_on_cpu(x: Array, kernel: Array, **params: Any) -> Array | None:
    """`lax.conv_general_dilated` with these parameters; on CPUs by patches."""
    if params["batch_group_count"] != 1:
        return None  # no layer of a model has it
    y: Array = lax.platform_dependent(
        x,
        kernel,
        cpu=lambda x, kernel: by_patches(x, kernel, **params),
        default=lambda x, kernel: lax.conv_general_dilated(x, kernel, **_arguments(params)),
    )
    return y


def _arguments(params: dict[str, Any]) -> dict[str, Any]:
    names = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers", "feature_group_count")
    return {name: params[name] for name in (*names, "precision", "preferred_element_type")}


def by_patches(
    x: Array,
    kernel: Array,
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: Any,
    feature_group_count: int,
    precision: Any = None,
    preferred_element_type: Any = None,
    **_: Any,
) -> Array:
    """What `lax.conv_general_dilated` returns: any strides, dilations, padding, layout and groups."""
    x = x.transpose(_channels_last(dimension_numbers.lhs_spec))
    outputs_axis, inputs_axis, *window = dimension_numbers.rhs_spec
    kernel = kernel.transpose(*window, inputs_axis, outputs_axis)
    *sizes, channels, outputs = kernel.shape  # channels of one group
    spatial = [(low, high, dilation - 1) for (low, high), dilation in zip(padding, lhs_dilation, strict=True)]
    x = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), *spatial, (0, 0, 0)])
    places = [
        max(0, (length - (size - 1) * dilation - 1) // stride + 1)
        for length, size, dilation, stride in zip(x.shape[1:-1], sizes, rhs_dilation, window_strides, strict=True)
    ]

    def shifted(offset: tuple[int, ...]) -> Array:
        starts = [place * dilation for place, dilation in zip(offset, rhs_dilation, strict=True)]
        limits = [s + (n - 1) * stride + 1 for s, n, stride in zip(starts, places, window_strides, strict=True)]
        part = lax.slice(x, [0, *starts, 0], [len(x), *limits, x.shape[-1]], [1, *window_strides, 1])
        return part.reshape(len(x), *places, feature_group_count, channels)

    patches = jnp.concatenate([shifted(offset) for offset in product(*map(range, sizes))], axis=-1)
    weight = kernel.reshape(prod(sizes) * channels, feature_group_count, outputs // feature_group_count)
    options: dict[str, Any] = {"precision": precision, "preferred_element_type": preferred_element_type}
    if feature_group_count == 1:
        y = jnp.matmul(patches[..., 0, :], weight[:, 0], **options)
    else:
        y = jnp.einsum("...gk,kgo->...go", patches, weight, **options)
    y = y.reshape(len(x), *places, outputs)
    return y.transpose(_from_channels_last(dimension_numbers.out_spec))


def _channels_last(spec: tuple[int, ...]) -> tuple[int, ...]:
    """The transposition of a layout (batch axis, channels axis, *spatial axes) to one with channels last."""
    batch, channels, *spatial = spec
    return (batch, *spatial, channels)


def _from_channels_last(spec: tuple[int, ...]) -> tuple[int, ...]:
    order = _channels_last(spec)
    return tuple(order.index(axis) for axis in range(len(order)))
