"""Rows held out of the training split, to choose the best epoch by."""

import numpy as np
from jaxtyping import Int, Shaped

from purefit.data.dataset import Task
from purefit.errors import InputError


def hold_out(
    y: Shaped[np.ndarray, "n ..."], fraction: float, seed: int, task: Task
) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " valid"]]:
    """(training rows, held-out rows), each sorted, together all rows: `fraction` of them are held out.

    Chosen at random by the seed; of each class its share, rounded up or down, and never all of a class: if
    that leaves too few, fewer are held out. fraction 0 holds out none. InputError if the fraction leaves one
    of the two without rows.

    >>> train, valid = hold_out(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.25, 0, "classification")
    >>> len(train), len(valid)
    (6, 2)
    """
    size = len(y)
    if not 0 <= fraction < 1:
        raise InputError(f"--valid must be a share from 0 to below 1, not {fraction}")
    count = round(fraction * size)
    if fraction > 0 and count == 0:
        least = 1 / max(size, 2)
        raise InputError(f"--valid {fraction:g} of {size} examples is 0 rows; give {least:.2g} or more, or 0 for none")
    if fraction > 0 and count == size:
        raise InputError(f"--valid {fraction:g} of {size} examples leaves none to train on; give a smaller share")
    random = np.random.default_rng(seed)
    order = random.permutation(size)
    valid = np.zeros(size, bool)
    if task == "regression":
        valid[order[:count]] = True
    else:
        _, classes, sizes = np.unique(y[order], return_inverse=True, return_counts=True)
        held = shares(sizes, fraction, count, random)
        if count > 0 and held.sum() == 0:
            raise InputError(f"--valid {fraction:g}: no class has a row to spare; give 0 for none, or more examples")
        valid[order[places(classes, sizes) < held[classes]]] = True
    return np.flatnonzero(~valid), np.flatnonzero(valid)


def shares(sizes: Int[np.ndarray, " k"], fraction: float, count: int, random: np.random.Generator) -> np.ndarray:
    """How many rows of each class are held out: `fraction` of its size rounded up or down, but less than its size.

    They add up to `count`, or as near as that allows: the largest remainders are rounded up, ties at random.
    """
    exact = fraction * sizes
    held = np.minimum(np.floor(exact).astype(int), sizes - 1)
    ties = random.permutation(len(sizes))
    spare = [k for k in np.lexsort((ties, held - exact)) if exact[k] > held[k] and held[k] < sizes[k] - 1]
    held[spare[: max(count - held.sum(), 0)]] += 1
    return held


def places(classes: Int[np.ndarray, " n"], sizes: Int[np.ndarray, " k"]) -> Int[np.ndarray, " n"]:
    """Each row's place among the rows of its class.

    >>> places(np.array([0, 1, 0, 0, 1]), np.array([3, 2])).tolist()
    [0, 0, 1, 2, 1]
    """
    place = np.empty(len(classes), int)
    place[np.argsort(classes, kind="stable")] = np.arange(len(classes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place
