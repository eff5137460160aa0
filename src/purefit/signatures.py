"""What a user's function takes, read from its signature: so it is given what it names and nothing else."""

import inspect
from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any, ParamSpec, TypeVar

from purefit.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

TRAIN_FLAGS = {
    "train": True,
    "training": True,
    "is_training": True,
    "deterministic": False,
    "use_running_average": False,
}
"""Names under which networks take whether they are being trained, and what each is when they are."""


def vars_of_class(thing: Any) -> dict[str, Any]:
    """What a class and those it inherits from (but for `object`) define; {} for anything else."""
    classes = thing.__mro__[-2::-1] if isinstance(thing, type) else ()
    return {name: value for each in classes for name, value in vars(each).items()}


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """A function's or a class's parameters by name; none where Python can't see them."""
    completed = function if isinstance(function, partial) else partial(function)
    # A class's own signature may be hidden by its metaclass (NNX's takes *args, **kwargs).
    initializer = vars_of_class(completed.func).get("__init__")
    if initializer is not None:
        function = partial(initializer, None, *completed.args, **completed.keywords)
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters; none where Python can't see them.

    >>> parameter_names(lambda params, x, *, key=None: x)
    ('params', 'x', 'key')
    """
    return tuple(parameters_of(function))


def train_arguments(function: Callable[..., Any], train: bool) -> dict[str, bool]:
    """Which of `TRAIN_FLAGS` the function takes, each with its value.

    >>> train_arguments(lambda x, deterministic: x, train=True)
    {'deterministic': False}
    """
    names = parameter_names(function)
    return {name: train == when_training for name, when_training in TRAIN_FLAGS.items() if name in names}


def required_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters that a call must give.

    >>> required_names(lambda width, depth=2, *more, rngs, **others: None)
    ('width', 'rngs')
    """
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(
        each.name
        for each in parameters_of(function).values()
        if each.default is each.empty and each.kind not in open_ended
    )


def maker(function: Callable[..., Any], argument: str) -> Callable[[Any], Any]:
    """`function` as a function of one value: of `argument` if it has that name, else of its first parameter.

    Raises InputError if a call needs more than that.

    >>> maker(lambda width=3, *, rngs: (width, rngs), "rngs")("the run's")
    (3, "the run's")
    """
    names, required = parameter_names(function), required_names(function)
    by_name = argument in names
    missing = [name for name in required if name != argument] if by_name else required[1:]
    if missing or not (by_name or names):
        lacking = f"needs {', '.join(missing)} as well" if missing else "takes no argument"
        raise InputError(f"{name_of(function)}: must be made from {argument} alone, but {lacking}")
    return (lambda value: function(**{argument: value})) if by_name else function


def name_of(function: Callable[..., Any]) -> str:
    """A function's name for messages: a partial's is that of what it completes."""
    function = getattr(function, "func", function)
    return getattr(function, "__qualname__", type(function).__qualname__)


def cached(function: Callable[P, R]) -> Callable[P, R]:
    """`functools.cache`, but arguments that can't be hashed are let through.

    So the same description gives the same model, which `jit` compiles once.

    >>> identity = cached(lambda value: [value])
    >>> identity(1) is identity(1), identity([1]) is identity([1])
    (True, False)
    """
    remembered = cache(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            hash((args, tuple(kwargs.items())))
        except TypeError:
            return function(*args, **kwargs)
        return remembered(*args, **kwargs)

    return call
