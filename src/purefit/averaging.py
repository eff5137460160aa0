"""Averages of the weights over the steps of a run: what is learned goes on as it is, the average predicts."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, PyTree
from optax.contrib import ScheduleFreeState, schedule_free_eval_params


class AverageState(NamedTuple):
    """How many steps are in the average, int32, and the average: a tree like the parameters."""

    steps: Int[Array, ""]
    params: PyTree


def average_weights(decay: Any) -> optax.GradientTransformation:
    """The last stage of a chain: keeps an exponential moving average of the weights, and changes nothing.

    decay: the share of the average that a step keeps, in the end: step n keeps at most (1 + n) / (10 + n),
        so that the first weights are soon forgotten. A number, traced or not.

    >>> chain = optax.chain(optax.sgd(1.0), average_weights(0.99))
    >>> state = chain.init(jnp.array([4.0]))
    >>> _, state = chain.update(jnp.array([2.0]), state, jnp.array([4.0]))
    >>> averaged(state, jnp.array([2.0])).round(2)  # 2/11 of the old weight, 9/11 of the new
    Array([2.36], dtype=float32)
    """

    def init(params: PyTree) -> AverageState:
        return AverageState(jnp.zeros((), jnp.int32), params)

    def update(updates: PyTree, state: AverageState, params: PyTree = None) -> tuple[PyTree, AverageState]:
        count = optax.safe_increment(state.steps)
        steps = count.astype(float)
        kept = jnp.minimum(decay, (1 + steps) / (10 + steps))

        def mixed(average: Array, new: Array) -> Array:
            return average + (1 - kept).astype(average.dtype) * (new - average)

        new = optax.apply_updates(params, updates)
        return updates, AverageState(count, jax.tree.map(mixed, state.params, new))

    return optax.GradientTransformation(init, update)


def averaged(opt_state: PyTree, params: PyTree) -> PyTree:
    """The weights to predict with: the average in the optimizer's state, where it keeps one; else `params`."""
    kinds = (AverageState, ScheduleFreeState)
    nodes = jax.tree.leaves(opt_state, is_leaf=lambda node: isinstance(node, kinds))
    for node in nodes:
        if isinstance(node, AverageState):
            return node.params
    for node in nodes:
        if isinstance(node, ScheduleFreeState):
            return schedule_free_eval_params(node, params)
    return params
