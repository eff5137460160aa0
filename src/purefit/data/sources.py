"""From what the user names to a `Dataset`: a known name, a folder of IDX files, or an .npz archive."""

import stat
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from purefit.data.dataset import Dataset, Schema, fingerprint
from purefit.data.digits import read_digits
from purefit.data.idx import read_folder
from purefit.data.inputs import as_trained, check_inputs
from purefit.data.messages import listed, shown
from purefit.data.npz import read_npz
from purefit.data.openml import COLLECTIONS, read_collection
from purefit.data.targets import labels_of, numbers, targets_like, task_of
from purefit.errors import InputError

NAMES = ("digits", *COLLECTIONS)


class Raw(NamedTuple):
    """A source's arrays as they stand in it: x_train, y_train, and x_test, y_test where it has them.

    source: what reads it again. file: what it was read from, for messages.
    """

    name: str
    source: str
    file: str
    arrays: dict[str, np.ndarray]
    classes: tuple[str, ...] = ()

    def place(self, array: str) -> str:
        """An array's place, for messages."""
        return f"{self.file}, {array}"


def load(
    source: str,
    *,
    data_dir: Path | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    schema: Schema | None = None,
) -> Dataset:
    """The data of `source`, checked.

    source: digits, mnist, fashion-mnist, a folder of IDX files, or an .npz file. data_dir: a folder with
    the IDX files of mnist or fashion-mnist. task: what the targets are. schema: of a trained run: the data
    must be like it, its task is theirs, and labels are encoded as there.
    Raises InputError for whatever can't be trained on, naming file, array, row and column.
    """
    raw = read(source, data_dir, targets=True)
    arrays = raw.arrays
    check_lengths(raw)
    shape = schema.input_shape if schema else None
    x = check_inputs(arrays["x_train"], raw.place("x_train"), shape)
    schema = schema or schema_of(raw, x, task)
    x = as_trained(x, np.dtype(schema.input_dtype), raw.place("x_train"))
    y = targets_like(arrays["y_train"], schema, raw.place("y_train"))
    x_test = y_test = None
    if "x_test" in arrays:
        x_test = inputs_like(raw, "x_test", schema)
        y_test = targets_like(arrays["y_test"], schema, raw.place("y_test"))
    return Dataset(raw.name, raw.source, schema, x, y, x_test, y_test, fingerprint(x, y, x_test, y_test))


def load_inputs(
    source: str,
    *,
    data_dir: Path | None = None,
    schema: Schema,
    split: Literal["auto", "train", "test"] = "auto",
) -> np.ndarray:
    """The inputs of `source` alone, like those that `schema` describes; it need not have targets.

    split: "auto" is the test split where there is one, else all there is.
    """
    raw = read(source, data_dir, targets=False)
    name = {"train": "x_train", "test": "x_test"}.get(split, "x_test" if "x_test" in raw.arrays else "x_train")
    if name not in raw.arrays:
        raise InputError(f"{raw.file}: has no {split} split; found {listed(raw.arrays)}; choose another --split")
    return inputs_like(raw, name, schema)


def read(source: str, data_dir: Path | None, *, targets: bool) -> Raw:
    """The source's arrays, as they are."""
    if source in COLLECTIONS:
        arrays = read_collection(source, data_dir, targets=targets)
        return Raw(source, source, str(data_dir or source), arrays, COLLECTIONS[source].classes)
    if data_dir is not None:
        raise InputError(f"--data-dir is for {' and '.join(COLLECTIONS)}, not for {source}; leave it out")
    if source == "digits":
        return Raw("digits", "digits", "digits", read_digits())
    path = Path(source)
    absolute = str(path.absolute())
    if is_folder(path):
        return Raw(path.resolve().name, absolute, source, read_folder(path, targets=targets))
    if path.suffix.lower() != ".npz":
        raise InputError(f"{source}: not an .npz file or a folder of IDX files; save arrays x and y with np.savez")
    return Raw(path.stem, absolute, source, read_npz(path, targets=targets))


def is_folder(path: Path) -> bool:
    """Whether the path is a folder, not a file. InputError if it is neither."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        if path.is_symlink():
            raise InputError(f"{path}: no such file, it is a link to nothing; link or copy it again") from error
        near = get_close_matches(str(path).lower(), NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known names are {', '.join(NAMES)}"
        raise InputError(f"{path}: no such file or folder, and no such data set; {hint}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(path)}: can't be read ({getattr(error, 'strerror', None) or error})") from error
    return stat.S_ISDIR(mode)


def check_lengths(raw: Raw) -> None:
    """Raises InputError if a split's inputs and targets differ in number."""
    arrays = raw.arrays
    for split in ("train", "test"):
        x, y = arrays.get(f"x_{split}"), arrays.get(f"y_{split}")
        if x is not None and y is not None:
            if x.ndim == 0 or y.ndim == 0:
                raise InputError(
                    f"{raw.file}: x_{split} and y_{split} have shapes {x.shape} and {y.shape}; give a row an example"
                )
            if len(x) != len(y):
                raise InputError(f"{raw.file}: x_{split} has {len(x)} rows, y_{split} has {len(y)}; give as many")


def schema_of(raw: Raw, x: np.ndarray, task: Literal["auto", "classification", "regression"]) -> Schema:
    """The schema of data that nothing has been trained on yet."""
    y, place = raw.arrays["y_train"], raw.place("y_train")
    if task_of(y, task, place) == "regression":
        return Schema("regression", x.shape[1:], str(x.dtype), (), (), numbers(y, place).shape[1])
    labels = labels_of(y, place)
    named = raw.classes and labels == tuple(range(len(raw.classes)))
    names = map(bool, labels) if y.dtype.kind == "b" else labels
    classes = raw.classes if named else tuple(map(str, names))
    return Schema("classification", x.shape[1:], str(x.dtype), classes, labels, 0)


def inputs_like(raw: Raw, name: str, schema: Schema) -> np.ndarray:
    """An array of inputs, like those that `schema` describes."""
    place = raw.place(name)
    return as_trained(check_inputs(raw.arrays[name], place, schema.input_shape), np.dtype(schema.input_dtype), place)
