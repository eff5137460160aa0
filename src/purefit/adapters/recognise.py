"""Which library a network is from, seen without importing any: a library that isn't loaded made no object."""

import sys
from collections.abc import Callable
from typing import Any

from purefit.errors import InputError
from purefit.models import Model

EXPECTED = (
    "a Model, a Flax Linen module, an NNX or Equinox module or class of them, "
    "what hk.transform returns, or a pair of functions (init, apply)"
)


def as_model(network: Any) -> Model:
    """The model of a network of any kind: see `from_linen`, `from_nnx`, `from_equinox`, `from_haiku`.

    A pair `(init, apply)` of functions is `Model.from_function`'s. Raises InputError for anything else.

    >>> as_model(3)
    Traceback (most recent call last):
    purefit.errors.InputError: expected a Model, a Flax Linen module, an NNX or Equinox module or class of them, \
what hk.transform returns, or a pair of functions (init, apply), not an int
    """
    adapter = adapter_of(network)
    if adapter is None:
        came = f"the class {network.__qualname__}" if isinstance(network, type) else article(type(network).__name__)
        raise InputError(f"expected {EXPECTED}, not {came}")
    return adapter(network)


def adapter_of(network: Any) -> Callable[[Any], Model] | None:
    """The function that makes a model of the network; None if there is none."""
    if isinstance(network, Model):
        return lambda model: model
    if is_a(network, "flax.linen", "Module"):
        from purefit.adapters.linen import from_linen

        return from_linen
    if is_a(network, "flax.nnx", "Module") or is_class_of(network, "flax.nnx", "Module"):
        from purefit.adapters.nnx import from_nnx

        return from_nnx
    module = network[0] if type(network) is tuple and len(network) == 2 and not callable(network[1]) else network
    if is_a(module, "equinox", "Module") or is_class_of(module, "equinox", "Module"):
        from purefit.adapters.equinox import from_equinox

        return from_equinox
    if is_a(network, "haiku", "Transformed") or is_a(network, "haiku", "TransformedWithState"):
        from purefit.adapters.haiku import from_haiku

        return from_haiku
    # Exactly a tuple: other pairs of functions, such as Optax's optimizers, are named ones.
    if type(network) in (tuple, list) and len(network) == 2 and all(map(callable, network)):
        return lambda pair: Model.from_function(*pair)
    return None


def is_a(network: Any, library: str, name: str) -> bool:
    return isinstance(network, getattr(sys.modules.get(library), name, ()))


def is_class_of(network: Any, library: str, name: str) -> bool:
    return isinstance(network, type) and issubclass(network, getattr(sys.modules.get(library), name, ()))


def article(noun: str) -> str:
    """The noun with its article.

    >>> article("int"), article("dict")
    ('an int', 'a dict')
    """
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"
