"""What starting costs: `purefit --help`, the demo the first and the second time, and memory.

Each is a process of its own, measured by the operating system when it ends. The demo's first run has an empty
cache of compiled programs.

    python benchmarks/startup.py [--rounds 5] [--out results.json]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tables import keep, show, spread

DEMO = ("train", "digits", "--epochs", "30", "--batch-size", "32", "--json")
FASHION = ("train", "fashion-mnist", "--epochs", "2", "--json")


class Process(NamedTuple):
    """A finished process: seconds on the clock and of the processors, megabytes at most, its last line."""

    wall: float
    cpu: float
    megabytes: float
    last: str


def run(arguments: tuple[str, ...], folder: Path, cache: Path) -> Process:
    """Runs `purefit ARGUMENTS` in `folder`."""
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    started = time.perf_counter()
    command = [sys.executable, "-m", "purefit", *arguments]
    with (folder / "out").open("w") as out:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    text = (folder / "out").read_text().strip()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{text}")
    return Process(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    processes: dict[str, list[Process]] = {}
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as name:
            folder, cache = Path(name), Path(name) / "cache"
            for title, words in {
                "purefit --help": ("--help",),
                "the demo, nothing compiled before": DEMO,
                "the demo, the second time": DEMO,
                "Fashion-MNIST, 2 epochs": FASHION,
            }.items():
                processes.setdefault(title, []).append(run(words, folder, cache))
    bars = dict(zip(processes, ["0.3 s of CPU", "", "4 s on the clock", "1000 MB"], strict=True))
    rows = []
    for title, runs in processes.items():
        last = runs[-1].last
        compilations = str(json.loads(last)["compilations"]) if last.startswith("{") else ""
        columns = [spread([each[i] for each in runs]) for i in range(3)]
        rows.append([title, *columns, compilations, bars[title]])
    header = ["", "seconds on the clock", "seconds of CPU", "megabytes at most", "compilations", "at most"]
    show(f"Starting, {arguments.rounds} rounds", header, rows)
    keep(arguments.out, {title: [each._asdict() for each in runs] for title, runs in processes.items()})


if __name__ == "__main__":
    main()
