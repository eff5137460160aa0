"""Optimizers by name, with traced numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from purefit import InputError, core, losses, mlp, optimizer
from purefit.examples import take
from purefit.optimizers import decayed, rules
from purefit.recipe import Recipe

PARAMS = {"weight": jnp.array([[1.0, -2.0], [3.0, 0.5]]), "bias": jnp.array([1.0, -1.0])}
GRADIENT = {"weight": jnp.array([[3.0, 4.0], [0.0, 0.0]]), "bias": jnp.array([0.0, 12.0])}


def update(chain):
    return chain.update(GRADIENT, chain.init(PARAMS), PARAMS)[0]


@pytest.mark.parametrize(
    ("name", "reference"),
    [("adam", optax.adam(0.01)), ("adamw", optax.adamw(0.01, weight_decay=0.1, mask=decayed))],
)
def test_adam_is_optax_adam_for_a_hundred_steps(name, reference):
    ours = optimizer(name)({"learning_rate": 0.01, **({"weight_decay": 0.1} if name == "adamw" else {})})
    states, params = [ours.init(PARAMS), reference.init(PARAMS)], [PARAMS, PARAMS]
    for number in range(100):
        for i, chain in enumerate((ours, reference)):
            # Gradients of many sizes: tiny ones are where eps tells.
            gradient = jax.tree.map(lambda p, n=number: jnp.sin(p * n) * 10.0 ** (n % 12 - 9), params[i])
            updates, states[i] = chain.update(gradient, states[i], params[i])
            params[i] = optax.apply_updates(params[i], updates)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4), *params)


def test_clip_norm_scales_the_whole_gradient():
    # The norm of GRADIENT is 13.
    step = update(optimizer("sgd")({"learning_rate": 1.0, "clip_norm": 6.5}))
    jax.tree.map(lambda a, g: np.testing.assert_allclose(a, -g / 2, rtol=1e-6), step, GRADIENT)


def test_weight_decay_pulls_matrices_and_leaves_biases_alone():
    step = update(optimizer("sgd")({"learning_rate": 0.5, "weight_decay": 0.1}))
    np.testing.assert_allclose(step["weight"], -0.5 * (GRADIENT["weight"] + 0.1 * PARAMS["weight"]), rtol=1e-6)
    np.testing.assert_allclose(step["bias"], -0.5 * GRADIENT["bias"])


def test_adamw_decays_apart_from_the_gradient():
    adam = update(optimizer("adam")({"learning_rate": 0.01}))
    adamw = update(optimizer("adamw")({"learning_rate": 0.01, "weight_decay": 0.1}))
    np.testing.assert_allclose(adamw["weight"], adam["weight"] - 0.01 * 0.1 * PARAMS["weight"], rtol=1e-5)
    np.testing.assert_allclose(adamw["bias"], adam["bias"], rtol=1e-6)


def test_the_nearest_name_is_suggested():
    with pytest.raises(InputError, match="did you mean 'adamw'"):
        optimizer("AdamW_")
    with pytest.raises(InputError, match="sgd"):
        optimizer("xyzzy")


def one_step(name, data, hyper=None):
    """A training step of an optimizer as a function of the state, and the state before it."""
    recipe = Recipe(mlp((4,), 3), optimizer(name), losses.softmax_cross_entropy, epochs=1, batch_size=60)
    hyper = {"learning_rate": jnp.float32(1e-2)} | (hyper or {})
    batch = take(data.train, jnp.arange(60))
    state = core.init(recipe, hyper, data, jax.random.key(0))
    return lambda state, hyper=hyper: core.step(recipe, hyper, batch, jax.random.key(1), state)[0], state


@pytest.mark.parametrize("name", rules())
def test_every_optimizer_trains_with_a_traced_rate_and_keeps_the_types_of_its_state(name, data):
    """Types that change, weak ones included, are a second compilation or a scan that refuses the state."""
    step, state = one_step(name, data)
    traced = jax.jit(step).trace(state, {"learning_rate": jnp.float32(1e-2)})
    after, compiled = traced.out_info, traced.lower().compile()
    for before, leaf in zip(jax.tree.leaves(state), jax.tree.leaves(after), strict=True):
        assert (before.shape, before.dtype, False) == (leaf.shape, leaf.dtype, before.weak_type)
    assert jax.tree.structure(state) == jax.tree.structure(after)
    new = state
    for _ in range(6):  # those that find their own step size begin with tiny ones
        new = compiled(new, {"learning_rate": jnp.float32(1e-2)})
    assert core.all_finite(new.params)
    moved = [bool((a != b).any()) for a, b in zip(*map(jax.tree.leaves, (state.params, new.params)), strict=True)]
    assert any(moved)
