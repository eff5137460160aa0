"""Hypergradients against finite differences in float64, and what they need of memory."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from purefit import Data, Examples, InputError, Recipe, core, fit, hypergrad, losses, mlp, optimizer, schedule
from purefit.hypergradient import checkpointed_scan, final_loss

pytestmark = pytest.mark.slow

jit_hypergrad = jax.jit(hypergrad, static_argnums=(0, 4))

RUNS = {
    "adam": {"learning_rate": 0.02, "b1": 0.8, "b2": 0.95, "eps": 1e-3, "clip_norm": 0.3},
    "adamw": {"learning_rate": 0.02, "weight_decay": 0.1, "ema": 0.3},
    "sgd": {"learning_rate": 0.1, "momentum": 0.8, "weight_decay": 0.05},
    "muon": {"learning_rate": 0.02, "beta": 0.9, "weight_decay": 0.1},
    "schedule_free": {"learning_rate": 0.1, "b1": 0.8},
}
"""Optimizers with the numbers whose derivatives are looked at; the clipping is at work."""


def smooth(name, **options):
    """A recipe of a smooth network, so that a finite difference is what it should be."""
    chosen = {"epochs": 2, "batch_size": 25} | options
    return Recipe(mlp((8,), 3, "tanh"), optimizer(name), losses.softmax_cross_entropy, **chosen)


def in_float64(tree):
    return jax.tree.map(lambda leaf: leaf.astype(float) if leaf.dtype == jnp.float32 else leaf, tree)


def loss_at_the_end(recipe, hyper, data, key):
    """What is differentiated, without the module under test: `fit`, and its last weights' loss."""
    run = fit(recipe, hyper, data, key)
    weights = run.state._replace(params=core.averaged(run.state.opt_state, run.state.params))
    return core.evaluate(recipe, hyper, weights, data.valid)["loss"]


def assert_is_finite_difference(recipe, hyper, data, rtol=1e-5, relative_step=1e-5):
    """The loss is that of `fit`, and every derivative is that of a central difference, in float64."""
    with jax.enable_x64(True):
        data, key = in_float64(data), jax.random.key(0)
        loss = jax.jit(lambda hyper: loss_at_the_end(recipe, hyper, data, key))
        hyper = {name: jnp.float64(value) for name, value in hyper.items()}
        found = jit_hypergrad(recipe, hyper, data, key)
        assert found.gradient.keys() == hyper.keys()
        np.testing.assert_allclose(found.loss, loss(hyper), rtol=1e-12)
        for name, value in hyper.items():
            step = relative_step * value
            up, down = (loss({**hyper, name: value + change}) for change in (step, -step))
            difference = (up - down) / (2 * step)
            assert found.gradient[name].dtype == jnp.float64
            assert difference != 0, f"{name} changes nothing: a poor test"
            np.testing.assert_allclose(found.gradient[name], difference, rtol=rtol, err_msg=name)


@pytest.mark.parametrize("name", RUNS)
def test_the_gradient_is_the_finite_difference(name, data):
    assert_is_finite_difference(smooth(name), RUNS[name], data)


def test_a_schedules_number_has_a_gradient(data):
    recipe = smooth("adam", schedule=schedule("cosine_decay"))
    assert_is_finite_difference(recipe, {"learning_rate": 0.02, "schedule_alpha": 0.1}, data)


def test_a_dropout_rates_gradient_is_that_of_the_units_kept(data):
    """The step of the difference is too small to change which units are kept: a rate counts to 1/65,536."""
    recipe = replace(smooth("adam"), model=lambda h: mlp((8,), 3, "tanh", dropout_rate=h["dropout"]))
    assert_is_finite_difference(recipe, {"learning_rate": 0.02, "dropout": 0.25}, data)


def test_only_the_named_have_a_gradient_and_patience_stops_nothing(data):
    recipe, hyper = smooth("sgd", epochs=4), {"learning_rate": 1e-8, "momentum": 0.5}
    alone = jit_hypergrad(recipe, hyper, data, jax.random.key(0))
    assert set(alone.gradient) == {"learning_rate", "momentum"}
    with_patience = jit_hypergrad(recipe, hyper | {"patience": 1}, data, jax.random.key(0), ("momentum",))
    assert set(with_patience.gradient) == {"momentum"}
    assert with_patience.loss == alone.loss
    np.testing.assert_allclose(with_patience.gradient["momentum"], alone.gradient["momentum"], rtol=1e-5)


def test_an_example_of_weight_zero_does_not_count(data):
    valid = data.valid._replace(weight=data.valid.weight.at[20:].set(0))
    fewer = Examples(*jax.tree.map(lambda leaf: leaf[:20], tuple(data.valid)))
    hyper = {"learning_rate": 0.02}
    one, other = (
        jit_hypergrad(smooth("adam"), hyper, data._replace(valid=each), jax.random.key(0)) for each in (valid, fewer)
    )
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-5)
    np.testing.assert_allclose(one.gradient["learning_rate"], other.gradient["learning_rate"], rtol=1e-4)


