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
    order = np.random.default_rng(seed).permutation(size)
    rows = (stratified(y[order], fraction, order) if task == "classification" else order)[:count]
    if count > 0 and len(rows) == 0:
        raise InputError(f"--valid {fraction:g}: no class has a row to spare; give 0 for none, or more examples")
    valid = np.zeros(size, bool)
    valid[rows] = True
    return np.flatnonzero(~valid), np.flatnonzero(valid)


def stratified(
    y: Int[np.ndarray, " n"], fraction: float, rows: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " candidates"]:
    """Those of `rows`, whose labels are y, that may be held out, in the order in which they are taken.

    `fraction` of each class rounded down comes first; then the row more that rounding up is, from the class
    with the smallest share so far. The last row of a class is never among them.

    >>> stratified(np.array([0, 0, 0, 1, 1, 2]), 0.5, np.arange(6))
    array([0, 3, 1])
    """
    _, classes, counts = np.unique(y, return_inverse=True, return_counts=True)
    place = np.empty(len(y), int)
    place[np.argsort(classes, kind="stable")] = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
    sizes = counts[classes]
    quota = fraction * sizes
    candidate = np.flatnonzero((place < np.ceil(quota)) & (place < sizes - 1))
    priority = np.where(place < np.floor(quota), 0, (place + 0.5) / sizes)[candidate]
    return rows[candidate[np.argsort(priority, kind="stable")]]
