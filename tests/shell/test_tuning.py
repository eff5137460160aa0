"""purefit tune --by gradient: numbers that follow the gradient of the validation loss."""

import csv
import time

import jax.numpy as jnp
import numpy as np
import pytest

from experiments import events_of
from purefit import InputError, cli, tuning
from purefit.config import Config
from purefit.experiment import Session
from purefit.run import open_run
from purefit.tuning import tune

OPTIONS = {"epochs": 3, "batch_size": 64, "hidden": (16,), "learning_rate": 1e-5}


def tuned(source, out, names=(), rounds=3, interrupted=lambda: False, **options):
    """All events of a tuning in this process."""
    events = []
    session = Session(events.append, time.perf_counter(), interrupted)
    tune(str(source), Config(**(OPTIONS | options)), names, rounds, out, session)
    return events


def rounds_of(events):
    return [event for event in events if event["event"] == "round"]


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Digits from a rate that is far too small: the events, and the run's folder."""
    out = tmp_path_factory.mktemp("tuning") / "run"
    names = ("learning-rate", "b1", "weight_decay")
    events = tuned("digits", out, names, rounds=10, optimizer="adamw:b1=0.9", weight_decay=1e-3)
    return events, out


def test_the_validation_loss_falls_from_a_bad_rate(digits):
    rounds = rounds_of(digits[0])
    assert rounds[0]["values"] == {"learning_rate": 1e-5, "b1": 0.9, "weight_decay": 1e-3}
    assert rounds[0]["gradient"]["learning_rate"] < 0
    [found] = [event for event in digits[0] if event["event"] == "tuned"]
    assert found["first_loss"] == rounds[0]["valid_loss"]
    assert found["valid_loss"] == min(each["valid_loss"] for each in rounds) < 0.5 * found["first_loss"]
    assert found["values"]["learning_rate"] > 1e-4


def test_a_round_changes_a_number_by_a_factor_of_two_at_most(digits):
    rates = [each["values"]["learning_rate"] for each in rounds_of(digits[0])]
    factors = np.array(rates[1:]) / rates[:-1]
    assert (np.maximum(factors, 1 / factors) < 2.001).all()


def test_all_rounds_are_one_program(digits):
    programs = [event["program"] for event in digits[0] if event["event"] == "compiled"]
    assert programs.count("tuning_round") == 1


def test_the_run_is_an_ordinary_one_with_what_was_found(digits):
    """Its last epoch has the validation loss of the best round, as its numbers are rounded to 4 digits."""
    events, out = digits
    [found] = [event for event in events if event["event"] == "tuned"]
    config = open_run(out).config
    assert config.learning_rate == found["values"]["learning_rate"]
    assert config.weight_decay == found["values"]["weight_decay"]
    assert config.optimizer == f"adamw:b1={found['values']['b1']}"
    assert found["flags"] == (
        f"--learning-rate {config.learning_rate} --weight-decay {config.weight_decay} --optimizer {config.optimizer}"
    )
    assert (events[-1]["event"], events[-1]["status"]) == ("done", "finished")
    with (out / "history.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    assert float(last["valid_loss"]) == pytest.approx(found["valid_loss"], rel=0.01)


def test_a_round_that_is_not_finite_is_tried_again_half_way_back(blobs, tmp_path, monkeypatch):
    real = tuning.tuning_round

    def diverging(recipe, point, *arguments):
        found = real(recipe, point, *arguments)
        loss = jnp.where(found.values["learning_rate"] > 3e-5, jnp.nan, found.found.loss)
        return found._replace(found=found.found._replace(loss=loss))

    monkeypatch.setattr(tuning, "tuning_round", diverging)
    rounds = rounds_of(tuned(blobs, tmp_path / "run", rounds=4))
    assert [each["finite"] for each in rounds] == [True, True, False, True]
    rates = [each["values"]["learning_rate"] for each in rounds]
    np.testing.assert_allclose(rates, [1e-5, 2e-5, 4e-5, 8**0.5 * 1e-5], rtol=1e-3)
    assert open_run(tmp_path / "run").config.learning_rate == rates[3]


def test_a_start_that_diverges_is_said(blobs, tmp_path):
    with pytest.raises(InputError, match=r"diverges from the start, with --learning-rate 1e\+30"):
        tuned(blobs, tmp_path / "run", optimizer="sgd", learning_rate=1e30)
    assert not (tmp_path / "run").exists()


def test_an_interrupted_tuning_leaves_nothing(blobs, tmp_path):
    events = tuned(blobs, tmp_path / "run", interrupted=lambda: True)
    assert (events[-1]["event"], events[-1]["go_on"]) == ("interrupted", "the same command")
    assert not (tmp_path / "run").exists()


def test_the_command_says_each_round(command, blobs):
    small = ("--epochs", 2, "--hidden", 4, "--rounds", 2, "--dropout", 0.2, "--names", "learning-rate", "dropout")
    done = command("tune", blobs, "--by", "gradient", *small)
    assert done.returncode == 0, done.stderr
    assert "round 1/2  valid loss " in done.stderr
    assert "learning_rate 0.001 (gradient -" in done.stderr
    assert "tuned: valid loss " in done.stderr
    assert " with --dropout 0." in done.stderr
    assert "of scaling the units that are kept" in done.stderr
    done = command("tune", blobs, "--by", "gradient", *small, "--json")
    assert done.returncode == 0, done.stderr
    kinds = [event["event"] for event in events_of(done.stdout)]
    assert [kind for kind in kinds if kind in ("round", "tuned", "start", "done")] == [
        "round", "round", "tuned", "start", "done",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--names", "learning-rte"], "--names learning_rte: there is no such number; did you mean 'learning_rate'?"),
        (["--names", "hidden"], "--names hidden: it isn't a number that the loss has a gradient in"),
        (["--names", "patience", "--patience", "3"], "--names patience: it isn't a number that the loss has"),
        (["--names", "weight_decay"], "--names weight_decay: give it a value to start from, --weight-decay"),
        (["--names", "b1"], "--names b1: give it a value to start from, --optimizer adam:b1=…"),
        (
            ["--names", "nesterov", "--optimizer", "adam:nesterov=true"],
            "--names nesterov: optimizer adam needs to know",
        ),
        (
            ["--names", "dropout", "--dropout", "0"],
            "--names dropout: is tuned from a value between 0 and 1, not from 0",
        ),
        (["--names", "weight_decay", "--weight-decay", "0"], "is tuned from a value greater than 0, not from 0"),
        (["--optimizer", "lbfgs"], "there is nothing to tune; give it a --learning-rate"),
        (["--optimizer", "adafactor", "--ema", "0.9"], "there is nothing to tune; say --names of ema"),
        (["--optimizer", "lbfgs", "--learning-rate", "0.1"], "a loop of unknown length: it has no gradient"),
        (["--valid", "0"], "--valid 0: tuning needs held-out rows to measure; try --valid 0.1"),
        (["--rounds", "0"], "--rounds must be at least 1, not 0"),
        (["--out", "."], ".: is there already; choose another --out"),
        (["--by", "guess"], "gradient"),
    ],
)
def test_what_cannot_be_tuned_is_one_line(arguments, expected, blobs, capsys, monkeypatch):
    monkeypatch.setattr("purefit.compiling.keep_compiled_programs", lambda: None)
    monkeypatch.chdir(blobs.parent)
    by = [] if "--by" in arguments else ["--by", "gradient"]
    assert cli.main(["tune", str(blobs), *by, "--epochs", "1", "--hidden", "4", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert expected in err
    assert not (blobs.parent / "runs").exists()
