"""What a few runs of each setting say: means with their standard errors, and differences between pairs of runs.

Two settings are compared seed by seed: runs of one seed share their held-out rows, their first weights and
their shuffles, so that what the seeds differ by drops out of the difference.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np


class Mean(NamedTuple):
    """seeds: those with a finite value. mean: None of none. error: its standard error, None of fewer than two."""

    seeds: int
    mean: float | None
    error: float | None


class Difference(NamedTuple):
    """How much more a setting has than another over the seeds that both have.

    low, high: the 95 % confidence interval of Student's t. p: two-sided. All None where too few seeds say it.
    """

    seeds: int
    mean: float | None
    error: float | None
    low: float | None
    high: float | None
    p: float | None


def finite(values: Mapping[int, float]) -> dict[int, float]:
    """The values of the seeds whose run came to something."""
    return {seed: value for seed, value in values.items() if math.isfinite(value)}


def mean_of(values: Mapping[int, float]) -> Mean:
    """The mean over seeds and its standard error. Values that aren't finite are left out.

    >>> mean_of({0: 1.0, 1: 3.0, 2: math.nan})
    Mean(seeds=2, mean=2.0, error=1.0)
    """
    known = np.array(list(finite(values).values()))
    if not len(known):
        return Mean(0, None, None)
    error = float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else None
    return Mean(len(known), float(known.mean()), error)


def difference(values: Mapping[int, float], first: Mapping[int, float]) -> Difference:
    """How much more `values` are than `first`, in pairs of the same seed.

    >>> found = difference({0: 2.0, 1: 4.0, 2: 7.0}, {0: 1.0, 1: 2.0, 2: 4.0})
    >>> found.seeds, found.mean, round(found.low, 3), round(found.high, 3)
    (3, 2.0, -0.484, 4.484)
    """
    values, first = finite(values), finite(first)
    pairs = {seed: values[seed] - first[seed] for seed in values.keys() & first.keys()}
    count, mean, error = mean_of(pairs)
    if mean is None or error is None:
        return Difference(count, mean, None, None, None, None)
    from scipy import stats  # takes a quarter of a second

    reach = float(stats.t.ppf(0.975, count - 1)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, count - 1)) if error else float(mean == 0)
    return Difference(count, mean, error, mean - reach, mean + reach, p)
