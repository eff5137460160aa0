"""Targets: labels become class indices, numbers float32 columns. What they are is never guessed."""

from typing import Literal

import numpy as np

from purefit.data.dataset import Label, Schema, Task
from purefit.data.inputs import check_finite, to_32_bits, where
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
    distinct = len(np.unique(y))
    if y.dtype.kind in "iu" and (distinct > MOST_CLASSES or (len(y) >= 20 and distinct > len(y) / 2)):
        raise InputError(f"{place}: {distinct} distinct integers in {len(y)} rows; {ask}")
    return "classification"


def flatten(y: np.ndarray, place: str) -> np.ndarray:
    """Labels `(n,)` from `(n,)` or `(n, 1)`."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim == 2:
        raise InputError(f"{place}: {y.shape[1]} columns of labels; if they are one-hot, save argmax(axis=1)")
    if y.ndim != 1:
        raise InputError(f"{place}: labels need one value an example, not shape {y.shape}")
    return y


def labels_of(y: np.ndarray, place: str) -> tuple[Label, ...]:
    """The distinct labels in order. InputError if there is only one, or if they are fractions."""
    labels = np.unique(whole(flatten(y, place), place))
    if len(labels) < 2:
        raise InputError(f"{place}: only one class, {labels[0]!s}; a classifier needs two or more")
    return tuple(labels.tolist())


def whole(y: np.ndarray, place: str) -> np.ndarray:
    """Labels as integers or text. InputError names the first that isn't a label."""
    if y.dtype.kind == "f":
        check_finite(y, place)
        fractions = np.flatnonzero(y != np.round(y))
        if len(fractions):
            row = fractions[0]
            raise InputError(f"{place}: row {row} is {y[row]:g}, not a class; for numbers say --task regression")
        return y.astype(np.int64)
    if y.dtype.kind == "S":
        return np.char.decode(y, "utf-8", "replace")
    if y.dtype.kind == "b":
        return y.astype(np.int64)
    if y.dtype.kind not in "iuU":
        raise InputError(f"{place}: holds {y.dtype}, which can't be classes; save integers or text")
    return y


def encode(y: np.ndarray, labels: tuple[Label, ...], place: str) -> np.ndarray:
    """int32 `(n,)` indices into `labels`, which are sorted. InputError for a label that isn't among them."""
    y = whole(flatten(y, place), place)
    known = np.array(labels)
    if (known.dtype.kind == "U") != (y.dtype.kind == "U"):
        raise InputError(f"{place}: labels are like {y[0]!s} ({y.dtype}), not like {labels[0]!r}")
    indices = np.clip(np.searchsorted(known, y), 0, len(known) - 1)
    unknown = np.flatnonzero(known[indices] != y)
    if len(unknown):
        row = unknown[0]
        listed = ", ".join(map(str, labels[:10])) + (", …" if len(labels) > 10 else "")
        raise InputError(f"{place}: row {row} has the unknown label {y[row]!s}; known are {listed}")
    return indices.astype(np.int32)


def numbers(y: np.ndarray, place: str, columns: int | None = None) -> np.ndarray:
    """float32 `(n, targets)`. InputError for what isn't a finite number, or for other than `columns` columns."""
    if y.ndim not in (1, 2) or 0 in y.shape:
        raise InputError(f"{place}: regression needs targets of shape (n,) or (n, k), not {y.shape}")
    if y.dtype.kind not in "fiub":
        raise InputError(f"{place}: {where((0,))} is {y.flat[0]!r}, not a number")
    y = to_32_bits(y.reshape(len(y), -1), place).astype(np.float32)
    if columns is not None and y.shape[1] != columns:
        raise InputError(f"{place}: {y.shape[1]} targets a row, but {columns} in the training data")
    return y


def targets_like(y: np.ndarray, schema: Schema, place: str) -> np.ndarray:
    """Targets encoded as those that `schema` describes."""
    if schema.task == "classification":
        return encode(y, schema.labels, place)
    return numbers(y, place, schema.targets)
