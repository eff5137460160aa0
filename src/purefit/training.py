"""The shell's loop: runs the core's compiled `epoch` again and again, and lets others watch in between.

It adds nothing to the mathematics: `train` returns what `fit` returns. The next epoch is already
running on the device while what belongs to the last one (progress, checkpoints) is done on the host.
"""

import threading
import time
from collections.abc import Callable
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
    snapshot, history = copy_to_host(state), []
    unfinished = snapshot.status == Status.RUNNING and snapshot.epoch < recipe.epochs
    started = time.perf_counter()
    running = compiled_epoch(recipe, hyper, data, key, state) if unfinished else None
    while running is not None and wait(running, interrupted):
        state, metrics = running
        snapshot, metrics = copy_to_host(state), copy_to_host(metrics)
        history.append(metrics)
        finished = time.perf_counter()
        unfinished = snapshot.status == Status.RUNNING and snapshot.epoch < recipe.epochs
        running = compiled_epoch(recipe, hyper, data, key, state) if unfinished else None
        on_epoch(Progress(snapshot, metrics, finished - started))
        started = finished
    return Fit(snapshot, stack(history))


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
