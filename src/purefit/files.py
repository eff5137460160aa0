"""Files that are whole or not there: written beside their place, then moved into it."""

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from purefit.errors import InputError


def write_text(path: Path, text: str) -> None:
    """Writes `text` to `path`, whole or not at all. InputError says why it can't be written."""
    write(path, lambda file: file.write(text))


def write(path: Path, put: Callable[[IO[str]], Any]) -> None:
    """Calls `put(file)` on a new text file, which then takes `path`'s place."""
    with writing(path):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(descriptor, "w", encoding="utf-8", newline="") as file:
                put(file)
            os.chmod(name, 0o666 & ~current_umask())
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns an operating system's refusal into an InputError that names `path`."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: can't be written ({error.strerror or error})") from error


def write_json(path: Path, value: Any) -> None:
    """Writes `value` as JSON; numbers that aren't finite become null, as JSON has none."""
    write_text(path, dumps(value, indent=2) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file; InputError if it isn't there or isn't JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error})") from error
    except ValueError as error:
        raise InputError(f"{path}: damaged, not JSON ({error})") from error


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON, with null for numbers that aren't finite.

    >>> dumps({"loss": float("nan"), "epoch": 3})
    '{"loss": null, "epoch": 3}'
    """
    return json.dumps(_finite(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
