"""Functions whose operations are replaced: convolutions by products of patches, products by bfloat16 ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from purefit import Examples, Recipe, core, losses, mlp, optimizer
from purefit.convolutions import as_patches_on_cpu, with_patches
from purefit.examples import Data
from purefit.models import Model
from purefit.precision import in_bfloat16, product
from purefit.rewriting import found, rewritten

WEIGHT = jnp.ones((3, 3))


def everything(x):
    """Products inside all that JAX can put around them."""
    carry, sums = lax.scan(lambda c, v: (jnp.tanh(c @ WEIGHT) + v, c.sum()), x, jnp.arange(4.0))
    x = lax.cond(carry.sum() > 0, lambda c: c @ WEIGHT, lambda c: c, carry)
    x = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] @ WEIGHT * 0.1), (0, x))[1]
    x = jax.checkpoint(lambda x: jnp.sin(x @ WEIGHT))(x)
    x = jax.jit(lambda x: jax.nn.gelu(x @ WEIGHT))(jax.nn.relu(x))
    return x, sums, None, {"last": lax.fori_loop(0, 3, lambda i, x: x @ WEIGHT * 0.1, x)}


def test_every_product_is_replaced_wherever_it_is_and_nothing_else_changes():
    seen = []

    def rule(a, b, *, dimension_numbers, **_):
        seen.append(1)
        return lax.dot_general(a, b, dimension_numbers)

    x = jnp.arange(9.0).reshape(3, 3) / 10
    again = jax.jit(rewritten(everything, {"dot_general": rule}))(x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), everything(x), again)
    assert len(seen) == 6


def test_a_rule_of_none_leaves_the_operation():
    same = rewritten(lambda x: x + 1, {"add": lambda *operands, **params: None})
    assert float(same(2.0)) == 3.0


def test_rewritten_functions_can_be_mapped_and_differentiated():
    double = rewritten(lambda x: jnp.sin(x) * x, {"sin": lambda x, **_: 2 * x})  # now 2x²
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(double)))(jnp.arange(4.0)), 4 * jnp.arange(4.0))


LAYOUTS = [
    (("NHWC", "HWIO", "NHWC"), (2, 9, 8, 4), (3, 2, 4, 6), 1),
    (("NCHW", "OIHW", "NCHW"), (2, 4, 9, 8), (6, 2, 3, 2), 2),
    (("NHWC", "HWIO", "NHWC"), (2, 9, 8, 4), (3, 3, 1, 8), 4),
    (("NWC", "WIO", "NWC"), (2, 9, 3), (4, 3, 5), 1),
    (("NDHWC", "DHWIO", "NDHWC"), (1, 5, 6, 4, 2), (2, 3, 2, 2, 3), 1),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("stride", "padding", "stretched", "dilated"),
    [(1, "SAME", 1, 1), (2, "VALID", 1, 1), (2, (2, -1), 1, 2), (1, (1, 2), 2, 1), (2, (0, 1), 2, 2)],
)
def test_a_convolution_by_patches_is_xlas_and_so_is_its_gradient(layout, stride, padding, stretched, dilated):
    names, shape, kernel_shape, groups = layout
    axes, random = len(shape) - 2, np.random.default_rng(0)
    x, kernel = (jnp.asarray(random.normal(size=s), jnp.float32) for s in (shape, kernel_shape))
    pads = padding if isinstance(padding, str) else [padding] * axes

    def convolved(x, kernel):
        return lax.conv_general_dilated(
            x, kernel, (stride,) * axes, pads, (stretched,) * axes, (dilated,) * axes, names, groups
        )

    ours = rewritten(convolved, {"conv_general_dilated": as_patches_on_cpu})
    y, pull = jax.vjp(convolved, x, kernel)
    z, pull_ours = jax.jit(lambda *a: jax.vjp(ours, *a))(x, kernel)
    np.testing.assert_allclose(y, z, atol=1e-4)
    for a, b in zip(pull(jnp.cos(y)), pull_ours(jnp.cos(y)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3)
    assert "convolution(" not in jax.jit(ours).lower(x, kernel).compile().as_text()


def conv_model():
    """A network with XLA's own convolution and pooling, as other libraries' are."""

    def init(key, _examples):
        first, second = jax.random.split(key)
        return {
            "kernel": jax.random.normal(first, (3, 3, 1, 4)) / 3,
            "weight": jax.random.normal(second, (4, 3)) / 2,
        }, ()

    def apply(params, state, x, **_):
        x = lax.conv_general_dilated(
            x[..., None], params["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return x.mean((1, 2)) @ params["weight"], state

    return Model(init, apply)


def images(count=40):
    x = jax.random.normal(jax.random.key(1), (count, 8, 8))
    return Data(Examples(x, jnp.arange(count) % 3, jnp.ones(count)))


def test_a_model_by_patches_trains_to_the_same_weights():
    runs = []
    for model in (conv_model(), with_patches(conv_model())):
        recipe = Recipe(model, optimizer("sgd"), losses.softmax_cross_entropy, epochs=2, batch_size=16)
        runs.append(jax.jit(core.fit, static_argnums=0)(recipe, {"learning_rate": 0.1}, images(), jax.random.key(0)))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), *(run.state.params for run in runs))


DIMENSIONS = [
    ((4, 5), (5, 3), (((1,), (0,)), ((), ()))),
    ((2, 4, 5), (2, 5, 3), (((2,), (1,)), ((0,), (0,)))),
    ((4, 5, 6), (6, 7, 5), (((1, 2), (2, 0)), ((), ()))),
    ((3, 4, 2), (5, 2, 4), (((2, 1), (1, 2)), ((), ()))),
    ((5, 2, 3), (3, 5, 4), (((0,), (1,)), ((2,), (0,)))),
]


@pytest.mark.parametrize(("left", "right", "dimensions"), DIMENSIONS)
def test_a_bfloat16_product_of_bfloat16_numbers_is_exact_forward_and_backward(left, right, dimensions):
    random = np.random.default_rng(0)

    def numbers(shape):
        return jnp.asarray(random.normal(size=shape), jnp.bfloat16).astype(jnp.float32)

    a, b = numbers(left), numbers(right)
    y, pull = jax.vjp(lambda a, b: lax.dot_general(a, b, dimensions), a, b)
    z, pull_ours = jax.vjp(lambda a, b: product(a, b, dimensions), a, b)
    np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)
    gradient = numbers(y.shape)
    for ours, theirs in zip(pull_ours(gradient), pull(gradient), strict=True):
        assert ours.dtype == jnp.float32
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def products_of(function, *arguments):
    """The types of the operands of all products in the function's jaxpr."""
    kinds = set()

    def visit(jaxpr):
        for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
            if equation.primitive.name == "dot_general":
                kinds.update(str(variable.aval.dtype) for variable in equation.invars)
            for value in equation.params.values():
                for inner in value if isinstance(value, tuple) else (value,):
                    if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                        visit(inner)

    visit(jax.make_jaxpr(function)(*arguments))
    return kinds


