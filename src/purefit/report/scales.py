"""Where values stand along an axis, from 0 to 1, and which of them are written at it.

Axes that stand side by side in one chart, each with its own unit, share these places; see `sweep_charts`.

>>> rates = scale(np.array([0.001, 0.1]), log=True)
>>> rates.places(np.array([0.001, 0.01, np.nan])), rates.ticks
(array([0. , 0.5, nan]), ((0.0, '0.001'), (1.0, '0.1')))
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from purefit.report.numbers import number

MOST_TICKS = 6
MOST_CHOICES = 12
"""Names at an axis; of more choices, some are left out evenly."""


@dataclass(frozen=True)
class Scale:
    """An axis from low (place 0) to high (place 1), both in powers of ten if it is logarithmic.

    reverse: high is at place 0. ticks: (place, text). step: between neighbouring choices, 0 if there are none.
    """

    low: float
    high: float
    log: bool = False
    reverse: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    step: float = 0.0

    def places(self, values: Float[np.ndarray, " values"]) -> Float[np.ndarray, " values"]:
        """From 0 to 1; what lies beyond an end is at that end, and what isn't finite stays NaN."""
        finite = np.where(np.isfinite(values), values, np.nan)
        along = np.log10(finite) if self.log else finite
        places = np.clip((along - self.low) / (self.high - self.low), 0.0, 1.0)
        return 1.0 - places if self.reverse else places


def scale(
    values: Float[np.ndarray, " values"],
    *,
    log: bool = False,
    reverse: bool = False,
    within: tuple[float, float] | None = None,
    text: Callable[[float], str] = number,
) -> Scale:
    """The axis that the finite values span. Values that aren't positive make it linear.

    within: the ends, if they aren't to be the least and the greatest value. text: of a value.
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return Scale(0.0, 1.0)
    low, high = within or (float(finite.min()), float(finite.max()))
    log = log and low > 0
    if low == high:
        # A single value stands in the middle.
        low, high = (low / 2, high * 2) if log else (low - (abs(low) or 1.0), high + (abs(high) or 1.0))
        written = [float(finite[0])]
    else:
        written = ticks(np.unique(finite), low, high, log)
    ends = (float(np.log10(low)), float(np.log10(high))) if log else (low, high)
    bare = Scale(*ends, log, reverse)
    places = bare.places(np.array(written, float)).tolist()
    return Scale(*ends, log, reverse, tuple(zip(places, map(text, written), strict=True)))


def choices(names: Sequence[str]) -> Scale:
    """The axis of names, whose values are their places in the list.

    >>> choices(("adam", "sgd")).ticks
    ((0.25, 'adam'), (0.75, 'sgd'))
    """
    count = max(len(names), 1)
    every = -(-count // MOST_CHOICES)
    written = tuple(((i + 0.5) / count, name) for i, name in enumerate(names) if i % every == 0)
    return Scale(-0.5, count - 0.5, ticks=written, step=1 / count)


def ticks(distinct: Float[np.ndarray, " values"], low: float, high: float, log: bool) -> list[float]:
    """The values to write: all of a few, else round numbers.

    >>> ticks(np.linspace(0.013, 0.49, 50), 0.013, 0.49, False)
    [0.1, 0.2, 0.3, 0.4]
    """
    bare = Scale(float(np.log10(low)), float(np.log10(high)), True) if log else Scale(low, high)
    inside = distinct[(low <= distinct) & (distinct <= high)]
    apart = all(after - before > 0.08 for before, after in pairwise(bare.places(inside).tolist()))
    if len(inside) <= MOST_TICKS and apart and len(inside) == len(distinct):
        return inside.tolist()
    if log:
        for digits in ((1,), (1, 3), (1, 2, 5)):
            decades = range(int(np.floor(bare.low)), int(np.ceil(bare.high)) + 1)
            found = [value for d in decades for k in digits if low <= (value := float(f"{k}e{d}")) <= high]
            if len(found) >= 3:
                return found[:: -(-len(found) // MOST_TICKS)]
    return even(low, high)


def even(low: float, high: float) -> list[float]:
    """Up to seven multiples of 1, 2 or 5 times a power of ten between the ends.

    >>> even(-0.3, 0.9), even(120.0, 128.0)
    ([-0.2, 0.0, 0.2, 0.4, 0.6, 0.8], [120.0, 122.0, 124.0, 126.0, 128.0])
    """
    power = int(np.floor(np.log10((high - low) / (MOST_TICKS - 1))))
    steps = (float(f"{k}e{d}") for d in (power, power + 1) for k in (1, 2, 5))
    step = next(step for step in steps if (high - low) / step <= MOST_TICKS)
    found = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
    return [float(f"{value:.12g}") + 0.0 for value in found.tolist()]


def usual(values: Float[np.ndarray, " values"], larger_is_better: bool) -> tuple[float, float]:
    """(least, greatest) of the finite values, without those that are far worse than most.

    Far: by more than three times the distance from the best value to the worse quartile.

    >>> usual(np.array([-500.0, 0.0, 0.5, 0.5, 1.0, np.nan]), True)
    (-3.0, 1.0)
    """
    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    if larger_is_better:
        quartile = float(np.quantile(finite, 0.25))
        fence = quartile - 3 * (high - quartile)
        return (fence if low < fence < high else low), high
    quartile = float(np.quantile(finite, 0.75))
    fence = quartile + 3 * (quartile - low)
    return low, (fence if low < fence < high else high)
