"""Targets: labels become class indices, numbers float32 columns. What they are is never guessed."""

from typing import Literal

import numpy as np

from purefit.data.dataset import Label, Schema, Task
from purefit.data.inputs import check_finite, to_32_bits
from purefit.data.messages import kind_of, listed, shown
from purefit.errors import InputError

MOST_CLASSES = 1000
"""More distinct integers than this are asked about, as they may be numbers to predict."""


def task_of(y: np.ndarray, task: Literal["auto", "classification", "regression"], place: str) -> Task:
    """What the targets are: as asked for, or by their type; InputError where that leaves a doubt."""
    if task != "auto":
        return task
    ask = "say --task classification or --task regression"
    if y.dtype.kind == "f":
        if np.array_equal(y, np.round(y)):
            raise InputError(f"{place}: floats that are whole numbers may be classes or amounts; {ask}")
        return "regression"
    if y.dtype.kind in "iu":
        distinct = len(np.unique(y))
        if distinct > MOST_CLASSES or (len(y) >= 20 and distinct > len(y) / 2):
            raise InputError(f"{place}: {distinct} distinct integers in {len(y)} rows; {ask}")
    return "classification"


def flatten(y: np.ndarray, place: str) -> np.ndarray:
    """Labels `(n,)` from `(n,)` or `(n, 1)`."""
    if y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1):
        return y.reshape(-1)
    hint = "if they are one-hot, save argmax(axis=1)" if y.ndim == 2 else "save one column"
    raise InputError(f"{place}: labels need one value an example, not shape {y.shape}; {hint}")


def labels_of(y: np.ndarray, place: str) -> tuple[Label, ...]:
    """The distinct labels in order. InputError if there is only one, or if they can't be labels."""
    labels = np.unique(whole(flatten(y, place), place))
    if len(labels) < 2:
        raise InputError(f"{place}: only one class, {listed(labels)}; a classifier needs two or more")
    return tuple(labels.tolist())


def whole(y: np.ndarray, place: str) -> np.ndarray:
    """Labels `(n,)` as int64 or text. InputError names the first that isn't a label."""
    if y.dtype.kind == "f":
        check_finite(y, place)
        fractions = np.flatnonzero(y != np.round(y))
        if len(fractions):
            row = fractions[0]
            raise InputError(f"{place}: row {row} is {y[row]:g}, not a class; for numbers say --task regression")
    if y.dtype.kind in "fu":
        # In 64 bits, unsigned or float, are labels that int64 would turn into others.
        large = np.flatnonzero(np.abs(y) >= 2**63)
        if len(large):
            row = large[0]
            raise InputError(f"{place}: row {row} is {y[row]}, too large for a label; save text")
    if y.dtype.kind in "fiub":
        return y.astype(np.int64)
    if y.dtype.kind == "S":
        try:
            return np.char.decode(y, "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{place}: bytes that aren't UTF-8, like {error.object!r}; save text") from error
    if y.dtype.kind != "U":
        raise InputError(f"{place}: holds {kind_of(y.dtype)}, which can't be classes; save integers or text")
    return y


def encode(y: np.ndarray, labels: tuple[Label, ...], place: str) -> np.ndarray:
    """int32 `(n,)` indices into `labels`, which are sorted. InputError for a label that isn't among them."""
    y = whole(flatten(y, place), place)
    known = np.array(labels)
    if known.dtype.kind != y.dtype.kind:
        trained = f"{kind_of(known.dtype)} like {shown(labels[0])} in the training data"
        raise InputError(f"{place}: labels are {kind_of(y.dtype)} like {shown(y[0])}, but {trained}; give the same")
    indices = np.minimum(np.searchsorted(known, y), len(known) - 1)
    unknown = np.flatnonzero(known[indices] != y)
    if len(unknown):
        row = unknown[0]
        raise InputError(f"{place}: row {row} has the unknown label {shown(y[row])}; known are {listed(labels)}")
    return indices.astype(np.int32)


def numbers(y: np.ndarray, place: str, columns: int | None = None) -> np.ndarray:
    """float32 `(n, targets)`. InputError for what isn't a finite number, or for other than `columns` columns."""
    if y.ndim not in (1, 2) or 0 in y.shape:
        raise InputError(f"{place}: shape {y.shape}; regression needs targets of shape (n,) or (n, k)")
    if y.dtype.kind not in "fiub":
        raise InputError(
            f"{place}: holds {kind_of(y.dtype)}, not a number a row; for classes say --task classification"
        )
    if columns is not None and columns != y.size // len(y):
        raise InputError(f"{place}: {y.size // len(y)} targets a row, but {columns} in the training data; give as many")
    # Through float64, so that integers are rounded to float32 as floats are.
    floats = y if y.dtype.kind == "f" else y.astype(np.float64)
    return to_32_bits(floats if y.ndim == 2 else floats[:, None], place)


def targets_like(y: np.ndarray, schema: Schema, place: str) -> np.ndarray:
    """Targets encoded as those that `schema` describes."""
    if schema.task == "classification":
        return encode(y, schema.labels, place)
    return numbers(y, place, schema.targets)
