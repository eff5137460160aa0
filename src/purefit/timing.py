"""Short measurements on the user's own machine, where nothing but measuring says what is faster."""

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp

from purefit.config import Config
from purefit.core import init, step
from purefit.examples import take
from purefit.hyper import as_arrays
from purefit.parts import Parts, assemble

ROUNDS, SECONDS = 5, 0.2
"""How often each contender has its turn, and about how long a turn is."""


def faster_precision(config: Config, parts: Parts) -> tuple[Config, str]:
    """The configuration with the precision whose training step is faster here, and the sentence that says so.

    bfloat16 has to be faster by a twentieth: it isn't chosen for nothing.
    """
    steps = {}
    for precision in ("float32", "bfloat16"):
        chosen = replace(config, precision=precision)
        steps[precision] = one_step(assemble(chosen, parts.dataset))
    times = alternating(steps)
    fast, half = (1000 * median(times[name]) for name in ("float32", "bfloat16"))
    choice: Any = "bfloat16" if half < 0.95 * fast else "float32"
    text = f"--precision auto: {choice}; a step takes {fast:.3g} ms in float32, {half:.3g} ms in bfloat16"
    return replace(config, precision=choice), text


def one_step(parts: Parts) -> Callable[[], Any]:
    """A function that takes one training step of the true shapes, compiled already."""
    recipe, hyper, key = parts.recipe, as_arrays(parts.hyper), jax.random.key(0)
    batch, data = jax.jit(lambda data: (take(data.train, jnp.arange(recipe.batch_size)), data))(parts.split.data)
    state = jax.jit(init, static_argnums=0)(recipe, hyper, data, key)
    compiled = jax.jit(step, static_argnums=0).lower(recipe, hyper, batch, key, state).compile()
    return lambda: jax.block_until_ready(compiled(hyper, batch, key, state))


def alternating(contenders: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Seconds of one call of each, in `ROUNDS` rounds, after one that isn't counted."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    calls = {}
    for name, contender in contenders.items():
        contender()
        calls[name] = max(1, round(SECONDS / seconds_of(contender, 1)))
    for _ in range(ROUNDS):
        for name, contender in contenders.items():
            times[name].append(seconds_of(contender, calls[name]) / calls[name])
    return times


def seconds_of(contender: Callable[[], Any], calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        contender()
    return time.perf_counter() - started
