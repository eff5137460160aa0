"""Schedules of the learning rate: Optax's own, in a run."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from purefit import Clock, InputError, Recipe, core, fit, losses, mlp, optimizer, schedule
from purefit.schedules import numbers_of, shapes
from purefit.spelling import Length, parse, value_of

STEPS, EPOCHS = 10, 5


def rates(name, options=(), peak=0.1, **numbers):
    """The learning rate of each of 50 steps, with a traced peak."""
    function = schedule(name, options)

    def rate(step, peak):
        return function({"learning_rate": peak, **numbers}, Clock(step, STEPS, EPOCHS))["learning_rate"]

    return jax.vmap(jax.jit(rate), in_axes=(0, None))(jnp.arange(STEPS * EPOCHS), jnp.float32(peak))


REFERENCES = [
    ("constant", (), lambda step: 0.1),
    ("cosine_decay", (), optax.cosine_decay_schedule(0.1, 50)),
    ("cosine_decay", (("alpha", 0.1), ("decay_steps", 20)), optax.cosine_decay_schedule(0.1, 20, 0.1)),
    ("linear", (("end_value", 0.01),), optax.linear_schedule(0.1, 0.01, 50)),
    ("exponential_decay", (("decay_rate", 0.5), ("transition_steps", Length(1, "epochs"))),
     optax.exponential_decay(0.1, 10, 0.5)),
    ("polynomial", (("power", 2), ("transition_begin", 5)), optax.polynomial_schedule(0.1, 0.0, 2, 45, 5)),
    ("warmup_cosine_decay", (("warmup_steps", Length(1, "epochs")), ("end_value", 0.01)),
     optax.warmup_cosine_decay_schedule(0.0, 0.1, 10, 50, 0.01)),
    ("warmup_constant", (("warmup_steps", 4), ("init_value", 0.02)), optax.warmup_constant_schedule(0.02, 0.1, 4)),
    ("warmup_exponential_decay", (("warmup_steps", 5),),
     optax.warmup_exponential_decay_schedule(0.0, 0.1, 5, 45, 0.1)),
    ("cosine_onecycle", (), optax.cosine_onecycle_schedule(50, 0.1)),
    ("linear_onecycle", (("pct_start", 0.5),), optax.linear_onecycle_schedule(50, 0.1, 0.5)),
    ("piecewise_constant", parse("x:2epochs=0.1,35steps=0.5").options,
     optax.piecewise_constant_schedule(0.1, {20: 0.1, 35: 0.5})),
    ("piecewise_interpolate", parse("x:2epochs=0.1").options,
     optax.piecewise_interpolate_schedule("linear", 0.1, {20: 0.1})),
    ("sgdr", (("cycles", 2),), optax.sgdr_schedule(
        [{"init_value": 0.1, "peak_value": 0.1, "warmup_steps": 0, "decay_steps": 25, "end_value": 0.0}] * 2)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "reference"), REFERENCES)
def test_a_schedule_by_name_is_optaxs_over_the_whole_run(name, options, reference):
    expected = [float(reference(step)) for step in range(50)]
    np.testing.assert_allclose(rates(name, options), expected, rtol=1e-4, atol=1e-8)


def test_every_schedule_of_optax_is_offered():
    optaxs = {name.removesuffix("_schedule") for name in vars(optax.schedules) if name[0].islower()}
    # What is left is a composition of schedules, or of optimizers.
    assert optaxs - set(shapes()) <= {"join_schedules", "inject_hyperparams", "inject_stateful_hyperparams"}
    assert {name for name, _, _ in REFERENCES} == set(shapes())


@pytest.mark.parametrize("name", shapes())
def test_every_schedule_works_in_the_shortest_run(name):
    options = parse("x:1steps=0.1").options if name.startswith("piecewise") else ()
    rate = schedule(name, options)({"learning_rate": jnp.float32(0.1)}, Clock(jnp.int32(0), 1, 1))["learning_rate"]
    assert np.isfinite(rate)


def test_a_number_of_a_schedule_may_be_traced():
    assert numbers_of("cosine_decay", {"alpha": 0.1, "decay_steps": 30}) == {"schedule_alpha": 0.1}
    assert numbers_of("exponential_decay", {"staircase": True, "decay_rate": 0.5}) == {}
    np.testing.assert_allclose(
        rates("cosine_decay", schedule_alpha=jnp.float32(0.5)), rates("cosine_decay", (("alpha", 0.5),)), rtol=1e-5
    )


def test_a_run_follows_its_schedule_and_says_so(data):
    recipe = Recipe(
        mlp((4,), 3), optimizer("sgd"), losses.softmax_cross_entropy,
        epochs=4, batch_size=30, schedule=schedule("linear"),
    )  # fmt: skip
    run = jax.jit(fit, static_argnums=0)(recipe, {"learning_rate": jnp.float32(0.1)}, data, jax.random.key(0))
    np.testing.assert_allclose(run.history["steps"]["learning_rate"].ravel(), np.linspace(0.1, 0, 17)[:-1], rtol=1e-4)
    updates, gradients = (run.history["steps"][f"{name}_norm"] for name in ("update", "gradient"))
    np.testing.assert_allclose(updates, gradients * run.history["steps"]["learning_rate"], rtol=1e-4)


def test_a_schedule_in_the_users_own_chain_is_left_to_it(data):
    decay = optax.linear_schedule(0.1, 0.0, 16)
    common = (losses.softmax_cross_entropy,)
    own = Recipe(mlp((4,), 3), optax.adam(decay), *common, epochs=4, batch_size=30)
    named = Recipe(mlp((4,), 3), lambda h: optax.adam(h["learning_rate"]), *common, epochs=4, batch_size=30,
                   schedule=schedule("linear"))  # fmt: skip
    runs = [
        jax.jit(fit, static_argnums=0)(recipe, {"learning_rate": jnp.float32(0.1)}, data, jax.random.key(0))
        for recipe in (own, named)
    ]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), *(run.state.params for run in runs))


def test_any_number_can_have_a_schedule_of_the_users(data):
    def warm(hyper, clock):
        return {**hyper, "clip_norm": hyper["clip_norm"] * (clock.step + 1)}

    recipe = Recipe(
        mlp((4,), 3), optimizer("sgd"), losses.softmax_cross_entropy, epochs=1, batch_size=30, schedule=warm
    )
    hyper = {"learning_rate": 0.1, "clip_norm": jnp.float32(1e-3)}
    _, metrics = core.epoch(recipe, hyper, data, jax.random.key(0), core.init(recipe, hyper, data, jax.random.key(0)))
    np.testing.assert_allclose(metrics["steps"]["clipped_norm"], [1e-3, 2e-3, 3e-3, 4e-3], rtol=1e-3)


def test_wrong_schedules_are_refused():
    for name, options, words in (
        ("cosine", (), "did you mean 'cosine_decay'"),
        ("linear", (("end", 0.1),), "end_value"),
        ("cosine_decay", (("init_value", 0.1),), "no option 'init_value'"),
    ):
        with pytest.raises(InputError, match=words):
            schedule(name, options)
    with pytest.raises(InputError, match="learning rate"):
        schedule("linear")({}, Clock(0, 1, 1))


def test_choices_are_spelled_as_documented():
    assert parse("sgd").options == ()
    assert parse("muon:ns-steps=3,adaptive=true").options == (("adaptive", True), ("ns_steps", 3))
    assert parse("prodigy:betas=0.9/0.999").options == (("betas", (0.9, 0.999)),)
    assert value_of("1.5 epochs") == Length(1.5, "epochs")
    for wrong in ("sgd:momentum", "sgd:=3", "sgd:momentum=", "sgd:a=1,a=2"):
        with pytest.raises(InputError, match="sgd"):
            parse(wrong)
