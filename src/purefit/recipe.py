"""A recipe is what is compiled: functions and integers; what may change without compiling is in `hyper`.

The model and the optimizer may themselves be functions of `hyper`, and `schedule` makes the `hyper` of a
step: all are called while tracing, so that any number can be traced, swept, scheduled or differentiated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import optax
from jax import lax
from jaxtyping import Array, Int, PyTree

from purefit.examples import Examples, weighted_mean
from purefit.hyper import Hyper
from purefit.losses import Loss
from purefit.metrics import Metric
from purefit.models import Model
from purefit.optimizers import steady

Objective = Callable[[Any, Examples], tuple[Array, Any]]


class Clock(NamedTuple):
    """Where in a run a step is: `step` steps are done, int32; the lengths are known while tracing."""

    step: Int[Array, ""]
    steps_per_epoch: int
    epochs: int


def constant(hyper: Hyper, clock: Clock) -> Hyper:
    """The schedule that changes nothing."""
    del clock
    return hyper


def mean_gradient(objective: Objective, params: PyTree, batch: Examples) -> tuple[Array, PyTree, PyTree]:
    """(loss, model state, gradient) of the weighted mean of a batch's losses.

    `objective(params, batch) -> (losses, model_state)` gives one loss per example. This is the seam where
    other ways to a gradient plug in: clipped per example, in microbatches, over several devices.
    """

    def mean_loss(params: PyTree) -> tuple[Array, PyTree]:
        losses, model_state = objective(params, batch)
        return weighted_mean(losses, batch.weight), model_state

    (loss, model_state), gradient = jax.value_and_grad(mean_loss, has_aux=True)(params)
    return loss, model_state, gradient


@dataclass(frozen=True)
class Recipe:
    """What is compiled. Hashable, so that it can be a static argument of `jit`.

    model: a `Model`, or a function of `hyper` that returns one.
    optimizer: an Optax gradient transformation, or a function of `hyper` that returns one.
    loss: `loss(outputs, targets) -> per-example losses`.
    metrics: what is measured on validation examples besides the loss.
    epochs, batch_size: the length of a run in passes, and the examples per step.
    monitor: what chooses the best epoch: "loss", or the name of one of `metrics`, on validation examples.
    gradient: how a step's gradient is taken; see `mean_gradient`.
    schedule: `schedule(hyper, clock) -> hyper` of one step; the structure must be the same at every step.
    scan: how steps and epochs are scanned, called as `jax.lax.scan`; see `checkpointed_scan`.
    """

    model: Model | Callable[[Hyper], Model]
    optimizer: optax.GradientTransformation | Callable[[Hyper], optax.GradientTransformation]
    loss: Loss
    metrics: tuple[Metric, ...] = ()
    epochs: int = 10
    batch_size: int = 128
    monitor: str = "loss"
    gradient: Callable[[Objective, Any, Examples], tuple[Array, Any, Any]] = mean_gradient
    schedule: Callable[[Hyper, Clock], Hyper] = constant
    scan: Callable[..., tuple[Any, Any]] = lax.scan


def model_of(recipe: Recipe, hyper: Hyper) -> Model:
    """The recipe's model for these hyperparameters."""
    return recipe.model if isinstance(recipe.model, Model) else recipe.model(hyper)


def optimizer_of(recipe: Recipe, hyper: Hyper) -> optax.GradientTransformationExtraArgs:
    """The recipe's optimizer for these hyperparameters; it may be handed arguments it has no use for."""
    optimizer = recipe.optimizer
    return steady(optimizer if isinstance(optimizer, optax.GradientTransformation) else optimizer(hyper))
