"""Resuming ends in the bits of the run that was never interrupted."""

import json
import random
import shutil
import signal
import time

import pytest

from experiments import assert_same_bits, events_of, go_on, train
from purefit import InputError

OPTIONS = {"epochs": 8, "batch_size": 32, "learning_rate": 0.05}


@pytest.fixture
def whole(blobs, tmp_path):
    train(blobs, tmp_path / "whole", **OPTIONS)
    return tmp_path / "whole"


@pytest.mark.parametrize("epoch", [1, 5, 7])
def test_an_interrupted_run_resumes_to_the_same_bits(blobs, tmp_path, whole, epoch):
    event = train(blobs, tmp_path / "run", stop_after=epoch, **OPTIONS)
    assert event["event"] == "interrupted"
    assert epoch <= event["epoch"] < 8
    done = go_on(tmp_path / "run")
    assert done["event"] == "done"
    assert_same_bits(tmp_path / "run", whole)


@pytest.mark.parametrize(
    "options",
    [
        {"norm": "batch", "dropout": 0.3, "residual": True, "hidden": (8, 8)},
        {"optimizer": "adamw:b1=0.8", "schedule": "warmup_cosine_decay:warmup_steps=1epochs", "clip_norm": 0.5},
        {"optimizer": "sgd:momentum=0.9,nesterov=true", "ema": 0.9, "accumulate": 3, "weight_decay": 0.01},
        {"optimizer": "schedule_free_adamw", "precision": "bfloat16"},
        {"optimizer": "noisy_sgd"},
        {"optimizer": "lbfgs", "learning_rate": None, "epochs": 3},
    ],
    ids=lambda options: " ".join(map(str, options.values())),
)
def test_every_kind_of_run_resumes_to_the_same_bits(blobs, tmp_path, options):
    options = OPTIONS | options
    train(blobs, tmp_path / "whole", **options)
    event = train(blobs, tmp_path / "run", stop_after=2, **options)
    assert event["event"] == "interrupted"
    go_on(tmp_path / "run")
    assert_same_bits(tmp_path / "run", tmp_path / "whole")


def test_a_run_without_held_out_rows_resumes_too(blobs, tmp_path):
    options = OPTIONS | {"valid": 0.0}
    train(blobs, tmp_path / "whole", **options)
    train(blobs, tmp_path / "run", stop_after=4, **options)
    go_on(tmp_path / "run")
    assert_same_bits(tmp_path / "run", tmp_path / "whole")


def test_a_diverged_run_stays_diverged(blobs, tmp_path):
    options = {"epochs": 6, "optimizer": "sgd", "learning_rate": 1e12, "scaling": "none"}
    done = train(blobs, tmp_path / "run", **options)
    history = (tmp_path / "run/history.csv").read_text()
    again = go_on(tmp_path / "run")
    assert (done["status"], again["status"], again["epochs"]) == ("diverged", "diverged", done["epochs"])
    assert (tmp_path / "run/history.csv").read_text() == history


def test_patience_counts_on_over_an_interruption(blobs, tmp_path):
    options = {"epochs": 200, "learning_rate": 0.1, "patience": 3}
    whole = train(blobs, tmp_path / "whole", **options)
    train(blobs, tmp_path / "run", stop_after=whole["epochs"] - 2, **options)
    done = go_on(tmp_path / "run")
    assert (done["status"], done["epochs"]) == ("stopped", whole["epochs"])
    assert_same_bits(tmp_path / "run", tmp_path / "whole")


def test_more_epochs_can_be_asked_for(blobs, tmp_path, whole):
    train(blobs, tmp_path / "run", **(OPTIONS | {"epochs": 5}))
    assert go_on(tmp_path / "run", epochs=8)["epochs"] == 8
    assert_same_bits(tmp_path / "run", whole)
    with pytest.raises(InputError, match="--epochs can't be fewer"):
        go_on(tmp_path / "run", epochs=3)


def test_without_a_checkpoint_it_starts_from_the_beginning(tmp_path, whole):
    shutil.copytree(whole, tmp_path / "run")
    shutil.rmtree(tmp_path / "run/checkpoints")
    events = []
    go_on(tmp_path / "run", listener=events.append)
    assert "no whole checkpoint" in events[0]["text"]
    assert_same_bits(tmp_path / "run", whole)


