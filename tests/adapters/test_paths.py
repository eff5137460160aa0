"""A model by the name of a function: what it is given, and what is said when it can't be had."""

import sys

import jax
import jax.numpy as jnp
import pytest

from purefit import Data, Examples, InputError, Recipe, losses, mlp, optimizer
from purefit.adapters import built, from_path, paths
from purefit.checkpoints import Checkpoint, load, save
from purefit.training import train

ROWS = Examples(jnp.ones((6, 4)), jnp.zeros(6, int), jnp.ones(6))

SOURCE = """
import equinox as eqx
import haiku as hk
import jax
from flax import linen as nn
from flax import nnx
from purefit import mlp
import sibling

def plain(input_shape, outputs):
    return mlp((sibling.WIDTH,), outputs)

def pair(input_shape, outputs):
    init = lambda key, x: jax.random.normal(key, (*input_shape, outputs))
    return init, lambda params, x: x @ params

def linen(outputs):
    return nn.Dense(outputs)

def haiku(outputs):
    return hk.transform(lambda x: hk.Linear(outputs)(x))

def equinox(input_shape, outputs, *, key):
    return eqx.nn.Linear(input_shape[0], outputs, key=key)

def nnx_linear(input_shape, outputs, rngs):
    return nnx.Linear(input_shape[0], outputs, rngs=rngs)

class LinenNet(nn.Module):
    outputs: int
    width: int = 7

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.outputs)(nn.Dense(self.width)(x))

class NnxNet(nnx.Module):
    def __init__(self, input_shape, outputs, *, rngs):
        self.layer = nnx.Linear(input_shape[0], outputs, rngs=rngs)

    def __call__(self, x):
        return self.layer(x)

class EquinoxNet(eqx.Module):
    layer: eqx.nn.Linear

    def __init__(self, input_shape, outputs, key):
        self.layer = eqx.nn.Linear(input_shape[0], outputs, key=key)

    def __call__(self, x):
        return self.layer(x)

ready = nn.Dense(3)

def needy(width, outputs):
    pass

def both(key, rngs):
    pass

def failing(outputs):
    raise ValueError("no such width\\nand more")

def failing_maker(key):
    raise ValueError("no such width")

def number():
    return 3

constant = 3
"""


