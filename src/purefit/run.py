"""The run folder: everything about one run, in files that outlive the program.

    runs/NAME/config.json    what makes the run again, and the versions that made it
              history.csv    a row an epoch
              checkpoints/   see checkpoints.py
              metrics.json   the results, written last
              report.html

Every file is written whole or not at all, no two runs share a folder, and nothing in it can run code.
"""

import csv
import fcntl
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from purefit.config import Config
from purefit.data import Schema
from purefit.errors import InputError
from purefit.files import read_json, write, write_json, writing

FORMAT = 1
"""The number of this layout of a run folder. A folder of a higher one is refused."""

LIBRARIES = ("purefit", "jax", "jaxlib", "optax", "orbax-checkpoint", "numpy")


@dataclass(frozen=True)
class Run:
    """An existing run folder, as `config.json` describes it.

    units: a regression's {"mean", "deviation"} of the training targets. fingerprint: of the data.
    versions: of the libraries, of Python and the device. created: when, in UTC.
    """

    path: Path
    source: str
    config: Config
    schema: Schema
    units: dict[str, list[float]]
    fingerprint: str
    versions: dict[str, str]
    created: str

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics(self) -> dict[str, Any] | None:
        """What metrics.json holds; None while the run isn't finished."""
        path = self.path / "metrics.json"
        return dict(read_json(path)) if path.exists() else None


def create(
    path: Path | None,
    *,
    name: str,
    source: str,
    config: Config,
    schema: Schema,
    units: dict[str, list[float]],
    fingerprint: str,
    device: str,
) -> Run:
    """Makes the folder of a new run: `path`, or else the first free runs/NAME-1, runs/NAME-2, …

    Raises InputError if `path` is there already, or can't be made.
    """
    versions = versions_here() | {"device": device}
    created = datetime.now(UTC).isoformat(timespec="milliseconds")
    new = Run(Path(), source, config, schema, units, fingerprint, versions, created)
    place = path or Path("runs") / name
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=place.parent, prefix=".new-run-"))
    try:
        folder.chmod(0o755)
        write_config(replace(new, path=folder))
        place = _claim(folder, path) if path else _claim_free(folder, place)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return replace(new, path=place)


def versions_here() -> dict[str, str]:
    """The versions of the libraries and of Python."""
    return {library: version(library) for library in LIBRARIES} | {"python": platform.python_version()}


def write_config(run: Run) -> None:
    """config.json of the run, whole or not at all."""
    contents = {
        "format": FORMAT,
        "source": run.source,
        "config": run.config.to_json(),
        "schema": run.schema.to_json(),
        "units": run.units,
        "fingerprint": run.fingerprint,
        "versions": run.versions,
        "created": run.created,
    }
    write_json(run.path / "config.json", contents)


def _claim(folder: Path, path: Path) -> Path:
    """Gives the folder its name. Renaming fails where another run, or anything else, is there already."""
    if path.exists() or path.is_symlink():
        raise InputError(f"{path}: is there already; choose another --out, or `purefit resume {path}`")
    with writing(path):
        os.rename(folder, path)
    return path


def _claim_free(folder: Path, place: Path) -> Path:
    number = 1
    while True:
        path = place.with_name(f"{place.name}-{number}")
        try:
            return _claim(folder, path)
        except InputError:
            # Two programs may have seen the same free number: the later one goes on to the next.
            if not path.exists():
                raise
            number += 1


def open_run(path: Path) -> Run:
    """The run in a folder. Raises InputError if it isn't one, is damaged, or of a newer version."""
    file = path / "config.json"
    if not path.is_dir():
        raise InputError(f"{path}: no such run folder; `purefit runs` lists those below runs/")
    if not file.exists():
        raise InputError(f"{path}: not a run folder, it has no config.json")
    contents = read_json(file)
    if not isinstance(contents, dict) or not isinstance(contents.get("format"), int):
        raise InputError(f"{file}: damaged, it has no format number")
    if contents["format"] > FORMAT:
        raise InputError(
            f"{file}: of format {contents['format']}, and this purefit reads up to {FORMAT}; update purefit"
        )
    try:
        return Run(
            path=path,
            source=contents["source"],
            config=Config.from_json(contents["config"]),
            schema=Schema.from_json(contents["schema"]),
            units=contents["units"],
            fingerprint=contents["fingerprint"],
            versions=contents["versions"],
            created=contents["created"],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file}: damaged, {type(error).__name__}: {error}") from error


@contextmanager
def locked(run: Run) -> Iterator[None]:
    """Holds the run for writing: InputError if another program does. Its death, however, lets it go."""
    with _lock(run, fcntl.LOCK_EX) as free:
        if not free:
            raise InputError(f"{run.path}: another program is training this run")
        yield


def is_locked(run: Run) -> bool:
    """Whether some program is training the run now."""
    with _lock(run, fcntl.LOCK_SH) as free:
        return not free


@contextmanager
def _lock(run: Run, kind: int) -> Iterator[bool]:
    folder = os.open(run.path, os.O_RDONLY)
    try:
        fcntl.flock(folder, kind | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(folder)


def columns_of(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """An epoch's (or a history's) metrics by their names in tables.

    >>> import numpy as np
    >>> list(columns_of({"train": {"loss": 1.0}, "valid": {"loss": 2.0}, "steps": {"gradient_norm": np.ones(3)}}))
    ['loss', 'valid_loss', 'gradient_norm']
    """
    if not metrics:
        return {}
    # Dictionaries that come out of `jit` are sorted: the loss goes first again.
    names = sorted(metrics["valid"], key=lambda name: name != "loss")
    valid = {f"valid_{name}": metrics["valid"][name] for name in names}
    steps = {name: values.mean(axis=-1)[()] for name, values in metrics["steps"].items() if name != "loss"}
    return {"loss": metrics["train"]["loss"]} | valid | steps


def read_history(run: Run) -> dict[str, np.ndarray]:
    """The columns of history.csv, one value an epoch; nothing before the first epoch."""
    path = run.path / "history.csv"
    if not path.exists():
        return {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        columns = np.array(rows, dtype=float).reshape(len(rows), len(head)).T
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: damaged ({str(error).splitlines()[0]})") from error
    return {name: values for name, values in zip(head, columns, strict=True) if name != "epoch"}


def write_history(run: Run, history: Mapping[str, Any]) -> None:
    """history.csv: epoch, loss, valid_…, gradient_norm and what else steps have (means over them), a row an epoch.

    Times are not in it, so that the same run always has the same history.
    """
    columns = columns_of(history)

    def put(file: Any) -> None:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["epoch", *columns])
        # str of a NumPy scalar has the digits that give back the same bits.
        writer.writerows([number, *map(str, row)] for number, row in enumerate(zip(*columns.values(), strict=True), 1))

    write(run.path / "history.csv", put)
