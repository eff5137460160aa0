"""A run's configuration as rows for a reader and as JSON for a machine.

>>> rows({"model": {"name": "mlp", "hidden": [256, 128]}, "epochs": 10})
[('model.name', 'mlp'), ('model.hidden', '[256, 128]'), ('epochs', '10')]
"""

import json
import math
from collections.abc import Mapping
from typing import Any


def rows(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(dotted path, value) of every leaf, in the order they were given."""
    found: list[tuple[str, str]] = []
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            found += [(f"{key}.{path}", leaf) for path, leaf in rows(value)]
        else:
            found.append((str(key), value if isinstance(value, str) else json.dumps(_strict(value))))
    return found


def as_json(config: Mapping[str, Any]) -> str:
    """The configuration as indented JSON.

    What JSON lacks is written as text: infinity as "inf", a path as its name.

    >>> print(as_json({"clip": float("inf")}))
    {
      "clip": "inf"
    }
    """
    return json.dumps(_strict(config), indent=2, ensure_ascii=False, allow_nan=False)


def _strict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)
