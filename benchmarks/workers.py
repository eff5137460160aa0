"""Contenders in processes of their own, which take turns: no two run at once, and a slow moment falls on all."""

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from purefit.data import load

Epoch = Callable[[], None]
Classify = Callable[[np.ndarray], np.ndarray]
Contenders = Mapping[str, Callable[[], tuple[Epoch, Classify]]]
"""name -> a function that prepares everything, and returns what trains an epoch and what says classes of images."""


class Worker:
    """A contender of a script, in its own process."""

    def __init__(self, script: Path, name: str) -> None:
        # Some systems choose an older kernel for OpenBLAS here, which would slow scikit-learn.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
        self.process = subprocess.Popen(
            [sys.executable, str(script), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline() == "ready\n"

    def ask(self, line: str = "") -> float:
        """Seconds of one more epoch, or what "accuracy" is answered with."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self) -> str:
        """Ends the process; returns the last line of what it complained of."""
        _, errors = self.process.communicate()
        return (errors.strip().splitlines() or [""])[-1]


def measure(script: Path, contenders: Contenders, rounds: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds of each round, and the test accuracy at the end, by contender. Compiling comes before the first."""
    workers = {name: Worker(script, name) for name in contenders}
    for name in [name for name, worker in workers.items() if not worker.ready]:
        print(f"left out: {name} ({workers.pop(name).close()})", file=sys.stderr)
    seconds: dict[str, list[float]] = {name: [] for name in workers}
    for _ in range(rounds):
        for name, worker in workers.items():
            seconds[name].append(worker.ask())
    accuracy = {name: worker.ask("accuracy") for name, worker in workers.items()}
    for worker in workers.values():
        worker.close()
    return seconds, accuracy


def serve(contenders: Contenders, name: str) -> None:
    """A worker's loop: says "ready" with one epoch trained; then an epoch for every line, or the test accuracy."""
    warnings.simplefilter("ignore")
    epoch, classify = contenders[name]()
    epoch()
    _, _, x_test, y_test = arrays()
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "accuracy":
            print(float(np.mean(classify(x_test) == y_test)), flush=True)
            continue
        started = time.perf_counter()
        epoch()
        print(time.perf_counter() - started, flush=True)


def arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Fashion-MNIST's training and test images, uint8 `(n, 28, 28)`, and labels, int32."""
    data = load("fashion-mnist")
    assert data.x_test is not None
    assert data.y_test is not None
    return data.x, data.y, data.x_test, data.y_test


def floats(images: np.ndarray) -> np.ndarray:
    return images.astype(np.float32) / 255
