"""Models by the name of a user's function, as the command is given it: `package.module:function`.

Whoever names a function runs the code of its module: only a user's own words may come here, never what
a run's folder says.
"""

import importlib
import importlib.util
import sys
import traceback
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from purefit.adapters.building import built
from purefit.adapters.recognise import adapter_of, as_model
from purefit.errors import InputError
from purefit.models import Model


def from_path(path: str, input_shape: tuple[int, ...], outputs: int) -> Model:
    """The model that `path` names: `package.module:function` or `path/to/file.py:function`.

    The function is given what `built` says; a network that is there already is taken as it is. Modules
    are found from the current directory too. The same arguments give the same model.
    Raises InputError, in one line, if there is no such function or it doesn't make a model.

    >>> from_path("purefit.models", (4,), 3)
    Traceback (most recent call last):
    purefit.errors.InputError: purefit.models: a model is named PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION
    """
    place, colon, name = path.rpartition(":")
    if not (colon and place and name):
        raise InputError(f"{path}: a model is named PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION")
    if place.endswith(".py"):
        place = str(Path(place).resolve())
    return model_at(path, place, name, input_shape, outputs)


@cache
def model_at(path: str, place: str, name: str, input_shape: tuple[int, ...], outputs: int) -> Model:
    """The model that `name` in the module or file `place` makes; `path` is for messages."""
    module = imported(path, place)
    found = getattr(module, name, None)
    if found is None:
        raise InputError(f"{path}: {place} has no {name}; {nearest(name, module)}")
    try:
        if adapter_of(found) and not isinstance(found, type):
            return as_model(found)
        if not callable(found):
            as_model(found)  # says what was expected
        return built(found, input_shape=input_shape, outputs=outputs)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except Exception as error:
        raise InputError(f"{path}: it raised {told(error, module.__file__)}") from error


def imported(path: str, place: str) -> ModuleType:
    """The module of that name, or the file's."""
    is_file = place.endswith(".py")
    if is_file and not Path(place).is_file():
        raise InputError(f"{path}: no such file")
    # As Python itself does for a script and for `python -m`. It stays: functions import when they are called.
    folder = str(Path(place).parent) if is_file else str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_file(place) if is_file else importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and not is_file and f"{place}.".startswith(f"{error.name}."):
            raise InputError(f"{path}: no module named {error.name}, from here or installed") from error
        raise InputError(f"{path}: importing it raised {told(error)}") from error
    except Exception as error:
        raise InputError(f"{path}: importing it raised {told(error)}") from error


def import_file(file: str) -> ModuleType:
    """The module of a file, imported once; its name is the file's."""
    if file in sys.modules:
        return sys.modules[file]
    specification = importlib.util.spec_from_file_location(file, file)
    assert specification is not None  # the name ends in .py
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[file] = module  # dataclasses look their module up here
    try:
        specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[file]
        raise
    return module


def nearest(name: str, module: Any) -> str:
    """What a message says of the names that the module does have."""
    names = [each for each, value in vars(module).items() if callable(value) and not each.startswith("_")]
    close = get_close_matches(name, names, 1)
    own = [each for each in names if getattr(getattr(module, each), "__module__", None) == module.__name__]
    return f"did you mean {close[0]}?" if close else f"its functions are {', '.join(own) or 'none'}"


def told(error: Exception, file: str | None = None) -> str:
    """An exception in one line: its type, the first line of its message, and the place in `file` it came through.

    >>> told(ValueError("no such width"))
    'ValueError: no such width'
    """
    message = next(iter(str(error).strip().splitlines()), "")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if file and frame.filename == file]
    where = f" (line {lines[-1]} of {Path(file).name})" if file and lines else ""
    return type(error).__name__ + (f": {message}" if message else "") + where
