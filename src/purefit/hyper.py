"""Hyperparameters: the numbers of a run that may change, be swept or differentiated without compiling again."""

from collections.abc import Mapping
from typing import Any

import numpy as np

Hyper = Mapping[str, Any]


def as_arrays(hyper: Hyper) -> dict[str, np.ndarray]:
    """`hyper` with every number as a float32 array, so that no value has a type of its own to compile."""
    return {name: np.asarray(value, np.float32) for name, value in hyper.items()}
