"""What a run is made of, from a new or a saved configuration: data, split; recipe; hyperparameters."""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from purefit.config import Config
from purefit.core import Recipe, TrainState, init
from purefit.data import Dataset, Schema, load
from purefit.errors import InputError
from purefit.examples import Data, Examples
from purefit.optimizers import Hyper, as_arrays
from purefit.run import Run
from purefit.task import Split, hyper_of, recipe_of, split


class Parts(NamedTuple):
    """What `train` needs, and the data set it came from."""

    dataset: Dataset
    split: Split
    recipe: Recipe
    hyper: Hyper


def read(source: str, config: Config) -> Parts:
    """The parts of a new run."""
    return assemble(config, load(source, data_dir=folder(config), task=config.task))


def rebuild(run: Run) -> Parts:
    """The parts of an existing run. InputError if its data are no longer those it was trained on."""
    dataset = load(run.source, data_dir=folder(run.config), task=run.config.task, schema=run.schema)
    if dataset.fingerprint != run.fingerprint:
        raise InputError(f"{run.source}: the data have changed since {run.path} was trained on them")
    return assemble(run.config, dataset)


def assemble(config: Config, dataset: Dataset) -> Parts:
    """The parts of a run of `config` on a data set that has been read."""
    parts = split(config, dataset)
    recipe = recipe_of(config, dataset.schema, parts.units, len(parts.train_rows))
    return Parts(dataset, parts, recipe, hyper_of(config))


def template(recipe: Recipe, hyper: Hyper, schema: Schema) -> TrainState:
    """The shapes and types of a run's state; nothing is computed, and no data are needed."""
    x = jax.ShapeDtypeStruct((1, *schema.input_shape), np.dtype(schema.input_dtype))
    y = jax.ShapeDtypeStruct(*(((1,), np.int32) if schema.classes else ((1, schema.targets), np.float32)))
    weight = jax.ShapeDtypeStruct((1,), np.float32)

    def first_state(train: Any) -> TrainState:
        return init(recipe, as_arrays(hyper), Data(Examples(*train)), jax.random.key(0))

    state: TrainState = jax.eval_shape(first_state, (x, y, weight))
    return state


def folder(config: Config) -> Path | None:
    return Path(config.data_dir) if config.data_dir else None
