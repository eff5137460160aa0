"""Time per epoch of the reference recipe: purefit beside JAX by hand, PyTorch, scikit-learn and Keras.

Each contender lives in a process of its own, and the processes take turns, an epoch each, so that no two
run at once and a slow moment of the machine falls on all. Compiling happens before the first round.

    pip install -e '.[bench]'
    python benchmarks/epoch.py [--rounds 9] [--out results.json]
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from contenders import CONTENDERS
from tables import keep, paired_ratio, show, spread

BARS = {
    "plain JAX loop": 0.65,
    "PyTorch": 0.55,
    "scikit-learn": 0.32,
    "Keras": 0.5,
    "the matrix": 1.25,
}
"""purefit's time divided by the contender's should be at most this."""


class Worker:
    """A contender in its own process."""

    def __init__(self, name: str) -> None:
        here = Path(__file__).with_name("contenders.py")
        # Some systems choose an older kernel for OpenBLAS here, which would slow scikit-learn.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
        self.process = subprocess.Popen(
            [sys.executable, str(here), name],
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


def measure(rounds: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds of each round, and the test accuracy at the end, by contender."""
    workers = {name: Worker(name) for name in CONTENDERS}
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    seconds, accuracy = measure(arguments.rounds)
    ours = seconds["purefit"]
    rows = []
    for name, theirs in seconds.items():
        bar = next((str(bar) for start, bar in BARS.items() if name.startswith(start)), "")
        score = "" if accuracy[name] == 0 else f"{accuracy[name]:.3f}"
        rows.append([name, spread(theirs), f"{paired_ratio(ours, theirs):.2f}", bar, score])
    header = ["contender", "seconds an epoch", "purefit / it", "at most", "test accuracy"]
    show(f"One epoch of the reference recipe, {arguments.rounds} rounds in turn", header, rows)
    keep(arguments.out, {"seconds": seconds, "accuracy": accuracy})


if __name__ == "__main__":
    main()
