"""A small problem that a small network can learn."""

import jax
import jax.numpy as jnp
import pytest

from purefit import Data, Examples, Recipe, losses, metrics, mlp, optimizer


@pytest.fixture(scope="session")
def data():
    """Three classes of points in the plane, 120 to train on and 40 to validate."""
    y = jnp.arange(160) % 3
    centres = jnp.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    x = centres[y] + jax.random.normal(jax.random.key(7), (160, 2))
    return Data(Examples(x[:120], y[:120], jnp.ones(120)), Examples(x[120:], y[120:], jnp.ones(40)))


@pytest.fixture(scope="session")
def recipe():
    return Recipe(
        mlp((16,), 3),
        optimizer("adam"),
        losses.softmax_cross_entropy,
        (metrics.accuracy,),
        epochs=5,
        batch_size=16,
    )


@pytest.fixture(scope="session")
def hyper():
    return {"learning_rate": jnp.float32(1e-2)}