def largest_file(folder):
    return max((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)


def flip_a_bit(checkpoint):
    file = largest_file(checkpoint)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def truncate(checkpoint):
    file = largest_file(checkpoint)
    file.write_bytes(file.read_bytes()[:-7])


def remove_a_file(checkpoint):
    largest_file(checkpoint).unlink()


def remove_the_manifest(checkpoint):
    checkpoint.with_name(checkpoint.name + ".json").unlink()


def garble_the_manifest(checkpoint):
    checkpoint.with_name(checkpoint.name + ".json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (flip_a_bit, "is damaged"),
        (truncate, "is damaged"),
        (remove_a_file, "is missing"),
        (remove_the_manifest, "not written to its end"),
        (garble_the_manifest, "manifest"),
    ],
)
def test_a_damaged_checkpoint_is_named_and_passed_over(blobs, tmp_path, whole, damage, reason):
    train(blobs, tmp_path / "run", stop_after=6, save_every=1, **OPTIONS)
    kept = sorted(path.name for path in (tmp_path / "run/checkpoints").iterdir() if path.is_dir())
    assert len(kept) >= 2
    damage(tmp_path / "run/checkpoints" / kept[-1])
    events = []
    go_on(tmp_path / "run", listener=events.append, save_every=1)
    note = next(event["text"] for event in events if event["event"] == "note")
    assert kept[-1] in note
    assert reason in note
    first = next(event["epoch"] for event in events if event["event"] == "epoch")
    assert first == int(kept[-2]) + 1
    assert_same_bits(tmp_path / "run", whole)


def test_the_last_two_checkpoints_and_the_best_are_kept(blobs, tmp_path):
    done = train(blobs, tmp_path / "run", save_every=1, **(OPTIONS | {"learning_rate": 0.3}))
    kept = {int(path.name) for path in (tmp_path / "run/checkpoints").iterdir() if path.is_dir()}
    assert kept == {7, 8, done["best_epoch"]}
    manifests = {int(path.stem) for path in (tmp_path / "run/checkpoints").iterdir() if path.is_file()}
    assert manifests == kept


def test_a_checkpoint_that_does_not_fit_the_config_names_the_leaves(blobs, tmp_path):
    train(blobs, tmp_path / "run", stop_after=3, **OPTIONS)
    file = tmp_path / "run/config.json"
    contents = json.loads(file.read_text())
    contents["config"]["hidden"] = [256, 64]
    file.write_text(json.dumps(contents))
    with pytest.raises(InputError, match=r"params.*\[1\]\['bias'\] is float32\[128\], not float32\[64\]"):
        go_on(tmp_path / "run")


def test_data_that_have_changed_are_refused(blobs, tmp_path):
    import numpy as np

    train(blobs, tmp_path / "run", stop_after=3, **OPTIONS)
    arrays = dict(np.load(blobs))
    arrays["x_train"][17, 1] += 1e-6
    np.savez(blobs, **arrays)
    with pytest.raises(InputError, match="the data have changed"):
        go_on(tmp_path / "run")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_checkpoint_from_which_resume_goes_on(command, started, tmp_path, number, code):
    arguments = ["digits", "--epochs", "400", "--batch-size", "16"]
    process = started("train", *arguments, "--json", "--out", "run")
    epochs = 0
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "epoch" and event["epoch"] == 3:
            process.send_signal(number)
        epochs = event.get("epoch", epochs)
    stderr = process.stderr.read()
    assert process.wait(60) == code, stderr
    assert "Traceback" not in stderr
    assert event["event"] == "interrupted"
    assert 3 <= event["epoch"] < 400
    resumed = command("resume", "run", "--epochs", event["epoch"] + 3, "--json")
    assert resumed.returncode == 0, resumed.stderr
    numbers = [event["epoch"] for event in events_of(resumed.stdout) if event["event"] == "epoch"]
    assert numbers == [event["epoch"] + i for i in (1, 2, 3)]
    whole = command("train", *arguments[:2], event["epoch"] + 3, *arguments[3:], "--out", "whole")
    assert whole.returncode == 0, whole.stderr
    assert_same_bits(tmp_path / "run", tmp_path / "whole")


@pytest.mark.slow
def test_twenty_kills_at_random_moments_change_no_bit(command, started, tmp_path):
    """kill -9 anywhere: while starting, training, saving or summarizing."""
    arguments = ["digits", "--epochs", "150", "--batch-size", "8", "--hidden", "64"]
    assert command("train", *arguments, "--out", "whole").returncode == 0
    moments = random.Random(0)
    kills, process = 0, started("train", *arguments, "--out", "run", "--save-every", 1)
    while kills < 20:
        # A run takes some two seconds to start and, from the beginning, a few to train.
        deadline = time.monotonic() + moments.uniform(0.5, 3.5)
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.01)
        if process.poll() is None or not kills:
            process.kill()
            process.communicate()
            kills += 1
        else:
            assert process.returncode == 0, process.stderr.read()
            assert_same_bits(tmp_path / "run", tmp_path / "whole")
            shutil.rmtree(tmp_path / "run")
        if (tmp_path / "run").exists():
            process = started("resume", "run", "--save-every", 1)
        else:
            process = started("train", *arguments, "--out", "run", "--save-every", 1)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert_same_bits(tmp_path / "run", tmp_path / "whole")
