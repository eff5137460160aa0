"""Products in bfloat16: matrix products and convolutions take their operands in half the bits.

Parameters, activations, losses, sums and the optimizer's state stay float32, and so does what a product
returns: it adds up in float32. For models of any library, as the model's function is rewritten.
"""

from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.layout import Layout, with_layout_constraint
from jaxtyping import Array

from purefit.models import Model
from purefit.rewriting import rewritten_model


def in_bfloat16(model: Model) -> Model:
    """The model with its products in bfloat16, those of the backward pass included."""
    return rewritten_model(model, {"dot_general": _dot, "conv_general_dilated": _convolution})


def _dot(a: Array, b: Array, *, dimension_numbers: Any, **_: Any) -> Array | None:
    if a.dtype != jnp.float32 or b.dtype != jnp.float32:
        return None
    return product(a, b, dimension_numbers)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def product(a: Array, b: Array, dimensions: Any) -> Array:
    """`lax.dot_general(a, b, dimensions)` of float32 arrays: operands in bfloat16, sums in float32.

    >>> float(product(jnp.ones((1, 3)), jnp.full((3, 1), 1 / 3), (((1,), (0,)), ((), ())))[0, 0])
    1.001953125
    """
    return sums_of_products(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), dimensions)


def sums_of_products(a: Array, b: Array, dimensions: Any) -> Array:
    """`lax.dot_general` of bfloat16 arrays, in float32.

    XLA's CPU backend refuses some layouts of bfloat16 products, and quietly does others in float32. Without
    batch axes they are made products of matrices whose left one has its rows in memory one after the other:
    these it does in bfloat16, about twice as fast where the processor can. With batch axes the operands,
    rounded already, are multiplied in float32.
    """
    (contracted_a, contracted_b), (batch_a, _) = dimensions
    if batch_a:
        return lax.dot_general(a.astype(jnp.float32), b.astype(jnp.float32), dimensions)
    pairs = sorted(zip(contracted_a, contracted_b, strict=True))
    summed_a, summed_b = [axis for axis, _ in pairs], [axis for _, axis in pairs]
    free_a = [axis for axis in range(a.ndim) if axis not in summed_a]
    free_b = [axis for axis in range(b.ndim) if axis not in summed_b]
    length = prod(a.shape[axis] for axis in summed_a)
    left = _in_rows(a, [*free_a, *summed_a], (-1, length))
    if [*free_b, *summed_b] == [*range(b.ndim)]:
        right, axis = b.reshape(-1, length), 1
    else:
        right, axis = _in_rows(b, [*summed_b, *free_b], (length, -1)), 0
    sums = lax.dot_general(left, right, (((1,), (axis,)), ((), ())), preferred_element_type=jnp.float32)
    return sums.reshape([a.shape[axis] for axis in free_a] + [b.shape[axis] for axis in free_b])


def _in_rows(x: Array, order: list[int], shape: tuple[int, int]) -> Array:
    """The matrix of an array's axes in this order; on a CPU, where they are moved, so in memory too."""
    matrix = x.transpose(order).reshape(shape)
    if order == [*range(x.ndim)]:
        return matrix
    rows: Array = lax.platform_dependent(
        matrix, cpu=lambda matrix: with_layout_constraint(matrix, Layout((0, 1))), default=lambda matrix: matrix
    )
    return rows


def _product_forward(a: Array, b: Array, dimensions: Any) -> tuple[Array, tuple[Array, Array]]:
    halves = a.astype(jnp.bfloat16), b.astype(jnp.bfloat16)
    return sums_of_products(*halves, dimensions), halves


def _product_backward(dimensions: Any, halves: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    """The transposes of the product in each operand, in bfloat16 again.

    JAX's own rule would multiply the float32 gradient with a bfloat16 operand, which is done in float32.
    """
    (contracted_a, contracted_b), (batch_a, batch_b) = dimensions
    a, b = halves
    free_a = [axis for axis in range(a.ndim) if axis not in (*contracted_a, *batch_a)]
    free_b = [axis for axis in range(b.ndim) if axis not in (*contracted_b, *batch_b)]
    count = len(batch_a)
    batch = list(range(count))  # a product's axes are the batch, what is free of a, what is free of b
    of_a = list(range(count, count + len(free_a)))
    of_b = list(range(count + len(free_a), gradient.ndim))
    half = gradient.astype(jnp.bfloat16)
    sums_a = sums_of_products(half, b, ((of_b, free_b), (batch, batch_b)))
    sums_b = sums_of_products(a, half, ((free_a, of_a), (batch_a, batch)))
    # Their axes: the batch, then the left operand's free ones, then the right one's.
    paired_a = [contracted_a[contracted_b.index(axis)] for axis in sorted(contracted_b)]
    paired_b = [contracted_b[contracted_a.index(axis)] for axis in sorted(contracted_a)]
    axes_a, axes_b = [*batch_a, *free_a, *paired_a], [*batch_b, *paired_b, *free_b]
    return (
        sums_a.transpose([axes_a.index(axis) for axis in range(a.ndim)]),
        sums_b.transpose([axes_b.index(axis) for axis in range(b.ndim)]),
    )


product.defvjp(_product_forward, _product_backward)


def _convolution(x: Array, kernel: Array, **params: Any) -> Array | None:
    if x.dtype != jnp.float32 or kernel.dtype != jnp.float32:
        return None
    names = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers")
    counts = ("feature_group_count", "batch_group_count")
    halves = lax.conv_general_dilated(
        x.astype(jnp.bfloat16), kernel.astype(jnp.bfloat16), **{name: params[name] for name in (*names, *counts)}
    )
    return halves.astype(jnp.float32)
