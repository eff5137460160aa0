"""Time per epoch of the reference recipe: purefit beside JAX by hand, PyTorch, scikit-learn and Keras.

Each contender lives in a process of its own, and the processes take turns, an epoch each.

    pip install -e '.[bench]'
    python benchmarks/epoch.py [--rounds 9] [--out results.json]
"""

import argparse
from pathlib import Path

from contenders import CONTENDERS
from tables import keep, paired_ratio, show, spread
from workers import measure

BARS = {
    "plain JAX loop": 0.65,
    "PyTorch": 0.55,
    "scikit-learn": 0.32,
    "Keras": 0.5,
    "the matrix": 1.25,
}
"""purefit's time divided by the contender's should be at most this."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    seconds, accuracy = measure(Path(__file__).with_name("contenders.py"), CONTENDERS, arguments.rounds)
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
