"""What can be done with a run that is there: evaluate it, predict with it, report on it again.

Only evaluating and reporting on the run's own data read them; everything else needs the run's folder alone.
"""

import csv
import sys
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import jax
import numpy as np

from purefit import checkpoints
from purefit.checkpoints import Checkpoint
from purefit.core import Best
from purefit.data import load, load_inputs
from purefit.errors import InputError
from purefit.hyper import Hyper, as_arrays
from purefit.parts import check_model, rebuild, template
from purefit.recipe import Recipe
from purefit.results import compiled_predict, results_of
from purefit.run import Run, open_run
from purefit.summary import metrics_of, write_report
from purefit.task import Rows, Units, hyper_of, probabilities, recipe_of, rows_to_show, test_rows


class Trained(NamedTuple):
    """A run with the weights of its best epoch, ready to predict."""

    run: Run
    recipe: Recipe
    hyper: Hyper
    units: Units
    checkpoint: Checkpoint

    @property
    def best(self) -> Best:
        return self.checkpoint.state.best


def open_trained(path: Path, model: str | None = None) -> Trained:
    """The run in a folder. InputError if it has no whole checkpoint yet.

    model: the run's own, named again by the user if it isn't a built-in one; see `check_model`.
    """
    run = open_run(path)
    check_model(run, model)
    units, hyper = units_of(run), hyper_of(run.config)
    recipe = recipe_of(run.config, run.schema, units, examples=run.config.batch_size)
    state = template(recipe, hyper, run.schema)
    passed_over: list[str] = []
    checkpoint = checkpoints.load_latest(run.checkpoints, state, passed_over.append)
    if checkpoint is None:
        reason = f" ({passed_over[0]})" if passed_over else ""
        raise InputError(f"{path}: no whole checkpoint{reason}; train it with: purefit resume {path}")
    for text in passed_over:
        print(f"purefit: {text}", file=sys.stderr)
    return Trained(run, recipe, hyper, units, checkpoint)


def units_of(run: Run) -> Units:
    """The units of the training targets, as config.json has them."""
    return Units(tuple(run.units["mean"]), tuple(run.units["deviation"]))


def evaluate(
    path: Path, source: str | None = None, data_dir: Path | None = None, model: str | None = None
) -> dict[str, Any]:
    """The run, the split, how many examples it has, and each metric of the best weights on it."""
    trained = open_trained(path, model)
    if source is None:
        parts = rebuild(trained.run)
        rows = rows_to_show(parts.dataset, parts.split)
    else:
        dataset = load(source, data_dir=data_dir, task=trained.run.schema.task, schema=trained.run.schema)
        rows = test_rows(dataset) or Rows("all", dataset.x, dataset.y)
    results = results_of(trained.recipe, trained.hyper, trained.best, trained.units, rows)
    where = {"run": str(path), "source": source or trained.run.source, "split": rows.split}
    return where | {"examples": len(rows.x)} | results.metrics


class Predictions(NamedTuple):
    """prediction: a class's name, or a target, for each row. columns: values behind it, by name."""

    prediction: list[Any]
    columns: dict[str, np.ndarray]


def predict(
    path: Path,
    source: str,
    split: Literal["auto", "train", "test"] = "auto",
    data_dir: Path | None = None,
    model: str | None = None,
) -> Predictions:
    """What the best weights make of each row of `source`."""
    trained = open_trained(path, model)
    schema = trained.run.schema
    x = load_inputs(source, data_dir=data_dir, schema=schema, split=split)
    arrays = jax.device_put((as_arrays(trained.hyper), trained.best, x))
    outputs = np.asarray(compiled_predict(trained.recipe, *arrays))
    if schema.task == "classification":
        shares = probabilities(outputs)
        names = [schema.classes[index] for index in outputs.argmax(axis=1)]
        return Predictions(names, {f"p_{name}": shares[:, i] for i, name in enumerate(schema.classes)})
    values = trained.units.restore(outputs)
    others = {f"prediction_{i}": values[:, i] for i in range(1, schema.targets)}
    return Predictions(values[:, 0].tolist(), others)


def write_csv(predictions: Predictions, file: IO[str]) -> None:
    """row, prediction, and the columns behind it."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["row", "prediction", *predictions.columns])
    columns = [column.tolist() for column in predictions.columns.values()]
    writer.writerows(
        [row, prediction, *(f"{value:.6g}" for value in values)]
        for row, (prediction, *values) in enumerate(zip(predictions.prediction, *columns, strict=True))
    )


def report(path: Path, model: str | None = None) -> Path:
    """Makes the run's report again, and returns where it is."""
    trained = open_trained(path, model)
    parts = rebuild(trained.run)
    rows = rows_to_show(parts.dataset, parts.split)
    results = results_of(trained.recipe, trained.hyper, trained.best, trained.units, rows)
    metrics = trained.run.metrics or (
        metrics_of(trained.checkpoint, results.metrics if rows.split == "test" else None) | {"status": "unfinished"}
    )
    return write_report(trained.run, parts.split.units, trained.checkpoint, metrics, results)
