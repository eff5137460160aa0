"""Optimizers by name, with traced numbers."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from purefit import Data, InputError, core, fit, losses, mlp, optimizer
from purefit.examples import take
from purefit.hyper import as_arrays
from purefit.optimizers import decayed, numbers_of, rules
from purefit.recipe import Recipe

PARAMS = {"weight": jnp.array([[1.0, -2.0], [3.0, 0.5]]), "bias": jnp.array([1.0, -1.0])}
GRADIENT = {"weight": jnp.array([[3.0, 4.0], [0.0, 0.0]]), "bias": jnp.array([0.0, 12.0])}


def update(chain):
    return chain.update(GRADIENT, chain.init(PARAMS), PARAMS)[0]


@pytest.mark.parametrize(
    ("name", "reference"),
    [("adam", optax.adam(0.01)), ("adamw", optax.adamw(0.01, weight_decay=0.1, mask=decayed))],
)
def test_adam_is_optax_adam_for_a_hundred_steps(name, reference):
    ours = optimizer(name)({"learning_rate": 0.01, **({"weight_decay": 0.1} if name == "adamw" else {})})
    states, params = [ours.init(PARAMS), reference.init(PARAMS)], [PARAMS, PARAMS]
    for number in range(100):
        for i, chain in enumerate((ours, reference)):
            # Gradients of many sizes: tiny ones are where eps tells.
            gradient = jax.tree.map(lambda p, n=number: jnp.sin(p * n) * 10.0 ** (n % 12 - 9), params[i])
            updates, states[i] = chain.update(gradient, states[i], params[i])
            params[i] = optax.apply_updates(params[i], updates)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4), *params)


def test_clip_norm_scales_the_whole_gradient():
    # The norm of GRADIENT is 13.
    step = update(optimizer("sgd")({"learning_rate": 1.0, "clip_norm": 6.5}))
    jax.tree.map(lambda a, g: np.testing.assert_allclose(a, -g / 2, rtol=1e-6), step, GRADIENT)


def test_weight_decay_pulls_matrices_and_leaves_biases_alone():
    step = update(optimizer("sgd")({"learning_rate": 0.5, "weight_decay": 0.1}))
    np.testing.assert_allclose(step["weight"], -0.5 * (GRADIENT["weight"] + 0.1 * PARAMS["weight"]), rtol=1e-6)
    np.testing.assert_allclose(step["bias"], -0.5 * GRADIENT["bias"])


def test_adamw_decays_apart_from_the_gradient():
    adam = update(optimizer("adam")({"learning_rate": 0.01}))
    adamw = update(optimizer("adamw")({"learning_rate": 0.01, "weight_decay": 0.1}))
    np.testing.assert_allclose(adamw["weight"], adam["weight"] - 0.01 * 0.1 * PARAMS["weight"], rtol=1e-5)
    np.testing.assert_allclose(adamw["bias"], adam["bias"], rtol=1e-6)


def test_the_nearest_name_is_suggested():
    with pytest.raises(InputError, match="did you mean 'adamw'"):
        optimizer("AdamW_")
    with pytest.raises(InputError, match="sgd"):
        optimizer("xyzzy")


def one_step(name, data, hyper=None):
    """A training step of an optimizer as a function of the state, and the state before it."""
    recipe = Recipe(mlp((4,), 3), optimizer(name), losses.softmax_cross_entropy, epochs=1, batch_size=60)
    hyper = {"learning_rate": jnp.float32(1e-2)} | (hyper or {})
    batch = take(data.train, jnp.arange(60))
    state = core.init(recipe, hyper, data, jax.random.key(0))
    return lambda state, hyper=hyper: core.step(recipe, hyper, batch, jax.random.key(1), state)[0], state


@pytest.mark.parametrize("name", rules())
def test_every_optimizer_trains_with_a_traced_rate_and_keeps_the_types_of_its_state(name, data):
    """Types that change, weak ones included, are a second compilation or a scan that refuses the state."""
    step, state = one_step(name, data)
    traced = jax.jit(step).trace(state, {"learning_rate": jnp.float32(1e-2)})
    after, compiled = traced.out_info, traced.lower().compile()
    for before, leaf in zip(jax.tree.leaves(state), jax.tree.leaves(after), strict=True):
        assert (before.shape, before.dtype, False) == (leaf.shape, leaf.dtype, before.weak_type)
    assert jax.tree.structure(state) == jax.tree.structure(after)
    new = state
    for _ in range(6):  # those that find their own step size begin with tiny ones
        new = compiled(new, {"learning_rate": jnp.float32(1e-2)})
    assert core.all_finite(new.params)
    moved = [bool((a != b).any()) for a, b in zip(*map(jax.tree.leaves, (state.params, new.params)), strict=True)]
    assert any(moved)


def test_every_optimizer_of_optax_is_offered():
    """Those that aren't need a gradient for each example, or keep two sets of weights in the parameters."""
    missing = set()
    for name, function in {**vars(optax), **vars(optax.contrib)}.items():
        if not inspect.isfunction(function) or name.startswith("_"):
            continue
        parameters = list(inspect.signature(function).parameters)
        if parameters and parameters[0] in ("learning_rate", "max_learning_rate", "base_optimizer", "optimizer"):
            missing |= {name} - set(rules())
    parts = {"scale_by_rprop", "scale_by_madgrad", "scale_by_learning_rate", "scale_by_galore"}
    assert missing - parts <= {"dpsgd", "optimistic_adam", "selective_transform"}


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_accumulating_two_batches_is_one_of_twice_the_size(name, data):
    """In full batches, in order: the shuffle of one epoch is the same."""
    runs = []
    for batch_size, accumulate in ((60, 1), (30, 2)):
        chain = optimizer(name, accumulate=accumulate)
        recipe = Recipe(mlp((4,), 3), chain, losses.softmax_cross_entropy, epochs=1, batch_size=batch_size)
        runs.append(jax.jit(fit, static_argnums=0)(recipe, {"learning_rate": 0.1}, data, jax.random.key(0)))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), *(run.state.params for run in runs))