DEEP = """
from purefit import mlp

def net(outputs):
    return mlp((2,), outputs)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A current directory with `nets.py` and `package/nets.py`, of which nothing stays imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = {*sys.modules}
    (tmp_path / "sibling.py").write_text("WIDTH = 5")
    (tmp_path / "nets.py").write_text(SOURCE)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "deep.py").write_text(
        "from purefit import mlp\ndef net(outputs): return mlp((2,), outputs)"
    )
    paths.model_at.cache_clear()
    yield tmp_path
    paths.model_at.cache_clear()
    for name in {*sys.modules} - before:
        if name.split(".")[0] in ("nets", "sibling", "package", "broken", "wrong") or name.startswith(str(tmp_path)):
            del sys.modules[name]


FUNCTIONS = ["plain", "pair", "linen", "haiku", "equinox", "nnx_linear", "LinenNet", "NnxNet", "EquinoxNet", "ready"]


@pytest.mark.usefixtures("here")
def test_functions_and_classes_of_every_library_make_a_model():
    for name in FUNCTIONS:
        model = from_path(f"nets:{name}", (4,), 3)
        params, state = model.init(jax.random.key(0), ROWS)
        assert model.apply(params, state, ROWS.x, key=None, train=False)[0].shape == (6, 3), name


@pytest.mark.usefixtures("here")
def test_the_same_arguments_give_the_same_model():
    for name in FUNCTIONS:
        assert from_path(f"nets:{name}", (4,), 3) == from_path(f"nets:{name}", (4,), 3)
    assert from_path("nets:linen", (4,), 3) != from_path("nets:linen", (4,), 2)
    assert from_path("nets.py:pair", (4,), 3) is from_path("./nets.py:pair", (4,), 3)


@pytest.mark.usefixtures("here")
def test_the_runs_key_gives_the_first_weights():
    for name in FUNCTIONS:
        model = from_path(f"nets:{name}", (4,), 3)
        one, same, other = (jax.tree.leaves(jax.jit(model.init)(jax.random.key(n), ROWS)[0]) for n in (0, 0, 1))
        assert all(map(jnp.array_equal, one, same)), name
        assert not all(map(jnp.array_equal, one, other)), name


def test_packages_and_files_are_found(here, monkeypatch):
    assert from_path("package.deep:net", (4,), 3) == mlp((2,), 3)
    assert from_path("package/deep.py:net", (4,), 3) == mlp((2,), 3)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    assert from_path("../nets.py:plain", (4,), 3) == mlp((5,), 3)
    assert from_path(f"{here}/nets.py:plain", (4,), 3) == mlp((5,), 3)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nets", "nets: a model is named PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION"),
        ("nets:", "nets:: a model is named PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION"),
        ("nest:linen", "nest:linen: no module named nest, from here or installed"),
        ("package.shallow:net", "package.shallow:net: no module named package.shallow, from here or installed"),
        ("nest.py:linen", "nest.py:linen: no such file"),
        ("nets:linnen", "nets:linnen: nets has no linnen; did you mean linen?"),
        (
            "package.deep:wholly_else",
            "package.deep:wholly_else: package.deep has no wholly_else; its functions are net",
        ),
        ("nets:failing", "nets:failing: it raised ValueError: no such width (line LINE of nets.py)"),
        ("nets:failing_maker", "nets:failing_maker: it raised ValueError: no such width (line LINE of nets.py)"),
        (
            "nets:needy",
            "nets:needy: needy: needs width; what a model's function can be given is "
            "input_shape, outputs, and key (for Equinox) or rngs (for Flax NNX)",
        ),
        ("nets:both", "nets:both: both: takes key (for Equinox) and rngs (for Flax NNX); it can be given one"),
        ("nets:number", "nets:number: expected a Model, a Flax Linen module"),
        ("nets:constant", "nets:constant: expected a Model, a Flax Linen module"),
        ("broken:net", "broken:net: importing it raised ModuleNotFoundError: No module named 'not_installed'"),
        ("broken.py:net", "broken.py:net: importing it raised ModuleNotFoundError: No module named 'not_installed'"),
        ("wrong:net", "wrong:net: importing it raised SyntaxError: "),
    ],
)
def test_what_is_wrong_is_said_in_one_line(here, path, said):
    (here / "broken.py").write_text("import not_installed\n")
    (here / "wrong.py").write_text("def net(:\n")
    lines = [number for number, text in enumerate(SOURCE.splitlines(), 1) if "raise ValueError" in text]
    line = lines["maker" in path]
    with pytest.raises(InputError) as caught:
        from_path(path, (4,), 3)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(said.replace("LINE", str(line)))


def test_a_model_of_any_library_is_trained_saved_and_loaded(here):
    data = Data(ROWS._replace(x=jax.random.normal(jax.random.key(0), (6, 4))))
    (here / "kept").mkdir()
    for number, name in enumerate(["linen", "NnxNet", "EquinoxNet", "haiku"]):
        model = from_path(f"nets:{name}", (4,), 3)
        recipe = Recipe(model, optimizer("adam"), losses.softmax_cross_entropy, epochs=2)
        fitted = train(recipe, {"learning_rate": 0.1}, data, jax.random.key(0))
        path = here / "kept" / f"{number:06d}"
        save(path, Checkpoint(fitted.state, fitted.history))
        loaded = load(path, fitted.state).state
        assert jax.tree.structure(loaded) == jax.tree.structure(fitted.state)
        assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), loaded, fitted.state)), name


def test_a_function_is_built_once_for_the_same_shapes():
    calls = []

    def network(outputs):
        calls.append(outputs)
        return mlp((3,), outputs)

    assert built(network, input_shape=(2,), outputs=3) == built(network, input_shape=(2,), outputs=3)
    assert calls == [3]
