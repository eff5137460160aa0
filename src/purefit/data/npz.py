""".npz archives of NumPy arrays. Arrays of Python objects are never loaded: unpickling them runs code."""

import struct
import zipfile
from pathlib import Path

import numpy as np

from purefit.data.messages import listed, shown
from purefit.errors import InputError

NAMES = {"x_train": "x_train", "y_train": "y_train", "x_test": "x_test", "y_test": "y_test"}
SINGLE = {"x": "x_train", "y": "y_train"}


def read_npz(path: Path, *, targets: bool = True) -> dict[str, np.ndarray]:
    """{"x_train", "y_train"} and, where there is a test split, {"x_test", "y_test"}, from those names or x, y.

    targets: without, none are read, and one split is enough. Raises InputError for a file that isn't an
    archive, is damaged, lacks names, or holds objects.
    """
    try:
        with path.open("rb") as file:
            check_start(path, file.peek(6)[:6])
            with np.load(file, allow_pickle=False) as archive:
                present = archive.files
                names = NAMES if "x_train" in present or "x_test" in present else SINGLE
                wanted = {name: role for name, role in names.items() if targets or role.startswith("x")}
                check_names(path, present, {role for name, role in wanted.items() if name in present}, targets)
                return {role: read_array(path, archive, name) for name, role in wanted.items() if name in present}
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error})") from error
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:  # a damaged directory
        raise InputError(f"{path}: damaged, or cut short; save or copy it again") from error


def check_start(path: Path, start: bytes) -> None:
    """Raises InputError unless the file's first bytes are those of a zip, so that NumPy tries nothing else."""
    if start.startswith(b"\x93NUMPY"):
        raise InputError(f"{path}: a single array, not an .npz archive; save x and y with np.savez")
    if not start.startswith(b"PK"):
        raise InputError(f"{path}: not an .npz archive of arrays; save x and y with np.savez")


def check_names(path: Path, present: list[str], roles: set[str], targets: bool) -> None:
    """Raises InputError if the archive lacks an array."""
    needed = "x_train, y_train[, x_test, y_test] or x, y"
    if "x_train" not in roles and (targets or "x_test" not in roles):
        raise InputError(f"{path}: no inputs; needs {needed}; found {listed(present)}")
    if targets and "y_train" not in roles:
        raise InputError(f"{path}: no targets; needs {needed}; found {listed(present)}")
    if targets and ("x_test" in roles) != ("y_test" in roles):
        raise InputError(f"{path}: a test split needs both x_test and y_test; found {listed(present)}")


def read_array(path: Path, archive: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    """One array of the archive."""
    try:
        array = archive[name]
    except MemoryError as error:
        raise InputError(f"{path}: array {name!r} is larger than the memory; give a part of it") from error
    except Exception as error:  # whatever zipfile, zlib and NumPy's parser make of a damaged member
        if "allow_pickle" in str(error):
            raise InputError(
                f"{path}: array {name!r} holds Python objects, which are never loaded as that can run code; "
                "save it as numbers or fixed-width strings"
            ) from error
        reason = listed(str(error).splitlines(), 1)
        raise InputError(f"{path}: array {name!r} is damaged ({reason}); save or copy it again") from error
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path}: {shown(name)} is a file, not an array; save x and y with np.savez")
    return array
