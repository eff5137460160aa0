"""Checkpoints: Orbax writes them, in the background; a manifest of checksums says that one is whole.

A run's `checkpoints/` holds one folder an epoch and beside it `EPOCH.json`, its manifest, written last:
without it, or if a file doesn't match it, a checkpoint is passed over for the one before. A checkpoint
is `{"state": TrainState, "history": …}`, so that a state and its history can't disagree.
"""

import hashlib
import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from purefit.core import Metrics, TrainState
from purefit.display import Listener
from purefit.errors import InputError
from purefit.files import read_json, write_json

SHARE = 0.02
"""Saving is spaced so that it takes at most this share of a run's time."""


class Checkpoint(NamedTuple):
    """A state and the history that led to it, as arrays on the host."""

    state: TrainState
    history: Metrics


class Writer:
    """Writes checkpoints in the background, and keeps the last two and the best epoch's.

    `offer` each epoch; what is written is the newest that was offered, as often as costs no more than
    `SHARE` of the time, or every `every` epochs. `close` writes the last one if it wasn't yet.
    """

    def __init__(self, folder: Path, every: int | None, listener: Listener) -> None:
        self.folder, self.every, self.listener = folder, every, listener
        self.worker = ThreadPoolExecutor(1, thread_name_prefix="checkpoints")
        self.running: Future[None] | None = None
        self.saved = self.offered = -1
        self.next_time = time.perf_counter() + 1  # what took less is soon trained again
        self.latest: Callable[[], Checkpoint] | None = None
        folder.mkdir(exist_ok=True)
        self.worker.submit(orbax)  # imported while the first epoch compiles

    def offer(self, epoch: int, checkpoint: Callable[[], Checkpoint]) -> None:
        """Saves `checkpoint()` if it is time to. Raises what went wrong in an earlier save."""
        self.offered, self.latest = epoch, checkpoint
        if self.every:
            due = epoch % self.every == 0
            self._wait() if due else None
        else:
            due = (self.running is None or self.running.done()) and time.perf_counter() >= self.next_time
        if due:
            self._start()

    def close(self) -> None:
        """Saves the last checkpoint that was offered, and returns when it is whole."""
        self._wait()
        if self.saved != self.offered:
            self._start()
        self._wait()
        self.worker.shutdown()

    def _start(self) -> None:
        self._wait()
        assert self.latest is not None
        self.saved = self.offered
        self.running = self.worker.submit(self._save, self.offered, self.latest())

    def _wait(self) -> None:
        running, self.running = self.running, None
        if running is not None:
            running.result()

    def _save(self, epoch: int, checkpoint: Checkpoint) -> None:
        started = time.perf_counter()
        path = self.folder / name_of(epoch)
        save(path, checkpoint)
        prune(self.folder, epoch, best=int(checkpoint.state.best.epoch))
        finished = time.perf_counter()
        self.next_time = finished + (finished - started) / SHARE
        self.listener({"event": "checkpoint", "epoch": epoch, "path": str(path)})


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Writes one checkpoint, and then its manifest."""
    ocp = orbax()
    tree = checkpoint._asdict()
    try:
        with ocp.StandardCheckpointer() as checkpointer:
            checkpointer.save(path.absolute(), tree, force=True)
        manifest = {"leaves": leaves_of(tree), "files": checksums(path)}
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{path}: the checkpoint can't be written ({reason_of(error)})") from error
    write_json(manifest_of(path), manifest)


def reason_of(error: Exception) -> str:
    """The system's own words, which TensorStore's errors end with.

    >>> reason_of(ValueError("Error writing k: Failed to write 9 bytes: No space left [os_error_code='28']"))
    'No space left'
    """
    text = getattr(error, "strerror", None) or str(error).strip().splitlines()[0]
    system = re.search(r"([^:]+) \[os_error_code", text)
    return system[1].strip() if system else text


def load_latest(folder: Path, state: TrainState, warn: Callable[[str], None]) -> Checkpoint | None:
    """The newest whole checkpoint in `folder`, or None; each one passed over is named to `warn`.

    state: a state of the run's own recipe (shapes suffice), which the checkpoint must fit: else
    InputError names the leaves that differ.
    """
    for path in sorted(found(folder), reverse=True):
        damage = damage_of(path)
        if damage is None:
            return load(path, state)
        warn(f"{path}: passed over, {damage}")
    return None


def load(path: Path, state: TrainState) -> Checkpoint:
    """The checkpoint at `path`, whose leaves must be those of `state`."""
    recorded = read_json(manifest_of(path))["leaves"]
    expected = leaves_of({"state": state})
    kept = {leaf: kind for leaf, kind in recorded.items() if leaf.startswith("['state']")}
    if kept != expected:
        names = sorted(leaf for leaf in expected.keys() | kept.keys() if expected.get(leaf) != kept.get(leaf))
        first = f"{names[0]} is {kept.get(names[0], 'missing')}, not {expected.get(names[0], 'there')}"
        raise InputError(
            f"{path}: doesn't fit this run's config.json: {first}; in all {len(names)} leaves differ "
            f"({', '.join(names[:4])}{', …' if len(names) > 4 else ''})"
        )
    target = {"state": state, "history": history_target(recorded)}
    with orbax().StandardCheckpointer() as checkpointer:
        restored = checkpointer.restore(path.absolute(), jax.tree.map(_shape_of, target))
    return Checkpoint(**jax.tree.map(np.asarray, restored))


def damage_of(path: Path) -> str | None:
    """What is wrong with the files of a checkpoint; None if they are those that were written."""
    manifest = manifest_of(path)
    if not manifest.exists():
        return "it was not written to its end"
    try:
        files = read_json(manifest)["files"]
    except (InputError, KeyError, TypeError):
        return f"its manifest {manifest.name} is damaged"
    present = checksums(path)
    if present == files:
        return None
    name = min(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))
    return f"its file {name} is " + ("missing" if name not in present else "damaged")


def leaves_of(tree: Any) -> dict[str, str]:
    """Each leaf's path and what it is.

    >>> leaves_of({"state": [np.zeros((2, 3), "float32")]})
    {"['state'][0]": 'float32[2,3]'}
    """
    return {
        jax.tree_util.keystr(path): f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def history_target(recorded: dict[str, str]) -> Metrics:
    """The history's tree of shapes, from the leaves in a manifest."""
    target: Metrics = {"train": {}, "valid": {}, "steps": {}}
    for leaf, kind in recorded.items():
        keys = re.findall(r"\['(.*?)'\]", leaf)
        if keys[0] == "history":
            dtype, shape = kind.rstrip("]").split("[")
            branch = target
            for key in keys[1:-1]:
                branch = branch.setdefault(key, {})
            branch[keys[-1]] = jax.ShapeDtypeStruct([int(n) for n in shape.split(",")], np.dtype(dtype))
    return target


