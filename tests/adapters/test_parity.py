"""One network, written for each library and as plain functions, is one model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from adapters import networks
from purefit import Model, fit
from purefit.adapters import from_equinox, from_haiku, from_linen, from_nnx
from purefit.recipe import mean_gradient

# What a library calls the weight of "first", and whether it is (outputs, inputs).
NAMES = {
    "linen": lambda p: {
        "Dense_0": {"kernel": p["first"]["w"], "bias": p["first"]["b"]},
        "Dense_1": {"kernel": p["last"]["w"], "bias": p["last"]["b"]},
    },
    "nnx": lambda p: {
        "first.bias": p["first"]["b"],
        "first.kernel": p["first"]["w"],
        "last.bias": p["last"]["b"],
        "last.kernel": p["last"]["w"],
    },
    "equinox": lambda p: {
        "first.weight": p["first"]["w"].T,
        "first.bias": p["first"]["b"],
        "last.weight": p["last"]["w"].T,
        "last.bias": p["last"]["b"],
    },
    "haiku": lambda p: p,
    "example": lambda p: p,
}

PLAIN = Model.from_function(networks.plain_init, networks.plain_apply)
MODELS = {
    "linen": from_linen(networks.LinenNet()),
    "nnx": from_nnx(networks.NnxNet),
    "equinox": from_equinox(networks.EquinoxNet),
    "haiku": from_haiku(networks.haiku_net()),
    "example": Model.from_example_function(networks.plain_init, networks.plain_example_apply),
}


def starting_from(model, params):
    """The model with these first weights, whatever the key."""

    def init(key, examples):
        own, state = model.init(key, examples)
        assert jax.tree.map(jnp.shape, own) == jax.tree.map(jnp.shape, params)
        return params, state

    return Model(init, model.apply)


@pytest.fixture(scope="module")
def params(data):
    return PLAIN.init(jax.random.key(3), data.train)[0]


@pytest.mark.parametrize("library", MODELS)
@pytest.mark.parametrize(("optimizer", "rate"), [("sgd", 0.1), ("adam", 0.01)])
def test_the_same_network_learns_the_same_in_every_library(library, optimizer, rate, data, params, recipe_of):
    def run(model):
        recipe = recipe_of(model, optimizer, epochs=15)  # 105 steps
        return jax.jit(fit, static_argnums=0)(recipe, {"learning_rate": rate}, data, jax.random.key(0))

    expected = run(starting_from(PLAIN, params))
    found = run(starting_from(MODELS[library], NAMES[library](params)))
    for history in ("steps", "valid"):
        np.testing.assert_allclose(found.history[history]["loss"], expected.history[history]["loss"], rtol=2e-4)
    final = NAMES[library](expected.state.params)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4), found.state.params, final)


@pytest.mark.parametrize("library", MODELS)
def test_the_same_network_has_the_same_gradient_in_every_library(library, data, params):
    def gradient(model, params):
        _, state = model.init(jax.random.key(0), data.train)

        def objective(params, batch):
            outputs, after = model.apply(params, state, batch.x, key=jax.random.key(1), train=True)
            return -jax.nn.log_softmax(outputs)[jnp.arange(len(batch.y)), batch.y], after

        return mean_gradient(objective, params, data.train)[2]

    expected = NAMES[library](gradient(PLAIN, params))
    found = gradient(MODELS[library], NAMES[library](params))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), found, expected)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-6)


def test_the_first_weights_are_those_that_the_library_gives_for_the_key(data):
    key = jax.random.key(5)
    started = {name: jax.jit(model.init)(key, data.train)[0] for name, model in MODELS.items()}
    x = data.train.x[:1]
    jax.tree.map(close, started["linen"], networks.LinenNet().init(key, x, train=False)["params"])
    jax.tree.map(close, started["haiku"], networks.haiku_net().init(key, x, True))
    module = networks.NnxNet(rngs=networks.nnx.Rngs(key))
    close(started["nnx"]["first.kernel"], module.first.kernel[...])
    close(started["equinox"]["first.weight"], networks.EquinoxNet(key=key).first.weight)