def test_bfloat16_is_in_every_product_and_nowhere_else(data):
    recipe = Recipe(in_bfloat16(mlp((16,), 3)), optimizer("adam"), losses.softmax_cross_entropy, batch_size=16)
    hyper, key = {"learning_rate": jnp.float32(0.01)}, jax.random.key(0)
    state = core.init(recipe, hyper, data, key)
    batch = core.take(data.train, jnp.arange(16))
    assert products_of(lambda state: core.step(recipe, hyper, batch, key, state), state) == {"bfloat16"}
    run = jax.jit(core.fit, static_argnums=0)(recipe, hyper, data, key)
    assert {leaf.dtype for leaf in jax.tree.leaves(run.state)} == {jnp.dtype("float32"), jnp.dtype("int32")}
    exact = jax.jit(core.fit, static_argnums=0)(
        Recipe(mlp((16,), 3), optimizer("adam"), losses.softmax_cross_entropy, batch_size=16), hyper, data, key
    )
    for ours, theirs in zip(run.history["train"]["loss"], exact.history["train"]["loss"], strict=True):
        assert float(ours) == pytest.approx(float(theirs), rel=0.02)
    assert not np.array_equal(run.history["train"]["loss"], exact.history["train"]["loss"])


def test_members_in_bfloat16_are_runs_in_bfloat16(data):
    recipe = Recipe(in_bfloat16(mlp((16,), 3)), optimizer("adam"), losses.softmax_cross_entropy, epochs=2)

    def run(rate):
        return core.fit(recipe, {"learning_rate": rate}, data, jax.random.key(0)).state.params

    rates = jnp.array([0.01, 0.02])
    mapped, alone = jax.jit(jax.vmap(run))(rates), jax.jit(run)(rates[1])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a[1], b, atol=1e-3), mapped, alone)


def test_what_is_in_a_function_is_found_at_any_depth():
    assert found(jax.make_jaxpr(everything)(jnp.ones((3, 3))), {"tanh"})
    assert not found(jax.make_jaxpr(everything)(jnp.ones((3, 3))), {"conv_general_dilated"})
