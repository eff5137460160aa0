"""Optimizers by name, with traced numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from purefit import InputError, core, fit, losses, mlp, optimizer
from purefit.core import Recipe
from purefit.optimizers import matrices, rules

PARAMS = {"weight": jnp.array([[1.0, -2.0], [3.0, 0.5]]), "bias": jnp.array([1.0, -1.0])}
GRADIENT = {"weight": jnp.array([[3.0, 4.0], [0.0, 0.0]]), "bias": jnp.array([0.0, 12.0])}


def update(chain):
    return chain.update(GRADIENT, chain.init(PARAMS), PARAMS)[0]


@pytest.mark.parametrize(
    ("name", "reference"),
    [("adam", optax.adam(0.01)), ("adamw", optax.adamw(0.01, weight_decay=0.1, mask=matrices))],
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


@pytest.mark.parametrize("name", rules())
def test_every_named_optimizer_trains_with_a_traced_rate(name, data):
    """Its state keeps its types, or the scan over steps would refuse it; and a step changes the weights."""
    recipe = Recipe(mlp((4,), 3), optimizer(name), losses.softmax_cross_entropy, epochs=1, batch_size=60)
    run = jax.jit(fit, static_argnums=0)(recipe, {"learning_rate": jnp.float32(1e-3)}, data, jax.random.key(0))
    before = core.init(recipe, {"learning_rate": jnp.float32(1e-3)}, data, jax.random.key(0))
    assert core.all_finite(run.state.params)
    assert not np.array_equal(run.state.params[0]["weight"], before.params[0]["weight"])
