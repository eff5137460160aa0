"""Training a neural network is a pure function: fit(recipe, hyper, data, key) -> Fit(state, history).

This file is its definition, to be read from top to bottom: a run is a scan over epochs, an epoch a scan
over the steps of one shuffled pass, a step one gradient. Nothing here is compiled, printed or stored;
who calls it chooses `jit`, `vmap`, `grad`, a loop in Python or a scan.

>>> from purefit import Data, Examples, Recipe, fit, losses, mlp, optimizer
>>> x = jax.random.normal(jax.random.key(1), (200, 3))
>>> data = Data(Examples(x, x @ jnp.ones((3, 1)), jnp.ones(200)))
>>> recipe = Recipe(mlp((16,), 1), optimizer("adam"), losses.squared_error, epochs=20, batch_size=32)
>>> run = jax.jit(fit, static_argnums=0)(recipe, {"learning_rate": 1e-2}, data, jax.random.key(0))
>>> bool(run.history["train"]["loss"][-1] < 0.1 * run.history["train"]["loss"][0])
True
"""

from enum import IntEnum
from functools import partial
from math import ceil
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from purefit.averaging import averaged
from purefit.examples import Data, Examples, take, weighted_mean
from purefit.hyper import Hyper
from purefit.optimizers import snapshots
from purefit.recipe import Clock, Recipe, constant, model_of, optimizer_of

Metrics = dict[str, Any]

EVALUATION_BATCH = 1024
"""Examples per batch when nothing is learned. Results depend on it only by rounding."""


class Status(IntEnum):
    """Whether a run goes on, and if not, why."""

    RUNNING = 0
    STOPPED = 1  # no better epoch for `patience` epochs
    DIVERGED = 2  # a loss or a parameter was not finite; the state is the one before that epoch


class Best(NamedTuple):
    """The best epoch so far: its weights, its number (0 is before training), its score (lower is better).

    params: what to predict with: where the optimizer keeps an average of the weights, that average.
    """

    params: PyTree
    model_state: PyTree
    epoch: Int[Array, ""]
    score: Float[Array, ""]


class TrainState(NamedTuple):
    """Everything that a run carries from epoch to epoch; with the root key it says the run's whole future.

    epoch: how many are done, int32. status: a `Status`, int32.
    """

    params: PyTree
    model_state: PyTree
    opt_state: PyTree
    epoch: Int[Array, ""]
    status: Int[Array, ""]
    best: Best


class Fit(NamedTuple):
    """A run's end: the last state, whose `best` is what to predict with, and the epochs' metrics, stacked."""

    state: TrainState
    history: Metrics

    @property
    def best(self) -> Best:
        return self.state.best


def fit(recipe: Recipe, hyper: Hyper, data: Data, key: Key[Array, ""], state: TrainState | None = None) -> Fit:
    """Trains for `recipe.epochs` epochs, from `state` or from the beginning.

    hyper: scalars, read by the optimizer and the model. "patience" (epochs without a better one, after
        which nothing changes any more) is read here; without it a run never stops early.
    data: with `valid`, the best epoch is chosen by `recipe.monitor`; without, the last one is the best.
    key: all the randomness there is. The same key with a `state` continues the run it came from.
    history: {"train": {"loss"}, "valid": {"loss", ...}, "steps": {"loss", "gradient_norm", "update_norm", ...}},
        each with a leading axis of epochs. Epochs after the run has stopped are NaN.
    """
    if state is None:
        state = init(recipe, hyper, data, key)

    def one_epoch(state: TrainState, _: None) -> tuple[TrainState, Metrics]:
        return epoch(recipe, hyper, data, key, state)

    return Fit(*recipe.scan(one_epoch, state, length=recipe.epochs))


def init(recipe: Recipe, hyper: Hyper, data: Data, key: Key[Array, ""]) -> TrainState:
    """The state before the first epoch."""
    # Epochs count from 1; what is random before the first is epoch 0's.
    init_key = jax.random.fold_in(key, 0)
    params, model_state = model_of(recipe, hyper).init(init_key, data.train)
    opt_state = optimizer_of(recipe, hyper).init(params)
    zero = jnp.zeros((), jnp.int32)
    best = Best(averaged(opt_state, params), model_state, zero, jnp.full((), jnp.inf, data.train.weight.dtype))
    return TrainState(params, model_state, opt_state, epoch=zero, status=zero, best=best)


