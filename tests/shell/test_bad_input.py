"""Whatever a user gets wrong is one line on stderr, exit code 2, and nothing half-written."""

import json
import resource
import subprocess
import sys

import numpy as np
import pytest

from experiments import train
from purefit import InputError, cli


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    """The command turns on the user's cache of programs for its whole process, which here is the tests'."""
    monkeypatch.setattr("purefit.compiling.keep_compiled_programs", lambda: None)


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Runs the command here, expects it to be refused, and returns what it said."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert code == 2, err
        assert out == ""
        assert err.count("\n") == 1, err
        assert "Traceback" not in err
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
        return err

    return run


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "digits", "--epochs", "0"], ["--epochs", "at least 1"]),
        (["train", "digits", "--epochs", "many"], ["--epochs", "many"]),
        (["train", "digits", "--batch-size", "0"], ["--batch-size", "at least 1"]),
        (["train", "digits", "--learning-rate", "-0.1"], ["--learning-rate", "positive"]),
        (["train", "digits", "--learning-rate", "nan"], ["--learning-rate", "nan"]),
        (["train", "digits", "--learning-rate", "inf"], ["--learning-rate", "inf"]),
        (["train", "digits", "--weight-decay", "-1"], ["--weight-decay", "at least 0"]),
        (["train", "digits", "--clip-norm", "0"], ["--clip-norm", "positive"]),
        (["train", "digits", "--patience", "0"], ["--patience", "at least 1"]),
        (["train", "digits", "--seed", "-1"], ["--seed", "at least 0"]),
        (["train", "digits", "--seed", "4294967296"], ["--seed", "below 2³²"]),
        (["train", "digits", "--valid", "1"], ["--valid", "below 1"]),
        (["train", "digits", "--hidden", "64", "0"], ["--hidden", "positive"]),
        (["train", "digits", "--optimizer", "adamm"], ["adamm", "did you mean 'adam'"]),
        (["train", "digits", "--optimizer", "sgd:momentun=0.9"], ["momentun", "did you mean 'momentum'"]),
        (["train", "digits", "--optimizer", "sgd:momentum"], ["sgd:momentum", "OPTION=VALUE"]),
        (["train", "digits", "--optimizer", "sgd:learning_rate=1"], ["--learning-rate"]),
        (["train", "digits", "--optimizer", "sgd:momentum=fast"], ["--optimizer sgd:momentum=fast", "TypeError"]),
        (["train", "digits", "--schedule", "cosine"], ["cosine", "did you mean 'cosine_decay'"]),
        (["train", "digits", "--schedule", "linear:end=0"], ["end_value"]),
        (["train", "digits", "--schedule", "piecewise_constant:soon=0.1"], ["soon"]),
        (["train", "digits", "--schedule", "linear", "--optimizer", "lbfgs"], ["--learning-rate"]),
        (["train", "digits", "--dropout", "1"], ["--dropout", "below 1"]),
        (["train", "digits", "--ema", "-1"], ["--ema", "from 0"]),
        (["train", "digits", "--accumulate", "0"], ["--accumulate", "at least 1"]),
        (["train", "digits", "--model", "mpl"], ["--model mpl", "mlp, convnet"]),
        (["train", "digits", "--channels", "8"], ["--channels", "of no use to an mlp"]),
        (["train", "digits", "--model", "convnet", "--residual"], ["--residual", "of no use to a convnet"]),
        (["train", "digits", "--model", "a.py:f", "--dropout", "0.1"], ["--dropout", "own model"]),
        (["train", "digits", "--model", "convnet", "--channels", "8", "8", "8", "8"], ["8 × 8 pixels", "4 times"]),
        (["train", "digits", "--precision", "float16"], ["--precision", "float16"]),
        (["compare"], ["two runs or more"]),
        (["compare", "digits"], ["--set NAME=VALUE"]),
        (["compare", "digits", "fashion-mnist", "--set", "dropout=0,1"], ["digits", "not a run folder"]),
        (["compare", "digits", "--set", "dropout=0,0.1", "--seeds", "0"], ["--seeds", "at least 1"]),
        (["bench", "digit"], ["did you mean digits"]),
        (["bench", "digits", "--optimizer", "adamm"], ["adamm"]),
        (["train", "digits", "--activation", "rellu"], ["--activation", "rellu"]),
        (["train", "digits", "--monitor", "acuracy"], ["acuracy", "loss, accuracy"]),
        (["train", "digits", "--loss", "squared"], ["squared", "classification"]),
        (["train", "digits", "--save-every", "0"], ["--save-every", "at least 1"]),
        (["train", "digits", "--device", "tpu"], ["--device tpu"]),
        (["train", "digits", "--epoch", "3"], ["--epoch", "--epochs"]),
        (["train"], ["STR"]),
        (["trian", "digits"], ["trian"]),
        (["train", "digit"], ["digit", "did you mean digits"]),
        (["train", "nowhere.npz"], ["nowhere.npz", "no such file"]),
        (["train", "nowhere/"], ["nowhere", "no such file"]),
        (["resume", "runs/nothing"], ["runs/nothing", "no such run folder"]),
        (["evaluate", "."], ["config.json"]),
        (["predict", "runs/nothing", "digits"], ["runs/nothing"]),
        (["report", "runs/nothing"], ["runs/nothing"]),
        (["runs", "nowhere"], ["nowhere"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0] in ("train", "trian", "resume") else None,
)
def test_wrong_use_is_one_line(refused, arguments, words):
    said = refused(*arguments)
    assert said.startswith("purefit: ")
    assert "tyro" not in said
    for word in words:
        assert word in said


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


