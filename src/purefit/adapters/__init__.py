"""Models from networks written in Flax (Linen or NNX), Equinox, Haiku, or as plain functions.

`as_model(network)` recognises what it is given; `from_linen`, `from_nnx`, `from_equinox` and `from_haiku`
say it, and take what can't be seen. None of these libraries is imported unless one of its networks is given.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "as_model": "recognise",
    "built": "building",
    "from_path": "paths",
    "from_linen": "linen",
    "from_nnx": "nnx",
    "to_nnx": "nnx",
    "from_equinox": "equinox",
    "to_equinox": "equinox",
    "from_haiku": "haiku",
}

__all__ = [*_HOME]

if TYPE_CHECKING:
    from purefit.adapters.building import built as built
    from purefit.adapters.equinox import from_equinox as from_equinox
    from purefit.adapters.equinox import to_equinox as to_equinox
    from purefit.adapters.haiku import from_haiku as from_haiku
    from purefit.adapters.linen import from_linen as from_linen
    from purefit.adapters.nnx import from_nnx as from_nnx
    from purefit.adapters.nnx import to_nnx as to_nnx
    from purefit.adapters.paths import from_path as from_path
    from purefit.adapters.recognise import as_model as as_model


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"purefit.adapters.{_HOME[name]}"), name)
    raise AttributeError(f"module 'purefit.adapters' has no attribute {name!r}")
