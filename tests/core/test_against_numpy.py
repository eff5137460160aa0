"""The core against float64 written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from purefit import Data, Examples, Recipe, core, losses, mlp, optimizer
from purefit.recipe import mean_gradient
from reference import adam_epoch, loss_and_gradient, tree_map


def to_numpy(layers):
    return tree_map(lambda leaf: np.asarray(leaf, np.float64), layers)


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    x = random.normal(size=(103, 6)).astype(np.float32)
    y = random.integers(0, 3, 103).astype(np.int32)
    weight = random.uniform(0.5, 2, 103).astype(np.float32)
    recipe = Recipe(mlp((8, 5), 3), optimizer("adam"), losses.softmax_cross_entropy, batch_size=25)
    return (
        recipe,
        {"learning_rate": jnp.float32(1e-2)},
        Examples(jnp.array(x), jnp.array(y), jnp.array(weight)),
    )


def test_the_weighted_gradient_is_the_one_derived_by_hand(problem):
    recipe, hyper, train = problem
    state = core.init(recipe, hyper, Data(train), jax.random.key(1))

    def objective(params, batch):
        outputs, model_state = recipe.model.apply(params, (), batch.x)
        return recipe.loss(outputs, batch.y), model_state

    loss, _, gradient = mean_gradient(objective, state.params, train)
    expected_loss, expected = loss_and_gradient(
        to_numpy(state.params),
        *(np.asarray(leaf, np.float64) for leaf in (train.x,)),
        train.y,
        np.asarray(train.weight, np.float64),
    )
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    for layer, expected_layer in zip(gradient, expected, strict=True):
        for name in ("weight", "bias"):
            np.testing.assert_allclose(layer[name], expected_layer[name], atol=2e-6)


def test_one_epoch_is_adam_over_each_example_once_in_shuffled_batches(problem):
    recipe, hyper, train = problem
    train = train._replace(weight=jnp.ones(103))
    key = jax.random.key(1)
    state = core.init(recipe, hyper, Data(train), key)
    shuffle_key, _ = jax.random.split(jax.random.fold_in(key, 1))
    order = np.asarray(core.shuffle(shuffle_key, 103))
    batches = [order[start : start + 25] for start in range(0, 103, 25)]
    layers, step_losses = adam_epoch(
        to_numpy(state.params), np.asarray(train.x, np.float64), np.asarray(train.y), batches, 1e-2
    )

    new, metrics = jax.jit(core.epoch, static_argnums=0)(recipe, hyper, Data(train), key, state)

    np.testing.assert_allclose(metrics["steps"]["loss"], step_losses, rtol=2e-5)
    sizes = [len(rows) for rows in batches]
    assert metrics["train"]["loss"] == pytest.approx(np.average(step_losses, weights=sizes), rel=1e-5)
    for layer, expected in zip(new.params, layers, strict=True):
        for name in ("weight", "bias"):
            np.testing.assert_allclose(layer[name], expected[name], atol=1e-5)
    assert new.epoch == 1
