"""What a run is made of, from a new or a saved configuration: data, split; recipe; hyperparameters."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from purefit.config import Config
from purefit.core import TrainState, init
from purefit.data import Dataset, Schema, load
from purefit.errors import InputError
from purefit.examples import Data, Examples
from purefit.hyper import Hyper, as_arrays
from purefit.network import network_of
from purefit.recipe import Recipe, optimizer_of
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


def check_recipe(parts: Parts, config: Config) -> None:
    """Raises InputError, before anything is written, if what `config` asks for can't be trained.

    Built-in networks and Optax's own defaults are known to work: of them only the shapes are looked at.
    """
    state = template(parts.recipe, parts.hyper, parts.dataset.schema)
    if config.kind == "own":
        with blaming(f"--model {config.model}"):
            [outputs] = jax.tree.leaves(forward(parts, config).out_avals)
        expected = len(parts.dataset.schema.classes) or parts.dataset.schema.targets
        if outputs.shape != (1, expected):
            came = "×".join(map(str, outputs.shape[1:])) or "no axis"
            raise InputError(f"--model {config.model}: gives outputs of {came} for an example, not {expected}")
    if ":" in config.optimizer:
        with blaming(f"--optimizer {config.optimizer}"):
            jax.eval_shape(partial(one_update, parts), state)


@contextmanager
def blaming(option: str) -> Iterator[None]:
    """Turns whatever goes wrong inside a user's choice into one line that names it."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        first = next(iter(str(error).strip().splitlines()), "")
        raise InputError(f"{option}: it raised {type(error).__name__}: {first}") from error


def one_update(parts: Parts, state: TrainState) -> Any:
    """An update of the optimizer, with the parameters for a gradient."""
    chain = optimizer_of(parts.recipe, as_arrays(parts.hyper))
    zero = jnp.zeros(())
    more = {"value": zero, "grad": state.params, "value_fn": lambda params, key=None: zero, "key": jax.random.key(0)}
    return chain.update(state.params, state.opt_state, state.params, **more)


def forward(parts: Parts, config: Config) -> Any:
    """The jaxpr of the outputs for one example, as the model was before it was made fast here."""
    schema = parts.dataset.schema
    state = template(parts.recipe, parts.hyper, schema)
    x = jax.ShapeDtypeStruct((1, *schema.input_shape), np.dtype(schema.input_dtype))
    model = network_of(config, schema).as_written(as_arrays(parts.hyper))

    def outputs(state: TrainState, x: Any) -> Any:
        return model.apply(state.params, state.model_state, x, key=None, train=False)[0]

    return jax.make_jaxpr(outputs)(state, x)


def has_convolutions(parts: Parts, config: Config) -> bool:
    """Whether the model, as its author wrote it, computes convolutions."""
    return found(forward(parts, config), {"conv_general_dilated"})


def folder(config: Config) -> Path | None:
    return Path(config.data_dir) if config.data_dir else None
