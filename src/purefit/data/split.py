"""Rows held out of the training split, to choose the best epoch by."""

import numpy as np
from jaxtyping import Int, Shaped

from purefit.data.dataset import Task
from purefit.errors import InputError


def hold_out(
    y: Shaped[np.ndarray, "n ..."], fraction: float, seed: int, task: Task
) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " valid"]]:
    """(training rows, held-out rows), each sorted, together all rows: `fraction` of them are held out.

    Chosen at random by the seed; of each class in proportion, as near as whole rows allow, and never all
    of a class. fraction 0 holds out none. InputError if the fraction leaves one of the two without rows.

    >>> train, valid = hold_out(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.25, 0, "classification")
    >>> len(train), len(valid)
    (6, 2)
    """
    size = len(y)
    if not 0 <= fraction < 1:
        raise InputError(f"--valid must be a share from 0 to below 1, not {fraction}")
    count = round(fraction * size)
    if fraction > 0 and (count == 0 or count == size):
        raise InputError(f"--valid {fraction:g} of {size} examples is {count} rows; give another share, or 0")
    order = np.random.default_rng(seed).permutation(size)
    if task == "classification":
        order = order[np.argsort(priority(y[order]), kind="stable")]
    valid = np.zeros(size, bool)
    valid[order[:count]] = True
    return np.flatnonzero(~valid), np.flatnonzero(valid)


def priority(y: Int[np.ndarray, " n"]) -> np.ndarray:
    """For each row how early it is taken: (its place within its class + ½) / the size of its class.

    Taking rows in this order takes each class in proportion; the last row of each class comes last of all.
    """
    _, classes, counts = np.unique(y, return_inverse=True, return_counts=True)
    by_class = np.argsort(classes, kind="stable")
    first = np.cumsum(counts) - counts
    place = np.empty(len(y), int)
    place[by_class] = np.arange(len(y)) - np.repeat(first, counts)
    last = place == counts[classes] - 1
    return np.where(last, 2.0, (place + 0.5) / counts[classes])
