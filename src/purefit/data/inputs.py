"""Inputs: checked, and in a type that a device holds exactly."""

import numpy as np

from purefit.data.messages import describe, kind_of, where
from purefit.errors import InputError


def check_inputs(x: np.ndarray, place: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Inputs `(n, features…)` as the device will hold them: contiguous, in their own type if that has 16 bits
    or fewer, else int32 or float32.

    place: file and array, for messages. shape: what an example's shape must be, if that is known.
    Raises InputError for empty data, another shape, numbers that aren't finite or don't fit, and types that
    aren't numbers.
    """
    if x.ndim < 2:
        raise InputError(f"{place}: inputs need a row an example, not shape {x.shape}; use reshape(-1, 1)")
    if 0 in x.shape:
        raise InputError(f"{place}: empty, its shape is {x.shape}; give rows and columns")
    if shape is not None and x.shape[1:] != shape:
        raise InputError(
            f"{place}: {describe(x.shape[1:])} an example, but {describe(shape)} in the training data; give the same"
        )
    return to_32_bits(x, place)


def to_32_bits(array: np.ndarray, place: str) -> np.ndarray:
    """The array, contiguous and in native byte order: booleans as uint8, integers in their own type if it has 8
    or 16 bits, else in int32, floats in float32. No copy is made where it is like that already."""
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if array.dtype.kind == "b":
        return array.view(np.uint8)
    if array.dtype.kind in "iu":
        return array if array.dtype.itemsize < 4 else narrow(array, place)
    if array.dtype.kind != "f":
        raise InputError(f"{place}: holds {kind_of(array.dtype)}, not numbers; encode it as numbers first")
    check_finite(array, place)
    with np.errstate(over="ignore"):
        converted = array.astype(np.float32, copy=False)
    if converted is not array:
        check_finite(converted, place, "too large for float32")
    return converted


def narrow(array: np.ndarray, place: str) -> np.ndarray:
    """Integers of 32 or 64 bits as int32; InputError where they don't fit."""
    limits = np.iinfo(np.int32)
    if array.size and (array.min() < limits.min or array.max() > limits.max):
        first = tuple(np.argwhere((array < limits.min) | (array > limits.max))[0])
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


def as_trained(x: np.ndarray, dtype: np.dtype, place: str) -> np.ndarray:
    """Checked inputs in the type of the training inputs. InputError if that is one of integers and can't hold
    them exactly."""
    if x.dtype == dtype:
        return x
    with np.errstate(invalid="ignore"):
        converted = x.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(converted, x):
        first = tuple(np.argwhere(converted != x)[0])
        raise InputError(
            f"{place}: {where(first)} is {x[first]:g}, but inputs are {dtype} in the training data; "
            "give them in the same type and units"
        )
    return converted
