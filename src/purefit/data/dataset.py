"""What every source becomes: a `Dataset` of NumPy arrays, and the `Schema` that a model must know of it."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

Task = Literal["classification", "regression"]
Label = int | str


@dataclass(frozen=True)
class Schema:
    """What a model must know of its data.

    input_shape, input_dtype: of one example, as it is kept on the device.
    classes: their names; labels: their values in the source's targets, in the same order. () for regression.
    targets: how many numbers a regression predicts; 0 for classification.
    """

    task: Task
    input_shape: tuple[int, ...]
    input_dtype: str
    classes: tuple[str, ...]
    labels: tuple[Label, ...]
    targets: int

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary: `Schema.from_json` makes the same Schema of it."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Schema":
        """The Schema that `to_json` was called on.

        >>> schema = Schema("classification", (28, 28), "uint8", ("cat", "dog"), (0, 1), 0)
        >>> Schema.from_json(schema.to_json()) == schema
        True
        """
        fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        return cls(**fields)


@dataclass(frozen=True)
class Dataset:
    """A source, read and checked.

    name: short, fit for a folder's name. source: what reads it again (paths are absolute).
    x: `(n, *input_shape)` training inputs. y: int32 `(n,)` class indices, or float32 `(n, targets)`.
    x_test, y_test: the source's own test split, or None.
    fingerprint: SHA-256 of all the arrays, in hexadecimal.
    """

    name: str
    source: str
    schema: Schema
    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray | None
    y_test: np.ndarray | None
    fingerprint: str


def fingerprint(*arrays: np.ndarray | None) -> str:
    """SHA-256 of the arrays' types, shapes and bytes; which is None counts too.

    >>> fingerprint(np.zeros(3)) == fingerprint(np.zeros(3)) != fingerprint(np.zeros(3), None)
    True
    """
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(b"none;" if array is None else f"{array.dtype.str}{array.shape};".encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