def checksums(path: Path) -> dict[str, str]:
    """SHA-256 of every file below `path`, by its name there."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def found(folder: Path) -> Iterator[Path]:
    """The checkpoints in `folder`, whole or not."""
    return (path for path in folder.glob("*") if path.is_dir() and path.name.isdigit())


def prune(folder: Path, epoch: int, best: int) -> None:
    """Keeps the checkpoints of `epoch`, of the one before it and of `best`; removes the others.

    Those after `epoch` go too: they were passed over as damaged when the run was resumed before them.
    """
    before = max((path.name for path in found(folder) if path.name < name_of(epoch)), default="")
    kept = {name_of(epoch), before, name_of(best)}
    for path in folder.iterdir():
        if path.is_file() and path.stem not in kept:
            path.unlink(missing_ok=True)  # manifests go first: a checkpoint half removed is then not whole
    for path in folder.iterdir():
        if path.is_dir() and path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)


def name_of(epoch: int) -> str:
    return f"{epoch:06d}"


def manifest_of(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _shape_of(leaf: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)


def orbax() -> Any:
    """Orbax's module, imported when it is first needed (it takes half a second), and without its chatter."""
    import orbax.checkpoint

    # What goes wrong is raised where it is waited for; these would tell it again, in many lines.
    for chatter in ("absl", "asyncio"):
        logging.getLogger(chatter).setLevel(logging.CRITICAL)
    return orbax.checkpoint
