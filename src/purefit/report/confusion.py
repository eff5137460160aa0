"""What a confusion matrix says. Its rows are targets, its columns are predictions, its entries are counts.

>>> counts = np.array([[8, 2], [1, 9]])
>>> by_class(counts).recall.tolist(), ranked(counts, 10)
([0.8, 0.9], [(0, 1), (1, 0)])
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Integer


class Scores(NamedTuple):
    """One number for each class; NaN where it is 0 of 0."""

    examples: Integer[np.ndarray, " classes"]
    precision: Float[np.ndarray, " classes"]
    recall: Float[np.ndarray, " classes"]
    f1: Float[np.ndarray, " classes"]


def by_class(counts: Integer[np.ndarray, "classes classes"]) -> Scores:
    """Precision, recall and their harmonic mean, of each class against all others."""
    right, targets, predicted = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return Scores(targets, right / predicted, right / targets, 2 * right / (targets + predicted))


def shares(counts: Integer[np.ndarray, "classes classes"]) -> Float[np.ndarray, "classes classes"]:
    """Each count as a share of its target's examples; 0 for a target without any."""
    share: Float[np.ndarray, "classes classes"] = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return share


def worst(share: Float[np.ndarray, "classes classes"]) -> float:
    """The share at which the colour of a mistake is darkest: the largest there is, but 5 % at least.

    Mistakes are a few percent of a row each. On the scale of what is right none of them would be seen;
    on a scale of their own a single mistake would look like a disaster.
    """
    return float(max(0.05, np.max(share * (1 - np.eye(len(share))), initial=0)))


def ranked(counts: Integer[np.ndarray, "classes classes"], most: int) -> list[tuple[int, int]]:
    """(target, prediction) of the most frequent mistakes."""
    wrong = counts * (1 - np.eye(len(counts), dtype=int))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = zip(*np.unravel_index(order, wrong.shape), strict=True)
    return [(int(i), int(j)) for i, j in pairs if wrong[i, j]]
