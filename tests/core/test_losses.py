"""Losses and metrics against scikit-learn, SciPy and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from purefit import losses, metrics
from purefit.examples import weighted_mean


def on_device(*arrays):
    return tuple(map(jnp.asarray, arrays))


@pytest.fixture
def classified():
    random = np.random.default_rng(0)
    return on_device(
        random.normal(size=(200, 7)).astype(np.float32) * 3,
        random.integers(0, 7, 200).astype(np.int32),
        random.uniform(0, 2, 200).astype(np.float32),
    )


@pytest.fixture
def measured():
    random = np.random.default_rng(1)
    targets = random.normal(size=(200, 3)).astype(np.float32)
    outputs = targets + random.normal(size=(200, 3)).astype(np.float32)
    return on_device(outputs, targets, random.uniform(0, 2, 200).astype(np.float32))


def test_softmax_cross_entropy_is_scikit_learns_log_loss(classified):
    logits, y, weight = classified
    probabilities = scipy.special.softmax(np.asarray(logits, float), axis=1)
    expected = sklearn.metrics.log_loss(y, probabilities, sample_weight=weight)
    assert weighted_mean(losses.softmax_cross_entropy(logits, y), weight) == pytest.approx(expected, rel=1e-5)
    assert metrics.log_loss.function(logits, y, weight) == pytest.approx(expected, rel=1e-5)


def test_softmax_cross_entropy_stays_finite_for_the_largest_logits():
    loss = losses.softmax_cross_entropy(jnp.array([[3e38, -3e38]]), jnp.array([0]))
    assert loss == 0


@pytest.mark.parametrize("shape", [(200,), (200, 4)])
def test_binary_cross_entropy_is_scikit_learns_log_loss(shape):
    random = np.random.default_rng(2)
    logits, y = random.normal(size=shape).astype(np.float32), random.integers(0, 2, shape).astype(np.float32)
    expected = sklearn.metrics.log_loss(y.reshape(-1), scipy.special.expit(logits.astype(float)).reshape(-1))
    assert jnp.mean(losses.binary_cross_entropy(*on_device(logits, y))) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("loss", "reference"),
    [
        (losses.squared_error, sklearn.metrics.mean_squared_error),
        (losses.absolute_error, sklearn.metrics.mean_absolute_error),
        (
            losses.huber,
            lambda y, p, sample_weight: np.average(scipy.special.huber(1, y - p).mean(1), weights=sample_weight),
        ),
    ],
)
def test_regression_losses_are_the_references(measured, loss, reference):
    outputs, targets, weight = measured
    expected = reference(targets, outputs, sample_weight=weight)
    assert weighted_mean(loss(outputs, targets), weight) == pytest.approx(expected, rel=1e-5)


def test_accuracy_and_top_k_are_scikit_learns(classified):
    logits, y, weight = classified
    accuracy = sklearn.metrics.accuracy_score(y, logits.argmax(1), sample_weight=weight)
    assert metrics.accuracy.function(logits, y, weight) == pytest.approx(accuracy, rel=1e-5)
    for k in (1, 3, 5):
        expected = sklearn.metrics.top_k_accuracy_score(y, logits, k=k, sample_weight=weight)
        assert metrics.top(k).function(logits, y, weight) == pytest.approx(expected, rel=1e-5)


def test_rmse_and_r2_are_scikit_learns(measured):
    outputs, targets, weight = measured
    units = jnp.array([1.0, 10.0, 100.0])
    rmse = sklearn.metrics.mean_squared_error(targets * units[None], outputs * units[None], sample_weight=weight) ** 0.5
    assert metrics.rmse((1.0, 10.0, 100.0)).function(outputs, targets, weight) == pytest.approx(rmse, rel=1e-5)
    r2 = sklearn.metrics.r2_score(targets, outputs, sample_weight=weight)
    assert metrics.r2.function(outputs, targets, weight) == pytest.approx(r2, rel=1e-4)


@given(
    arrays(np.float32, 9, elements=st.floats(-1e3, 1e3, width=32)),
    arrays(np.float32, 9, elements=st.floats(0, 1e3, width=32)),
)
def test_the_weighted_mean_lies_among_the_values_that_count(values, weight):
    mean = float(weighted_mean(*on_device(values, weight)))
    counted = values[weight > 1e-30]
    if len(counted):
        assert counted.min() - 0.1 <= mean <= counted.max() + 0.1
    else:
        assert abs(mean) < 1e-3


def test_losses_of_a_batch_do_not_mix_examples():
    """Each example's loss depends on its own output alone: the Jacobian is diagonal."""
    outputs, targets = jnp.arange(12.0).reshape(4, 3), jnp.array([0, 1, 2, 0])
    jacobian = jax.jacobian(losses.softmax_cross_entropy)(outputs, targets)
    for i in range(4):
        for j in range(4):
            assert bool(jnp.all(jacobian[i, j] == 0)) == (i != j)


@pytest.mark.parametrize("outputs", [[2.5, 2.5], [2.5, 3.5]])
def test_r2_of_constant_targets_is_scikit_learns(outputs):
    targets = np.full((2, 1), 2.5)
    outputs = np.array(outputs)[:, None]
    expected = sklearn.metrics.r2_score(targets, outputs)
    assert metrics.r2.function(*on_device(outputs, targets, np.ones(2))) == expected
