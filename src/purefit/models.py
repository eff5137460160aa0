"""A model is a pair of pure functions, `init` and `apply`, as an Optax optimizer is its pair."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, NamedTuple, ParamSpec

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from purefit.examples import Examples
from purefit.signatures import parameter_names

P = ParamSpec("P")


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


def described(make: Callable[P, Model]) -> Callable[P, Model]:
    """`make`, so that the same description is the same model, and `jit` compiles it once.

    A description with a traced number in it, such as a dropout rate, is made anew each time it is traced.
    """
    known = cache(make)

    @wraps(make)
    def model(*args: P.args, **kwargs: P.kwargs) -> Model:
        traced = any(isinstance(value, jax.Array | np.ndarray) for value in (*args, *kwargs.values()))
        return make(*args, **kwargs) if traced else known(*args, **kwargs)  # type: ignore[arg-type]

    return model
