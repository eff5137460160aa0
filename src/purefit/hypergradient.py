"""Hypergradients: how the loss at the end of a run changes with the run's hyperparameters.

A run is a pure function, so its derivative is one too: backwards through every step. Two things make that
work: the steps are computed again from a few kept states, so that memory grows with the square root of
their number, and slopes that are infinite count as 0.

>>> from purefit import Data, Examples, Recipe, losses, mlp, optimizer
>>> x = jax.random.normal(jax.random.key(1), (200, 3))
>>> part = lambda rows: Examples(x[rows], x[rows] @ jnp.ones((3, 1)), jnp.ones(len(x[rows])))
>>> data = Data(part(slice(150)), part(slice(150, None)))
>>> recipe = Recipe(mlp((16,), 1, "tanh"), optimizer("adam"), losses.squared_error, epochs=5, batch_size=32)
>>> found = jax.jit(hypergrad, static_argnums=0)(recipe, {"learning_rate": 1e-4}, data, jax.random.key(0))
>>> bool(found.gradient["learning_rate"] < 0)  # a larger rate would have learned more
True
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from math import isqrt
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float, Key, PyTree

from purefit.averaging import averaged
from purefit.core import Metrics, TrainState, evaluate, init, train_pass
from purefit.errors import InputError
from purefit.examples import Data
from purefit.hyper import Hyper
from purefit.optimizers import hint
from purefit.recipe import Recipe
from purefit.rewriting import Rule, rewritten


class Hypergradient(NamedTuple):
    """loss: of the validation examples at the run's end. gradient: its derivative in each chosen number."""

    loss: Float[Array, ""]
    gradient: dict[str, Float[Array, ""]]


def hypergrad(
    recipe: Recipe, hyper: Hyper, data: Data, key: Key[Array, ""], names: Iterable[str] | None = None
) -> Hypergradient:
    """The validation loss at the end of a run, and its gradient in the hyperparameters `names`.

    The run is `fit`'s, to its last epoch: no patience, and not the best epoch but the last weights, or their
    average where the optimizer keeps one. May be compiled (the recipe and the names are static) and mapped.

    hyper: as for `fit`; names: some of its names, all but "patience" if not given.
    data: with `valid`, whose weighted mean loss it is.

    It is the exact derivative of what the run computes, which has steps where it asks whether one number is
    larger than another: with `relu`, in a sign, in clipping, it is the derivative on this side of the step.
    So a dropout rate's is that with the units that were left out held fixed: what comes of scaling the
    others by 1 / (1 - rate), not of leaving out more. Where a slope is infinite (a square root at 0, as of
    the gradient of a weight whose input is always 0) it counts as 0.

    Memory is a few times the square root of the number of steps, times that of one step; the time, three
    runs and their backward pass.

    Raises InputError for a name that isn't in `hyper` or has no derivative, without `data.valid`, and for an
    optimizer that searches in a loop of unknown length (lbfgs).
    """
    chosen = differentiable(hyper, names)
    fixed = {name: value for name, value in hyper.items() if name not in chosen and name != "patience"}
    if data.valid is None:
        raise InputError("a hypergradient is that of the loss of held-out examples: data.valid is None")
    backwards = replace(recipe, scan=checkpointed_scan, metrics=(), monitor="loss")

    def loss(chosen: Hyper, fixed: Hyper, data: Data, key: Key[Array, ""]) -> Float[Array, ""]:
        return final_loss(backwards, {**fixed, **chosen}, data, key)

    try:
        return Hypergradient(*jax.value_and_grad(rewritten(loss, FINITE_SLOPES))(chosen, fixed, data, key))
    except ValueError as error:
        if "while_loop" in str(error):
            raise InputError("the optimizer or the model has a loop of unknown length: it has no gradient") from error
        raise


def differentiable(hyper: Hyper, names: Iterable[str] | None) -> dict[str, Float[Array, ""]]:
    """The numbers of these names, as arrays. InputError for a name that isn't there or has no derivative."""
    chosen = {}
    for name in (each for each in hyper if each != "patience") if names is None else names:
        if name not in hyper:
            raise InputError(f"no hyperparameter named {name!r}{hint(name, hyper)}")
        value = jnp.asarray(hyper[name])
        if name == "patience" or not jnp.issubdtype(value.dtype, jnp.floating):
            why = "it counts epochs" if name == "patience" else f"it is of type {value.dtype}, not a fraction"
            raise InputError(f"{name} has no gradient: {why}")
        chosen[name] = value
    return chosen


