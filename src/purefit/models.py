"""A model is a pair of pure functions, `init` and `apply`, as an Optax optimizer is its pair.

`mlp` is the built-in one. `scaled` puts the scaling of the inputs inside a model, so that data stay in
the type they came in and a saved model needs no preprocessing beside it.
"""

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from purefit.errors import InputError
from purefit.examples import Examples
from purefit.signatures import parameter_names


class Model(NamedTuple):
    """A pair of pure functions; from simpler ones by `from_function` and `from_example_function`.

    init: `init(key, examples) -> (params, state)`. The training examples give shapes and types, and
        statistics to those that want them (see `scaled`).
    apply: `apply(params, state, x, *, key, train) -> (outputs, state)` for a batch `x`. When predicting,
        `key` is None and `train` False. `state` is what isn't learned by gradient; `()` for most models.
    """

    init: Callable[[Key[Array, ""], Examples], tuple[Any, Any]]
    apply: Callable[..., tuple[Any, Any]]

    @staticmethod
    @cache  # the same functions are the same model, so that `jit` compiles it once
    def from_function(init: Callable[..., Any], apply: Callable[..., Any]) -> "Model":
        """The model of two functions without state.

        init: `init(key, x) -> params`, for a batch `x` of one example.
        apply: `apply(params, x) -> outputs`, for a batch. It is given `key=` (None when predicting) and
            `train=` if these are names of its parameters.

        >>> model = Model.from_function(
        ...     lambda key, x: jax.random.normal(key, (x.shape[1], 1)), lambda params, x: x @ params
        ... )
        >>> params, state = model.init(jax.random.key(0), Examples(jnp.ones((5, 3)), jnp.ones((5, 1)), jnp.ones(5)))
        >>> model.apply(params, state, jnp.ones((2, 3)), key=None, train=False)[0].shape
        (2, 1)
        """
        taken = {"key", "train"} & {*parameter_names(apply)}

        def init_model(key: Key[Array, ""], examples: Examples) -> tuple[Any, Any]:
            return own_arrays(init(key, first_rows(examples.x))), ()

        def apply_model(
            params: Any, state: Any, x: Any, *, key: Key[Array, ""] | None = None, train: bool = False
        ) -> tuple[Any, Any]:
            given = {"key": key, "train": train}
            return apply(params, x, **{name: given[name] for name in taken}), state

        return Model(init_model, apply_model)

    @staticmethod
    @cache
    def from_example_function(init: Callable[..., Any], apply: Callable[..., Any]) -> "Model":
        """The model of two functions of one example, `init(key, x)` and `apply(params, x)`, without state.

        `apply` is mapped over the batch. It is given `key=`, another one for each example (None when
        predicting), and `train=` if these are names of its parameters.

        >>> model = Model.from_example_function(
        ...     lambda key, x: jax.random.normal(key, (1, len(x))), lambda params, x: params @ x
        ... )
        >>> params, state = model.init(jax.random.key(0), Examples(jnp.ones((5, 3)), jnp.ones((5, 1)), jnp.ones(5)))
        >>> model.apply(params, state, jnp.ones((2, 3)), key=None, train=False)[0].shape
        (2, 1)
        """
        taken = {"key", "train"} & {*parameter_names(apply)}

        def init_one(key: Key[Array, ""], x: Any) -> Any:
            return init(key, jax.tree.map(lambda leaf: leaf[0], x))

        def apply_each(params: Any, x: Any, *, key: Key[Array, ""] | None, train: bool) -> Any:
            def apply_one(x: Any, key: Key[Array, ""] | None) -> Any:
                given = {"key": key, "train": train}
                return apply(params, x, **{name: given[name] for name in taken})

            return jax.vmap(apply_one)(x, example_keys(key, x) if "key" in taken else None)

        return Model.from_function(init_one, apply_each)


def first_rows(x: Any) -> Any:
    """A batch of the first example only: enough to initialize from, however many there are."""
    return jax.tree.map(lambda leaf: leaf[:1], x)


def example_keys(key: Key[Array, ""] | None, x: Any) -> Key[Array, " batch"] | None:
    """A key for each example of a batch; None from None."""
    return None if key is None else jax.random.split(key, len(jax.tree.leaves(x)[0]))