@pytest.mark.parametrize("name", ["adam", "rmsprop", "adafactor", "radam", "lamb"])
def test_inputs_that_are_always_zero_leave_the_gradient_finite(name, data):
    """Their weights' gradients are 0, where square roots have an infinite slope; radam looks at √ of less."""
    dead = Data(*(part._replace(x=jnp.pad(part.x, ((0, 0), (0, 3)))) for part in data))
    hyper = {"learning_rate": 0.01, "clip_norm": 0.5}
    found = jit_hypergrad(smooth(name), hyper, dead, jax.random.key(0))
    assert np.isfinite(found.loss)
    assert all(np.isfinite(each) and each != 0 for each in found.gradient.values()), found


def test_inputs_that_are_always_zero_change_no_gradient(data):
    """A finite difference again: the slopes that count as 0 are those that don't matter."""
    dead = Data(*(part._replace(x=jnp.pad(part.x, ((0, 0), (0, 2)))) for part in data))
    assert_is_finite_difference(smooth("adam"), {"learning_rate": 0.02, "b1": 0.8, "eps": 1e-3}, dead)


def test_a_gradient_of_zero_is_clipped_with_a_finite_gradient(data):
    """Training examples of weight 0 have no gradient at all: its norm is 0, and clipping divides by it."""
    nothing = data._replace(train=data.train._replace(weight=jnp.zeros(120)))
    hyper = {"learning_rate": 0.1, "clip_norm": 0.5, "weight_decay": 0.1}
    found = jit_hypergrad(smooth("adamw"), hyper, nothing, jax.random.key(0))
    assert all(np.isfinite(each) for each in found.gradient.values()), found
    assert found.gradient["weight_decay"] != 0


@pytest.mark.parametrize(("epochs", "rows"), [(10, 1600), (1000, 16)])
def test_a_thousand_steps_need_an_eighth_of_the_plain_memory_at_most(epochs, rows):
    x = jnp.sin(jnp.arange(rows * 8.0)).reshape(rows, 8)
    part = Examples(x, (x[:, 0] > 0).astype(int), jnp.ones(rows))
    recipe = Recipe(
        mlp((16,), 2, "tanh"), optimizer("adam"), losses.softmax_cross_entropy, epochs=epochs, batch_size=16
    )
    assert recipe.epochs * rows // recipe.batch_size == 1000
    arguments = ({"learning_rate": 0.01}, Data(part, part._replace()), jax.random.key(0))

    def bytes_of(function):
        return jax.jit(function).lower(*arguments).compile().memory_analysis().temp_size_in_bytes

    plain = bytes_of(jax.grad(lambda *these: final_loss(recipe, *these)))
    assert bytes_of(lambda *these: hypergrad(recipe, *these)) <= plain / 8


def test_mapped_over_keys_it_is_what_single_calls_give(data):
    keys, hyper = jax.random.split(jax.random.key(0), 3), {"learning_rate": 0.02, "clip_norm": 0.3}
    recipe = smooth("adam")
    mapped = jax.jit(jax.vmap(lambda key: hypergrad(recipe, hyper, data, key)))(keys)
    for place, key in enumerate(keys):
        alone = jit_hypergrad(recipe, hyper, data, key)
        np.testing.assert_allclose(mapped.loss[place], alone.loss, rtol=1e-5)
        for name, value in alone.gradient.items():
            np.testing.assert_allclose(mapped.gradient[name][place], value, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 16, 37, 100, 101])
def test_a_checkpointed_scan_is_a_scan_of_any_length(length):
    xs = {"a": jnp.linspace(0.0, 1.0, length), "b": jnp.arange(2.0 * length).reshape(length, 2)}

    def run(scan, start):
        def body(carry, x):
            new = jnp.sin(carry + x["a"]) + 0.1 * jnp.sum(x["b"])
            return new, {"before": carry, "twice": 2 * x["b"]}

        carry, ys = scan(body, start, xs)
        return carry + jnp.sum(ys["before"]), ys

    found, expected = (
        jax.value_and_grad(run, argnums=1, has_aux=True)(each, 0.3) for each in (checkpointed_scan, lax.scan)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, expected)
    counted = checkpointed_scan(lambda n, _: (n + 1, n), 0, length=length)
    assert counted[0] == length
    np.testing.assert_array_equal(counted[1], np.arange(length))


def test_a_recipes_scan_changes_nothing_but_memory(recipe, hyper, data):
    """`fit` itself can be given it: it scans epochs and steps."""
    runs = [
        jax.jit(fit, static_argnums=0)(replace(recipe, scan=scan), hyper, data, jax.random.key(0))
        for scan in (lax.scan, checkpointed_scan)
    ]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), *runs)


def test_what_has_no_gradient_is_said(data):
    key, hyper = jax.random.key(0), {"learning_rate": 0.01, "patience": 2, "steps": 3}
    with pytest.raises(InputError, match="no hyperparameter named 'learning_rat'; did you mean 'learning_rate'"):
        hypergrad(smooth("sgd"), hyper, data, key, ("learning_rat",))
    with pytest.raises(InputError, match="patience has no gradient"):
        hypergrad(smooth("sgd"), hyper, data, key, ("patience",))
    with pytest.raises(InputError, match="steps has no gradient: it is of type int32"):
        hypergrad(smooth("sgd"), hyper, data, key)
    with pytest.raises(InputError, match=r"held-out examples: data\.valid is None"):
        hypergrad(smooth("sgd"), {"learning_rate": 0.01}, data._replace(valid=None), key)
    with pytest.raises(InputError, match="a loop of unknown length"):
        hypergrad(smooth("lbfgs"), {"learning_rate": 0.01}, data, key)
