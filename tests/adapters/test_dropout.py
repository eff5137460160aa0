"""Dropout: other masks in every step and for every example when training, none when predicting."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from adapters import networks
from purefit import Examples, Model, fit
from purefit.adapters import from_equinox, from_haiku, from_linen, from_nnx


def plain(params, x, key, train):
    kept = jax.random.bernoulli(key, 0.5, (len(x), networks.WIDTH)) if train else None
    hidden = jax.nn.relu(x @ params["first"]["w"] + params["first"]["b"][None])
    return (hidden if kept is None else hidden * kept * 2) @ params["last"]["w"]


def example(params, x, *, key):
    hidden = jax.nn.relu(x @ params["first"]["w"] + params["first"]["b"])
    return (hidden if key is None else hidden * jax.random.bernoulli(key, 0.5, hidden.shape) * 2) @ params["last"]["w"]


MODELS = {
    "linen": from_linen(networks.LinenNet(rate=0.5)),
    "nnx": from_nnx(lambda rngs: networks.NnxNet(rate=0.5, rngs=rngs)),
    "nnx-instance": from_nnx(networks.NnxNet(rate=0.5, rngs=networks.nnx.Rngs(0))),
    "equinox": from_equinox(lambda key: networks.EquinoxNet(rate=0.5, key=key)),
    "haiku": from_haiku(networks.haiku_net(rate=0.5)),
    "function": Model.from_function(networks.plain_init, plain),
    "example": Model.from_example_function(networks.plain_init, example),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


@pytest.fixture
def same_rows():
    """Eight times one example: what differs between the outputs is the mask."""
    return Examples(jnp.ones((8, 2)), jnp.zeros(8, int), jnp.ones(8))


def test_masks_differ_by_step_and_by_example(model, same_rows):
    params, state = model.init(jax.random.key(0), same_rows)
    outputs = [
        np.asarray(model.apply(params, state, same_rows.x, key=jax.random.key(step), train=True)[0])
        for step in (1, 1, 2)
    ]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert not np.allclose(outputs[0], outputs[2])
    assert len(np.unique(outputs[0], axis=0)) > 4


def test_nothing_is_dropped_when_predicting(model, same_rows):
    params, state = model.init(jax.random.key(0), same_rows)
    outputs, after = model.apply(params, state, same_rows.x, key=None, train=False)
    np.testing.assert_allclose(outputs, jnp.broadcast_to(outputs[:1], outputs.shape), rtol=1e-6)
    many = jnp.ones((5000, 2))
    trained, _ = model.apply(params, state, many, key=jax.random.key(1), train=True)
    # A mask's mean is one, and the last layer is linear.
    np.testing.assert_allclose(jnp.mean(trained, axis=0), outputs[0], atol=0.25)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, state, after))


def test_random_streams_are_no_part_of_the_state(model, same_rows):
    assert not jax.tree.leaves(model.init(jax.random.key(0), same_rows)[1])


@pytest.mark.parametrize("library", ["linen", "nnx", "equinox", "haiku"])
def test_networks_with_dropout_learn(library, data, recipe_of):
    recipe = recipe_of(MODELS[library], epochs=20)
    run = jax.jit(fit, static_argnums=0)(recipe, {"learning_rate": 0.01}, data, jax.random.key(0))
    assert run.history["valid"]["accuracy"][-1] > 0.8
