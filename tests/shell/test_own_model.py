"""A user's own network: trained, saved, resumed and used like a built-in one; its code runs when the user says so."""

import json

import numpy as np
import pytest

from experiments import assert_same_bits, events_of, go_on, train
from purefit import InputError
from purefit.comparing import compare_settings
from purefit.config import Config
from purefit.settings import settings_of
from purefit.trained import evaluate, open_trained, predict, report

LINEN = """
from flax import linen as nn

def net(outputs):
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(nn.Dense(8)(x))
            x = nn.Dropout(0.2, deterministic=not train)(nn.relu(x))
            return nn.Dense(outputs)(x)
    return Net()

def convolutional(outputs):
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.max_pool(nn.relu(nn.Conv(4, (3, 3))(x[..., None])), (2, 2), (2, 2))
            return nn.Dense(outputs)(x.reshape(len(x), -1))
    return Net()

def broken(outputs):
    raise RuntimeError("nothing works")
"""

EQUINOX = """
import equinox as eqx
import jax

def net(input_shape, outputs, key):
    return eqx.nn.MLP(input_shape[0], outputs, 8, 1, key=key)
"""

OPTIONS = {"epochs": 6, "batch_size": 32, "learning_rate": 0.02}


@pytest.fixture
def models(tmp_path, monkeypatch):
    pytest.importorskip("flax")
    pytest.importorskip("equinox")
    (tmp_path / "linen_net.py").write_text(LINEN)
    (tmp_path / "equinox_net.py").write_text(EQUINOX)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["linen_net.py:net", "equinox_net.py:net"])
def test_an_own_model_resumes_to_the_same_bits_and_predicts(models, blobs, name):
    model = str(models / name)
    done = train(blobs, models / "whole", model=model, **OPTIONS)
    assert done["valid_accuracy"] > 0.6
    train(blobs, models / "run", model=model, stop_after=3, **OPTIONS)
    go_on(models / "run", model=model)
    assert_same_bits(models / "run", models / "whole", model=model)
    table = predict(models / "run", str(blobs), model=model)
    first = open_trained(models / "run", model).checkpoint
    assert set(table.prediction) <= {"0", "1", "2"}
    assert np.isfinite(list(table.columns.values())).all()
    assert int(first.state.epoch) == 6
    assert evaluate(models / "run", str(blobs), model=model)["accuracy"] > 0.6


def test_nothing_that_is_loaded_runs_code_unless_the_user_names_it(models, blobs):
    model = str(models / "linen_net.py:net")
    train(blobs, models / "run", model=model, **OPTIONS | {"epochs": 1})
    (models / "linen_net.py").write_text("raise SystemExit('code that was not asked for')")
    for use in (
        lambda: open_trained(models / "run"),
        lambda: evaluate(models / "run"),
        lambda: predict(models / "run", str(blobs)),
        lambda: report(models / "run"),
        lambda: go_on(models / "run"),
    ):
        with pytest.raises(InputError, match=r"add: --model .*linen_net.py:net"):
            use()
    with pytest.raises(InputError, match="its model is"):
        open_trained(models / "run", "other.py:net")


def test_a_built_in_model_is_not_another_one(models, blobs):
    train(blobs, models / "run", **OPTIONS | {"epochs": 1})
    with pytest.raises(InputError, match="its model is mlp"):
        open_trained(models / "run", "linen_net.py:net")


def test_convolutions_of_an_own_model_are_said_to_be_products(models):
    x = np.random.default_rng(0).normal(size=(60, 6, 6)).astype(np.float32)
    np.savez(models / "images.npz", x=x, y=np.arange(60) % 3)
    notes = []
    for name, said in (("convolutional", True), ("net", False)):
        notes.clear()
        train(
            models / "images.npz" if said else _flat(models), models / f"run-{name}",
            model=str(models / f"linen_net.py:{name}"), listener=notes.append, **OPTIONS | {"epochs": 1},
        )  # fmt: skip
        texts = [event["text"] for event in notes if event["event"] == "note"]
        assert any("products of patches" in text for text in texts) == said


def _flat(folder):
    np.savez(folder / "flat.npz", x=np.random.default_rng(0).normal(size=(60, 6)), y=np.arange(60) % 3)
    return folder / "flat.npz"


def test_two_model_files_are_compared_in_one_command(models, blobs):
    names = ",".join(str(models / name) for name in ("linen_net.py:net", "equinox_net.py:net"))
    events = []
    from experiments import session

    settings = settings_of(Config(**OPTIONS | {"epochs": 2}), (f"model={names}",))
    compare_settings(str(blobs), settings, 2, models / "c", session(events.append))
    assert [event["seeds"] for event in events if event["event"] == "setting"] == [2, 2]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("mpl", "there are mlp, convnet"),
        ("linen_net.py:missing", "missing"),
        ("nowhere.py:net", "no such file"),
        ("linen_net.py:broken", "nothing works"),
        ("no_such_module:net", "no module named"),
    ],
)
def test_a_model_that_cannot_be_made_is_one_line(models, blobs, model, words):
    with pytest.raises(InputError, match=words):
        train(blobs, models / "run", model=model, **OPTIONS)
    assert not (models / "run").exists()


def test_the_command_trains_and_predicts_with_a_model_of_the_users(models, blobs, command):
    done = command("train", blobs, "--model", "equinox_net:net", "--epochs", 2, "--out", "run", "--json")
    assert done.returncode == 0, done.stderr
    assert events_of(done.stdout)[0]["model"] == "equinox_net:net"
    refused = command("predict", "run", blobs)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--model equinox_net:net" in refused.stderr
    done = command("predict", "run", blobs, "--model", "equinox_net:net", "-o", "p.csv", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == len((models / "p.csv").read_text().splitlines()) - 1
