"""Metrics: one number for a whole split, from all its outputs, targets and weights.

A metric is a name, a pure function, and which way is better. Unlike a loss it need not be a mean over
examples: R² isn't.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from purefit.examples import weighted_mean
from purefit.losses import softmax_cross_entropy, squared_error


class Metric(NamedTuple):
    """`function(outputs, targets, weight) -> scalar`, called `name`; larger is better if `maximize`."""

    name: str
    function: Callable[[Array, Array, Array], Array]
    maximize: bool


@cache
def top(k: int) -> Metric:
    """How often the target class is among the `k` that the logits rank highest. `top(1)` is accuracy.

    A tie counts as ranked above the target, so that a model whose outputs are all alike scores 0.

    >>> logits = jnp.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    >>> [top(k).function(logits, jnp.array([1, 2]), jnp.ones(2)).item() for k in (1, 2)]
    [0.5, 1.0]
    """

    def function(
        outputs: Float[Array, "n classes"], targets: Int[Array, " n"], weight: Float[Array, " n"]
    ) -> Float[Array, ""]:
        own = jnp.take_along_axis(outputs, targets[:, None], axis=1)
        # Counting what is at least as high includes the target itself.
        rank = jnp.sum(outputs >= own, axis=1)
        return weighted_mean((rank <= k).astype(weight.dtype), weight)

    return Metric(f"top{k}_accuracy", function, maximize=True)


def _accuracy(
    outputs: Float[Array, "n classes"], targets: Int[Array, " n"], weight: Float[Array, " n"]
) -> Float[Array, ""]:
    return weighted_mean((jnp.argmax(outputs, axis=1) == targets).astype(weight.dtype), weight)


accuracy = Metric("accuracy", _accuracy, maximize=True)


def _log_loss(
    outputs: Float[Array, "n classes"], targets: Int[Array, " n"], weight: Float[Array, " n"]
) -> Float[Array, ""]:
    return weighted_mean(softmax_cross_entropy(outputs, targets), weight)


log_loss = Metric("log_loss", _log_loss, maximize=False)


@cache
def rmse(units: tuple[float, ...] = (1.0,)) -> Metric:
    """The root of the mean squared error; `units` says what 1 in each target is in the user's own unit.

    >>> rmse((10.0,)).function(jnp.array([[0.0], [0.0]]), jnp.array([[6.0], [8.0]]), jnp.array([1.0, 0.0]))
    Array(60., dtype=float32)
    """

    def function(
        outputs: Float[Array, "n targets"], targets: Float[Array, "n targets"], weight: Float[Array, " n"]
    ) -> Float[Array, ""]:
        unit = jnp.array(units, outputs.dtype)[None]
        return jnp.sqrt(weighted_mean(squared_error(outputs * unit, targets * unit), weight))

    return Metric("rmse", function, maximize=False)


def _r2(
    outputs: Float[Array, "n *targets"], targets: Float[Array, "n *targets"], weight: Float[Array, " n"]
) -> Float[Array, ""]:
    share = weight / jnp.where(jnp.sum(weight) > 0, jnp.sum(weight), 1)
    residual = jnp.tensordot(share, (targets - outputs) ** 2, 1)
    variance = jnp.tensordot(share, (targets - jnp.tensordot(share, targets, 1)[None]) ** 2, 1)
    explained = 1 - residual / jnp.where(variance > 0, variance, 1)
    # Of targets that are all alike nothing can be explained: 1 for hitting them, 0 for missing, as scikit-learn has it.
    return jnp.mean(jnp.where(variance > 0, explained, jnp.where(residual > 0, 0.0, 1.0)))


r2 = Metric("r2", _r2, maximize=True)
"""The share of the targets' variance that is explained, the mean over several targets."""
