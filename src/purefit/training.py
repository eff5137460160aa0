"""The shell's loop: runs the core's compiled `epoch` again and again, and lets others watch in between.

It adds nothing to the mathematics: `train` returns what `fit` returns. The next epoch is already
running on the device while what belongs to the last one (progress, checkpoints) is done on the host.
"""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from purefit.core import Fit, Metrics, Status, TrainState, epoch, init
from purefit.examples import Data
from purefit.hyper import Hyper, as_arrays
from purefit.recipe import Recipe

compiled_init = jax.jit(init, static_argnums=0)
compiled_epoch = jax.jit(epoch, static_argnums=0, donate_argnums=4)


@partial(jax.jit, static_argnums=0)
def compiled_members_init(recipe: Recipe, hypers: Hyper, data: Data, key: Key[Array, ""]) -> TrainState:
    """`init` for each of the stacked hyperparameters."""
    return jax.vmap(lambda hyper: init(recipe, hyper, data, key))(hypers)


@partial(jax.jit, static_argnums=0, donate_argnums=4)
def compiled_members_epoch(
    recipe: Recipe, hypers: Hyper, data: Data, key: Key[Array, ""], state: TrainState
) -> tuple[TrainState, Metrics]:
    """`epoch` for each of the stacked hyperparameters and states."""
    return jax.vmap(lambda hyper, state: epoch(recipe, hyper, data, key, state))(hypers, state)


class Progress(NamedTuple):
    """One finished epoch, as arrays on the host.

    state, metrics: as `epoch` returned them. seconds: how long it took, compilation included.
    """

    state: TrainState
    metrics: Metrics
    seconds: float


def train(
    recipe: Recipe,
    hyper: Hyper,
    data: Data,
    key: Key[Array, ""],
    state: TrainState | None = None,
    *,
    on_epoch: Callable[[Progress], None] = lambda progress: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Fit:
    """What `fit(recipe, hyper, data, key)` returns, epoch by epoch.

    state: where to go on (a checkpoint's); training ends at `recipe.epochs` epochs in all.
    on_epoch: called after each epoch, while the next one runs.
    interrupted: asked many times a second; once it is true, training ends with the last whole epoch.
    The Fit's arrays are NumPy's; its history has the epochs that were run here and finished.

    >>> from purefit import Data, Examples, Recipe, losses, mlp, optimizer
    >>> x = np.linspace(-1, 1, 64, dtype="float32")[:, None]
    >>> data = Data(Examples(x, x**2, np.ones(64, "float32")))
    >>> recipe = Recipe(mlp((8,), 1, "tanh"), optimizer("adam"), losses.squared_error, epochs=3)
    >>> train(recipe, {"learning_rate": 0.01}, data, jax.random.key(0)).history["train"]["loss"].shape
    (3,)
    """
    data, hyper = jax.device_put((data, as_arrays(hyper)))
    # Fresh buffers: each epoch gives the state that it was handed back to the device.
    state = jax.tree.map(lambda leaf: jax.device_put(np.array(leaf)), state) if state else None
    state = compiled_init(recipe, hyper, data, key) if state is None else state
    return drive(lambda state: compiled_epoch(recipe, hyper, data, key, state), state, recipe, on_epoch, interrupted)


def train_members(
    recipe: Recipe,
    hypers: Sequence[Hyper],
    data: Data,
    key: Key[Array, ""],
    *,
    on_epoch: Callable[[Progress], None] = lambda progress: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> list[Fit]:
    """What `train` returns for each of `hypers`, all trained at once by one program: `vmap` of an epoch.

    hypers: of the same names. Members share the data, the first weights and the shuffles.
    on_epoch: its state and metrics have a leading axis of members. A member that has stopped stays as it is.
    """
    stacked = jax.tree.map(lambda *values: np.stack(values), *map(as_arrays, hypers))
    data, stacked = jax.device_put((data, stacked))
    state = compiled_members_init(recipe, stacked, data, key)
    run = drive(
        lambda state: compiled_members_epoch(recipe, stacked, data, key, state), state, recipe, on_epoch, interrupted
    )
    return [member(run, place) for place in range(len(hypers))]


def member(run: Fit, place: int) -> Fit:
    """One member's Fit; its history ends with its run."""
    state = jax.tree.map(lambda leaf: leaf[place], run.state)
    epochs = int(state.epoch) + (state.status == Status.DIVERGED)
    return Fit(state, jax.tree.map(lambda leaf: leaf[:epochs, place], run.history))


def drive(
    one_epoch: Callable[[TrainState], tuple[TrainState, Metrics]],
    state: TrainState,
    recipe: Recipe,
    on_epoch: Callable[[Progress], None],
    interrupted: Callable[[], bool],
) -> Fit:
    """Epoch after epoch, of one run or of several at once, until all have stopped or are at their end."""
    snapshot, history = copy_to_host(state), []
    started = time.perf_counter()
    running = one_epoch(state) if unfinished(snapshot, recipe) else None
    while running is not None and wait(running, interrupted):
        state, metrics = running
        snapshot, metrics = copy_to_host(state), copy_to_host(metrics)
        history.append(metrics)
        finished = time.perf_counter()
        running = one_epoch(state) if unfinished(snapshot, recipe) else None
        on_epoch(Progress(snapshot, metrics, finished - started))
        started = finished
    return Fit(snapshot, stack(history))


def unfinished(state: TrainState, recipe: Recipe) -> bool:
    """Whether any of the runs goes on."""
    return bool(np.any((state.status == Status.RUNNING) & (state.epoch < recipe.epochs)))


def wait(arrays: Any, interrupted: Callable[[], bool]) -> bool:
    """Whether the arrays came to be computed before `interrupted()` was true.

    Another thread waits for the device: in this one Python would handle no signal until it is done, and
    asking again and again whether it is would take time from a CPU that computes.
    """
    computed = threading.Event()

    def block() -> None:
        try:
            jax.block_until_ready(arrays)
        finally:
            computed.set()

    threading.Thread(target=block).start()  # not a daemon: ending the program inside XLA would abort it
    while not interrupted():
        if computed.wait(timeout=0.05):
            return True
    return False


def copy_to_host(tree: Any) -> Any:
    """The tree with NumPy arrays that own their memory: on a CPU, device_get only lends the device's."""
    return jax.tree.map(np.array, jax.device_get(tree))


def stack(history: list[Metrics]) -> Metrics:
    """One tree with a leading axis of epochs from one tree an epoch; {} from none."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *history) if history else {}
