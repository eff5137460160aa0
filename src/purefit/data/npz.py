""".npz archives of NumPy arrays. Arrays of Python objects are never loaded: unpickling them runs code."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from purefit.errors import InputError

NAMES = {"x_train": "x_train", "y_train": "y_train", "x_test": "x_test", "y_test": "y_test"}
SINGLE = {"x": "x_train", "y": "y_train"}


def read_npz(path: Path, *, targets: bool = True) -> dict[str, np.ndarray]:
    """{"x_train", "y_train"} and, where there is a test split, {"x_test", "y_test"}, from those names or x, y.

    targets: without, targets may be missing. Raises InputError for a file that isn't an archive, lacks
    names, or holds objects.
    """
    arrays: dict[str, np.ndarray] = {}
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(f"{path}: a single array, not an .npz archive; save it with np.savez")
            present = archive.files
            names = NAMES if "x_train" in present or "x_test" in present else SINGLE
            for name, role in names.items():
                if name in present:
                    arrays[role] = read_array(path, archive, name)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(f"{path}: damaged, not an .npz archive ({error})") from error
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error})") from error
    except ValueError as error:
        # What NumPy makes of a file that is no archive: it would try to unpickle it.
        raise InputError(f"{path}: not an .npz archive of arrays") from error
    check_names(path, arrays, present, targets)
    return arrays


def read_array(path: Path, archive: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    """One array of the archive."""
    try:
        return np.asarray(archive[name])
    except ValueError as error:
        if "pickle" in str(error) or "Object arrays" in str(error):
            raise InputError(
                f"{path}: array {name!r} holds Python objects, which are never loaded as that can run code; "
                "save it as numbers or fixed-width strings"
            ) from error
        raise InputError(f"{path}: array {name!r} is damaged ({error})") from error


def check_names(path: Path, arrays: dict[str, np.ndarray], present: list[str], targets: bool) -> None:
    """Raises InputError if the archive lacks an array."""
    found = ", ".join(present) or "nothing"
    needed = "x_train, y_train[, x_test, y_test] or x, y"
    if "x_train" not in arrays and (targets or "x_test" not in arrays):
        raise InputError(f"{path}: no inputs; needs {needed}; found {found}")
    if not targets:
        return
    if "y_train" not in arrays:
        raise InputError(f"{path}: no targets; needs {needed}; found {found}")
    if ("x_test" in arrays) != ("y_test" in arrays):
        raise InputError(f"{path}: a test split needs both x_test and y_test; found {found}")
