"""Flax Linen modules as models: their `params` are learned, their other collections are the state."""

from typing import Any

import jax
from jaxtyping import Array, Key

from purefit.examples import Examples
from purefit.models import Model, first_rows, own_arrays, with_types_of
from purefit.signatures import cached, train_arguments


@cached
def from_linen(module: Any) -> Model:
    """The model of a `flax.linen.Module`, whose `__call__` takes a batch.

    Whether it is trained is passed as that one of `train`, `training`, `is_training`, `deterministic` and
    `use_running_average` (the last two: `not train`) which `__call__` has for a parameter. Its params are
    those of `module.init(key, x)`. Dropout and other streams get the step's key when training, and none
    when predicting, when nothing is mutable either.

    >>> from flax import linen as nn
    >>> import jax.numpy as jnp
    >>> model = from_linen(nn.Dense(2))
    >>> params, state = model.init(jax.random.key(0), Examples(jnp.ones((5, 3)), jnp.ones((5, 2)), jnp.ones(5)))
    >>> params["kernel"].shape, state
    ((3, 2), {})
    """

    def arguments(train: bool) -> dict[str, bool]:
        given = train_arguments(type(module).__call__, train)
        # Linen refuses a flag that the constructor has set already.
        return {name: value for name, value in given.items() if getattr(module, name, None) is None}

    def init(key: Key[Array, ""], examples: Examples) -> tuple[Any, Any]:
        # As if trained: parts that only training uses get their params too.
        streams = {"params": key, "dropout": jax.random.fold_in(key, 1)}
        variables = dict(module.init(streams, first_rows(examples.x), **arguments(True)))
        params = variables.pop("params", {})
        return own_arrays(params), own_arrays(variables)

    def apply(
        params: Any, state: Any, x: Any, *, key: Key[Array, ""] | None = None, train: bool = False
    ) -> tuple[Any, Any]:
        # Streams that have no key of their own, whatever their names, draw from "params".
        streams = None if key is None else {"dropout": key, "params": jax.random.fold_in(key, 1)}
        mutable = [*state] if train else []
        outputs, updated = module.apply(
            {"params": params, **state}, x, rngs=streams, mutable=mutable, **arguments(train)
        )
        return outputs, with_types_of(state, updated) if train else state

    return Model(init, apply)