def epoch(
    recipe: Recipe, hyper: Hyper, data: Data, key: Key[Array, ""], state: TrainState
) -> tuple[TrainState, Metrics]:
    """One shuffled pass over the training examples, and what it did for the validation examples.

    A run that has stopped or diverged stays as it is, with NaN for metrics.
    """

    @partial(jax.jit, inline=True)  # traced once, although its shapes are asked for as well
    def run(state: TrainState) -> tuple[TrainState, Metrics]:
        new, metrics = train_pass(recipe, hyper, data.train, key, state)
        current = Best(averaged(new.opt_state, new.params), new.model_state, new.epoch, new.best.score)
        score, valid = validate(recipe, hyper, data, current)
        new = choose_best(new, current._replace(score=score), hyper.get("patience", jnp.inf))
        finite = all_finite((metrics["steps"]["loss"], new.params, new.model_state))
        diverged = state._replace(status=jnp.full_like(state.status, Status.DIVERGED))
        return tree_where(finite, new, diverged), metrics | {"valid": valid}

    def rest(state: TrainState) -> tuple[TrainState, Metrics]:
        _, metrics = jax.eval_shape(run, state)
        return state, jax.tree.map(lambda leaf: jnp.full(leaf.shape, jnp.nan, leaf.dtype), metrics)

    return lax.cond(state.status == Status.RUNNING, run, rest, state)


def train_pass(
    recipe: Recipe, hyper: Hyper, train: Examples, key: Key[Array, ""], state: TrainState
) -> tuple[TrainState, Metrics]:
    """The steps of one epoch. The last batch is filled up with the epoch's first examples, at weight 0."""
    shuffle_key, steps_key = jax.random.split(jax.random.fold_in(key, state.epoch + 1))
    size, batch_size = len(train.weight), recipe.batch_size
    steps = ceil(size / batch_size)
    order = jnp.pad(shuffle(shuffle_key, size), (0, steps * batch_size - size), mode="wrap")
    places = jnp.arange(steps * batch_size)

    def one_step(state: TrainState, inputs: tuple[Array, Array, Array]) -> tuple[TrainState, Metrics]:
        number, rows, places = inputs
        batch = take(train, rows)
        batch = batch._replace(weight=jnp.where(places < size, batch.weight, 0))
        now = recipe.schedule(hyper, Clock(state.epoch * steps + number, steps, recipe.epochs))
        state, metrics = step(recipe, now, batch, jax.random.fold_in(steps_key, number), state)
        scheduled = recipe.schedule is not constant and "learning_rate" in now
        return state, metrics | ({"learning_rate": now["learning_rate"]} if scheduled else {})

    batches = (jnp.arange(steps), order.reshape(steps, -1), places.reshape(steps, -1))
    state, metrics = recipe.scan(one_step, state, batches)
    loss = weighted_mean(metrics["loss"], metrics.pop("weight"))
    return state._replace(epoch=state.epoch + 1), {"train": {"loss": loss}, "steps": metrics}


def step(
    recipe: Recipe, hyper: Hyper, batch: Examples, key: Key[Array, ""], state: TrainState
) -> tuple[TrainState, Metrics]:
    """One update of the parameters from one batch, with the `hyper` of this step.

    The optimizer is also given what some of Optax's want besides the gradient: the loss (`value`), the loss
    as a function of the parameters (`value_fn`), and a key of its own.
    """
    model, optimizer = model_of(recipe, hyper), optimizer_of(recipe, hyper)
    model_key, optimizer_key = jax.random.split(key)

    def objective(params: PyTree, batch: Examples) -> tuple[Array, PyTree]:
        outputs, model_state = model.apply(params, state.model_state, batch.x, key=model_key, train=True)
        return recipe.loss(outputs, batch.y), model_state

    def mean_loss(params: PyTree, key: Any = None) -> Array:
        del key  # Optax's line searches hand on what they are handed; the loss has the model's key
        return weighted_mean(objective(params, batch)[0], batch.weight)

    loss, model_state, gradient = recipe.gradient(objective, state.params, batch)
    more = {"value": loss, "grad": gradient, "value_fn": mean_loss, "key": optimizer_key}
    updates, opt_state = optimizer.update(gradient, state.opt_state, state.params, **more)
    params = optax.apply_updates(state.params, updates)
    metrics = {
        "loss": loss,
        "gradient_norm": optax.tree.norm(gradient),
        "update_norm": optax.tree.norm(updates),
        "weight": jnp.sum(batch.weight),
        **snapshots(opt_state),
    }
    return state._replace(params=params, model_state=model_state, opt_state=opt_state), metrics


