"""How a choice with options is spelled: NAME:OPTION=VALUE,OPTION=VALUE, such as adamw:b1=0.95,nesterov=true."""

import re
from typing import Any, NamedTuple

from purefit.errors import InputError


class Length(NamedTuple):
    """A length of time in a run: "epochs" or "steps"."""

    amount: float
    unit: str

    def steps(self, steps_per_epoch: int) -> int:
        """The length in whole steps, at least 1.

        >>> Length(0.5, "epochs").steps(100)
        50
        """
        return max(1, round(self.amount * (steps_per_epoch if self.unit == "epochs" else 1)))


class Choice(NamedTuple):
    """A name and its options, as (option, value) pairs in the order of their names: hashable.

    Lengths of time that stand for an option's name are gathered as "boundaries_and_scales".
    """

    name: str
    options: tuple[tuple[str, Any], ...] = ()


def parse(text: str) -> Choice:
    """The choice that `text` spells. Raises InputError if it spells none.

    Values are numbers, true, false, none, lengths of time (2epochs, 300steps), several of these with / between
    them, or else text.

    >>> parse("adamw:b1=0.95,nesterov=true")
    Choice(name='adamw', options=(('b1', 0.95), ('nesterov', True)))
    >>> parse("piecewise_constant:3epochs=0.1,5epochs=0.1").options
    (('boundaries_and_scales', ((Length(amount=3.0, unit='epochs'), 0.1), (Length(amount=5.0, unit='epochs'), 0.1))),)
    """
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    boundaries: list[tuple[Length, Any]] = []
    for part in filter(None, rest.split(",")):
        option, equals, value = (piece.strip() for piece in part.partition("="))
        if not (equals and option and value):
            raise InputError(f"{text!r}: expected NAME:OPTION=VALUE,OPTION=VALUE, and {part!r} isn't OPTION=VALUE")
        length = value_of(option)
        if isinstance(length, Length):
            boundaries.append((length, value_of(value)))
        elif option in options:
            raise InputError(f"{text!r}: {option} is given twice")
        else:
            options[option.replace("-", "_")] = value_of(value)
    if boundaries:
        options["boundaries_and_scales"] = tuple(boundaries)
    return Choice(name.strip().replace("-", "_"), tuple(sorted(options.items())))


def value_of(text: str) -> Any:
    """What `text` stands for.

    >>> [value_of(text) for text in ("3", "1e-3", "false", "none", "0.9/0.999", "2epochs", "sgd")]
    [3, 0.001, False, None, (0.9, 0.999), Length(amount=2.0, unit='epochs'), 'sgd']
    """
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if "/" in text:
        return tuple(value_of(part) for part in text.split("/"))
    length = re.fullmatch(r"([0-9.]+)\s*(epoch|step)s?", text)
    for kind in (int, float):
        try:
            return Length(float(length[1]), length[2] + "s") if length else kind(text)
        except ValueError:
            pass
    return text
