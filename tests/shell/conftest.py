"""The command as a user runs it."""

import os
import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """A cache folder that all commands of a test session share."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def environment(cache):
    """A user's environment: nothing of this process's own settings for JAX."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "JAX_PLATFORMS")}
    return inherited | {"XDG_CACHE_HOME": str(cache)}


@pytest.fixture
def command(tmp_path, environment):
    """Runs `purefit ARGUMENTS` in `tmp_path` and returns the finished process."""

    def run(*arguments, **options):
        return subprocess.run(
            [sys.executable, "-m", "purefit", *map(str, arguments)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, **options,
        )  # fmt: skip

    return run


@pytest.fixture
def started(tmp_path, environment):
    """Starts `purefit ARGUMENTS` in `tmp_path` and returns the running process; its output is in pipes."""
    processes = []

    def run(*arguments):
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "purefit", *map(str, arguments)],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return processes[-1]

    yield run
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def blobs(tmp_path):
    """An .npz of three classes in the plane, 300 rows to train on and 60 to test."""
    random = np.random.default_rng(0)
    y = np.arange(360) % 3
    x = np.array([[0, 2], [2, -1], [-2, -1]])[y] + random.normal(size=(360, 2))
    path = tmp_path / "blobs.npz"
    np.savez(path, x_train=x[:300], y_train=y[:300], x_test=x[300:], y_test=y[300:])
    return path
