"""Examples: inputs, targets and one weight each.

Weights say everything about which examples count and how much: sample and class weights, a held-out
fold (zeros), the padding of a ragged last batch (zeros). Every mean in purefit is `weighted_mean`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped


class Examples(NamedTuple):
    """`n` examples, or a batch of them.

    x: inputs, an array or a pytree of arrays with a leading axis of `n`, in the type they came in.
    y: targets with a leading axis of `n`: int32 class indices `(n,)`, or floats `(n, targets)`.
    weight: floats `(n,)`, never negative; an example of weight 0 does not count.
    """

    x: Any
    y: Shaped[Array, "n ..."]
    weight: Float[Array, " n"]


class Data(NamedTuple):
    """What `fit` learns from: `train`, and `valid` to choose the best epoch by (None: keep the last)."""

    train: Examples
    valid: Examples | None = None


def take(examples: Examples, rows: Int[Array, "..."]) -> Examples:
    """The examples at `rows`, all of which must be in range.

    >>> take(Examples(jnp.arange(6.0), jnp.arange(6), jnp.ones(6)), jnp.array([4, 1])).y.tolist()
    [4, 1]
    """
    return jax.tree.map(lambda leaf: jnp.take(leaf, rows, axis=0, mode="clip"), examples)


def weighted_mean(values: Float[Array, " n"], weight: Float[Array, " n"]) -> Float[Array, ""]:
    """The mean of `values` weighted by `weight`; 0 where all weights are 0.

    >>> weighted_mean(jnp.array([1.0, 3.0, 100.0]), jnp.array([1.0, 1.0, 0.0])).item()
    2.0
    """
    total = jnp.sum(weight)
    return jnp.sum(values * weight) / jnp.where(total > 0, total, 1)
