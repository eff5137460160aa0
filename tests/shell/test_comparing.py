"""purefit compare: what is missing is trained, and differences are taken in pairs."""

import csv
import json
import shutil

import numpy as np
import pytest
from scipy import stats

from experiments import session, train
from purefit import InputError
from purefit.comparing import compare_runs, compare_settings
from purefit.config import Config
from purefit.paired import difference, mean_of
from purefit.run import open_run
from purefit.settings import settings_of
from purefit.trained import open_trained, predict

OPTIONS = {"epochs": 4, "batch_size": 32, "hidden": (8,), "learning_rate": 0.05}


def compare(source, out, *texts, seeds=2, listener=None, stop_after=None, **options):
    settings = settings_of(Config(**(OPTIONS | options)), texts)
    return compare_settings(str(source), settings, seeds, out, session(listener, stop_after))


def table(folder):
    return list(csv.DictReader((folder / "comparison.csv").read_text().splitlines()))


def test_every_member_of_a_comparison_is_the_run_alone(blobs, tmp_path):
    compare(blobs, tmp_path / "both", "dropout=0,0.3", "clip_norm=0.5,none")
    rows = table(tmp_path / "both")
    assert len(rows) == 8
    for row in rows:
        run = open_run(tmp_path.parent / row["run"])
        alone = tmp_path / f"alone-{run.path.name}"
        train(blobs, alone, **run.config.to_json() | {"hidden": (8,), "channels": (16, 32, 64)})
        ours, theirs = (open_trained(path).checkpoint for path in (run.path, alone))
        assert int(ours.state.epoch) == int(theirs.state.epoch) == 4
        np.testing.assert_allclose(
            ours.history["train"]["loss"], theirs.history["train"]["loss"], rtol=1e-4, err_msg=row["setting"]
        )
        np.testing.assert_allclose(
            predict(run.path, str(blobs)).columns["p_0"], predict(alone, str(blobs)).columns["p_0"], atol=1e-4
        )


def test_numbers_are_one_program_and_what_is_there_is_not_trained_again(blobs, tmp_path):
    events = []
    compare(blobs, tmp_path / "c", "dropout=0,0.1,0.3", listener=events.append)
    epochs = [event for event in events if event["event"] == "compiled" and event["program"].endswith("members_epoch")]
    assert len(epochs) == 1
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "c").glob("*/metrics.json")}
    assert len(before) == 6
    events.clear()
    compare(blobs, tmp_path / "c", "dropout=0,0.1,0.3", seeds=3, listener=events.append)
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "c").glob("*/metrics.json")}
    assert len(after) == 9
    assert before.items() <= after.items()
    assert len([event for event in events if event["event"] == "epoch"]) == OPTIONS["epochs"]


def test_settings_of_other_shapes_are_programs_of_their_own(blobs, tmp_path):
    last = compare(blobs, tmp_path / "c", "hidden=4,8/8", "optimizer=adam,sgd:momentum=0.9", seeds=1)
    assert last["status"] == "finished"
    settings = [row["setting"] for row in table(tmp_path / "c")]
    assert settings == [
        "hidden=4 optimizer=adam",
        "hidden=4 optimizer=sgd:momentum=0.9",
        "hidden=8/8 optimizer=adam",
        "hidden=8/8 optimizer=sgd:momentum=0.9",
    ]


def test_an_interrupted_comparison_keeps_whole_runs_and_goes_on(blobs, tmp_path):
    last = compare(blobs, tmp_path / "c", "dropout=0,0.3", seeds=3, stop_after=OPTIONS["epochs"] + 1)
    assert last["event"] == "interrupted"
    kept = list((tmp_path / "c").glob("*/metrics.json"))
    assert len(kept) in (2, 4)
    assert not (tmp_path / "c/comparison.html").exists()
    compare(blobs, tmp_path / "c", "dropout=0,0.3", seeds=3)
    assert len(table(tmp_path / "c")) == 6


def test_a_diverged_member_is_said_and_touches_no_other(blobs, tmp_path):
    events = []
    last = compare(
        blobs, tmp_path / "c", "learning_rate=0.05,1e12", listener=events.append, optimizer="sgd", scaling="none"
    )
    assert last["status"] == "finished"
    good, bad = (event for event in events if event["event"] == "setting")
    assert (good["seeds"], good["diverged"]) == (2, 0)
    assert (bad["seeds"], bad["diverged"], bad["mean"], bad["difference_low"]) == (0, 2, None, None)


