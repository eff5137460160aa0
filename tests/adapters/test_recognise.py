"""`as_model` knows what it is given, imports nothing for it, and gives one model for one network."""

import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen as nn

from adapters import networks
from purefit import InputError, Model, fit, mlp
from purefit.adapters import as_model, from_equinox, from_haiku, from_linen, from_nnx, to_equinox, to_nnx

KEY = jax.random.key(0)

GIVEN = {
    "model": mlp((4,), 3),
    "linen": networks.LinenNet(),
    "nnx class": networks.NnxNet,
    "nnx module": networks.NnxNet(rngs=networks.nnx.Rngs(0)),
    "equinox class": networks.EquinoxNet,
    "equinox module": networks.EquinoxNet(key=KEY),
    "equinox module and state": networks.eqx.nn.make_with_state(networks.EquinoxNormNet)(KEY),
    "haiku": networks.haiku_net(),
    "haiku with state": networks.haiku_net(norm=True),
    "haiku without rng": networks.hk.without_apply_rng(networks.hk.transform(lambda x: networks.hk.Linear(3)(x))),
    "functions": (networks.plain_init, networks.plain_apply),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_a_network_of_any_kind_is_a_model(kind, data):
    model = as_model(GIVEN[kind])
    params, state = jax.jit(model.init)(KEY, data.train)
    for key, train in ((KEY, True), (None, False)):
        outputs, _ = model.apply(params, state, data.train.x, key=key, train=train)
        assert outputs.shape == (100, 3)


@pytest.mark.parametrize("kind", [kind for kind in GIVEN if "module" not in kind])
def test_the_same_network_is_the_same_model(kind):
    assert as_model(GIVEN[kind]) == as_model(GIVEN[kind])
    assert hash(as_model(GIVEN[kind])) == hash(as_model(GIVEN[kind]))


def test_equal_linen_modules_are_the_same_model():
    assert as_model(networks.LinenNet(rate=0.25)) == as_model(networks.LinenNet(rate=0.25))
    assert as_model(networks.LinenNet(rate=0.25)) != as_model(networks.LinenNet(rate=0.5))


@pytest.mark.parametrize(
    ("wrong", "came"),
    [
        (3, "an int"),
        (networks.LinenNet, "the class LinenNet"),
        (optax.adam(1e-3), "a GradientTransformationExtraArgs"),
        ((networks.plain_init,), "a tuple"),
        (lambda x: x, "a function"),
    ],
)
def test_anything_else_is_refused_in_one_line(wrong, came):
    with pytest.raises(InputError, match=rf"expected a Model, .* \(init, apply\), not {came}$") as caught:
        as_model(wrong)
    assert "\n" not in str(caught.value)


def test_a_class_that_needs_more_than_randomness_is_refused():
    class Sized(networks.nnx.Module):
        def __init__(self, width, *, rngs):
            pass

    with pytest.raises(InputError, match="Sized: must be made from rngs alone, but needs width as well"):
        as_model(Sized)
    from_nnx(partial(Sized, 3))
    with pytest.raises(InputError, match="Linear: must be made from key alone, but needs in_features, out_features"):
        as_model(networks.eqx.nn.Linear)


def test_every_run_from_a_module_starts_from_its_weights(data):
    for module, weight, name in (
        (networks.EquinoxNet(key=KEY), lambda net: net.first.weight, "first.weight"),
        (networks.NnxNet(rngs=networks.nnx.Rngs(0)), lambda net: net.first.kernel[...], "first.kernel"),
    ):
        model = as_model(module)
        for seed in (1, 2):
            params, _ = model.init(jax.random.key(seed), data.train)
            np.testing.assert_array_equal(params[name], weight(module))
            assert params[name] is not weight(module)  # an epoch gives its buffers away


def test_what_a_run_learned_goes_back_into_a_module(data, recipe_of):
    for model, module in (
        (from_nnx(networks.NnxNet), lambda best: to_nnx(networks.NnxNet, best)),
        (from_equinox(networks.EquinoxNet), lambda best: partial(to_equinox(networks.EquinoxNet, best), key=None)),
    ):
        best = jax.jit(fit, static_argnums=0)(recipe_of(model), {"learning_rate": 0.01}, data, KEY).best
        expected, _ = model.apply(best.params, best.model_state, data.valid.x[:1], key=None, train=False)
        inputs = data.valid.x[:1] if isinstance(module(best), networks.nnx.Module) else data.valid.x[0]
        np.testing.assert_allclose(jnp.ravel(module(best)(inputs)), expected[0], rtol=1e-5)


def test_a_stateful_equinox_module_goes_back_with_its_state(data):
    model = from_equinox(networks.EquinoxNormNet)
    params, model_state = model.init(KEY, data.train)
    _, model_state = model.apply(params, model_state, data.train.x, key=KEY, train=True)

    class Weights:
        pass

    Weights.params, Weights.model_state = params, model_state
    module, state = to_equinox(networks.EquinoxNormNet, Weights)
    outputs, _ = jax.vmap(module, axis_name="rows", in_axes=(0, None), out_axes=(0, None))(data.valid.x, state)
    expected, _ = model.apply(params, model_state, data.valid.x, key=None, train=False)
    np.testing.assert_allclose(outputs, expected, rtol=1e-5)


@pytest.mark.parametrize("flag", ["train", "training", "is_training", "deterministic", "use_running_average"])
def test_linen_and_haiku_are_told_by_whatever_name_they_have_for_training(flag, data):
    source = f"lambda self, x, {flag}: self.seen.append({flag}) or nn.Dense(3)(x)"
    seen = []
    call = nn.compact(eval(source, {"nn": nn}))
    call.__name__ = "__call__"
    linen = type("Net", (nn.Module,), {"__call__": call, "seen": property(lambda self: seen)})
    plain = f"lambda x, {flag}: seen.append({flag}) or hk.Linear(3)(x)"
    transformed = networks.hk.transform(eval(plain, {"seen": seen, "hk": networks.hk}))
    expected = flag not in ("deterministic", "use_running_average")
    for model in (from_linen(linen()), from_haiku(transformed)):
        params, state = model.init(KEY, data.train)
        seen.clear()
        model.apply(params, state, data.train.x, key=KEY, train=True)
        model.apply(params, state, data.train.x, key=None, train=False)
        assert seen == [expected, not expected]


def test_a_hidden_train_argument_of_haiku_can_be_named(data):
    transformed = networks.hk.transform(lambda x, **flags: networks.hk.Linear(3)(x) * (2 if flags["learning"] else 1))
    model = from_haiku(transformed, train_argument="learning")
    params, state = model.init(KEY, data.train)
    trained, _ = model.apply(params, state, data.train.x, key=KEY, train=True)
    predicted, _ = model.apply(params, state, data.train.x, key=None, train=False)
    np.testing.assert_allclose(trained, 2 * predicted)


def test_streams_of_any_name_are_random_when_a_linen_module_is_trained(data):
    class Noisy(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            x = nn.Dense(3)(x)
            return x + jax.random.normal(self.make_rng("noise"), x.shape) if train else x

    model = from_linen(Noisy())
    params, state = model.init(KEY, data.train)
    one, two = (model.apply(params, state, data.train.x, key=jax.random.key(n), train=True)[0] for n in (1, 2))
    assert not np.allclose(one, two)


def test_arrays_that_are_no_parameters_are_state_with_a_type_of_its_own(data):
    class Nnx(networks.nnx.Module):
        def __init__(self, rngs):
            self.layer = networks.nnx.Linear(2, 3, use_bias=False, rngs=rngs)
            self.scale = 2 * jnp.asarray(1.5)
            self.mask = jax.random.bernoulli(rngs.params(), 0.5, (3,))

        def __call__(self, x):
            return self.layer(x) * self.scale * self.mask[None]

    class Equinox(networks.eqx.Module):
        layer: networks.eqx.nn.Linear
        scale: jax.Array
        mask: jax.Array

        def __init__(self, key):
            self.layer = networks.eqx.nn.Linear(2, 3, key=key)
            self.scale = 2 * jnp.asarray(1.5)
            self.mask = jax.random.bernoulli(key, 0.5, (3,))

        def __call__(self, x):
            return self.layer(x) * self.scale * self.mask

    for network, names in ((Nnx, {"scale", "mask"}), (Equinox, {"module.mask"})):
        model = as_model(network)
        keys = jax.random.split(KEY, 8)
        _, states = jax.jit(jax.vmap(model.init, in_axes=(0, None)))(keys, data.train)
        assert {*states} == names
        mask = next(value for name, value in states.items() if "mask" in name)
        assert len(np.unique(mask, axis=0)) > 1
        params, state = model.init(KEY, data.train)
        assert not any(leaf.weak_type for leaf in jax.tree.leaves((params, state)))
        outputs, after = jax.jit(partial(model.apply, train=True))(params, state, data.train.x, key=KEY)
        assert outputs.shape == (100, 3)
        assert kinds(state) == kinds(after)


def kinds(tree):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), tree)


def test_functions_are_given_what_they_name():
    given = []

    def apply(params, x, train, key=None):
        given.append((train, key is None))
        return x * params["scale"]

    for lift in (Model.from_function, Model.from_example_function):
        model = lift(networks.plain_init, apply)
        model.apply({"scale": 2.0}, (), jnp.ones((2, 3)), key=KEY, train=True)
        model.apply({"scale": 2.0}, (), jnp.ones((2, 3)), key=None, train=False)
    assert given == [(True, False), (False, True)] * 2


def test_recognising_imports_no_library():
    program = """
import sys
from purefit import mlp
from purefit.adapters import as_model, built
as_model(mlp((3,), 2)), as_model((lambda key, x: {}, lambda params, x: x))
built(lambda outputs: mlp((3,), outputs), input_shape=(2,), outputs=2)
try: as_model(1)
except Exception as error: print(type(error).__name__)
print(*{"flax", "equinox", "haiku"} & {*sys.modules})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["InputError"]
