"""The page about a hyperparameter sweep: many members, each with its own values, and which of them did best.

A reader meets first what was found, then how the score depends on the hyperparameters, how the members learned,
and all of them in a table. Members are coloured by the rank of their score in every chart; see `sweep_charts`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from purefit.report import sweep_charts
from purefit.report.charts import evenly
from purefit.report.document import document
from purefit.report.figures import chart, pairs
from purefit.report.markup import Html, join, table, tag
from purefit.report.numbers import number
from purefit.report.page import config, environment, title_of
from purefit.report.scales import Scale, choices, scale, usual
from purefit.report.sweep_charts import Column, Curve

MOST_ROWS = 200
"""Members in the table of the page; results.csv has all."""

MOST_DRAWN = 1000
"""Members in a chart; of more, some are left out, evenly by rank."""

BEST_ROWS = 10
"""Members that `sweep_rows` names."""


@dataclass(frozen=True)
class Axis:
    """A hyperparameter that the sweep varied. values: of a choice, in order, as text."""

    name: str
    scale: Literal["linear", "log", "choice"]
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class SweepMember:
    """One training of the sweep.

    number: its row in results.csv, from 0. values: axis name -> its value, text for a choice. status: "finished",
    "stopped" (early), "dropped" (by halving) or "diverged". score: the metric on validation examples at the best
    epoch, None if it diverged. test: the same on the test split, where there is one. history: "loss",
    "valid_loss", … -> a value for each epoch; it may end early, or be NaN from there on.
    """

    number: int
    values: Mapping[str, float | str]
    seed: int
    status: str
    epochs: int
    score: float | None
    test: float | None
    history: Mapping[str, Float[np.ndarray, " epochs"]]

    @property
    def scored(self) -> bool:
        return self.score is not None and math.isfinite(self.score)


@dataclass(frozen=True)
class SweepContents:
    """All that the page about a sweep says.

    larger_is_better: of the metric. best: the chosen member's number. answers: sentences that are shown first.
    config: what all members have in common.
    """

    title: str
    subtitle: str
    metric: str
    larger_is_better: bool
    axes: tuple[Axis, ...]
    members: tuple[SweepMember, ...]
    best: int | None
    answers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def ranked(self) -> list[SweepMember]:
        """The chosen member, then the others by their score, then those without one by their number."""

        def rank(member: SweepMember) -> tuple[bool, bool, float, int]:
            value = member.score if member.score is not None and member.scored else 0.0
            return (
                member.number != self.best,
                not member.scored,
                -value if self.larger_is_better else value,
                member.number,
            )

        return sorted(self.members, key=rank)

    def chosen(self) -> SweepMember | None:
        return next((member for member in self.members if member.number == self.best), None)


def render_sweep(contents: SweepContents) -> str:
    """The whole page, as the text of an HTML file.

    >>> member = SweepMember(0, {"dropout": 0.1}, 0, "finished", 2, 0.9, None, {"loss": np.array([0.5, 0.4])})
    >>> page = render_sweep(SweepContents("s", "digits", "accuracy", True, (Axis("dropout", "linear"),), (member,), 0))
    >>> page[:15], "<h1>s</h1>" in page
    ('<!doctype html>', True)
    """
    return document(
        contents.title,
        contents.subtitle,
        contents.notes,
        headline(contents),
        {
            "answer": ("In short", answer(contents)),
            "together": ("All hyperparameters", together(contents)),
            "each": ("Each hyperparameter" if contents.axes else "Seeds", each(contents)),
            "curves": ("Learning", curves(contents)),
            "members": ("Members", members(contents)),
            "config": ("What all have in common", config(contents.config)),
            "environment": ("Environment", environment(contents.environment)),
        },
    )


def sweep_rows(contents: SweepContents) -> list[tuple[str, ...]]:
    """The table's head and its rows for the ten best members, as text.

    >>> member = SweepMember(3, {"dropout": 0.1}, 0, "finished", 2, 0.9, None, {})
    >>> sweep_rows(SweepContents("s", "digits", "accuracy", True, (Axis("dropout", "linear"),), (member,), 3))[1]
    ('3 (best)', '90.00 %', '0.1', '0', '2', 'finished')
    """
    return rows(contents, BEST_ROWS)


def rows(contents: SweepContents, most: int) -> list[tuple[str, ...]]:
    """The table's head and the rows of the best members, at most so many."""
    tested = any(member.test is not None for member in contents.members)
    names = (axis.name for axis in contents.axes)
    head = (
        "member",
        score_name(contents),
        *[score_name(contents, "test")] * tested,
        *names,
        "seed",
        "epochs",
        "status",
    )
    body = (
        (
            f"{member.number} (best)" if member.number == contents.best else str(member.number),
            shown(contents, member.score),
            *[shown(contents, member.test)] * tested,
            *(said(member.values.get(axis.name)) for axis in contents.axes),
            str(member.seed),
            str(member.epochs),
            member.status,
        )
        for member in contents.ranked()[:most]
    )
    return [head, *body]


