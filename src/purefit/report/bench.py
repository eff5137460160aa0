"""The page about a benchmark: what a training step costs, and what compiling it brings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from purefit.report import charts
from purefit.report.document import document
from purefit.report.figures import chart
from purefit.report.markup import Html, join, table, tag
from purefit.report.page import config, environment

HEAD = ("what", "median", "fastest", "slowest", "tracing", "compiling", "GFLOP", "GFLOP/s", "of best", "GB/s")
"""of best: the share of the machine's best matrix product."""


@dataclass(frozen=True)
class BenchContents:
    """All that the page says.

    sentences: what the figures come to. groups: heading -> rows, each as `HEAD` names them, in words.
    times: name -> seconds, of the contenders that do the same work.
    """

    title: str
    subtitle: str
    sentences: Sequence[str]
    groups: Mapping[str, Sequence[tuple[str, ...]]]
    times: Mapping[str, float]
    config: Mapping[str, Any]
    environment: Mapping[str, str]


def render_bench(contents: BenchContents) -> str:
    """The whole page, as the text of an HTML file.

    >>> page = render_bench(BenchContents("bench", "digits", (), {}, {"a step, jit": 0.001}, {}, {}))
    >>> page[:15], "a step, jit" in page
    ('<!doctype html>', True)
    """
    milliseconds = {name: 1000 * seconds for name, seconds in contents.times.items()}
    said = "; ".join(f"{name} {value:.3g} ms" for name, value in milliseconds.items())
    drawing = chart(
        "Time of one step",
        charts.bars(milliseconds, "milliseconds"),
        f"Bar chart of the time of one step: {said}.",
        caption="On a logarithmic axis.",
    )
    tables: list[Html] = [table(name, HEAD, rows) for name, rows in contents.groups.items()]
    return document(
        contents.title,
        contents.subtitle,
        (),
        (),
        {
            "answer": ("In short", join([*(tag("p", sentence) for sentence in contents.sentences), drawing])),
            "rows": ("In numbers", join(tables)),
            "config": ("Configuration", config(contents.config)),
            "environment": ("Environment", environment(contents.environment)),
        },
    )
