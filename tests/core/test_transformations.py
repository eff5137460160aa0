"""`fit` is a pure function: it may be compiled, mapped, differentiated and scanned like any other."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from purefit import Data, Recipe, core, fit, losses, mlp, optimizer, train

jit_fit = jax.jit(fit, static_argnums=0)
jit_epoch = jax.jit(core.epoch, static_argnums=0)


def assert_same(a, b, atol=0.0):
    for (path, left), right in zip(jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b), strict=True):
        left, right = np.asarray(left), np.asarray(right)
        name = jax.tree_util.keystr(path)
        assert left.dtype == right.dtype, name
        np.testing.assert_allclose(left, right, atol=atol, rtol=0, err_msg=name)


def test_jit_changes_only_rounding(recipe, hyper, data):
    assert_same(jit_fit(recipe, hyper, data, jax.random.key(0)), fit(recipe, hyper, data, jax.random.key(0)), 1e-4)


def test_the_same_arguments_give_the_same_bits(recipe, hyper, data):
    first, second = (jit_fit(recipe, hyper, data, jax.random.key(0)) for _ in range(2))
    assert_same(first, second)
    other = jit_fit(recipe, hyper, data, jax.random.key(1))
    assert not np.array_equal(first.state.params[0]["weight"], other.state.params[0]["weight"])


def test_fit_is_epoch_again_and_again(recipe, hyper, data):
    key = jax.random.key(0)
    state = jax.jit(core.init, static_argnums=0)(recipe, hyper, data, key)
    for _ in range(recipe.epochs):
        state, _ = jit_epoch(recipe, hyper, data, key, state)
    assert_same(jit_fit(recipe, hyper, data, key).state, state, 1e-6)


def test_train_has_the_bits_of_epoch_by_hand(recipe, hyper, data):
    key = jax.random.key(0)
    state = jax.jit(core.init, static_argnums=0)(recipe, hyper, data, key)
    history = []
    for _ in range(recipe.epochs):
        state, metrics = jit_epoch(recipe, hyper, data, key, state)
        history.append(metrics)
    run = train(recipe, hyper, data, key)
    assert_same(run.state, state)
    assert_same(run.history, jax.tree.map(lambda *leaves: np.stack(leaves), *history))


def test_fit_from_a_state_is_the_rest_of_the_run(recipe, hyper, data):
    key = jax.random.key(0)
    whole = jit_fit(recipe, hyper, data, key)
    half = jit_fit(replace(recipe, epochs=2), hyper, data, key)
    rest = jit_fit(replace(recipe, epochs=3), hyper, data, key, half.state)
    assert_same(rest.state, whole.state, 1e-6)


@pytest.mark.parametrize("what", ["learning_rate", "key", "weight"])
def test_a_member_of_a_vmapped_fit_is_the_run_alone(recipe, hyper, data, what):
    keys = jax.random.split(jax.random.key(0), 3)
    rates = jnp.array([1e-3, 1e-2, 5e-2])
    folds = (jnp.arange(120)[None] % 3 != jnp.arange(3)[:, None]).astype(float)

    def member(i):
        chosen = data._replace(train=data.train._replace(weight=folds[i])) if what == "weight" else data
        rate = rates[i] if what == "learning_rate" else hyper["learning_rate"]
        return fit(recipe, {"learning_rate": rate}, chosen, keys[i] if what == "key" else keys[0])

    members = jax.jit(jax.vmap(member))(jnp.arange(3))
    for i in range(3):
        assert_same(jax.tree.map(lambda leaf: leaf[i], members), jax.jit(member)(i), 2e-4)  # noqa: B023


def test_an_example_of_weight_zero_leaves_no_trace(recipe, hyper, data):
    weight = data.train.weight.at[:30].set(0)
    other_targets = data.train.y.at[:30].set(0)
    with_old = data._replace(train=data.train._replace(weight=weight))
    with_new = data._replace(train=data.train._replace(weight=weight, y=other_targets))
    assert_same(*(jit_fit(recipe, hyper, each, jax.random.key(0)) for each in (with_old, with_new)))


def test_a_weight_of_two_is_the_example_twice(hyper, data):
    """In one full batch, where the order can't matter."""
    twice = jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf[:10]]), data.train)
    double = data.train._replace(weight=data.train.weight.at[:10].set(2))
    recipe = Recipe(mlp((4,), 3), optimizer("sgd"), losses.softmax_cross_entropy, epochs=3, batch_size=130)
    runs = [jit_fit(recipe, hyper, Data(train), jax.random.key(0)) for train in (twice, double)]
    assert_same(runs[0].state.params, runs[1].state.params, 1e-6)


