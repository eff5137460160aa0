"""Inputs: checked, and in a type that a device holds exactly."""

from typing import Any

import numpy as np

from purefit.errors import InputError


def check_inputs(x: np.ndarray, place: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Inputs `(n, features…)` as the device will hold them: contiguous, in their own type if it has 32 bits or fewer.

    place: file and array, for messages. shape: what an example's shape must be, if that is known.
    Raises InputError for empty or ragged data, numbers that aren't finite, and types that aren't numbers.
    """
    if x.ndim < 2:
        raise InputError(f"{place}: inputs need a row an example, not shape {x.shape}; use reshape(-1, 1)")
    if 0 in x.shape:
        raise InputError(f"{place}: empty, its shape is {x.shape}")
    if shape is not None and x.shape[1:] != shape:
        raise InputError(f"{place}: {describe(x.shape[1:])} an example, but {describe(shape)} in the training data")
    return to_32_bits(x, place)


def describe(shape: tuple[int, ...]) -> str:
    """An example's shape in words.

    >>> describe((28, 28)), describe((3,))
    ('784 features (28×28)', '3 features')
    """
    sizes = f" ({'×'.join(map(str, shape))})" if len(shape) > 1 else ""
    return f"{int(np.prod(shape))} features{sizes}"


def to_32_bits(array: np.ndarray, place: str) -> np.ndarray:
    """The array in the smallest of its kind's types on a device that holds it exactly; floats in float32."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "b":
        return array.view(np.uint8)
    if array.dtype.kind in "iu":
        return array if array.dtype.itemsize < 4 else narrow(array, place)
    if array.dtype.kind != "f":
        raise InputError(f"{place}: holds {kind_of(array.dtype)}, not numbers; encode it as numbers first")
    check_finite(array, place)
    with np.errstate(over="ignore"):
        converted = array.astype(np.float32, copy=False)
    check_finite(converted, place, "too large for float32")
    return converted


def narrow(array: np.ndarray, place: str) -> np.ndarray:
    """Integers of 32 or 64 bits as int32; InputError where they don't fit."""
    limits = np.iinfo(np.int32)
    outside = (array < limits.min) | (array > limits.max)
    if outside.any():
        first = tuple(np.argwhere(outside)[0])
        raise InputError(f"{place}: {where(first)} is {array[first]}, too large for 32 bits; scale it first")
    return array.astype(np.int32, copy=False)


def check_finite(array: np.ndarray, place: str, problem: str = "") -> None:
    """Raises InputError that names the first number that isn't finite, and counts them."""
    # A sum is finite only if every number is: one fast pass, and the slow one only if it isn't.
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(array.sum(dtype=np.float64)):
            return
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        first = tuple(bad[0])
        what = problem or ("NaN" if np.isnan(array[first]) else "infinite")
        many = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise InputError(f"{place}: {where(first)} is {what}{many}; remove or replace it")


def where(index: tuple[Any, ...]) -> str:
    """A place in an array, in words.

    >>> where((17, 3)), where((17, 3, 4)), where((17,))
    ('row 17, column 3', 'row 17, column (3, 4)', 'row 17')
    """
    row, *columns = map(int, index)
    if not columns:
        return f"row {row}"
    return f"row {row}, column {columns[0] if len(columns) == 1 else tuple(columns)}"


def kind_of(dtype: np.dtype) -> str:
    """A type's kind for people."""
    return {"U": "text", "S": "text", "O": "Python objects", "c": "complex numbers", "M": "dates"}.get(
        dtype.kind, str(dtype)
    )