def test_the_norms_before_and_after_clipping_and_of_the_update_are_recorded(data):
    recipe = Recipe(mlp((4,), 3), optimizer("sgd"), losses.softmax_cross_entropy, epochs=2, batch_size=30)
    run = jax.jit(fit, static_argnums=0)(recipe, {"learning_rate": 0.1, "clip_norm": 0.2}, data, jax.random.key(0))
    steps = run.history["steps"]
    np.testing.assert_allclose(steps["clipped_norm"], np.minimum(steps["gradient_norm"], 0.2), rtol=1e-4)
    np.testing.assert_allclose(steps["update_norm"], 0.1 * steps["clipped_norm"], rtol=1e-4)
    assert (steps["gradient_norm"] > 0.2).any()


def test_a_snapshot_in_the_users_own_chain_is_in_the_history(data):
    chain = optax.chain(optax.snapshot("largest", lambda u: optax.tree.max(u)), optax.sgd(0.1))
    recipe = Recipe(mlp((4,), 3), chain, losses.softmax_cross_entropy, epochs=1, batch_size=30)
    run = jax.jit(fit, static_argnums=0)(recipe, {}, data, jax.random.key(0))
    assert run.history["steps"]["largest"].shape == (1, 4)
    assert (run.history["steps"]["largest"] <= run.history["steps"]["gradient_norm"]).all()


