"""Medians and spreads, printed as a table and kept as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import machine


def spread(values: Sequence[float]) -> str:
    """Median, and in brackets the least and the greatest.

    >>> spread([1.0, 3.0, 2.0])
    '2.000 [1.000, 3.000]'
    """
    return f"{median(values):.3f} [{min(values):.3f}, {max(values):.3f}]"


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median over rounds of ours / theirs, so that a slow moment of the machine counts for both.

    >>> paired_ratio([1.0, 2.0, 9.0], [2.0, 4.0, 9.0])
    0.5
    """
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a Markdown table under a title and the machine's description."""
    print(f"\n{title}")
    print(", ".join(f"{name} {value}" for name, value in machine.describe().items()), end="\n\n")
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")


def keep(path: Path | None, figures: dict[str, Any]) -> None:
    """Writes the figures with the machine's description to `path`, if there is one."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"machine": machine.describe(), **figures}, indent=2) + "\n")
