"""Tuning by gradient: the numbers of a run follow the gradient of its validation loss; then the run is trained.

A round trains a whole run and goes backwards through it (see hypergradient.py). All rounds are one compiled
program. Numbers from 0 on are moved as their logarithms, shares as the logarithms of their odds.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key

from purefit import spelling
from purefit.compiling import watch
from purefit.config import Config, flag
from purefit.display import Event
from purefit.errors import InputError
from purefit.examples import Data
from purefit.experiment import Session, compiled_event, start
from purefit.hyper import Hyper, as_arrays
from purefit.hypergradient import Hypergradient, hypergrad
from purefit.optimizers import hint, options_of
from purefit.parts import Parts, assemble, blaming, check_recipe, read
from purefit.recipe import Recipe
from purefit.timing import faster_precision

USUAL = ("learning_rate", "weight_decay", "clip_norm", "label_smoothing")
"""What is tuned if nobody says what, as far as the configuration has it."""

SHARES = ("ema", "dropout", "label_smoothing", "momentum", "beta", "b1", "b2", "b3", "decay")
"""Numbers between 0 and 1."""

FACTOR = 2.0
"""A round changes a number, or a share's odds, by this factor at most."""

OUTER = optax.chain(optax.adam(math.log(FACTOR), b1=0.5, b2=0.9), optax.clip(math.log(FACTOR)))
"""Its memory is short, as there are few rounds."""

Point = dict[str, Float[Array, ""]]
"""Where the tuning is: a number's logarithm, a share's log odds."""


class Round(NamedTuple):
    """What a round found at its point, and where the next begins if that was finite."""

    values: dict[str, Float[Array, ""]]
    found: Hypergradient
    point: Point
    outer_state: Any


def tune(source: str, config: Config, names: Sequence[str], rounds: int, out: Path | None, session: Session) -> Event:
    """Tunes `names` for `rounds` rounds, then trains a run with the best values; returns the last event.

    names: of `hyper`; none for the usual ones. out: the run's folder, as for `start`.
    A round whose loss or gradient isn't finite is tried again half-way to the last that was.
    Raises InputError for a name that can't be tuned, and where no rows are held out.
    """
    if out is not None and out.exists():
        raise InputError(f"{out}: is there already; choose another --out")
    parts = read(source, config)
    if config.precision == "auto":
        config, reason = faster_precision(config, parts)
        session.note(reason)
        parts = assemble(config, parts.dataset)
    check_recipe(parts, config)
    if parts.split.data.valid is None:
        raise InputError(f"--valid {config.valid:g}: tuning needs held-out rows to measure; try --valid 0.1")
    values = starting_values(parts.hyper, config, names)
    if "dropout" in values:
        session.note("the gradient in dropout is of scaling the units that are kept, not of leaving out more")
    best = search(parts, config, values, rounds, session)
    if best is None:
        event: Event = {"event": "interrupted", "run": source, "epoch": 0, "go_on": "the same command"}
        session.listener(event)
        return event
    return start(source, with_values(config, best), out, session)


def search(
    parts: Parts, config: Config, values: dict[str, float], rounds: int, session: Session
) -> dict[str, float] | None:
    """The values with the lowest validation loss of all rounds; None if interrupted."""
    point = {name: jnp.float32(coordinate(name, value)) for name, value in values.items()}
    arguments = jax.device_put((as_arrays(parts.hyper), parts.split.data))
    key = jax.jit(jax.random.key)(np.uint32(config.seed))
    outer_state = OUTER.init(point)
    with watch(lambda compilation: session.listener(compiled_event(compilation))), blaming("--by gradient"):
        one_round = jax.jit(partial(tuning_round, parts.recipe)).lower(point, outer_state, *arguments, key).compile()

    good: Point | None = None
    losses: list[float] = []
    best: dict[str, float] = {}
    for number in range(1, rounds + 1):
        if session.interrupted():
            return None
        began = time.perf_counter()
        found = jax.device_get(one_round(point, outer_state, *arguments, key))
        loss, gradient = found.found
        here = {name: rounded(name, float(found.values[name])) for name in values}
        finite = bool(np.isfinite([loss, *gradient.values()]).all())
        event: Event = {"event": "round", "round": number, "rounds": rounds, "values": here, "valid_loss": float(loss)}
        event |= {"gradient": {name: float(gradient[name]) for name in values}, "finite": finite}
        session.listener(event | {"seconds": time.perf_counter() - began})
        if finite:
            if loss < min(losses, default=math.inf):
                best = here
            losses.append(float(loss))
            good, point, outer_state = point, found.point, found.outer_state
        elif good is None:
            raise InputError(f"the run diverges from the start, with {flags_of(config, values)}; try smaller numbers")
        else:
            point = {name: (value + good[name]) / 2 for name, value in point.items()}
    event = {"event": "tuned", "values": best, "first_loss": losses[0], "valid_loss": min(losses)}
    session.listener(event | {"flags": flags_of(config, best)})
    return best