def own_arrays(tree: Any) -> Any:
    """The tree with each leaf an array of its own, with a type of its own.

    A weak type (`jnp.asarray(1.0)` has one) would be lost in the first update, and with it the constant
    types that a scan asks for.

    >>> own_arrays({"scale": 1.0})["scale"].weak_type
    False
    """

    def own(leaf: Any) -> Array:
        leaf = jnp.asarray(leaf)
        return jnp.array(leaf, leaf.dtype)

    return jax.tree.map(own, tree)


def with_types_of(old: Any, new: Any) -> Any:
    """The tree `new` with each leaf in the type of its counterpart in `old`.

    >>> with_types_of({"mean": jnp.zeros(2, "bfloat16")}, {"mean": jnp.ones(2)})["mean"].dtype.name
    'bfloat16'
    """
    return jax.tree.map(lambda before, after: jnp.asarray(after, before.dtype), old, new)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
    "elu": jax.nn.elu,
    "selu": jax.nn.selu,
    "sigmoid": jax.nn.sigmoid,
    "softplus": jax.nn.softplus,
}


def dense(key: Key[Array, ""], inputs: int, outputs: int) -> dict[str, Array]:
    """The parameters of one dense layer: weights normal with variance 2/inputs (He et al., 2015), biases 0.

    >>> jax.tree.map(jnp.shape, dense(jax.random.key(0), 4, 3))
    {'bias': (3,), 'weight': (4, 3)}
    """
    weight = jax.random.normal(key, (inputs, outputs)) * jnp.sqrt(2 / inputs)
    return {"weight": weight, "bias": jnp.zeros(outputs)}


def forward(
    layers: list[dict[str, Array]], x: Float[Array, "batch inputs"], activation: Callable[[Array], Array]
) -> Float[Array, "batch outputs"]:
    """The outputs of dense `layers`, as many as there are, with `activation` between them."""
    *hidden, last = layers
    for layer in hidden:
        x = activation(x @ layer["weight"] + layer["bias"][None])
    return x @ last["weight"] + last["bias"][None]


@cache  # the same description is the same model, so that `jit` compiles it once
def mlp(hidden: tuple[int, ...], outputs: int, activation: str = "relu") -> Model:
    """A multilayer perceptron with `hidden` widths, for inputs of any shape (each is flattened).

    Its params are a list of layers, {"weight": (inputs, outputs), "bias": (outputs,)}, float32; it has no
    state. `activation` is a name in `ACTIVATIONS`.

    >>> model = mlp((256, 128), 10)
    >>> examples = Examples(jnp.zeros((5, 28, 28)), jnp.zeros(5, int), jnp.ones(5))
    >>> params, state = model.init(jax.random.key(0), examples)
    >>> [layer["weight"].shape for layer in params]
    [(784, 256), (256, 128), (128, 10)]
    >>> model.apply(params, state, examples.x, key=None, train=False)[0].shape
    (5, 10)
    """
    if not all(width > 0 for width in (*hidden, outputs)):
        raise InputError(f"widths of an mlp must be positive, not {(*hidden, outputs)}")
    if activation not in ACTIVATIONS:
        raise InputError(f"no activation named {activation!r}; there are {', '.join(ACTIVATIONS)}")
    nonlinearity = ACTIVATIONS[activation]

    def init(key: Key[Array, ""], examples: Examples) -> tuple[Any, Any]:
        widths = (prod(examples.x.shape[1:]), *hidden, outputs)
        keys = jax.random.split(key, len(widths) - 1)
        return [dense(*shape) for shape in zip(keys, widths[:-1], widths[1:], strict=True)], ()

    def apply(
        params: Any, state: Any, x: Array, *, key: Key[Array, ""] | None = None, train: bool = False
    ) -> tuple[Array, Any]:
        del key, train  # the same when training and predicting
        return forward(params, x.reshape(len(x), -1), nonlinearity), state

    return Model(init, apply)


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


@cache
def scaled(model: Model, by: Literal["unit", "standard"]) -> Model:
    """`model` behind a scaling of its inputs, whose constants `init` takes from the training examples.

    The constants live in the state: {"scaling": Scaling, "model": the model's own state}.

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