def test_runs_that_are_there_are_compared_by_what_differs(blobs, tmp_path):
    for seed in (0, 1):
        for dropout in (None, 0.5):
            train(blobs, tmp_path / f"run-{seed}-{dropout}", seed=seed, dropout=dropout, **OPTIONS)
    events = []
    runs = sorted(tmp_path.glob("run-*"), reverse=True)
    compare_runs(runs, tmp_path / "c", session(events.append))
    settings = {event["setting"]: event for event in events if event["event"] == "setting"}
    assert list(settings) == ["dropout=none", "dropout=0.5"]
    values = {
        name: {
            run.config.seed: run.metrics["test"]["accuracy"]
            for run in map(open_run, runs)
            if str(run.config.dropout).lower() == name
        }
        for name in ("none", "0.5")
    }
    for name, setting in settings.items():
        assert setting["mean"] == pytest.approx(np.mean(list(values[name.split("=")[1]].values())))
    assert (tmp_path / "c/comparison.html").read_text().startswith("<!doctype html>")


def test_runs_of_other_data_or_unfinished_ones_are_refused(blobs, tmp_path):
    train(blobs, tmp_path / "one", **OPTIONS)
    train(blobs, tmp_path / "half", stop_after=1, **OPTIONS)
    train("digits", tmp_path / "other", **OPTIONS | {"epochs": 1})
    for pair, words in ((("one", "half"), "isn't finished"), (("one", "other"), "other data")):
        with pytest.raises(InputError, match=words):
            compare_runs([tmp_path / name for name in pair], tmp_path / "c", session())
    assert not (tmp_path / "c").exists()


def test_a_comparison_of_nonsense_writes_nothing(blobs, tmp_path):
    for texts in (("optimizer=adam,adamm",), ("monitor=loss,f1",), ("schedule=constant,cosine",)):
        with pytest.raises(InputError):
            compare(blobs, tmp_path / "c", *texts)
    assert not (tmp_path / "c").exists()


def test_the_command_answers_in_one_line_a_setting(command, blobs, tmp_path):
    shutil.copy(blobs, tmp_path / "data.npz")
    arguments = ["compare", "data.npz", "--set", "dropout=0,0.5", "--seeds", 2, "--epochs", 3, "--hidden", 8]
    done = command(*arguments, "--quiet")
    assert done.returncode == 0, done.stderr
    done = command(*arguments, "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["setting"] for event in events if event["event"] == "setting"] == ["dropout=0", "dropout=0.5"]
    assert events[-1]["event"] == "compared"
    assert not [event for event in events if event["event"] == "epoch"]  # all is there
    assert len(events[-1]["answers"]) == 1
    assert "dropout=0.5 against dropout=0" in events[-1]["answers"][0]


@pytest.mark.parametrize("count", [2, 3, 10])
def test_differences_are_scipys_paired_t_test(count):
    random = np.random.default_rng(count)
    first, other = random.normal(size=count), random.normal(0.3, 1, size=count)
    # A seed that only one of them has, and one that diverged, are in no pair.
    ours = difference(dict(enumerate(other)) | {77: 9.0, 78: float("nan")}, dict(enumerate(first)) | {78: 1.0, 79: 5.0})
    theirs = stats.ttest_rel(other, first)
    interval = theirs.confidence_interval(0.95)
    assert ours.seeds == count
    assert (ours.low, ours.high, ours.p) == pytest.approx((interval.low, interval.high, theirs.pvalue))
    assert mean_of(dict(enumerate(other))).error == pytest.approx(stats.sem(other))


def test_one_pair_has_a_difference_and_no_interval():
    assert difference({0: 2.0}, {0: 1.0}) == (1, 1.0, None, None, None, None)
    assert difference({0: 2.0}, {1: 1.0}) == (0, None, None, None, None, None)


def test_equal_runs_differ_by_nothing():
    found = difference({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0})
    assert (found.mean, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dropuot=0,1", "did you mean dropout"),
        ("seed=0,1", "can't be varied"),
        ("dropout", "NAME=VALUE"),
        ("dropout=", "NAME=VALUE"),
        ("dropout=0,,1", "NAME=VALUE"),
        ("dropout=0,0", "given twice"),
        ("dropout=a,b", "a number"),
        ("dropout=0,1.5", "below 1"),
        ("epochs=1.5,2", "whole number"),
        ("activation=relu,rellu", "leaky_relu"),
        ("hidden=8,a", "whole numbers"),
        ("residual=true,maybe", "true or false"),
    ],
)
def test_wrong_settings_are_one_line(text, words):
    with pytest.raises(InputError, match=words):
        settings_of(Config(), (text,))
    with pytest.raises(InputError, match="twice"):
        settings_of(Config(), ("dropout=0,0.1", "dropout=0.2"))
