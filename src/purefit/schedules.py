"""Schedules: a name becomes the function that gives each step its learning rate.

A schedule is applied to `hyper` outside the optimizer, so that every optimizer can have every schedule,
and any other number could have one (write the function yourself: see `Recipe.schedule`).
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import optax

from purefit.errors import InputError
from purefit.hyper import Hyper
from purefit.optimizers import hint, may_trace
from purefit.recipe import Clock, constant
from purefit.spelling import Length

Schedule = Callable[[Hyper, Clock], Hyper]


GIVEN = {"init_value": 0.0, "end_value": 0.0, "decay_rate": 0.1, "power": 1.0, "interpolate_type": "linear"}
"""What an option is where Optax has no default and the user says nothing."""

WARMUP = 0.05
"""The share of a run that is warm-up, if the user says nothing."""


def sgdr(
    peak_value: Any,
    decay_steps: int,
    cycles: int = 3,
    init_value: Any = 0.0,
    warmup_steps: int = 0,
    end_value: Any = 0.0,
) -> optax.Schedule:
    """`optax.sgdr_schedule`: `cycles` warm restarts of a cosine, in `decay_steps` in all."""
    one = {
        "init_value": init_value if warmup_steps else peak_value,
        "peak_value": peak_value,
        "warmup_steps": warmup_steps,
        "decay_steps": max(decay_steps // cycles, warmup_steps + 1),
        "end_value": end_value,
    }
    return optax.sgdr_schedule([one] * cycles)


@cache
def shapes() -> dict[str, Callable[..., optax.Schedule]]:
    """Every Optax schedule by name, without the "_schedule" that some names end with.

    >>> {"constant", "warmup_cosine_decay", "cosine_onecycle", "piecewise_constant"} <= set(shapes())
    True
    """
    functions = {
        name.removesuffix("_schedule"): function
        for name, function in vars(optax.schedules).items()
        if inspect.isfunction(function) and {"init_value", "peak_value"} & set(inspect.signature(function).parameters)
    }
    return dict(sorted({**functions, "constant": optax.constant_schedule, "sgdr": sgdr}.items()))


@cache  # the same description is the same function, so that `jit` compiles it once
def schedule(name: str, options: tuple[tuple[str, Any], ...] = ()) -> Schedule:
    """The function from `hyper` and the clock to the `hyper` of a step, with the learning rate of that moment.

    name: any key of `shapes()`. hyper["learning_rate"] is its peak, or its first value if it has no peak.
    options: arguments of the Optax function. Lengths are in steps, or a `Length`; those that aren't given
        make the schedule as long as the run, warm-up 5 % of it. "boundaries_and_scales" is a tuple of
        (length, factor). An option that is a number may be traced: hyper["schedule_NAME"].
    Raises InputError for a name or an option that isn't there, naming the nearest.

    >>> cosine = schedule("warmup_cosine_decay", (("warmup_steps", Length(1, "epochs")),))
    >>> [round(float(cosine({"learning_rate": 0.1}, Clock(step, 10, 5))["learning_rate"]), 3) for step in (0, 10, 50)]
    [0.0, 0.1, 0.0]
    """
    if name not in shapes():
        raise InputError(f"no schedule named {name!r}{hint(name, shapes())}")
    function = shapes()[name]
    parameters = inspect.signature(function).parameters
    rate = "peak_value" if "peak_value" in parameters else "value" if "value" in parameters else "init_value"
    free = [option for option in parameters if option != rate]
    for option, _ in options:
        if option not in free:
            raise InputError(f"schedule {name} has no option {option!r}{hint(option, free)}")

    if name == "constant":
        return constant

    def scheduled(hyper: Hyper, clock: Clock) -> Hyper:
        if "learning_rate" not in hyper:
            raise InputError(f"schedule {name} needs a learning rate to start from")
        chosen = lengths(parameters, dict(options), clock)
        chosen.pop(rate, None)
        chosen |= {option: hyper[f"schedule_{option}"] for option in free if f"schedule_{option}" in hyper}
        peak = hyper["learning_rate"]
        if rate == "peak_value":
            # Some of Optax's ask whether the peak is 0, which can't be asked of a traced number: they get 1.
            chosen |= {value: chosen[value] / peak for value in ("init_value", "end_value") if value in chosen}
        try:
            if rate == "peak_value":
                rates = peak * function(**chosen, peak_value=1.0)(clock.step)
            else:
                rates = function(**chosen, **{rate: peak})(clock.step)
        except jax.errors.ConcretizationTypeError:
            raise  # not what was asked for is wrong, but that it is asked for as a traced number
        except (ValueError, TypeError) as error:
            raise InputError(f"schedule {name}: {str(error).splitlines()[0]}") from error
        return {**hyper, "learning_rate": rates}

    return scheduled


def numbers_of(name: str, options: Mapping[str, Any]) -> dict[str, float]:
    """Those of a schedule's options that may be traced, by their names in `hyper`.

    >>> numbers_of("cosine_decay", {"alpha": 0.1, "decay_steps": 100})
    {'schedule_alpha': 0.1}
    """

    schedule(name, tuple(options.items()))  # they are its options

    def rate(option: str, value: Any) -> Any:
        rest = tuple((other, given) for other, given in options.items() if other != option)
        hyper = {"learning_rate": 1e-3, f"schedule_{option}": value}
        return schedule(name, rest)(hyper, Clock(jnp.zeros((), jnp.int32), 10, 10))

    fractions = {option: value for option, value in options.items() if isinstance(value, float)}
    return {f"schedule_{each}": value for each, value in fractions.items() if may_trace(rate, each, value)}


def lengths(parameters: Mapping[str, inspect.Parameter], options: dict[str, Any], clock: Clock) -> dict[str, Any]:
    """The options of a schedule for a run of this length: in steps, and with what wasn't said."""
    chosen = {option: in_steps(value, clock) for option, value in options.items()}
    whole = clock.epochs * clock.steps_per_epoch
    warmup = chosen.get("warmup_steps", max(1, round(WARMUP * whole)))
    begun = chosen.get("transition_begin", 0) + (warmup if "warmup_steps" in parameters else 0)
    unsaid = GIVEN | {
        "warmup_steps": warmup,
        "decay_steps": max(whole, warmup + 1),
        "transition_steps": max(1, whole - begun),
    }
    required = {name for name, parameter in parameters.items() if parameter.default is parameter.empty}
    return {option: value for option, value in unsaid.items() if option in required} | chosen


def in_steps(value: Any, clock: Clock) -> Any:
    """`value` with every `Length` in it as a number of steps; pairs of (length, factor) as a dictionary."""
    if isinstance(value, Length):
        return value.steps(clock.steps_per_epoch)
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return {in_steps(length, clock): factor for length, factor in value}
    return value
