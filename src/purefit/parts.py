"""What a run is made of, from a new or a saved configuration: data, split; recipe; hyperparameters."""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from purefit.config import Config
from purefit.core import TrainState, init, predict
from purefit.data import Dataset, Schema, load
from purefit.errors import InputError
from purefit.examples import Data, Examples
from purefit.hyper import Hyper, as_arrays
from purefit.recipe import Recipe
from purefit.rewriting import found
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


def check_model(run: Run, model: str | None) -> None:
    """Raises InputError unless the run's model is a built-in one, or the user's own as named by the user.

    A run's folder names a function, but may not have it called: nothing that is loaded runs code.
    """
    own = run.config.model if run.config.kind == "own" else None
    if model is not None and model != run.config.model:
        raise InputError(f"{run.path}: its model is {run.config.model}, not {model}")
    if own is not None and model is None:
        raise InputError(f"{run.path}: has a model of your own; to run its code, add: --model {own}")


def template(recipe: Recipe, hyper: Hyper, schema: Schema) -> TrainState:
    """The shapes and types of a run's state; nothing is computed, and no data are needed."""
    x = jax.ShapeDtypeStruct((1, *schema.input_shape), np.dtype(schema.input_dtype))
    y = jax.ShapeDtypeStruct(*(((1,), np.int32) if schema.classes else ((1, schema.targets), np.float32)))
    weight = jax.ShapeDtypeStruct((1,), np.float32)

    def first_state(train: Any) -> TrainState:
        return init(recipe, as_arrays(hyper), Data(Examples(*train)), jax.random.key(0))

    state: TrainState = jax.eval_shape(first_state, (x, y, weight))
    return state


def has_convolutions(parts: Parts) -> bool:
    """Whether the recipe's model computes convolutions."""
    recipe, hyper = parts.recipe, as_arrays(parts.hyper)
    train = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), parts.split.data.train)

    def forward(train: Any) -> Any:
        state = init(recipe, hyper, Data(Examples(*train)), jax.random.key(0))
        return predict(recipe, hyper, state, train.x[:1])

    return found(jax.make_jaxpr(forward)(train), {"conv_general_dilated"})


def folder(config: Config) -> Path | None:
    return Path(config.data_dir) if config.data_dir else None
