"""The 1,797 handwritten digits that scikit-learn bundles: 8×8 pixels of 0 to 16. No download."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from purefit.data.split import hold_out

TEST_SHARE, TEST_SEED = 0.2, 0


def read_digits() -> dict[str, np.ndarray]:
    """{"x_train", "y_train", "x_test", "y_test"}, images `(n, 8, 8)` uint8, labels int64.

    The bundle has no test split of its own: a fifth of each class is set aside, always the same rows.

    >>> {name: array.shape for name, array in read_digits().items()}
    {'x_train': (1438, 8, 8), 'y_train': (1438,), 'x_test': (359, 8, 8), 'y_test': (359,)}
    """
    table = read_table()
    x, y = table[:, :-1].reshape(-1, 8, 8).astype(np.uint8), table[:, -1].astype(np.int64)
    train, test = hold_out(y, TEST_SHARE, TEST_SEED, "classification")
    return {"x_train": x[train], "y_train": y[train], "x_test": x[test], "y_test": y[test]}


def read_table() -> np.ndarray:
    """Rows of 64 pixels and a label, from the file in scikit-learn's package if it is where it has been.

    Importing scikit-learn to read it would take longer than training on it.
    """
    spec = find_spec("sklearn")
    if spec is not None and spec.origin is not None:
        file = Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"
        if file.exists():
            return np.loadtxt(file, delimiter=",")
    from sklearn.datasets import load_digits

    digits = load_digits()
    return np.column_stack([digits.data, digits.target])
