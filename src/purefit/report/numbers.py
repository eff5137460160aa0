"""Numbers as a reader likes them.

>>> number(0.000123456), number(-1234567.0), number(float("nan"))
('0.0001235', '−1.235e+06', 'not finite')
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np


def number(value: float | np.floating[Any]) -> str:
    """Four significant digits, with a true minus sign."""
    return f"{value:.4g}".replace("-", "−", 1) if math.isfinite(value) else "not finite"


def percent(share: float) -> str:
    """A share of 1 in percent, to a tenth; a dash where there is none (0 of 0).

    Only what is all or nothing is written so: a mistake is never made with "100.0 %".

    >>> percent(0.8834), percent(1), percent(0.9999), percent(0.0003), percent(float("nan"))
    ('88.3 %', '100.0 %', '> 99.9 %', '< 0.1 %', '–')
    """
    if not math.isfinite(share):
        return "–"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{100 * share:.1f} %"


def seconds(duration: float) -> str:
    """A duration in the units one would say it in.

    >>> seconds(0.0042), seconds(3.61), seconds(200), seconds(5400)
    ('4 ms', '3.6 s', '3 min 20 s', '1 h 30 min')
    """
    if not math.isfinite(duration):
        return "–"
    if duration < 0.0995:
        return f"{1000 * duration:.0f} ms"
    if duration < 59.95:
        return f"{duration:.1f} s"
    if duration < 3599.5:
        return "{:d} min {:d} s".format(*divmod(round(duration), 60))
    return "{:d} h {:d} min".format(*divmod(round(duration / 60), 60))


def ranges(places: Iterable[int]) -> str:
    """Ascending whole numbers, with runs of neighbours joined.

    >>> ranges([3, 5, 6, 7, 9])
    '3, 5–7, 9'
    """
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in runs)
