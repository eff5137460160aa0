"""The problem of the adapters' tests, and the libraries that they need."""

import jax
import jax.numpy as jnp
import pytest

from purefit import Data, Examples, Recipe, losses, metrics, optimizer

for library in ("flax", "equinox", "haiku"):
    pytest.importorskip(library)


@pytest.fixture(scope="session")
def data():
    """Three classes of points in the plane, 100 to train on (a last batch of 4) and 40 to validate."""
    y = jnp.arange(140) % 3
    centres = jnp.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    x = centres[y] + jax.random.normal(jax.random.key(7), (140, 2))
    return Data(Examples(x[:100], y[:100], jnp.ones(100)), Examples(x[100:], y[100:], jnp.ones(40)))


@pytest.fixture(scope="session")
def recipe_of():
    def recipe_of(model, name="adam", epochs=5, batch_size=16):
        loss = losses.softmax_cross_entropy
        return Recipe(model, optimizer(name), loss, (metrics.accuracy,), epochs=epochs, batch_size=batch_size)

    return recipe_of
