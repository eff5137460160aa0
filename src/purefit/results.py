"""What a trained run makes of a split: outputs, what they are worth, and what the report shows of them."""

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from purefit.core import Best, Metrics, TrainState, measure, predict
from purefit.data import Schema
from purefit.examples import Examples
from purefit.hyper import Hyper, as_arrays
from purefit.recipe import Recipe
from purefit.report import Classification, Mistake, Regression
from purefit.task import Rows, Units, examples_of, probabilities

MISTAKES = 24
"""How many of the most confidently wrong examples a report shows."""


class Results(NamedTuple):
    """What a run makes of a split.

    x, y: its inputs and its targets, as they stand in the source. outputs: `(n, classes)` logits, or
    `(n, targets)` in standard units. metrics: floats by name.
    """

    split: str
    x: np.ndarray
    y: np.ndarray
    outputs: np.ndarray
    metrics: dict[str, float]


@partial(jax.jit, static_argnums=0)
def evaluate(recipe: Recipe, hyper: Hyper, weights: TrainState | Best, examples: Examples) -> tuple[Array, Metrics]:
    """The core's `predict` and `measure` as one program, named after what it does."""
    outputs = predict(recipe, hyper, weights, examples.x)
    return outputs, measure(recipe, outputs, examples)


compiled_predict = jax.jit(predict, static_argnums=0)


def results_of(
    recipe: Recipe,
    hyper: Hyper,
    weights: TrainState | Best,
    units: Units,
    rows: Rows,
) -> Results:
    """Evaluates `weights` on `rows`, on the device."""
    split, x, y = rows
    arrays = jax.device_put((as_arrays(hyper), weights, examples_of(x, y, units)))
    outputs, metrics = jax.device_get(evaluate(recipe, *arrays))
    return Results(split, x, y, outputs, {name: float(value) for name, value in metrics.items()})


def pictured(schema: Schema, results: Results, units: Units) -> Classification | Regression:
    """The results as the report draws them."""
    if schema.task == "regression":
        names = ("target",) if schema.targets == 1 else tuple(f"target {i}" for i in range(schema.targets))
        return Regression(names, results.y, units.restore(results.outputs))
    return Classification(schema.classes, confusion(results.y, results.outputs), mistakes(schema, results))


def confusion(y: Int[np.ndarray, " n"], outputs: Float[np.ndarray, "n classes"]) -> Int[np.ndarray, "classes classes"]:
    """How often each class (row) was predicted as each (column).

    >>> confusion(np.array([0, 1, 1]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])).tolist()
    [[1, 0], [1, 1]]
    """
    count = outputs.shape[1]
    pairs = y * count + outputs.argmax(axis=1)
    return np.bincount(pairs, minlength=count * count).reshape(count, count)


def mistakes(schema: Schema, results: Results) -> tuple[Mistake, ...]:
    """The examples that were given a wrong class, the most confidently wrong first; `MISTAKES` at most."""
    shares, predicted = probabilities(results.outputs), results.outputs.argmax(axis=1)
    wrong = np.flatnonzero(predicted != results.y)
    worst = wrong[np.argsort(-shares[wrong, predicted[wrong]], kind="stable")][:MISTAKES]
    return tuple(
        Mistake(
            row=int(row),
            target=schema.classes[results.y[row]],
            predicted=schema.classes[predicted[row]],
            probability=float(shares[row, predicted[row]]),
            target_probability=float(shares[row, results.y[row]]),
            **picture_of(results.x[row]),
        )
        for row in worst
    )


def picture_of(example: np.ndarray) -> dict[str, Any]:
    """An example as an image if it is one ((height, width), or with 1 or 3 channels), else as features."""
    image = example.ndim == 2 or (example.ndim == 3 and example.shape[2] in (1, 3))
    return {"image": example} if image else {"features": example.reshape(-1)}
