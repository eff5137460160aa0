"""What JAX does with a training step on this machine: op by op, compiled, scanned; its time, its FLOPs, its bytes.

`measure` takes a recipe and data of the user's choosing. Contenders take turns, and medians are given with
the fastest and the slowest turn.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PyTree

from purefit.core import Metrics, TrainState, epoch, init, step, train_pass
from purefit.examples import Data, Examples, take, weighted_mean
from purefit.hyper import Hyper, as_arrays
from purefit.recipe import Recipe, model_of, optimizer_of
from purefit.timing import alternating

SIZES = (512, 1024, 2048)
"""Sides of the square matrices whose products say what the machine can do."""


class Row(NamedTuple):
    """One contender.

    seconds: of each turn, for one call. tracing: Python's part, from the function to the program that XLA
    is given; compiling: XLA's part; 0 for what isn't compiled. flops, bytes: of one call, by the compiled
    program's own analysis; None where there is none.
    """

    name: str
    seconds: list[float]
    tracing: float = 0.0
    compiling: float = 0.0
    flops: float | None = None
    bytes: float | None = None

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def rate(self) -> float | None:
        """FLOPs in a second."""
        return self.flops / self.median if self.flops else None


class Bench(NamedTuple):
    """What was measured.

    steps: rows of the training step; losses: rows of a batch's losses, three ways. steps_per_epoch: of the data.
    best: FLOPs in a second of the best matrix product. paid_after: steps after which compiling has paid.
    """

    steps: list[Row]
    losses: list[Row]
    steps_per_epoch: int
    best: float
    paid_after: float | None


class Program(NamedTuple):
    """A compiled function and what it cost to make; `call` returns when its results are there."""

    name: str
    call: Callable[[], Any]
    tracing: float = 0.0
    compiling: float = 0.0
    flops: float | None = None
    bytes: float | None = None


def measure(recipe: Recipe, hyper: Hyper, data: Data, say: Callable[[str], None] = lambda text: None) -> Bench:
    """Measures the recipe's training step on the default device; `say` is told what is being done.

    data: on the host or the device; its first `recipe.batch_size` examples are the batch.

    >>> from purefit import losses, mlp, optimizer
    >>> data = Data(Examples(jnp.ones((64, 8)), jnp.zeros(64, int), jnp.ones(64)))
    >>> recipe = Recipe(mlp((), 3), optimizer("sgd"), losses.softmax_cross_entropy, batch_size=32)
    >>> [row.name for row in measure(recipe, {"learning_rate": 0.1}, data).losses]
    ['losses, a Python loop over examples', 'losses, vmap of one example', 'losses, batched by hand']
    """
    data, hyper = jax.device_put((data, as_arrays(hyper)))
    key = jax.random.key(0)
    state = jax.jit(init, static_argnums=0)(recipe, hyper, data, key)
    batch = take(data.train, jnp.arange(recipe.batch_size))
    say("compiling")
    count = -(-len(data.train.weight) // recipe.batch_size)
    programs = step_programs(recipe, hyper, data, batch, key, state)
    one_step = next(program for program in programs if program.name == STEP)
    # XLA counts the body of a loop once, however often it runs.
    scanned = [scale(program, one_step, count) for program in programs]
    loop = Program(OP_BY_OP, op_by_op(recipe, hyper, batch, key, state))
    say("the training step")
    steps = rows([loop, *scanned])
    say("a batch's losses, three ways")
    losses = rows(loss_programs(recipe, hyper, batch, state))
    say("the best matrix product")
    best = best_product()
    return Bench(per_step(steps, count), losses, count, best, paid_after(steps))


OP_BY_OP, STEP, SCANNED = "a step, op by op", "a step, jit", "a step, in a scanned epoch"


def step_programs(
    recipe: Recipe, hyper: Hyper, data: Data, batch: Examples, key: Array, state: TrainState
) -> list[Program]:
    """The compiled contenders: parts of a step, the step, and an epoch of them.

    All that they work on is handed to them: XLA would compute with a constant once, and look fast.
    """
    model, optimizer = model_of(recipe, hyper), optimizer_of(recipe, hyper)

    def forward(params: PyTree, batch: Examples, state: TrainState, key: Array) -> Array:
        return model.apply(params, state.model_state, batch.x, key=key, train=True)[0]

    def gradient(params: PyTree, batch: Examples, state: TrainState, key: Array) -> Any:
        def objective(params: PyTree, batch: Examples) -> tuple[Array, PyTree]:
            outputs, model_state = model.apply(params, state.model_state, batch.x, key=key, train=True)
            return recipe.loss(outputs, batch.y), model_state

        return recipe.gradient(objective, params, batch)

    def update(gradient: PyTree, batch: Examples, state: TrainState, key: Array) -> Any:
        def value_fn(params: PyTree, key: Any = key) -> Array:
            return weighted_mean(recipe.loss(forward(params, batch, state, key), batch.y), batch.weight)

        more = {"value": jnp.zeros(()), "grad": gradient, "value_fn": value_fn, "key": key}
        updates, opt_state = optimizer.update(gradient, state.opt_state, state.params, **more)
        return optax.apply_updates(state.params, updates), opt_state

    def one_step(hyper: Hyper, batch: Examples, state: TrainState, key: Array) -> tuple[TrainState, Metrics]:
        return step(recipe, hyper, batch, key, state)

    def steps(hyper: Hyper, train: Examples, state: TrainState, key: Array) -> tuple[TrainState, Metrics]:
        return train_pass(recipe, hyper, train, key, state)

    def whole(hyper: Hyper, data: Data, state: TrainState, key: Array) -> tuple[TrainState, Metrics]:
        return epoch(recipe, hyper, data, key, state)

    return [
        compiled("forward", forward, state.params, batch, state, key),
        compiled("loss and gradient", gradient, state.params, batch, state, key),
        compiled("optimizer", update, state.params, batch, state, key),
        compiled(STEP, one_step, hyper, batch, state, key),
        compiled(SCANNED, steps, hyper, data.train, state, key),
        compiled("an epoch, with validation" if data.valid else "an epoch", whole, hyper, data, state, key),
    ]


def loss_programs(recipe: Recipe, hyper: Hyper, batch: Examples, state: TrainState) -> list[Program]:
    """The losses of a batch: example by example in Python, by `vmap`, and as the model's author batched them."""
    model = model_of(recipe, hyper)

    def losses(state: TrainState, x: Any, y: Array) -> Array:
        outputs, _ = model.apply(state.params, state.model_state, x, key=None, train=False)
        return recipe.loss(outputs, y)

    def one_loss(state: TrainState, x: Any, y: Array) -> Array:
        return losses(state, jax.tree.map(lambda leaf: leaf[None], x), y[None])[0]

    count = len(batch.weight)
    examples = [jax.tree.map(lambda leaf, row=row: leaf[row], (batch.x, batch.y)) for row in range(count)]
    one = compiled("losses, a Python loop over examples", one_loss, state, *examples[0])
    function = jax.jit(one_loss)

    def loop() -> Any:
        return jax.block_until_ready([function(state, *example) for example in examples])

    every = jax.vmap(one_loss, in_axes=(None, 0, 0))
    return [
        one._replace(call=loop, flops=one.flops and one.flops * count, bytes=one.bytes and one.bytes * count),
        compiled("losses, vmap of one example", every, state, batch.x, batch.y),
        compiled("losses, batched by hand", losses, state, batch.x, batch.y),
    ]


