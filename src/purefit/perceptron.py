"""The multilayer perceptron, for tables and small images."""

from math import prod
from typing import Any, Literal

import jax
from jaxtyping import Array, Key

from purefit.errors import InputError
from purefit.examples import Examples
from purefit.layers import ACTIVATIONS, affine, batch_norm, dense, dropout, layer_norm, norm_params, norm_state
from purefit.models import Model, described

Norm = Literal["none", "layer", "batch"]
NORMS = ("none", "layer", "batch")


@described
def mlp(
    hidden: tuple[int, ...],
    outputs: int,
    activation: str = "relu",
    *,
    norm: Norm = "none",
    residual: bool = False,
    dropout_rate: Any = 0.0,
) -> Model:
    """A multilayer perceptron with `hidden` widths, for inputs of any shape (each is flattened).

    activation: a name in `ACTIVATIONS`. norm: of each hidden layer, before its activation.
    residual: hidden layers as wide as their input add what they compute to it (He et al., 2016).
    dropout_rate: the share of hidden units that are 0 in a step (Srivastava et al., 2014); may be traced.
        When predicting none are.
    Its params are a list of layers, {"weight": (inputs, outputs), "bias": (outputs,)}, with a "norm" where
    there is one; its state is a list of running means and variances, or () without batch norm. float32.

    >>> model = mlp((256, 128), 10)
    >>> examples = Examples(jax.numpy.zeros((5, 28, 28)), jax.numpy.zeros(5, int), jax.numpy.ones(5))
    >>> params, state = model.init(jax.random.key(0), examples)
    >>> [layer["weight"].shape for layer in params]
    [(784, 256), (256, 128), (128, 10)]
    >>> model.apply(params, state, examples.x, key=None, train=False)[0].shape
    (5, 10)
    """
    check(activation, norm, dropout_rate)
    if not all(width > 0 for width in (*hidden, outputs)):
        raise InputError(f"widths of an mlp must be positive, not {(*hidden, outputs)}")
    nonlinearity = ACTIVATIONS[activation]
    drops = not (isinstance(dropout_rate, int | float) and dropout_rate == 0)

    def init(key: Key[Array, ""], examples: Examples) -> tuple[Any, Any]:
        widths = (prod(examples.x.shape[1:]), *hidden, outputs)
        keys = jax.random.split(key, len(widths) - 1)
        layers: list[Any] = [dense(*shape) for shape in zip(keys, widths[:-1], widths[1:], strict=True)]
        for layer, width in zip(layers, hidden, strict=False):
            if norm != "none":
                layer["norm"] = norm_params(width)
        return layers, [norm_state(width) for width in hidden] if norm == "batch" else ()

    def apply(
        params: Any, state: Any, x: Array, *, key: Key[Array, ""] | None = None, train: bool = False
    ) -> tuple[Array, Any]:
        x = x.reshape(len(x), -1)
        states = list(state)
        for number, layer in enumerate(params[:-1]):
            before = x
            x = affine(layer, x)
            if norm == "layer":
                x = layer_norm(layer["norm"], x)
            elif norm == "batch":
                x, states[number] = batch_norm(layer["norm"], states[number], x, train)
            x = nonlinearity(x)
            if drops and train and key is not None:
                x = dropout(jax.random.fold_in(key, number), dropout_rate, x)
            if residual and before.shape == x.shape:
                x = before + x
        return affine(params[-1], x), states if norm == "batch" else state

    return Model(init, apply)


def check(activation: str, norm: str, dropout_rate: Any) -> None:
    """Raises InputError for what no network can have."""
    if activation not in ACTIVATIONS:
        raise InputError(f"no activation named {activation!r}; there are {', '.join(ACTIVATIONS)}")
    if norm not in NORMS:
        raise InputError(f"no norm named {norm!r}; there are {', '.join(NORMS)}")
    if isinstance(dropout_rate, int | float) and not 0 <= dropout_rate < 1:
        raise InputError(f"a dropout rate is from 0 to below 1, not {dropout_rate}")
