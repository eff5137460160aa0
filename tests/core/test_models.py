"""Models and the scaling of their inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from purefit import Examples, InputError, mlp, scaled
from purefit.layers import ACTIVATIONS
from purefit.scaling import standard_scaling, unit_scaling


def examples(x, weight=None):
    x = jnp.asarray(x)
    return Examples(x, jnp.zeros(len(x), jnp.int32), jnp.ones(len(x)) if weight is None else jnp.asarray(weight))


def test_weights_are_normal_with_variance_two_over_inputs_and_biases_zero():
    params, state = mlp((256, 128), 10).init(jax.random.key(0), examples(np.zeros((3, 28, 28), np.float32)))
    assert [layer["weight"].shape for layer in params] == [(784, 256), (256, 128), (128, 10)]
    assert state == ()
    for layer in params:
        fan_in = layer["weight"].shape[0]
        deviations = layer["weight"] * np.sqrt(fan_in / 2)
        assert jnp.std(deviations) == pytest.approx(1, abs=3 / np.sqrt(2 * deviations.size))
        assert jnp.mean(deviations) == pytest.approx(0, abs=4 / np.sqrt(deviations.size))
        assert not layer["bias"].any()
    assert sum(leaf.size for leaf in jax.tree.leaves(params)) == 235_146


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("hidden", [(), (5,), (5, 4, 3)])
def test_an_mlp_of_any_depth_is_affine_maps_with_the_activation_between(hidden, activation):
    x = np.random.default_rng(0).normal(size=(6, 2, 3)).astype(np.float32)
    model = mlp(hidden, 2, activation)
    params, state = model.init(jax.random.key(1), examples(x))
    outputs, _ = model.apply(params, state, jnp.asarray(x))
    expected = x.reshape(6, 6)
    for number, layer in enumerate(params):
        expected = expected @ np.asarray(layer["weight"]) + np.asarray(layer["bias"])
        if number < len(hidden):
            expected = np.asarray(ACTIVATIONS[activation](jnp.asarray(expected)))
    np.testing.assert_allclose(outputs, expected, atol=1e-5)


def test_standard_scaling_is_scikit_learns():
    random = np.random.default_rng(0)
    x = random.normal(size=(50, 4)).astype(np.float32) * [1, 10, 100, 0] + [0, 5, -1e3, 0.1]
    x, weight = x.astype(np.float32), random.uniform(0, 2, 50).astype(np.float32)
    expected = StandardScaler().fit(x, sample_weight=weight).transform(x)
    # scikit-learn leaves rounding errors of the constant column as they are.
    np.testing.assert_allclose(standard_scaling(examples(x, weight))(jnp.asarray(x)), expected, atol=2e-4)


def test_rows_of_weight_zero_do_not_touch_the_scaling():
    x = np.array([[1.0, 2.0], [3.0, 5.0], [1e6, -1e6]], np.float32)
    for scaling in (unit_scaling, standard_scaling):
        alone, masked = scaling(examples(x[:2])), scaling(examples(x, [1.0, 1.0, 0.0]))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), alone, masked)


def test_scaling_a_model_is_scaling_its_inputs():
    images = np.random.default_rng(0).integers(0, 256, (10, 4, 4)).astype(np.uint8)
    images[0, 0, 0] = 255
    inner, model = mlp((3,), 2), scaled(mlp((3,), 2), "unit")
    params, state = model.init(jax.random.key(0), examples(images))
    outputs, _ = model.apply(params, state, jnp.asarray(images))
    floats = images.astype(np.float32) / 255
    same_params, _ = inner.init(jax.random.key(0), examples(floats))
    jax.tree.map(np.testing.assert_array_equal, params, same_params)
    np.testing.assert_allclose(outputs, inner.apply(params, (), jnp.asarray(floats))[0], atol=1e-5)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int32, np.float32])
def test_inputs_of_any_type_are_scaled_in_float32(dtype):
    x = np.array([[0, 10], [100, 50]], dtype)
    for scaling in (unit_scaling, standard_scaling):
        assert scaling(examples(x))(jnp.asarray(x)).dtype == jnp.float32


def test_impossible_models_are_refused():
    with pytest.raises(InputError, match="positive"):
        mlp((0,), 3)
    with pytest.raises(InputError, match="relu"):
        mlp((3,), 3, "reluu")