def test_the_average_of_the_weights_is_what_predicts(data):
    """Against the same average in NumPy, of weights that are learned as without it."""
    common = (losses.softmax_cross_entropy,)
    recipe = Recipe(mlp((4,), 3), optimizer("sgd"), *common, epochs=1, batch_size=120)
    hyper = {"learning_rate": jnp.float32(0.5)}
    state = core.init(recipe, hyper, data, jax.random.key(0))
    with_average = core.init(recipe, hyper | {"ema": 0.5}, data, jax.random.key(0))
    expected = jax.tree.map(np.asarray, state.params)
    for number in range(1, 5):
        key = jax.random.key(0)
        state, _ = jax.jit(core.epoch, static_argnums=0)(recipe, hyper, data, key, state)
        with_average, metrics = jax.jit(core.epoch, static_argnums=0)(
            recipe, hyper | {"ema": 0.5}, data, key, with_average
        )
        kept, new = min(0.5, (1 + number) / (10 + number)), jax.tree.map(np.asarray, state.params)
        expected = jax.tree.map(lambda a, b, kept=kept: kept * a + (1 - kept) * b, expected, new)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), with_average.params, state.params)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), with_average.best.params, expected)
    evaluated = core.evaluate(recipe, hyper, with_average.best, data.valid)["loss"]
    assert metrics["valid"]["loss"] == pytest.approx(float(evaluated), rel=1e-5)


def test_schedule_free_predicts_with_its_own_average(data):
    recipe = Recipe(mlp((4,), 3), optimizer("schedule_free"), losses.softmax_cross_entropy, epochs=3, batch_size=30)
    run = jax.jit(fit, static_argnums=0)(recipe, {"learning_rate": 0.3}, Data(data.train), jax.random.key(0))
    expected = optax.contrib.schedule_free_eval_params(run.state.opt_state[0], run.state.params)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), run.best.params, expected)


def test_numbers_in_hyper_compile_once_and_are_what_options_are(data):
    assert numbers_of("adam", {"b1": 0.8, "eps": 1e-6, "nesterov": True}) == {"b1": 0.8, "eps": 1e-6}
    recipe = Recipe(mlp((4,), 3), optimizer("adam"), losses.softmax_cross_entropy, epochs=2, batch_size=30)
    fixed = Recipe(mlp((4,), 3), optimizer("adam", b1=0.5), losses.softmax_cross_entropy, epochs=2, batch_size=30)
    traces = []

    def counted(recipe, hyper):
        traces.append(1)
        return fit(recipe, hyper, data, jax.random.key(0))

    compiled = jax.jit(counted, static_argnums=0)
    names = ("learning_rate", "b1", "b2", "eps", "clip_norm", "weight_decay", "ema")
    for values in ((0.01, 0.5, 0.9, 1e-8, 1.0, 0.1, 0.9), (0.02, 0.6, 0.99, 1e-6, 2.0, 0.2, 0.5)):
        compiled(recipe, as_arrays(dict(zip(names, values, strict=True))))
    assert len(traces) == 1
    hyper = as_arrays({"learning_rate": 0.01})
    runs = [compiled(recipe, hyper | as_arrays({"b1": 0.5})), compiled(fixed, hyper)]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), *(run.state.params for run in runs))


def test_options_are_checked_against_optaxs_signature():
    for name, option, words in (("sgd", "momentun", "did you mean 'momentum'"), ("adam", "rho", "b1")):
        with pytest.raises(InputError, match=words):
            optimizer(name, **{option: 0.9})
    with pytest.raises(InputError, match="1 batch or more"):
        optimizer("sgd", accumulate=0)


def test_noise_is_drawn_with_the_runs_key(data):
    _, state = one_step("noisy_sgd", data, {"eta": 1.0})
    recipe = Recipe(mlp((4,), 3), optimizer("noisy_sgd"), losses.softmax_cross_entropy, epochs=1, batch_size=60)
    hyper = {"learning_rate": jnp.float32(0.1), "eta": 1.0}
    batch = take(data.train, jnp.arange(60))
    first, second = (core.step(recipe, hyper, batch, jax.random.key(k), state)[0].params for k in (1, 2))
    assert not np.array_equal(first[0]["weight"], second[0]["weight"])
