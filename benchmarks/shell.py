"""What the shell costs: a run with progress, history and checkpoints, beside the bare compiled epochs.

Both train the reference recipe on Fashion-MNIST for as many epochs, in turn, in one process that has
compiled before. What counts is from the end of the first epoch to the end of the last checkpoint.

    python benchmarks/shell.py [--epochs 12] [--rounds 5] [--out results.json]
"""

import argparse
import tempfile
import time
from pathlib import Path

import jax

from purefit import init
from purefit.config import Config
from purefit.experiment import Session, start
from purefit.parts import Parts, read
from purefit.training import compiled_epoch
from tables import keep, paired_ratio, show, spread


def bare(parts: Parts) -> float:
    """Seconds of all epochs but the first, one straight after the other."""
    data, hyper = jax.device_put((parts.split.data, parts.hyper))
    key = jax.random.key(0)
    state = jax.jit(init, static_argnums=0)(parts.recipe, hyper, data, key)
    started = 0.0
    for number in range(parts.recipe.epochs):
        state, _ = jax.block_until_ready(compiled_epoch(parts.recipe, hyper, data, key, state))
        if number == 0:
            started = time.perf_counter()
    return time.perf_counter() - started


def with_shell(config: Config, folder: Path) -> float:
    """The same epochs as `purefit train` runs them, until the last checkpoint is on the disk."""
    times: list[float] = []

    def listener(event: dict[str, object]) -> None:
        if event["event"] in ("epoch", "checkpoint"):
            times.append(time.perf_counter())

    start("fashion-mnist", config, folder, Session(listener, time.perf_counter()))
    return times[-1] - times[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    config = Config(epochs=arguments.epochs)
    parts = read("fashion-mnist", config)
    seconds: dict[str, list[float]] = {"with the shell": [], "bare epochs": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds + 1):
            # Turn about, so that a drift of the machine favours neither.
            for name in list(seconds)[:: 1 if number % 2 else -1]:
                run = with_shell(config, Path(folder) / str(number)) if name == "with the shell" else bare(parts)
                if number:  # the first round compiles
                    seconds[name].append(run)
    ratio = paired_ratio(seconds["with the shell"], seconds["bare epochs"])
    rows = [[name, spread(values)] for name, values in seconds.items()]
    show(f"{arguments.epochs - 1} epochs, {arguments.rounds} rounds in turn", ["", "seconds"], rows)
    print(f"\nwith the shell / bare: {ratio:.3f} (at most 1.03)")
    keep(arguments.out, {"seconds": seconds, "ratio": ratio})


if __name__ == "__main__":
    main()
