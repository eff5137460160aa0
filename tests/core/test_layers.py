"""Layers and the networks made of them, against NumPy and XLA's own convolution."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from purefit import Examples, InputError, convnet, mlp
from purefit.layers import batch_norm, convolve, dense, dropout, layer_norm, max_pool, norm_params, norm_state

KEY = jax.random.key(0)


def examples(x):
    return Examples(x, jnp.zeros(len(x), jnp.int32), jnp.ones(len(x)))


def test_dropout_leaves_out_its_share_and_keeps_the_mean():
    x = jnp.ones((400, 500))
    for rate in (0.1, 0.5, 0.9):
        kept = dropout(KEY, rate, x)
        deviation = np.sqrt(rate * (1 - rate) / x.size)
        assert jnp.mean(kept == 0) == pytest.approx(rate, abs=5 * deviation + 1e-5)
        np.testing.assert_allclose(kept[kept != 0], 1 / (1 - rate), rtol=1e-6)


def test_a_dropout_rate_of_zero_changes_nothing_even_if_traced():
    x = jax.random.normal(KEY, (50, 7))
    np.testing.assert_array_equal(jax.jit(dropout)(KEY, 0.0, x), x)


def test_layer_norm_is_numpys_standardization_of_each_row():
    x = np.random.default_rng(0).normal(3, 5, (4, 2, 6))
    params = {"scale": jnp.arange(6.0), "offset": jnp.ones(6)}
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * np.arange(6) + 1
    np.testing.assert_allclose(layer_norm(params, jnp.asarray(x, jnp.float32)), expected, atol=1e-5)


def test_batch_norm_uses_the_batch_in_training_and_the_running_moments_in_prediction():
    x = np.random.default_rng(0).normal(3, 5, (8, 3, 3, 2)).astype(np.float32)
    params, state = norm_params(2), norm_state(2)
    y, new = batch_norm(params, state, jnp.asarray(x), train=True)
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(variance + 1e-5), atol=1e-4)
    np.testing.assert_allclose(new["mean"], 0.1 * mean, rtol=1e-5)
    np.testing.assert_allclose(new["variance"], 0.9 + 0.1 * variance, rtol=1e-5)
    y, same = batch_norm(params, new, jnp.asarray(x), train=False)
    np.testing.assert_allclose(y, (x - 0.1 * mean) / np.sqrt(0.9 + 0.1 * variance + 1e-5), atol=1e-4)
    assert same is new


@pytest.mark.parametrize("shape", [(2, 6, 7, 3), (1, 1, 1, 1), (3, 8, 8, 1)])
def test_a_convolution_is_xlas_and_so_is_its_gradient(shape):
    x, layer = jax.random.normal(KEY, shape), dense(KEY, 9 * shape[-1], 5)

    def reference(layer, x):
        kernel = layer["weight"].reshape(3, 3, shape[-1], 5)
        y = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.sin(y + layer["bias"].reshape(1, 1, 1, -1))

    for ours, theirs in zip(
        jax.jit(jax.value_and_grad(lambda *a: jnp.sin(convolve(*a)).sum(), (0, 1)))(layer, x),
        jax.value_and_grad(lambda *a: reference(*a).sum(), (0, 1))(layer, x),
        strict=True,
    ):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), ours, theirs)


def test_a_convolution_on_a_cpu_is_a_product_of_patches():
    program = jax.jit(convolve).lower(dense(KEY, 9, 4), jnp.ones((2, 8, 8, 1))).compile().as_text()
    assert "convolution(" not in program
    assert "dot(" in program


def test_max_pool_takes_the_greatest_of_each_square_and_leaves_odd_edges_out():
    x = np.random.default_rng(0).normal(size=(2, 5, 7, 3))
    expected = x[:, :4, :6].reshape(2, 2, 2, 3, 2, 3).max((2, 4))
    np.testing.assert_allclose(max_pool(jnp.asarray(x, jnp.float32)), expected, rtol=1e-6)


@pytest.mark.parametrize("norm", ["none", "layer", "batch"])
@pytest.mark.parametrize("residual", [False, True])
def test_an_mlp_with_norms_and_residuals_is_written_out_in_numpy(norm, residual):
    x = np.random.default_rng(1).normal(size=(6, 5)).astype(np.float32)
    model = mlp((5, 4), 2, "tanh", norm=norm, residual=residual)
    params, state = model.init(KEY, examples(jnp.asarray(x)))
    params = jax.tree.map(lambda leaf: leaf + 0.1, params)  # scales, offsets and biases that tell
    outputs, new = model.apply(params, state, jnp.asarray(x), key=KEY, train=True)
    expected = x
    for layer in jax.tree.map(np.asarray, params[:-1]):
        y = expected @ layer["weight"] + layer["bias"]
        axis = {"none": None, "layer": 1, "batch": 0}[norm]
        if axis is not None:
            y = (y - y.mean(axis, keepdims=True)) / np.sqrt(y.var(axis, keepdims=True) + 1e-5)
            y = y * layer["norm"]["scale"] + layer["norm"]["offset"]
        y = np.tanh(y)
        expected = expected + y if residual and y.shape == expected.shape else y
    expected = expected @ np.asarray(params[-1]["weight"]) + np.asarray(params[-1]["bias"])
    np.testing.assert_allclose(outputs, expected, atol=1e-5)
    assert jax.tree.structure(new) == jax.tree.structure(state)


@pytest.mark.parametrize("make", [mlp, lambda *a, **k: convnet((3,), *a, **k)])
def test_dropout_masks_differ_by_step_and_example_and_are_none_in_prediction(make):
    model = make((32,), 3, dropout_rate=0.5)
    x = jnp.ones((4, 8, 8))
    params, state = model.init(KEY, examples(x))

    def outputs(key, train):
        return model.apply(params, state, x, key=key, train=train)[0]

    first, second = (outputs(jax.random.key(step), True) for step in (1, 2))
    assert not np.allclose(first, second)
    assert not np.allclose(first[0], first[1])
    np.testing.assert_array_equal(first, outputs(jax.random.key(1), True))
    predicted = outputs(None, False)
    np.testing.assert_allclose(predicted, jnp.broadcast_to(predicted[:1], predicted.shape), rtol=1e-5)
    plain = make((32,), 3).apply(params, state, x, key=None, train=False)[0]
    np.testing.assert_array_equal(predicted, plain)


def test_masks_of_two_layers_are_not_the_same():
    model = mlp((64, 64), 64, "identity", dropout_rate=0.5)
    eye, none = jnp.eye(64), jnp.zeros(64)
    layers = [{"weight": eye, "bias": none}] * 3
    once = mlp((64,), 64, "identity", dropout_rate=0.5).apply(layers[:2], (), jnp.ones((9, 64)), key=KEY, train=True)[0]
    twice = model.apply(layers, (), jnp.ones((9, 64)), key=KEY, train=True)[0]
    assert jnp.mean(once > 0) == pytest.approx(0.5, abs=0.1)
    assert jnp.mean(twice > 0) == pytest.approx(0.25, abs=0.1)


def test_a_dropout_rate_may_be_traced_and_mapped():
    x = jnp.ones((16, 8))
    params, _ = mlp((32,), 3).init(KEY, examples(x))

    def outputs(rate):
        return mlp((32,), 3, dropout_rate=rate).apply(params, (), x, key=KEY, train=True)[0]

    mapped = jax.jit(jax.vmap(outputs))(jnp.array([0.0, 0.5]))
    np.testing.assert_allclose(mapped[0], mlp((32,), 3).apply(params, (), x)[0], atol=1e-5)
    np.testing.assert_allclose(mapped[1], outputs(0.5), atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 28, 28), (5, 9, 8, 3)])
def test_a_convnet_gives_one_row_of_outputs_for_each_image(shape):
    model = convnet((4, 6), (10,), 3, norm="batch")
    params, state = model.init(KEY, examples(jnp.ones(shape)))
    outputs, new = model.apply(params, state, jnp.ones(shape), key=KEY, train=True)
    assert outputs.shape == (5, 3)
    assert jax.tree.structure(new) == jax.tree.structure(state)


def test_impossible_networks_are_refused():
    for impossible in (
        lambda: mlp((3,), 3, dropout_rate=1.0),
        lambda: convnet((), (3,), 3),
        lambda: convnet((4,) * 5, (), 3).init(KEY, examples(jnp.ones((2, 28, 28)))),
        lambda: convnet((4,), (), 3).init(KEY, examples(jnp.ones((2, 28)))),
    ):
        with pytest.raises(InputError):
            impossible()