def test_the_validation_loss_has_a_gradient_in_the_learning_rate(data):
    recipe = Recipe(
        mlp((8,), 3, "tanh"),
        lambda h: optax.sgd(h["rate"]),
        losses.softmax_cross_entropy,
        epochs=2,
        batch_size=30,
    )

    def valid_loss(rate):
        run = fit(recipe, {"rate": rate}, data, jax.random.key(0))
        return core.evaluate(recipe, {"rate": rate}, run.state, data.valid)["loss"]

    with jax.enable_x64(True):
        data = jax.tree.map(lambda leaf: jnp.asarray(leaf, float) if leaf.dtype == jnp.float32 else leaf, data)
        gradient = jax.jit(jax.grad(valid_loss))(0.1)
        difference = (jax.jit(valid_loss)(0.1 + 1e-5) - jax.jit(valid_loss)(0.1 - 1e-5)) / 2e-5
        assert gradient.dtype == jnp.float64
        assert gradient == pytest.approx(float(difference), rel=1e-5)


def test_another_rate_and_a_ragged_batch_compile_nothing_again(recipe, data):
    traces = []

    def counted(recipe, hyper, data, key, state):
        traces.append(1)
        return core.epoch(recipe, hyper, data, key, state)

    compiled = jax.jit(counted, static_argnums=0)
    key = jax.random.key(0)
    for rate in (1e-3, 1e-2, 1.0):
        hyper = {"learning_rate": jnp.float32(rate)}
        state = jax.jit(core.init, static_argnums=0)(recipe, hyper, data, key)
        for _ in range(3):
            state, _ = compiled(recipe, hyper, data, key, state)
    assert len(data.train.y) % recipe.batch_size != 0
    assert len(traces) == 1


def test_a_recipe_described_twice_is_one_recipe():
    def describe():
        return Recipe(mlp((16,), 3), optimizer("adam"), losses.softmax_cross_entropy)

    assert describe() == describe()
    assert hash(describe()) == hash(describe())


def test_nothing_moves_between_host_and_device_inside_an_epoch(recipe, hyper, data):
    key = jax.random.key(0)
    on_device = jax.device_put((hyper, data, key))
    state = jax.jit(core.init, static_argnums=0)(recipe, *on_device)
    compiled = jit_epoch.lower(recipe, *on_device, state).compile()
    text = compiled.as_text().lower()
    assert not any(word in text for word in ("infeed", "outfeed", "callback", " send(", " recv("))
    with jax.transfer_guard("disallow"):
        jax.block_until_ready(compiled(*on_device, state))


def test_the_core_uses_each_key_once(recipe, hyper, data):
    with jax.debug_key_reuse(True):
        jax.block_until_ready(jit_fit(replace(recipe, epochs=2), hyper, data, jax.random.key(0)))


def test_the_core_leaks_no_tracers(recipe, hyper, data):
    with jax.checking_leaks():
        jax.jit(fit, static_argnums=0)(replace(recipe, epochs=1), hyper, data, jax.random.key(0))


def test_the_core_makes_no_nan_on_the_way(recipe, hyper, data):
    with jax.debug_nans(True):
        jax.block_until_ready(jit_fit(replace(recipe, epochs=3), hyper, data, jax.random.key(0)))


def test_the_core_mixes_no_types_unasked(data):
    """With plain SGD: Optax's Adam itself relies on promotion."""
    recipe = Recipe(mlp((4,), 3), lambda h: optax.sgd(h["rate"]), losses.softmax_cross_entropy, epochs=1, batch_size=50)
    with jax.numpy_dtype_promotion("strict"):
        fit(recipe, {"rate": jnp.float32(0.1)}, data, jax.random.key(0))


def test_every_function_of_the_core_is_compiled_mapped_and_differentiated(recipe, hyper, data):
    """Mapped over three keys and compiled, each gives what it gives alone; evaluating has a gradient."""
    keys = jax.random.split(jax.random.key(0), 3)
    states = jax.vmap(lambda key: core.init(recipe, hyper, data, key))(keys)
    batch = core.take(data.train, jnp.arange(16))
    functions = {
        "init": lambda key, state: core.init(recipe, hyper, data, key),
        "epoch": lambda key, state: core.epoch(recipe, hyper, data, key, state),
        "step": lambda key, state: core.step(recipe, hyper, batch, key, state),
        "predict": lambda key, state: core.predict(recipe, hyper, state, data.valid.x),
        "evaluate": lambda key, state: core.evaluate(recipe, hyper, state.best, data.valid),
    }
    for function in functions.values():
        mapped = jax.jit(jax.vmap(function))(keys, states)
        alone = function(keys[1], jax.tree.map(lambda leaf: leaf[1], states))
        assert_same(jax.tree.map(lambda leaf: leaf[1], mapped), alone, 1e-4)

    def loss(params):
        return core.evaluate(recipe, hyper, state._replace(params=params), data.valid)["loss"]

    state = jax.tree.map(lambda leaf: leaf[0], states)
    gradient = jax.jit(jax.grad(loss))(state.params)
    assert core.all_finite(gradient)
    assert any(leaf.any() for leaf in jax.tree.leaves(gradient))
