"""Losses: functions of a batch's outputs and targets that return one loss per example.

Because nothing is averaged here, weights, masks, folds and per-example gradients need no special case.
Where a target has several parts (several regression targets, several labels) they are averaged.
"""

from collections.abc import Callable

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Num

Loss = Callable[[Array, Array], Array]


def softmax_cross_entropy(
    outputs: Float[Array, "batch classes"], targets: Int[Array, " batch"]
) -> Float[Array, " batch"]:
    """-log of the probability that softmax of the logits gives to the target class, in nats.

    >>> softmax_cross_entropy(jnp.zeros((1, 10)), jnp.array([3]))
    Array([2.3025851], dtype=float32)
    """
    return optax.losses.softmax_cross_entropy_with_integer_labels(outputs, targets)


def binary_cross_entropy(
    outputs: Float[Array, "batch *labels"], targets: Num[Array, "batch *labels"]
) -> Float[Array, " batch"]:
    """-log of the probability that sigmoid of the logits gives to targets of 0 or 1, in nats.

    >>> binary_cross_entropy(jnp.zeros((1, 2)), jnp.array([[0, 1]]))
    Array([0.6931472], dtype=float32)
    """
    return _per_example(optax.losses.sigmoid_binary_cross_entropy(outputs, targets.astype(outputs.dtype)))


def squared_error(
    outputs: Float[Array, "batch *targets"], targets: Float[Array, "batch *targets"]
) -> Float[Array, " batch"]:
    """(output - target)².

    >>> squared_error(jnp.array([[1.0, 2.0]]), jnp.array([[1.0, 4.0]])).tolist()
    [2.0]
    """
    return _per_example(optax.losses.squared_error(outputs, targets))


def absolute_error(
    outputs: Float[Array, "batch *targets"], targets: Float[Array, "batch *targets"]
) -> Float[Array, " batch"]:
    """|output - target|.

    >>> absolute_error(jnp.array([1.0]), jnp.array([4.0])).tolist()
    [3.0]
    """
    return _per_example(jnp.abs(outputs - targets))


def huber(outputs: Float[Array, "batch *targets"], targets: Float[Array, "batch *targets"]) -> Float[Array, " batch"]:
    """½ error² up to an error of 1, |error| - ½ beyond (Huber, 1964).

    >>> huber(jnp.array([0.5, 3.0]), jnp.array([0.0, 0.0])).tolist()
    [0.125, 2.5]
    """
    return _per_example(optax.losses.huber_loss(outputs, targets))


def _per_example(losses: Float[Array, "batch ..."]) -> Float[Array, " batch"]:
    return jnp.mean(losses, axis=tuple(range(1, losses.ndim)))
