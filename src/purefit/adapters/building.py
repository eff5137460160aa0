"""Models from a user's function that is told the data's shapes, whatever library it uses."""

from collections.abc import Callable
from functools import partial
from typing import Any

from purefit.adapters.recognise import as_model
from purefit.errors import InputError
from purefit.models import Model
from purefit.signatures import cached, name_of, parameter_names, required_names


@cached
def built(function: Callable[..., Any], *, input_shape: tuple[int, ...], outputs: int) -> Model:
    """The model of what `function` returns; anything that `as_model` takes.

    The function is given those that it names of
        input_shape: the shape of one example;
        outputs: how many numbers the model has to give for one example;
        key: then it makes an Equinox module from a run's key (see `from_equinox`);
        rngs: then it makes an NNX module from a run's `nnx.Rngs` (see `from_nnx`).
    Raises InputError if it needs anything else.

    >>> from purefit import mlp
    >>> built(lambda outputs: mlp((8,), outputs), input_shape=(4,), outputs=3) == mlp((8,), 3)
    True
    """
    shapes = {"input_shape": input_shape, "outputs": outputs}
    names = parameter_names(function)
    missing = [name for name in required_names(function) if name not in {*shapes, "key", "rngs"}]
    if missing:
        raise InputError(
            f"{name_of(function)}: needs {', '.join(missing)}; what a model's function can be given is "
            "input_shape, outputs, and key (for Equinox) or rngs (for Flax NNX)"
        )
    shaped = partial(function, **{name: value for name, value in shapes.items() if name in names})
    if "key" in names and "rngs" in names:
        raise InputError(f"{name_of(function)}: takes key (for Equinox) and rngs (for Flax NNX); it can be given one")
    if "key" in names:
        from purefit.adapters.equinox import from_equinox

        return from_equinox(shaped)
    if "rngs" in names:
        from purefit.adapters.nnx import from_nnx

        return from_nnx(shaped)
    return as_model(shaped())