def compiled(name: str, function: Callable[..., Any], *arguments: Any) -> Program:
    """The function as a program, timed while it is made, with its own count of operations and bytes."""
    started = time.perf_counter()
    lowered = jax.jit(function).lower(*arguments)
    traced = time.perf_counter()
    program = lowered.compile()
    finished = time.perf_counter()
    found: Any = program.cost_analysis() or {}
    costs = found[0] if isinstance(found, list) else found
    return Program(
        name,
        lambda: jax.block_until_ready(program(*arguments)),
        traced - started,
        finished - traced,
        costs.get("flops"),
        costs.get("bytes accessed"),
    )


def op_by_op(recipe: Recipe, hyper: Hyper, batch: Examples, key: Array, state: TrainState) -> Callable[[], Any]:
    """A step of which each operation is dispatched on its own, as without `jit`."""

    def call() -> Any:
        with jax.disable_jit():
            return jax.block_until_ready(step(recipe, hyper, batch, key, state))

    return call


def scale(program: Program, one_step: Program, count: int) -> Program:
    """A program of a whole pass, with the operations of all its steps."""
    if program.name != SCANNED:
        return program if not program.name.startswith("an epoch") else program._replace(flops=None, bytes=None)
    flops, moved = (each and each * count for each in (one_step.flops, one_step.bytes))
    return program._replace(flops=flops, bytes=moved)


def rows(programs: list[Program]) -> list[Row]:
    """Runs the contenders in turns."""
    times = alternating({program.name: program.call for program in programs})
    return [Row(p.name, times[p.name], p.tracing, p.compiling, p.flops, p.bytes) for p in programs]


def per_step(rows: list[Row], count: int) -> list[Row]:
    """The rows, with the pass of steps as one step of it."""

    def divided(row: Row) -> Row:
        seconds, flops, moved = [each / count for each in row.seconds], row.flops, row.bytes
        return row._replace(seconds=seconds, flops=flops and flops / count, bytes=moved and moved / count)

    return [divided(row) if row.name == SCANNED else row for row in rows]


def paid_after(rows: list[Row]) -> float | None:
    """The number of steps whose time, saved by compiling, is what compiling took; None if it saves none."""
    times = {row.name: row for row in rows}
    saved = times[OP_BY_OP].median - times[STEP].median
    made = times[STEP].tracing + times[STEP].compiling
    return made / saved if saved > 0 else None


def best_product() -> float:
    """FLOPs in a second of the fastest square matrix product, float32."""
    best = 0.0
    for size in SIZES:
        a = jnp.asarray(np.random.default_rng(0).normal(size=(size, size)), jnp.float32)
        program = compiled(f"{size}", lambda a: a @ a, a)
        times = alternating({"product": program.call})["product"]
        best = max(best, 2 * size**3 / min(times))
    return best
