"""purefit train, from source to run folder."""

import csv
import json

import jax
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from experiments import events_of, train


def test_training_on_digits_says_what_happens_and_leaves_a_run_folder(command, tmp_path):
    done = command("train", "digits", "--epochs", 5, "--json")
    assert done.returncode == 0, done.stderr
    events = events_of(done.stdout)
    assert [event["epoch"] for event in events if event["event"] == "epoch"] == [1, 2, 3, 4, 5]
    assert (events[0]["event"], events[-1]["event"]) == ("start", "done")
    end = events[-1]
    assert {
        "run",
        "test_accuracy",
        "epochs",
        "compilations",
        "compile_seconds",
        "train_seconds",
        "seconds",
    } <= set(end)
    assert end["run"] == "runs/digits-1"
    assert end["test_accuracy"] > 0.85
    folder = tmp_path / end["run"]
    assert {path.name for path in folder.iterdir()} == {
        "config.json", "history.csv", "metrics.json", "report.html", "checkpoints",
    }  # fmt: skip
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["test"]["accuracy"] == end["test_accuracy"]
    rows = list(csv.DictReader((folder / "history.csv").read_text().splitlines()))
    said = [event for event in events if event["event"] == "epoch"]
    assert [float(row["valid_loss"]) for row in rows] == pytest.approx([event["valid_loss"] for event in said])

    # The second time, in a new process and a new folder: the same numbers, and nothing compiled.
    again = events_of(command("train", "digits", "--epochs", 5, "--json").stdout)[-1]
    assert again["run"] == "runs/digits-2"
    assert again["compilations"] == 0
    assert again["test_accuracy"] == end["test_accuracy"]
    assert (tmp_path / "runs/digits-2/history.csv").read_text() == (folder / "history.csv").read_text()

    # evaluate, predict, report and runs find it.
    evaluated = json.loads(command("evaluate", folder, "--json").stdout)
    assert evaluated["accuracy"] == end["test_accuracy"]
    predictions = command("predict", folder, "digits", "-o", "p.csv")
    assert predictions.returncode == 0
    predicted = [row["prediction"] for row in csv.DictReader((tmp_path / "p.csv").read_text().splitlines())]
    assert len(predicted) == evaluated["examples"] == 359
    (folder / "report.html").unlink()
    assert command("report", folder).returncode == 0
    assert (folder / "report.html").exists()
    listed = [json.loads(line) for line in command("runs", "--json").stdout.splitlines()]
    assert [row["run"] for row in listed] == ["runs/digits-1", "runs/digits-2"]
    assert {row["status"] for row in listed} == {"finished"}


def test_one_program_trains_whatever_the_last_batch_and_the_rate(blobs, tmp_path):
    """Each of the run's programs is made ready once."""
    jax.clear_caches()
    events = []
    # 270 training rows in batches of 32: the last has 14.
    train(blobs, tmp_path / "run", listener=events.append, epochs=4, batch_size=32, learning_rate=0.01)
    programs = [event["program"] for event in events if event["event"] == "compiled"]
    assert sorted(programs) == ["epoch", "evaluate", "init", "key"]
    events.clear()
    train(blobs, tmp_path / "other", listener=events.append, epochs=4, batch_size=32, learning_rate=0.02)
    assert "epoch" not in [event["program"] for event in events if event["event"] == "compiled"]


def test_the_held_out_rows_are_never_trained_on_and_the_test_split_chooses_nothing(blobs, tmp_path):
    arrays = dict(np.load(blobs))
    arrays["y_test"] = np.roll(arrays["y_test"], 1)
    np.savez(tmp_path / "other.npz", **arrays)
    first = train(blobs, tmp_path / "a", epochs=8, learning_rate=0.1)
    second = train(tmp_path / "other.npz", tmp_path / "b", epochs=8, learning_rate=0.1)
    assert (tmp_path / "a/history.csv").read_text() == (tmp_path / "b/history.csv").read_text()
    assert first["best_epoch"] == second["best_epoch"]
    assert first["test_accuracy"] > second["test_accuracy"]


def test_valid_zero_trains_on_every_row_and_keeps_the_last_epoch(blobs, tmp_path):
    events = []
    done = train(blobs, tmp_path / "run", listener=events.append, epochs=3, valid=0.0)
    assert events[0]["train_examples"] == 300
    assert (done["best_epoch"], done["valid_accuracy"]) == (3, None)


