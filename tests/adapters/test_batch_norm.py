"""Batch normalization: running averages are a state that training changes and predicting reads."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from adapters import networks
from purefit import Examples, fit, predict
from purefit.adapters import from_equinox, from_haiku, from_linen, from_nnx

MODELS = {
    "linen": from_linen(networks.LinenNet(norm=True)),
    "nnx": from_nnx(lambda rngs: networks.NnxNet(norm=True, rngs=rngs)),
    "equinox": from_equinox(networks.EquinoxNormNet),
    "equinox-ema": from_equinox(lambda key: networks.EquinoxNormNet(key, mode="ema")),
    "haiku": from_haiku(networks.haiku_net(norm=True)),
}


@pytest.fixture(params=MODELS)
def library(request):
    return request.param


def first_layer(library, params):
    """The weight (inputs, outputs) and the bias before the normalization."""
    if library == "linen":
        return params["Dense_0"]["kernel"], params["Dense_0"]["bias"]
    if library == "haiku":
        return params["first"]["w"], params["first"]["b"]
    return (params["first.kernel"] if library == "nnx" else params["first.weight"].T), params["first.bias"]


def running_mean(library, state):
    """What the network subtracts when predicting."""
    if library == "linen":
        return state["batch_stats"]["BatchNorm_0"]["mean"]
    if library == "nnx":
        return state["norm.mean"]
    if library == "haiku":
        return state["norm/~/mean_ema"]["average"][0]
    vectors = [np.asarray(leaf) for leaf in state.values() if leaf.ndim]
    if library == "equinox-ema":
        return vectors[0]
    counter = next(leaf for leaf in state.values() if not leaf.ndim)
    return vectors[0] / (1 - networks.MOMENTUM**counter)


def expected_mean(library, batch_means):
    """NumPy's, of the means of the batches that were seen."""
    decay = networks.MOMENTUM
    mean = np.zeros_like(batch_means[0])
    for number, batch_mean in enumerate(batch_means):
        first = library == "equinox-ema" and number == 0
        mean = batch_mean if first else decay * mean + (1 - decay) * batch_mean
    debiased = library in ("equinox", "haiku")
    return mean / (1 - decay ** len(batch_means)) if debiased else mean


@pytest.mark.parametrize("steps", [1, 3])
def test_the_running_mean_is_numpys(library, steps, data):
    model = MODELS[library]
    params, state = model.init(jax.random.key(0), data.train)
    weight, bias = (np.asarray(leaf, np.float64) for leaf in first_layer(library, params))
    means = []
    for number in range(steps):
        x = data.train.x[20 * number : 20 * number + 20]
        _, state = jax.jit(model.apply, static_argnames="train")(params, state, x, key=jax.random.key(1), train=True)
        means.append(np.mean(np.asarray(x, np.float64) @ weight + bias, axis=0))
    np.testing.assert_allclose(running_mean(library, state), expected_mean(library, means), rtol=1e-5, atol=1e-6)


def test_normalized_networks_learn_and_predict_one_row(library, data, recipe_of):
    recipe, hyper = recipe_of(MODELS[library], epochs=20), {"learning_rate": 0.01}
    run = jax.jit(fit, static_argnums=0)(recipe, hyper, data, jax.random.key(0))
    assert run.history["valid"]["accuracy"][-1] > 0.8
    outputs = predict(recipe, hyper, run.state, data.valid.x)
    one = predict(recipe, hyper, run.state, data.valid.x[3:4])
    np.testing.assert_allclose(one[0], outputs[3], rtol=1e-4, atol=1e-5)


def test_predicting_leaves_the_state_as_it_is(library, data):
    model = MODELS[library]
    params, state = model.init(jax.random.key(0), data.train)
    _, state = model.apply(params, state, data.train.x, key=jax.random.key(1), train=True)
    _, after = model.apply(params, state, data.valid.x, key=None, train=False)
    jax.tree.map(np.testing.assert_array_equal, state, after)


def test_a_sweep_is_its_runs_one_by_one(library, data, recipe_of):
    recipe = recipe_of(MODELS[library], epochs=2)
    rates = jnp.array([1e-3, 1e-2, 1e-1])
    one = jax.jit(lambda rate: fit(recipe, {"learning_rate": rate}, data, jax.random.key(0)))
    sweep = jax.jit(jax.vmap(one))(rates)
    alone = one(rates[1])
    np.testing.assert_allclose(sweep.history["steps"]["loss"][1], alone.history["steps"]["loss"], rtol=2e-3, atol=1e-4)


def test_members_of_an_ensemble_start_from_their_own_weights(library, data, recipe_of):
    recipe, keys = recipe_of(MODELS[library], epochs=1), jax.random.split(jax.random.key(0), 2)
    members = jax.jit(jax.vmap(lambda key: fit(recipe, {"learning_rate": 0.01}, data, key)))(keys)
    vectors = [leaf for leaf in jax.tree.leaves(members.state.model_state) if leaf.ndim > 1]
    assert all(not np.array_equal(leaf[0], leaf[1]) for leaf in vectors)


def kinds(tree):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype, leaf.weak_type), tree)


def test_types_and_structure_of_the_state_never_change(library, data):
    model = MODELS[library]
    params, state = model.init(jax.random.key(0), data.train)
    traced = jax.eval_shape(model.init, jax.random.key(0), data.train)
    _, after = model.apply(params, state, data.train.x, key=jax.random.key(1), train=True)
    assert kinds(state) == kinds(after) == kinds(traced[1])
    assert kinds(params) == kinds(traced[0])
    assert not any(leaf.weak_type for leaf in jax.tree.leaves((params, state)))


def test_a_step_is_traced_once(library, data, recipe_of):
    calls = []
    model = MODELS[library]

    def apply(params, state, x, *, key, train):
        calls.append(train)
        return model.apply(params, state, x, key=key, train=train)

    recipe = recipe_of(model._replace(apply=apply), epochs=4)
    # Tracing is enough: a scan traces its body again if the types of its carry change.
    jax.jit(fit, static_argnums=0).trace(recipe, {"learning_rate": 0.01}, data, jax.random.key(0))
    assert calls.count(True) == calls.count(False) == 1


def test_states_of_half_precision_keep_their_type():
    model = from_linen(networks.nn.BatchNorm(dtype=jnp.bfloat16, param_dtype=jnp.bfloat16))
    rows = Examples(jnp.ones((4, 3), jnp.bfloat16), jnp.zeros(4), jnp.ones(4))
    params, state = model.init(jax.random.key(0), rows)
    _, after = model.apply(params, state, rows.x, key=jax.random.key(0), train=True)
    assert kinds(state) == kinds(after)
