"""Haiku's transformed functions as models; they are pairs of pure functions already."""

from typing import Any

import haiku as hk
from jaxtyping import Array, Key

from purefit.errors import InputError
from purefit.examples import Examples
from purefit.models import Model, first_rows, own_arrays, with_types_of
from purefit.signatures import TRAIN_FLAGS, cached, parameter_names


@cached
def from_haiku(transformed: Any, train_argument: str | None = None) -> Model:
    """The model of what `hk.transform` or `hk.transform_with_state` returned, for a function of a batch.

    train_argument: the name under which that function takes whether it is trained; by default the one of
        `train`, `training`, `is_training`, `deterministic` and `use_running_average` (the last two:
        `not train`) that is a parameter of it. Where its signature is hidden, the name must be given.

    >>> import jax, jax.numpy as jnp
    >>> model = from_haiku(hk.transform(lambda x: hk.Linear(2)(x)))
    >>> params, state = model.init(jax.random.key(0), Examples(jnp.ones((5, 3)), jnp.ones((5, 2)), jnp.ones(5)))
    >>> params["linear"]["w"].shape, state
    ((3, 2), {})
    """
    if not isinstance(transformed, (hk.Transformed, hk.TransformedWithState)):
        raise InputError(f"expected what hk.transform returns, not {type(transformed).__name__}")
    stateful = isinstance(transformed, hk.TransformedWithState)
    # apply(params, [state,] [rng,] x, …): no rng after hk.without_apply_rng.
    _, *names = parameter_names(transformed.apply)
    names = names[1:] if stateful else names
    takes_rng = names[:1] == ["rng"]
    flags = [name for name in names if name in TRAIN_FLAGS] if train_argument is None else [train_argument]

    def arguments(train: bool) -> dict[str, bool]:
        return {name: train == TRAIN_FLAGS.get(name, True) for name in flags}

    def init(key: Key[Array, ""], examples: Examples) -> tuple[Any, Any]:
        # As if trained: Haiku's running averages come to be only then.
        initial = transformed.init(key, first_rows(examples.x), **arguments(True))
        params, state = initial if stateful else (initial, {})
        return own_arrays(params), own_arrays(state)

    def apply(
        params: Any, state: Any, x: Any, *, key: Key[Array, ""] | None = None, train: bool = False
    ) -> tuple[Any, Any]:
        rng = [key] if takes_rng else []
        if not stateful:
            return transformed.apply(params, *rng, x, **arguments(train)), state
        outputs, updated = transformed.apply(params, state, *rng, x, **arguments(train))
        return outputs, with_types_of(state, updated) if train else state

    return Model(init, apply)
