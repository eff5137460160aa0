"""What a configuration and a schema mean to the core: the recipe, its hyperparameters, and the data.

For regression the network learns targets of mean 0 and deviation 1, so that one learning rate suits
targets of any unit; metrics and predictions are in the user's own.
"""

from typing import Any, NamedTuple

import numpy as np

from purefit import schedules, spelling
from purefit.config import Config, flag
from purefit.data import Dataset, Schema, hold_out
from purefit.errors import InputError
from purefit.examples import Data, Examples
from purefit.hyper import Hyper
from purefit.losses import Loss, absolute_error, huber, softmax_cross_entropy, squared_error
from purefit.metrics import Metric, accuracy, r2, rmse, top
from purefit.network import network_of
from purefit.optimizers import check_options, default_rate, numbers_of, optimizer
from purefit.recipe import Recipe
from purefit.schedules import schedule

LOSSES: dict[str, dict[str, Loss]] = {
    "classification": {"cross_entropy": softmax_cross_entropy},
    "regression": {"squared": squared_error, "absolute": absolute_error, "huber": huber},
}


class Units(NamedTuple):
    """What 0 and 1 of a regression's standardized targets are, one float a target; empty for classes."""

    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()

    def standardize(self, y: np.ndarray) -> np.ndarray:
        """Targets `(n, targets)` as the network learns them, float32; classes as they are."""
        if not self.mean:
            return y
        return ((y - np.array(self.mean)) / np.array(self.deviation)).astype(np.float32)

    def restore(self, outputs: np.ndarray) -> np.ndarray:
        """The network's outputs `(n, targets)` in the targets' own units; logits as they are.

        >>> Units((10.0,), (2.0,)).restore(np.array([[0.5]])).tolist()
        [[11.0]]
        """
        return outputs * np.array(self.deviation) + np.array(self.mean) if self.mean else outputs


def units_of(schema: Schema, y: np.ndarray) -> Units:
    """The units of the training targets `y`."""
    if schema.task == "classification":
        return Units()
    mean, deviation = y.mean(0, dtype=np.float64), y.std(0, dtype=np.float64)
    # A constant target's deviation is rounding error, not exactly 0.
    deviation = np.where(deviation <= 1e-6 * np.abs(mean), 1.0, deviation)
    return Units(tuple(mean.tolist()), tuple(deviation.tolist()))


class Split(NamedTuple):
    """A data set's training split as the core takes it; the rows are those of the source."""

    data: Data
    train_rows: np.ndarray
    valid_rows: np.ndarray
    units: Units


def split(config: Config, dataset: Dataset) -> Split:
    """Holds out `config.valid` of the training split, by the seed."""
    train, valid = hold_out(dataset.y, config.valid, config.seed, dataset.schema.task)
    units = units_of(dataset.schema, dataset.y[train])

    def chosen(rows: np.ndarray) -> Examples:
        everything = len(rows) == len(dataset.y)
        x, y = (dataset.x, dataset.y) if everything else (dataset.x[rows], dataset.y[rows])
        return examples_of(x, y, units)

    return Split(Data(chosen(train), chosen(valid) if len(valid) else None), train, valid, units)


class Rows(NamedTuple):
    """Examples as they stand in the source: the name of their split, inputs, targets."""

    split: str
    x: np.ndarray
    y: np.ndarray


def rows_to_show(dataset: Dataset, parts: Split) -> Rows:
    """The test split where there is one, else the held-out rows, else the training examples."""
    held_out = len(parts.valid_rows) > 0
    name, rows = ("validation", parts.valid_rows) if held_out else ("training", parts.train_rows)
    return test_rows(dataset) or Rows(name, dataset.x[rows], dataset.y[rows])


def test_rows(dataset: Dataset) -> Rows | None:
    """The source's own test split, if it has one."""
    if dataset.x_test is None or dataset.y_test is None:
        return None
    return Rows("test", dataset.x_test, dataset.y_test)


def examples_of(x: np.ndarray, y: np.ndarray, units: Units) -> Examples:
    """Examples of weight 1, on the host until they are used."""
    weight: Any = np.ones(len(x), np.float32)
    targets: Any = units.standardize(y)
    return Examples(x, targets, weight)


def recipe_of(config: Config, schema: Schema, units: Units, examples: int) -> Recipe:
    """The recipe that `config` describes for data of `schema`, of which `examples` are trained on."""
    losses = LOSSES[schema.task]
    loss = next(iter(losses)) if config.loss == "auto" else config.loss
    if loss not in losses:
        raise InputError(f"--loss {loss} is not for {schema.task}; there are {', '.join(losses)}")
    metrics = metrics_for(schema, units)
    names = ["loss", *(metric.name for metric in metrics)]
    if config.monitor not in names:
        raise InputError(f"--monitor {config.monitor} is not measured here; there are {', '.join(names)}")
    numbers, rule, shape = hyper_of(config), spelling.parse(config.optimizer), spelling.parse(config.schedule)
    fixed = {option: value for option, value in rule.options if option not in numbers}
    rest = tuple((option, value) for option, value in shape.options if f"schedule_{option}" not in numbers)
    if shape.name != "constant" and "learning_rate" not in numbers:
        raise InputError(f"--schedule {config.schedule}: {rule.name} needs a --learning-rate to scale")
    return Recipe(
        model=network_of(config, schema),
        optimizer=optimizer(rule.name, accumulate=config.accumulate, **fixed),
        loss=losses[loss],
        metrics=metrics,
        epochs=config.epochs,
        batch_size=min(config.batch_size, examples),
        monitor=config.monitor,
        schedule=schedule(shape.name, rest),
    )


def metrics_for(schema: Schema, units: Units) -> tuple[Metric, ...]:
    """What is measured; the first is the task's own metric."""
    if schema.task == "regression":
        return r2, rmse(units.deviation)
    # Top-5 says something where there are many classes.
    return (accuracy, top(5)) if len(schema.classes) > 20 else (accuracy,)


def hyper_of(config: Config) -> Hyper:
    """The numbers that may change without compiling again."""
    names = ("weight_decay", "clip_norm", "ema", "dropout", "patience")
    values: dict[str, Any] = {name: getattr(config, name) for name in names}
    rule, shape = spelling.parse(config.optimizer), spelling.parse(config.schedule)
    rate = default_rate(rule.name) if config.learning_rate is None else config.learning_rate
    values = {"learning_rate": rate} | values
    given = {name: value for name, value in values.items() if value is not None}
    taken = {option for option, _ in rule.options} & {*values, "learning_rate"}
    if taken:
        raise InputError(f"--optimizer {config.optimizer}: {min(taken)} has a flag of its own, {flag(min(taken))}")
    check_options(rule.name, [option for option, _ in rule.options])
    return given | numbers_of(rule.name, dict(rule.options)) | schedules.numbers_of(shape.name, dict(shape.options))


def probabilities(outputs: np.ndarray) -> np.ndarray:
    """Softmax of logits `(n, classes)`, in float64.

    >>> probabilities(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    shifted = np.exp(outputs.astype(np.float64) - outputs.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
