"""Which epoch is the best, when a run stops, and what is left when it diverges."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from purefit import Data, Status, core, evaluate, fit

jit_fit = jax.jit(fit, static_argnums=0)


def test_the_best_epoch_is_the_one_of_lowest_validation_loss(recipe, data):
    # So large a rate that the loss goes up and down.
    recipe, hyper = replace(recipe, epochs=12), {"learning_rate": jnp.float32(0.3)}
    run = jit_fit(recipe, hyper, data, jax.random.key(0))
    losses = run.history["valid"]["loss"]
    assert run.best.epoch == 1 + np.argmin(losses) < 12
    assert evaluate(recipe, hyper, run.best, data.valid)["loss"] == pytest.approx(float(losses.min()), rel=1e-6)


def test_the_best_epoch_by_accuracy_is_the_first_of_highest_accuracy(recipe, data):
    recipe, hyper = replace(recipe, epochs=12, monitor="accuracy"), {"learning_rate": jnp.float32(0.3)}
    run = jit_fit(recipe, hyper, data, jax.random.key(0))
    assert run.best.epoch == 1 + np.argmax(run.history["valid"]["accuracy"])


def test_without_validation_examples_the_last_epoch_is_the_best(recipe, hyper, data):
    run = jit_fit(recipe, hyper, Data(data.train), jax.random.key(0))
    assert run.best.epoch == recipe.epochs
    assert np.array_equal(run.best.params[0]["weight"], run.state.params[0]["weight"])


def test_patience_stops_the_run_and_the_best_is_kept(recipe, data):
    recipe, hyper = replace(recipe, epochs=30), {"learning_rate": jnp.float32(0.3)}
    whole = jit_fit(recipe, hyper, data, jax.random.key(0)).history["valid"]["loss"]
    expected_best, expected_end = 1, None
    for number, loss in enumerate(np.asarray(whole), start=1):
        if loss < whole[expected_best - 1]:
            expected_best = number
        if number - expected_best >= 3:
            expected_end = number
            break
    assert expected_end is not None

    run = jit_fit(recipe, hyper | {"patience": jnp.float32(3)}, data, jax.random.key(0))

    assert run.state.status == Status.STOPPED
    assert (run.state.epoch, run.best.epoch) == (expected_end, expected_best)
    assert np.isnan(run.history["train"]["loss"][expected_end:]).all()
    np.testing.assert_allclose(run.history["valid"]["loss"][:expected_end], whole[:expected_end], rtol=1e-4)


def test_early_stopping_is_each_members_own(recipe, data):
    recipe = replace(recipe, epochs=20)
    hyper = {"learning_rate": jnp.full(2, 0.3), "patience": jnp.array([jnp.inf, 2.0])}
    members = jax.jit(jax.vmap(lambda hyper: fit(recipe, hyper, data, jax.random.key(0))))(hyper)
    assert members.state.status.tolist() == [Status.RUNNING, Status.STOPPED]
    assert members.state.epoch[0] == 20 > members.state.epoch[1]


def test_a_diverging_run_keeps_its_last_finite_state(recipe, data):
    """The data overflow float32 from the second epoch on, as the weights have grown."""
    recipe = replace(recipe, optimizer=core.optax.sgd(1e18))
    key = jax.random.key(0)
    run = jit_fit(recipe, {}, data, key)
    assert run.state.status == Status.DIVERGED
    assert core.all_finite(run.state.params)
    survived = int(run.state.epoch)
    again = jit_fit(replace(recipe, epochs=max(survived, 1)), {}, data, key)
    if survived:
        assert np.array_equal(run.state.params[0]["weight"], again.state.params[0]["weight"])


def test_a_diverging_member_touches_no_other(recipe, data):
    rates = jnp.array([1e-2, jnp.inf, 2e-2])
    members = jax.jit(jax.vmap(lambda rate: fit(recipe, {"learning_rate": rate}, data, jax.random.key(0))))(rates)
    assert members.state.status.tolist() == [Status.RUNNING, Status.DIVERGED, Status.RUNNING]
    for i in (0, 2):
        alone = jit_fit(recipe, {"learning_rate": rates[i]}, data, jax.random.key(0))
        np.testing.assert_allclose(members.state.params[0]["weight"][i], alone.state.params[0]["weight"], atol=2e-4)
