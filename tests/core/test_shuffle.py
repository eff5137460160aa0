"""A pass sees every example once, whatever the sizes."""

from math import ceil

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from purefit import Data, Examples, Recipe, core
from purefit.models import Model

sizes = st.builds(
    lambda batches, batch_size, rest: (max(1, batches * batch_size + rest), batch_size),
    st.integers(0, 4),
    st.integers(1, 9),
    st.integers(-1, 1),
)


def counting_recipe(batch_size):
    """A model with one parameter an example, whose gradient is the batch's mean of one-hot rows."""
    model = Model(
        lambda key, examples: (jnp.zeros(len(examples.y)), ()),
        lambda params, state, x, *, key, train: (params[x], state),
    )
    return Recipe(model, core.optax.sgd(1.0), lambda outputs, targets: -outputs, batch_size=batch_size)


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 2**32 - 1))
def test_every_example_counts_exactly_once_in_an_epoch(size_and_batch, seed):
    size, batch_size = size_and_batch
    rows = jnp.arange(size)
    data = Data(Examples(rows, rows, jnp.ones(size)))
    recipe, key = counting_recipe(batch_size), jax.random.key(seed)
    state = core.init(recipe, {}, data, key)

    new, metrics = core.epoch(recipe, {}, data, key, state)

    # A batch of b examples moves each of their parameters by 1/b: full batches, and one ragged last batch.
    steps = ceil(size / batch_size)
    last = size - (steps - 1) * batch_size
    expected = np.sort(np.array([1 / batch_size] * (size - last) + [1 / last] * last))
    np.testing.assert_allclose(np.sort(new.params), expected, rtol=1e-6)
    assert metrics["steps"]["loss"].shape == (steps,)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3000), st.integers(0, 2**32 - 1))
def test_shuffle_is_a_permutation(size, seed):
    order = np.asarray(core.shuffle(jax.random.key(seed), size))
    assert sorted(order) == list(range(size))


def test_shuffle_puts_each_example_at_each_place_equally_often():
    orders = np.asarray(jax.vmap(lambda key: core.shuffle(key, 5))(jax.random.split(jax.random.key(0), 20_000)))
    counts = np.array([[np.sum(orders[:, place] == example) for place in range(5)] for example in range(5)])
    # 4,000 expected; five standard deviations are 283.
    assert np.abs(counts - 4000).max() < 283


def test_each_epoch_has_its_own_order(recipe, hyper, data):
    key = jax.random.key(3)
    state = core.init(recipe, hyper, data, key)
    _, first = core.epoch(recipe, hyper, data, key, state)
    _, second = core.epoch(recipe, hyper, data, key, state._replace(epoch=state.epoch + 1))
    # The same weights in another order: other batches from the first step on.
    assert first["steps"]["loss"][0] != second["steps"]["loss"][0]