def final_loss(recipe: Recipe, hyper: Hyper, data: Data, key: Key[Array, ""]) -> Float[Array, ""]:
    """The validation loss of a run's last weights (of their average, where the optimizer keeps one)."""

    def one_epoch(state: TrainState, _: None) -> tuple[TrainState, Metrics]:
        return train_pass(recipe, hyper, data.train, key, state)

    state, _ = recipe.scan(one_epoch, init(recipe, hyper, data, key), length=recipe.epochs)
    assert data.valid is not None
    weights = state._replace(params=averaged(state.opt_state, state.params))
    loss: Array = evaluate(recipe, hyper, weights, data.valid)["loss"]
    return loss


def checkpointed_scan(
    body: Callable[[Any, Any], tuple[Any, Any]], carry: PyTree, xs: PyTree = None, length: int | None = None
) -> tuple[PyTree, PyTree]:
    """`jax.lax.scan(body, carry, xs, length)`, whose derivative needs the memory of about 2 √length steps.

    The carry is kept at the beginning of each block of about √length steps; the others are computed again,
    a block at a time, when the derivative comes to them (Griewank, 1992).

    >>> def total(x):
    ...     return checkpointed_scan(lambda sum, _: (sum + x**2, sum), 0.0, length=10)[0]
    >>> float(total(3.0)), float(jax.grad(total)(3.0))
    (90.0, 60.0)
    """
    count = len(jax.tree.leaves(xs)[0]) if length is None else length
    root = max(1, isqrt(count))
    # What is left over at the end is one more program to compile; some length near the root leaves nothing.
    block = min(range(root, 2 * root), key=lambda size: (count % size, size), default=1)
    whole = count - count % block

    def steps(carry: PyTree, xs: PyTree, length: int) -> tuple[PyTree, PyTree]:
        return lax.scan(body, carry, xs, length)

    blocks = jax.tree.map(lambda leaf: leaf[:whole].reshape(-1, block, *leaf.shape[1:]), xs)
    carry, ys = lax.scan(
        jax.checkpoint(partial(steps, length=block), prevent_cse=False), carry, blocks, length=whole // block
    )
    ys = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), ys)
    if whole == count:
        return carry, ys
    left = jax.tree.map(lambda leaf: leaf[whole:], xs)
    carry, last = jax.checkpoint(partial(steps, length=count - whole))(carry, left)
    return carry, jax.tree.map(lambda one, other: jnp.concatenate([one, other]), ys, last)


def finite_slope(primitive: Any) -> Rule:
    """The rule that computes an elementwise primitive as it is, with slope 0 where its slope isn't finite.

    Where it is infinite, not defined, or too large for its type, what reaches it is a 0 as a rule (the other
    branch of a `jnp.where`, an input that is always 0), and times 0 it would be NaN.
    """

    def rule(*operands: Any, **params: Any) -> Any:
        if not all(jnp.issubdtype(operand.dtype, jnp.floating) for operand in operands):
            return None

        @jax.custom_jvp
        def operation(*operands: Any) -> Any:
            return primitive.bind(*operands, **params)

        def derivative(operands: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            value = primitive.bind(*operands, **params)
            total = jnp.zeros_like(value)
            for place, tangent in enumerate(tangents):
                if isinstance(tangent, SymbolicZero):
                    continue

                def of_one(x: Any, place: int = place) -> Any:
                    return primitive.bind(*operands[:place], x, *operands[place + 1 :], **params)

                _, slope = jax.jvp(of_one, operands[place : place + 1], (jnp.ones_like(operands[place]),))
                total = total + jnp.where(jnp.isfinite(slope), slope, 0) * tangent
            return value, total

        operation.defjvp(derivative, symbolic_zeros=True)
        return operation(*operands)

    return rule


FINITE_SLOPES = {
    primitive.name: finite_slope(primitive)
    for primitive in (
        lax.sqrt_p,
        lax.rsqrt_p,
        lax.cbrt_p,
        lax.log_p,
        lax.pow_p,
        lax.integer_pow_p,
        lax.div_p,
        lax.mul_p,
    )
}
"""The elementwise operations whose slopes may not be finite (a product's is its other operand); see rewriting.py."""