def headline(contents: SweepContents) -> list[tuple[str, str]]:
    """The best score, what it is worth on the test split, and what became of all members."""
    best = contents.chosen()
    counts = {status: sum(m.status == status for m in contents.members) for status in ("dropped", "diverged")}
    tested = (
        [(f"its {score_name(contents, 'test')}", shown(contents, best.test))] if best and best.test is not None else []
    )
    return [
        (f"best {score_name(contents)}", shown(contents, best.score if best else None)),
        *tested,
        ("members trained", f"{len(contents.members):,}"),
        ("dropped early", f"{counts['dropped']:,}"),
        ("diverged", f"{counts['diverged']:,}"),
    ]


def answer(contents: SweepContents) -> Html:
    """The sentences, and which member is the best."""
    sentences = list(contents.answers)
    if not any(member.scored for member in contents.members):
        diverged = sum(member.status == "diverged" for member in contents.members)
        every = bool(contents.members) and diverged == len(contents.members)
        many = f"All {len(contents.members)} members" if len(contents.members) > 1 else "The only member"
        sentences.append(f"{many} diverged, so there is no best one." if every else "No member has a score.")
    return join([tag("p", sentence) for sentence in sentences])


def together(contents: SweepContents) -> Html:
    """All members through all hyperparameters at once; nothing where one chart of `each` says the same."""
    drawn = drawn_members(contents)
    if not drawn or len(contents.axes) < 2:
        return join([])
    columns = [*columns_of(contents, drawn), score_column(contents, drawn)]
    *names, score = (column.name for column in columns)
    label = f"Parallel coordinates of {len(drawn)} members, a line each through {', '.join(names)} and {score}."
    return chart(
        f"Each member's way to its {score}",
        sweep_charts.parallel(columns, graded_as(contents, drawn), [text_of(contents, member) for member in drawn]),
        f"{label} {description(contents)}",
        caption=caption(contents),
        wide=True,
    )


def each(contents: SweepContents) -> Html:
    """The score against each hyperparameter, or against the seed where nothing else was varied."""
    drawn = drawn_members(contents)
    # Without any score these charts would show less than all hyperparameters together do.
    if not drawn or (len(contents.axes) > 1 and not any(member.scored for member in drawn)):
        return join([])
    graded, texts = graded_as(contents, drawn), [text_of(contents, member) for member in drawn]
    score, columns = score_column(contents, drawn), columns_of(contents, drawn)
    return pairs(
        [
            chart(
                f"{title_of(score.name)} by {column.name}",
                sweep_charts.against(column, score, graded, texts),
                f"Scatter of {len(drawn)} members: {score.name} over {column.name}. {description(contents)}",
                caption="" if len(columns) > 1 else caption(contents),
            )
            for column in columns
        ]
    )


def caption(contents: SweepContents) -> str:
    """How the colours are read, and what isn't where one would look for it."""
    said, scored = [], any(member.scored for member in contents.members)
    if scored:
        said.append("The best member is drawn heavy; of the others, the stronger the blue, the better the score.")
    if scored and not contents.larger_is_better:
        said.append(f"Better is higher: the axis of {score_name(contents)} runs downwards.")
    if any(not member.scored for member in contents.members):
        said.append("At the bottom: members without a score, as those that diverged.")
    left_out = len(contents.members) - MOST_DRAWN
    if left_out > 0:
        said.append(f"{left_out:,} of {len(contents.members):,} members are left out, evenly by rank.")
    return " ".join(said)


def drawn_members(contents: SweepContents) -> list[SweepMember]:
    ranked = contents.ranked()
    return [ranked[i] for i in evenly(len(ranked), MOST_DRAWN).tolist()]


def graded_as(contents: SweepContents, drawn: list[SweepMember]) -> list[str]:
    """Each drawn member's grade."""
    # The chosen member comes first even without a score, and is the best all the same.
    chosen = bool(drawn) and drawn[0].number == contents.best
    scored = sum(member.scored for member in drawn[chosen:]) + chosen
    return sweep_charts.grades(scored, len(drawn) - scored, best=chosen)


def text_of(contents: SweepContents, member: SweepMember) -> str:
    return f"member {member.number}: {shown(contents, member.score) if member.scored else 'no score'}"


def description(contents: SweepContents) -> str:
    """The chosen member in a sentence."""
    best = contents.chosen()
    if best is None:
        return "There is no best member."
    values = ", ".join(f"{axis.name} {said(best.values.get(axis.name))}" for axis in contents.axes)
    found = f"{score_name(contents)} {shown(contents, best.score)}"
    return f"Best: member {best.number} with {values or f'seed {best.seed}'}, {found}."


def columns_of(contents: SweepContents, drawn: list[SweepMember]) -> list[Column]:
    return [column_of(axis, drawn) for axis in contents.axes] or [seed_column(drawn)]


