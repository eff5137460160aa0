"""How messages name what they are about: a place in an array, an example's shape, a type, a list of names."""

from collections.abc import Iterable
from typing import Any

import numpy as np


def where(index: tuple[Any, ...]) -> str:
    """A place in an array, in words.

    >>> where((17, 3)), where((17, 3, 4)), where((17,))
    ('row 17, column 3', 'row 17, column (3, 4)', 'row 17')
    """
    row, *columns = map(int, index)
    if not columns:
        return f"row {row}"
    return f"row {row}, column {columns[0] if len(columns) == 1 else tuple(columns)}"


def describe(shape: tuple[int, ...]) -> str:
    """An example's shape in words.

    >>> describe((28, 28)), describe((3,)), describe((1,))
    ('784 features (28×28)', '3 features', '1 feature')
    """
    count = int(np.prod(shape))
    sizes = f" ({'×'.join(map(str, shape))})" if len(shape) > 1 else ""
    return f"{count} feature{'s' * (count != 1)}{sizes}"


def kind_of(dtype: np.dtype) -> str:
    """A type's kind, for people.

    >>> kind_of(np.dtype("U3")), kind_of(np.dtype("float32"))
    ('text', 'float32')
    """
    kinds = {"U": "text", "S": "text", "T": "text", "O": "Python objects", "c": "complex numbers"}
    return (kinds | {"M": "dates", "m": "durations", "V": "records"}).get(dtype.kind, str(dtype))


def shown(value: object) -> str:
    """A name or a label as it is, or quoted where it would be invisible or break the line.

    >>> shown("cat"), shown(3), shown("a\\nb"), shown("")
    ('cat', '3', "'a\\\\nb'", "''")
    """
    text = str(value)
    return text if text.isprintable() and text.strip() else ascii(text)


def listed(values: Iterable[object], most: int = 10) -> str:
    """The first of the values, after commas.

    >>> listed(range(12), most=3), listed([])
    ('0, 1, 2, …', 'nothing')
    """
    names = [shown(value) for value in values]
    return ", ".join(names[:most] + ["…"] * (len(names) > most)) or "nothing"