def test_digits_are_learned_better_than_by_a_linear_model(tmp_path):
    done = train("digits", tmp_path / "run", epochs=30, batch_size=32, valid=0.0)
    from purefit.data import load

    digits = load("digits")
    linear = LogisticRegression(max_iter=500).fit(digits.x.reshape(len(digits.x), -1) / 16, digits.y)
    score = linear.score(digits.x_test.reshape(len(digits.x_test), -1) / 16, digits.y_test)
    assert done["test_accuracy"] > score > 0.9
    assert len(load_digits().target) == len(digits.y) + len(digits.y_test)


def test_regression_learns_in_any_unit_and_reports_in_the_users(tmp_path):
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 3))
    y = 1e6 + 1e5 * (x @ [1.0, -2.0, 0.5])
    np.savez(tmp_path / "prices.npz", x_train=x[:300], y_train=y[:300], x_test=x[300:], y_test=y[300:])
    done = train(tmp_path / "prices.npz", tmp_path / "run", epochs=60, batch_size=32, learning_rate=3e-3)
    assert done["test_r2"] > 0.98
    from purefit.trained import predict

    predictions = predict(tmp_path / "run", str(tmp_path / "prices.npz"))
    errors = np.array(predictions.prediction) - y[300:]
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["test"]["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-3)
    assert metrics["test"]["r2"] == pytest.approx(
        1 - np.sum(errors**2) / np.sum((y[300:] - y[300:].mean()) ** 2), abs=1e-4
    )


def test_labels_of_text_are_predicted_by_name(tmp_path):
    x = np.repeat(np.eye(3), 40, axis=0)
    y = np.repeat(["cat", "dog", "épée"], 40)
    np.savez(tmp_path / "animals.npz", x=x, y=y)
    train(tmp_path / "animals.npz", tmp_path / "run", epochs=30, batch_size=8, learning_rate=0.01)
    np.savez(tmp_path / "new.npz", x=np.eye(3))
    from purefit.trained import predict

    predictions = predict(tmp_path / "run", str(tmp_path / "new.npz"))
    assert predictions.prediction == ["cat", "dog", "épée"]
    assert list(predictions.columns) == ["p_cat", "p_dog", "p_épée"]


def test_a_batch_larger_than_the_data_is_made_smaller_aloud(blobs, tmp_path):
    events = []
    done = train(blobs, tmp_path / "run", listener=events.append, epochs=2, batch_size=5000)
    assert done["status"] == "finished"
    assert [event["text"] for event in events if event["event"] == "note"] == [
        "--batch-size 5000 is more than there are examples; using 270"
    ]


def test_a_run_that_diverges_keeps_the_last_finite_state_and_says_so(command, blobs, tmp_path):
    options = "--epochs 6 --optimizer sgd --learning-rate 1e12 --scaling none --out run --json"
    done = command("train", blobs, *options.split())
    assert done.returncode == 3, done.stderr
    end = events_of(done.stdout)[-1]
    assert end["status"] == "diverged"
    assert "diverged" in done.stderr
    assert "checkpoints/" in done.stderr
    from purefit.trained import open_trained

    state = open_trained(tmp_path / "run").checkpoint.state
    assert all(np.isfinite(leaf).all() for layer in state.params for leaf in layer.values())
    assert json.loads(command("runs", ".", "--json").stdout.splitlines()[-1])["status"] == "diverged"


def test_patience_stops_early(blobs, tmp_path):
    done = train(blobs, tmp_path / "run", epochs=200, learning_rate=0.1, patience=3)
    assert done["status"] == "stopped"
    assert done["epochs"] == done["best_epoch"] + 3 < 200


def test_every_seed_below_two_to_the_32_makes_its_own_run(blobs, tmp_path):
    losses = set()
    for seed in (0, 2**31, 2**32 - 1):
        train(blobs, tmp_path / str(seed), epochs=1, seed=seed)
        losses.add((tmp_path / str(seed) / "history.csv").read_text())
    assert len(losses) == 3


def test_quiet_is_quiet_and_plain_progress_goes_to_stderr(command, blobs):
    quiet = command("train", blobs, "--epochs", 2, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    plain = command("train", blobs, "--epochs", 2)
    assert plain.stdout == ""
    assert "epoch 2/2" in plain.stderr
