"""Settings: what a comparison varies, from text such as dropout=0,0.1,0.3 to configurations.

It imports neither JAX nor NumPy: wrong use is told at once.
"""

from dataclasses import fields, replace
from difflib import get_close_matches
from itertools import product
from typing import Any, NamedTuple, get_args, get_type_hints

from purefit.config import Config
from purefit.errors import InputError
from purefit.spelling import value_of

NOT_VARIED = ("seed", "data_dir", "task", "valid")
"""Fields of a configuration that make another data set or pairing, not another setting."""


class Setting(NamedTuple):
    """label: what it varies, in words: "dropout=0.1". config: for any seed."""

    label: str
    config: Config


def settings_of(config: Config, texts: tuple[str, ...]) -> list[Setting]:
    """Every combination of the values that `texts` give, in their order; the first is what others are compared with.

    >>> [setting.label for setting in settings_of(Config(), ("dropout=0,0.5", "optimizer=adam,sgd:momentum=0.9"))]
    ['dropout=0 optimizer=adam', 'dropout=0 optimizer=sgd:momentum=0.9', 'dropout=0.5 optimizer=adam', \
'dropout=0.5 optimizer=sgd:momentum=0.9']
    """
    axes = [axis_of(text) for text in texts]
    names = [name for name, _ in axes]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--set {name}: is given twice")
    found = []
    for values in product(*(values for _, values in axes)):
        label = " ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        given = {name: field_value(name, value) for name, value in zip(names, values, strict=True)}
        try:
            found.append(Setting(label, replace(config, **given)))
        except InputError as error:
            raise InputError(f"--set {label}: {error}") from error
    return found


def axis_of(text: str) -> tuple[str, list[str]]:
    """The field that `text` varies and the texts of its values.

    >>> axis_of("optimizer=adam,adamw:b1=0.8,b2=0.9,sgd")
    ('optimizer', ['adam', 'adamw:b1=0.8,b2=0.9', 'sgd'])
    """
    name, equals, rest = text.partition("=")
    name = name.strip().removeprefix("--").replace("-", "_")
    names = [field.name for field in fields(Config) if field.name not in NOT_VARIED]
    if name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
        raise InputError(f"--set {text}: {name or 'nothing'} can't be varied; {hint}")
    values: list[str] = []
    for piece in rest.split(","):
        # What has a = belongs to the options of the choice before it.
        if values and "=" in piece and ":" in values[-1]:
            values[-1] += f",{piece.strip()}"
        else:
            values.append(piece.strip())
    if not equals or not all(values):
        raise InputError(f"--set {text}: expected NAME=VALUE,VALUE")
    if len(set(values)) < len(values):
        raise InputError(f"--set {text}: a value is given twice")
    return name, values


def field_value(name: str, text: str) -> Any:
    """The value that `text` spells for a field of the configuration; several numbers with / between them.

    >>> field_value("hidden", "64/32"), field_value("dropout", "0.1"), field_value("optimizer", "sgd")
    ((64, 32), 0.1, 'sgd')
    """
    kind, value = get_type_hints(Config)[name], value_of(text)
    options = get_args(kind)
    if kind is str:
        return text
    if name in ("hidden", "channels"):
        value = value if isinstance(value, tuple) else () if value is None else (value,)
        if all(isinstance(width, int) and not isinstance(width, bool) for width in value):
            return value
        raise InputError(f"--set {name}={text}: expected whole numbers with / between them")
    if kind is bool:
        allowed = isinstance(value, bool)
    elif all(isinstance(option, str) for option in options) and options:
        value = text
        allowed = text in options
    else:
        accepted = options or (kind,)
        if float in accepted and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        allowed = type(value) in accepted
    if not allowed:
        what = ", ".join(map(str, options)) if options and isinstance(options[0], str) else describe(kind)
        raise InputError(f"--set {name}={text}: expected {what}")
    return value


def describe(kind: Any) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", type(None): "none"}
    return " or ".join(names.get(each, str(each)) for each in get_args(kind) or (kind,))