def column_of(axis: Axis, drawn: list[SweepMember]) -> Column:
    """A hyperparameter's values, and its axis; choices that the axis doesn't list are put at its end."""
    given = [member.values.get(axis.name) for member in drawn]
    if axis.scale == "choice":
        names = list(dict.fromkeys([*axis.values, *(said(value) for value in given if value is not None)]))
        places = [math.nan if value is None else float(names.index(said(value))) for value in given]
        return Column(axis.name, choices(names), np.array(places, float))
    numbers = np.array([value if isinstance(value, int | float) else math.nan for value in given], float)
    return Column(axis.name, scale(numbers, log=axis.scale == "log"), numbers)


def seed_column(drawn: list[SweepMember]) -> Column:
    """What tells members apart that have nothing but their seeds."""
    seeds = sorted({member.seed for member in drawn})
    return Column("seed", choices([*map(str, seeds)]), np.array([seeds.index(m.seed) for m in drawn], float))


def score_column(contents: SweepContents, drawn: list[SweepMember]) -> Column:
    """The scores, on an axis whose better end is the upper one, and which far worse ones don't stretch."""
    name = score_name(contents)
    values = np.array([m.score if m.score is not None and m.scored else math.nan for m in drawn], float)
    if not np.isfinite(values).any():
        return Column(name, Scale(0.0, 1.0), values)
    ends = usual(values, contents.larger_is_better)

    def text(value: float) -> str:
        return f"{100 * value:.4g}%" if is_share(contents) else number(value)

    found = scale(values, reverse=not contents.larger_is_better, within=ends, text=text)
    edge, beyond = (ends[0], "≤") if contents.larger_is_better else (ends[1], "≥")
    worst = np.nanmin(values) if contents.larger_is_better else np.nanmax(values)
    if worst != edge:
        kept = tuple(tick for tick in found.ticks if tick[0] > 0.06)
        found = replace(found, ticks=((0.0, f"{beyond} {text(float(f'{edge:.3g}'))}"), *kept))
    return Column(name, found, values)


def curves(contents: SweepContents) -> Html:
    """All members' curves of the metric and of both losses, a chart each."""
    drawn = drawn_members(contents)
    graded = graded_as(contents, drawn)
    charts = []
    for name in dict.fromkeys((f"valid_{contents.metric}", "valid_loss", "loss")):
        found = []
        for member, grade in zip(drawn, graded, strict=True):
            values = until_end(np.asarray(member.history.get(name, ()), float))
            if len(values):
                end = {"dropped": "circle", "diverged": "x"}.get(member.status, "")
                found.append(Curve(values, grade, end, text_of(contents, member)))
        if not found:
            continue
        metric = name == f"valid_{contents.metric}"
        title = title_of(name.replace("valid_", "validation_") if name != "loss" else "training_loss")
        figure, beyond = sweep_charts.learning(
            found,
            metric=metric,
            larger_is_better=metric and contents.larger_is_better,
            shares=metric and is_share(contents),
        )
        marks = {"circle": "A dot: dropped there.", "x": "A cross: diverged after it."}
        notes = [text for end, text in marks.items() if any(curve.end == end for curve in found)]
        notes += ["Values that are far worse than most lie outside the chart."] if beyond else []
        ends = [curve.values[-1] for curve in found if curve.grade == "best"]
        last = f" The best member's ends at {number(ends[0])}." if ends else ""
        label = f"Line chart of {title.lower()} by epoch for {len(found)} members.{last}"
        charts.append(chart(title, figure, label, caption=" ".join(notes)))
    return pairs(charts) if charts else join([])


def until_end(values: Float[np.ndarray, " epochs"]) -> Float[np.ndarray, " until"]:
    """The values up to the last finite one."""
    known = np.flatnonzero(np.isfinite(values))
    return values[: known[-1] + 1] if len(known) else values[:0]


def members(contents: SweepContents) -> Html:
    """The table of members, the best first."""
    if not contents.members:
        return join([])
    head, *body = rows(contents, MOST_ROWS)
    count = len(contents.members)
    about = f"The best {MOST_ROWS} of {count:,}; results.csv has all" if count > MOST_ROWS else "The best first"
    return table(about, head, body, class_="long")


def score_name(contents: SweepContents, split: str = "validation") -> str:
    """What the score is called in a sentence: "validation accuracy"."""
    return split + title_of(f"{split}_{contents.metric}")[len(split) :]


def is_share(contents: SweepContents) -> bool:
    return contents.metric.endswith("accuracy")


def shown(contents: SweepContents, value: float | None) -> str:
    """A value of the metric: shares in percent."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{100 * value:.2f} %" if is_share(contents) else number(value)


def said(value: float | str | None) -> str:
    """A hyperparameter's value as text."""
    return "–" if value is None else value if isinstance(value, str) else number(value)