X, Y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2


@pytest.mark.parametrize(
    ("arrays", "arguments", "words"),
    [
        ({"x": X}, [], ["no targets", "found x"]),
        ({"y": Y}, [], ["no inputs", "found y"]),
        ({"x": X, "y": np.array([{}] * 20)}, [], ["'y'", "objects"]),
        ({"x": X[:, 0], "y": Y}, [], ["x_train", "reshape"]),
        ({"x": X, "y": Y[:7]}, [], ["20 rows", "7"]),
        ({"x": np.where(X == 15, np.nan, X), "y": Y}, [], ["row 7, column 1", "NaN"]),
        ({"x": np.where(X == 15, np.inf, X), "y": Y}, [], ["row 7, column 1", "infinite"]),
        ({"x": X, "y": np.where(np.arange(20) == 7, np.nan, 0.5)}, [], ["y_train", "row 7", "NaN"]),
        ({"x": X, "y": Y + 0.5}, ["--task", "classification"], ["row 0", "0.5", "not a class"]),
        ({"x": X, "y": Y * 1.0}, [], ["--task classification or --task regression"]),
        ({"x": X, "y": Y * 0}, [], ["only one class"]),
        ({"x": X[:0], "y": Y[:0]}, [], ["empty"]),
        ({"x": X[:3], "y": Y[:3]}, [], ["--valid", "3 examples"]),
    ],
)
def test_data_that_cannot_be_trained_on_are_refused(refused, tmp_path, arrays, arguments, words):
    said = refused("train", save(tmp_path / "data.npz", **arrays), *arguments)
    for word in ["data.npz" if "--valid" not in words else "--valid", *words]:
        assert word in said


def test_an_out_that_exists_is_left_alone(refused, blobs, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("precious")
    assert "is there already" in refused("train", blobs, "--out", tmp_path / "mine")


def test_an_out_that_cannot_be_written_is_named(refused, blobs, tmp_path):
    (tmp_path / "file").write_text("")
    assert "file/run" in refused("train", blobs, "--out", tmp_path / "file/run")


def test_two_runs_never_share_a_folder(blobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [train(blobs, None, epochs=1)["run"] for _ in range(3)]
    assert runs == ["runs/blobs-1", "runs/blobs-2", "runs/blobs-3"]


@pytest.fixture
def run(blobs, tmp_path):
    train(blobs, tmp_path / "run", epochs=2)
    return tmp_path / "run"


def edit(run, **changes):
    file = run / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_a_run_folder_of_a_newer_version_is_refused(refused, run):
    edit(run, format=99)
    for command in ("resume", "evaluate", "report"):
        assert "update purefit" in refused(command, run)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": "x"}'])
def test_a_damaged_run_folder_is_refused(refused, run, text):
    (run / "config.json").write_text(text)
    for command in ("resume", "evaluate"):
        said = refused(command, run)
        assert "config.json" in said
        assert "damaged" in said


def test_a_run_without_a_whole_checkpoint_cannot_predict(refused, run):
    for manifest in (run / "checkpoints").glob("*.json"):
        manifest.unlink()
    said = refused("evaluate", run)
    assert "no whole checkpoint" in said


def test_prediction_with_the_wrong_number_of_features_is_refused(refused, run, tmp_path):
    wrong = save(tmp_path / "wrong.npz", x=np.ones((4, 3)))
    said = refused("predict", run, wrong)
    assert "3 features" in said
    assert "2 features" in said


def test_evaluation_with_an_unknown_label_names_the_row(refused, run, tmp_path):
    wrong = save(tmp_path / "wrong.npz", x=X, y=np.where(np.arange(20) == 13, 9, Y))
    assert "row 13 has the unknown label 9" in refused("evaluate", run, wrong)


def test_predictions_that_cannot_be_written_are_refused(refused, run, blobs):
    assert "can't be written" in refused("predict", run, blobs, "-o", "/nowhere/p.csv")


def test_a_run_that_is_being_trained_is_left_alone(refused, run):
    from purefit.run import locked, open_run

    with locked(open_run(run)):
        assert "another program is training this run" in refused("resume", run, "--epochs", 3)


def limit_file_size():
    """As a full disk does, makes every write beyond 20 kB fail."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


def test_a_full_disk_is_one_line_and_leaves_a_run_that_resumes(blobs, tmp_path, environment):
    import signal

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limit_file_size()

    done = subprocess.run(
        [sys.executable, "-m", "purefit", "train", str(blobs), "--epochs", "3", "--out", "run", "--quiet"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, preexec_fn=limited,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "can't be written" in done.stderr
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left <= {"config.json", "history.csv", "checkpoints"}
    assert not list((tmp_path / "run/checkpoints").glob("*.json"))
    train(blobs, tmp_path / "whole", epochs=3)
    from experiments import assert_same_bits, go_on

    go_on(tmp_path / "run")
    assert_same_bits(tmp_path / "run", tmp_path / "whole")


def test_debug_shows_the_traceback(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        cli.main(["train", "nowhere.npz", "--debug"])
