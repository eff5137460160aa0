"""The scaling of inputs, inside the model: data stay in the type they came in, and a saved model needs no
preprocessing beside it.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from purefit.examples import Examples
from purefit.models import Model, described


class Scaling(NamedTuple):
    """x -> (x - shift) * scale, in floats; one number for all features, or `(1, features…)`."""

    shift: Float[Array, "..."]
    scale: Float[Array, "..."]

    def __call__(self, x: Array) -> Array:
        return (x.astype(self.shift.dtype) - self.shift) * self.scale


def unit_scaling(examples: Examples) -> Scaling:
    """Divides by the largest magnitude that counts: bytes of 0 to 255 become 0 to 1. One constant for all.

    >>> scaling = unit_scaling(Examples(jnp.array([[0, 51], [255, 0]], "uint8"), jnp.zeros(2), jnp.ones(2)))
    >>> scaling(jnp.array([[0, 255]], "uint8"))
    Array([[0., 1.]], dtype=float32)
    """
    weight = examples.weight.reshape(-1, *[1] * (examples.x.ndim - 1))
    largest = jnp.max(jnp.where(weight > 0, jnp.abs(examples.x.astype(float)), 0))
    return Scaling(jnp.zeros_like(largest), 1 / jnp.where(largest > 0, largest, 1))


def standard_scaling(examples: Examples) -> Scaling:
    """Subtracts each feature's weighted mean and divides by its standard deviation (by 1 if it is constant).

    >>> x = jnp.array([[1.0, 7.0], [3.0, 7.0]])
    >>> standard_scaling(Examples(x, jnp.zeros(2), jnp.ones(2)))(x).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    x = examples.x.astype(float)
    weight = examples.weight / jnp.sum(examples.weight)
    mean = jnp.tensordot(weight, x, 1)[None]
    deviation = jnp.sqrt(jnp.tensordot(weight, (x - mean) ** 2, 1))[None]
    # A constant column's deviation is rounding error, not exactly 0.
    constant = deviation <= 1e-6 * jnp.abs(mean)
    return Scaling(mean, 1 / jnp.where(constant, 1, deviation))


SCALINGS: dict[str, Callable[[Examples], Scaling]] = {"unit": unit_scaling, "standard": standard_scaling}


@described
def scaled(model: Model, by: Literal["unit", "standard"]) -> Model:
    """`model` behind a scaling of its inputs, whose constants `init` takes from the training examples.

    The constants live in the state: {"scaling": Scaling, "model": the model's own state}.

    >>> import jax
    >>> from purefit import mlp
    >>> model = scaled(mlp((), 1), "unit")
    >>> examples = Examples(jnp.full((2, 3), 255, "uint8"), jnp.zeros((2, 1)), jnp.ones(2))
    >>> params, state = model.init(jax.random.key(0), examples)
    >>> round(1 / state["scaling"].scale.item())
    255
    """

    def init(key: Key[Array, ""], examples: Examples) -> tuple[Any, Any]:
        scaling = SCALINGS[by](examples)
        params, state = model.init(key, examples._replace(x=scaling(examples.x)))
        return params, {"scaling": scaling, "model": state}

    def apply(
        params: Any, state: Any, x: Array, *, key: Key[Array, ""] | None = None, train: bool = False
    ) -> tuple[Array, Any]:
        outputs, inner = model.apply(params, state["model"], state["scaling"](x), key=key, train=train)
        return outputs, state | {"model": inner}

    return Model(init, apply)
