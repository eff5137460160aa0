"""What a report says: plain data, gathered by whoever made the run, and drawn by `page.render`.

Every text is shown as it is (markup in it is escaped), and every number may be NaN or infinite: the page
leaves a gap and says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Integer, Num, Shaped


@dataclass(frozen=True)
class Mistake:
    """One example that was given the wrong class.

    row: its row number in the split that the results were computed on, from 0.
    probability: what the model gave to `predicted`, from 0 to 1.
    target_probability: what it gave to `target`.
    image: (height, width) or (height, width, 1 or 3) of any numeric dtype; None where the data aren't images.
    features: (features,) where they aren't; the first few are shown.
    """

    row: int
    target: str
    predicted: str
    probability: float
    target_probability: float
    image: Shaped[np.ndarray, "height width *channels"] | None = None
    features: Num[np.ndarray, " features"] | None = None


@dataclass(frozen=True)
class Classification:
    """How a classifier did on a split.

    confusion: counts; rows are targets, columns are predictions.
    mistakes: the most confidently wrong first; about two dozen at most.
    Raises ValueError where `confusion` isn't square with one row for each class.

    >>> Classification(("cat", "dog"), np.eye(3, dtype=int), ())
    Traceback (most recent call last):
    ValueError: confusion: expected shape (2, 2) for 2 classes, got (3, 3)
    """

    classes: tuple[str, ...]
    confusion: Integer[np.ndarray, "classes classes"]
    mistakes: tuple[Mistake, ...]

    def __post_init__(self) -> None:
        k = len(self.classes)
        if self.confusion.shape != (k, k):
            raise ValueError(f"confusion: expected shape ({k}, {k}) for {k} classes, got {self.confusion.shape}")


@dataclass(frozen=True)
class Regression:
    """How a regressor did on a split, in the targets' own units.

    names: of the targets. Raises ValueError where the three don't fit each other.
    """

    names: tuple[str, ...]
    targets: Float[np.ndarray, "examples targets"]
    predictions: Float[np.ndarray, "examples targets"]

    def __post_init__(self) -> None:
        for name in ("targets", "predictions"):
            shape = getattr(self, name).shape
            if shape != (len(self.targets), len(self.names)):
                raise ValueError(f"{name}: expected shape ({len(self.targets)}, {len(self.names)}), got {shape}")


@dataclass(frozen=True)
class Contents:
    """All that the page about one run says.

    title, subtitle: the run's name, and one sentence about it.
    headline: (label, value) pairs to print large.
    notes: warnings to show on top: diverged, stopped early, few rows.
    history: name -> one value for each epoch, the first epoch being 1. "valid_<name>" is drawn with "<name>".
    best_epoch: counted from 1; marked in the curves.
    steps: name -> one value for each step of the whole run.
    split: what `results` were computed on: "test" or "validation".
    config: nested mappings of what JSON can hold.
    timings: (stage, seconds); stages with "compil" in the name are shown apart from the running.
    environment: versions, device.
    """

    title: str
    subtitle: str
    headline: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    history: Mapping[str, Num[np.ndarray, " epochs"]]
    best_epoch: int | None
    steps: Mapping[str, Num[np.ndarray, " steps"]]
    steps_per_epoch: int
    split: str
    results: Classification | Regression | None
    config: Mapping[str, Any]
    timings: tuple[tuple[str, float], ...]
    environment: Mapping[str, str]