def tuning_round(
    recipe: Recipe, point: Point, outer_state: Any, hyper: Hyper, data: Data, key: Key[Array, ""]
) -> Round:
    """One run at `point` and its gradient there, and one step of the outer optimizer."""

    def values_of(point: Point) -> dict[str, Float[Array, ""]]:
        return {name: jax.nn.sigmoid(at) if name in SHARES else jnp.exp(at) for name, at in point.items()}

    values, pulled_back = jax.vjp(values_of, point)
    found = hypergrad(recipe, {**hyper, **values}, data, key, tuple(values))
    updates, outer_state = OUTER.update(pulled_back(found.gradient)[0], outer_state)
    return Round(values, found, optax.apply_updates(point, updates), outer_state)


def starting_values(hyper: Hyper, config: Config, names: Sequence[str]) -> dict[str, float]:
    """The numbers to tune, as the configuration has them. InputError for what can't be tuned, and why."""
    chosen = [name.removeprefix("--").replace("-", "_") for name in names]
    chosen = list(dict.fromkeys(chosen)) or [name for name in USUAL if hyper.get(name)]
    if not chosen:
        what = f"say --names of {', '.join(tunable(hyper))}" if tunable(hyper) else "give it a --learning-rate"
        raise InputError(f"there is nothing to tune; {what}")
    for name in chosen:
        if name not in tunable(hyper):
            raise InputError(f"--names {name}: {why_not(name, hyper, config)}")
        value, highest = hyper[name], 1 if name in SHARES else math.inf
        if not 0 < value < highest:
            what = "between 0 and 1" if name in SHARES else "greater than 0"
            raise InputError(f"--names {name}: is tuned from a value {what}, not from {value:g}")
    return {name: float(hyper[name]) for name in chosen}


def tunable(hyper: Hyper) -> list[str]:
    return [name for name in hyper if name != "patience"]


def why_not(name: str, hyper: Hyper, config: Config) -> str:
    """Why a name isn't one of those that can be tuned."""
    rule = spelling.parse(config.optimizer)
    if name in (*USUAL, "ema", "dropout"):
        return f"give it a value to start from, {flag(name)}"
    if name in {field.name for field in fields(Config)}:
        return f"it isn't a number that the loss has a gradient in; there are {', '.join(tunable(hyper))}"
    if name in dict(rule.options):
        return f"optimizer {rule.name} needs to know it beforehand, or it isn't written as a fraction"
    if name in options_of(rule.name):
        return f"give it a value to start from, --optimizer {rule.name}:{name}=…"
    names = {*tunable(hyper), *options_of(rule.name), *(field.name for field in fields(Config))}
    return f"there is no such number{hint(name, names)}"


def coordinate(name: str, value: float) -> float:
    """A number's logarithm, or a share's log odds."""
    return math.log(value / (1 - value)) if name in SHARES else math.log(value)


def rounded(name: str, value: float) -> float:
    """The value in 4 digits; of a share, in 4 digits of what is missing to 1.

    >>> rounded("learning_rate", 0.0031415927), rounded("b2", 0.99912345)
    (0.003142, 0.9991235)
    """
    if not math.isfinite(value):
        return value
    return round(1 - float(f"{1 - value:.4g}"), 12) if name in SHARES else float(f"{value:.4g}")


def with_values(config: Config, values: dict[str, float]) -> Config:
    """The configuration with these numbers, wherever it has them: flags, options of the optimizer or schedule.

    >>> found = with_values(Config(optimizer="adam:b1=0.9,nesterov=true"), {"learning_rate": 0.1, "b1": 0.8})
    >>> found.learning_rate, found.optimizer
    (0.1, 'adam:b1=0.8,nesterov=true')
    """
    own = {field.name for field in fields(Config)}
    given: dict[str, Any] = {name: value for name, value in values.items() if name in own}
    of_schedule = {name.removeprefix("schedule_"): value for name, value in values.items()}
    given["optimizer"] = with_options(config.optimizer, values)
    given["schedule"] = with_options(config.schedule, of_schedule)
    return replace(config, **given)


def with_options(text: str, values: dict[str, float]) -> str:
    """A choice's text with these values for the options that it has."""
    name, colon, rest = text.partition(":")
    options = [part.partition("=") for part in rest.split(",")]
    changed = [
        f"{option}={values.get(option.strip().replace('-', '_'), value)}" if equals else option
        for option, equals, value in options
    ]
    return f"{name}{colon}{','.join(changed)}"


def flags_of(config: Config, values: dict[str, float]) -> str:
    """What to write on the command line for these values.

    >>> flags_of(Config(optimizer="adam:b1=0.9"), {"learning_rate": 0.1, "b1": 0.8})
    '--learning-rate 0.1 --optimizer adam:b1=0.8'
    """
    changed = with_values(config, values)
    own = [field.name for field in fields(Config) if field.name in values]
    choices = [name for name in ("optimizer", "schedule") if getattr(changed, name) != getattr(config, name)]
    return " ".join(f"{flag(name)} {getattr(changed, name)}" for name in (*own, *choices))