def shuffle(key: Key[Array, ""], size: int) -> Int[Array, " size"]:
    """A random permutation of 0 … size-1.

    One sort of random 32-bit keys: half the time of `jax.random.permutation`, which sorts twice to break
    the ties that here keep their order (one pair in 60,000 examples, about every second epoch).
    """
    return jnp.argsort(jax.random.bits(key, (size,), "uint32"))


def validate(recipe: Recipe, hyper: Hyper, data: Data, current: Best) -> tuple[Float[Array, ""], Metrics]:
    """(score, metrics) of an epoch's weights on the validation examples; lower is better."""
    if data.valid is None:
        return -current.epoch.astype(current.score.dtype), {}
    metrics = evaluate(recipe, hyper, current, data.valid)
    maximize = {metric.name for metric in recipe.metrics if metric.maximize}
    monitored = metrics[recipe.monitor].astype(current.score.dtype)
    return (-monitored if recipe.monitor in maximize else monitored), metrics


def choose_best(state: TrainState, current: Best, patience: Any) -> TrainState:
    """Keeps `current` if its score is the lowest yet; stops after `patience` epochs without a lower one."""
    best = tree_where(current.score < state.best.score, current, state.best)
    stopped = (state.epoch - best.epoch).astype(current.score.dtype) >= patience
    status = jnp.where(stopped, jnp.full_like(state.status, Status.STOPPED), state.status)
    return state._replace(best=best, status=status)


def predict(recipe: Recipe, hyper: Hyper, weights: TrainState | Best, x: PyTree) -> Float[Array, "n ..."]:
    """The model's outputs (logits, or regression values) for `n` inputs, `EVALUATION_BATCH` at a time."""
    model = model_of(recipe, hyper)
    size = len(jax.tree.leaves(x)[0])
    batch_size = min(size, EVALUATION_BATCH)

    def one_batch(_: None, start: Array) -> tuple[None, Array]:
        # The last batch reaches past the end; what it repeats of the last example is cut off below.
        rows = start + jnp.arange(batch_size)
        batch = jax.tree.map(lambda leaf: jnp.take(leaf, rows, axis=0, mode="clip"), x)
        outputs, _ = model.apply(weights.params, weights.model_state, batch, key=None, train=False)
        return None, outputs

    _, outputs = lax.scan(one_batch, None, jnp.arange(0, size, batch_size))
    return outputs.reshape(-1, *outputs.shape[2:])[:size]


def evaluate(recipe: Recipe, hyper: Hyper, weights: TrainState | Best, examples: Examples) -> Metrics:
    """{"loss": …} and each of the recipe's metrics, scalars, for the weights of a state or of its best."""
    return measure(recipe, predict(recipe, hyper, weights, examples.x), examples)


def measure(recipe: Recipe, outputs: Float[Array, "n ..."], examples: Examples) -> Metrics:
    """What `evaluate` returns, from outputs that are there already."""
    loss = weighted_mean(recipe.loss(outputs, examples.y), examples.weight)
    return {"loss": loss} | {
        metric.name: metric.function(outputs, examples.y, examples.weight) for metric in recipe.metrics
    }


def all_finite(tree: PyTree) -> Bool[Array, ""]:
    """Whether every number in the tree's floating leaves is finite."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in leaves]))


def tree_where(condition: Bool[Array, ""], yes: PyTree, no: PyTree) -> PyTree:
    """`yes` if the condition holds, else `no`; both of one structure."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
