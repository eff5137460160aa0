"""The page about a run, in the order a reader meets it: what came out, how it got there, what it was."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Num

from purefit.report import charts, classification, configuration, regression
from purefit.report.contents import Classification, Contents
from purefit.report.document import document
from purefit.report.figures import chart, pairs
from purefit.report.markup import Html, join, table, tag
from purefit.report.numbers import number, percent, ranges, seconds

MOST_ROWS = 200
"""Epochs in the table of all numbers; of more, some are left out evenly."""


def render(contents: Contents) -> str:
    """The whole page, as the text of an HTML file (5 MB, nearly all of it plotly.js).

    >>> nothing = dict.fromkeys(("headline", "notes", "timings"), ())
    >>> empty = dict.fromkeys(("history", "steps", "config", "environment"), {})
    >>> page = render(Contents("a run", "no epochs yet", **nothing, **empty, best_epoch=None,
    ...                        steps_per_epoch=1, split="test", results=None))
    >>> page[:15], "<h1>a run</h1>" in page
    ('<!doctype html>', True)
    """
    return document(
        contents.title,
        contents.subtitle,
        contents.notes,
        contents.headline,
        {
            "curves": ("Learning", curves(contents)),
            "results": (f"On the {contents.split} split", outcome(contents)),
            "steps": ("Step by step", steps(contents)),
            "time": ("Time", time(contents.timings)),
            "config": ("Configuration", config(contents.config)),
            "environment": ("Environment", environment(contents.environment)),
        },
    )


def curves(contents: Contents) -> Html:
    """A chart for each metric by epoch, training and validation together, and all of it in numbers."""
    names = dict.fromkeys(name.removeprefix("valid_") for name in contents.history)
    drawn = [_curve(name, contents) for name in names]
    if not drawn:
        return join([])
    return join([pairs(drawn), numbers(contents)])


def _curve(name: str, contents: Contents) -> Html:
    keys = {"training": name, "validation": f"valid_{name}"}
    series = {split: contents.history[key] for split, key in keys.items() if key in contents.history}
    title = title_of(name if name in contents.history else f"validation_{name}")
    missing = [
        f"{split} at epoch {ranges((np.flatnonzero(~np.isfinite(values)) + 1).tolist())}"
        for split, values in series.items()
        if not np.isfinite(values).all()
    ]
    series = {split: values for split, values in series.items() if np.isfinite(values).any()}
    if not series:
        return tag("p", f"{title} was finite in no epoch, so there is no curve.", class_="quiet")
    best = f" Best epoch {contents.best_epoch}." if contents.best_epoch else ""
    last = "; ".join(f"last {split} value {number(float(values[-1]))}" for split, values in series.items())
    return chart(
        title,
        charts.curve(name, series, contents.best_epoch),
        f"Line chart of {title.lower()} by epoch; {last}.{best}",
        caption=f"Not finite: {'; '.join(missing)}." if missing else "",
    )


def numbers(contents: Contents) -> Html:
    """The history as a table, folded away: the same as the curves for whoever wants or hears the figures."""
    epochs = max(map(len, contents.history.values()))
    kept = charts.evenly(epochs, MOST_ROWS).tolist()
    if contents.best_epoch and contents.best_epoch <= epochs:
        kept = sorted({*kept, contents.best_epoch - 1})
    rows = (
        (
            f"{i + 1} (best)" if i + 1 == contents.best_epoch else str(i + 1),
            *(number(float(values[i])) for values in contents.history.values()),
        )
        for i in kept
    )
    names = (name.replace("_", " ") for name in contents.history)
    caption = "Each epoch" if len(kept) == epochs else f"{len(kept)} of {epochs} epochs"
    return tag("details", tag("summary", "The numbers"), table(caption, ("epoch", *names), rows, class_="long"))


def steps(contents: Contents) -> Html:
    """Loss, gradient norm and whatever else was recorded at each step."""
    drawn = [_steps(name, values, contents) for name, values in contents.steps.items() if len(values)]
    return pairs(drawn)


def _steps(name: str, values: Num[np.ndarray, " steps"], contents: Contents) -> Html:
    title, bad = title_of(name), np.flatnonzero(~np.isfinite(values))
    if len(bad) == len(values):
        return tag("p", f"{title} was finite in no step, so there is no curve.", class_="quiet")
    ends = (number(float(end(values[np.isfinite(values)]))) for end in (np.min, np.max))
    caption = f"{len(values)} steps, {contents.steps_per_epoch} an epoch."
    if len(bad):
        caption += f" {len(bad)} aren't finite, the first at step {bad[0] + 1}."
    return chart(
        f"{title} of each step",
        charts.each_step(values, contents.steps_per_epoch, contents.best_epoch),
        f"Line chart of {title.lower()} by step, from {' to '.join(ends)}.",
        caption=caption,
    )


def outcome(contents: Contents) -> Html:
    """The results on the split they were computed on, if there are any."""
    found = contents.results
    if found is None:
        return join([])
    if isinstance(found, Classification):
        return classification.shown(found, contents.split)
    return regression.shown(found, contents.split)


def time(timings: tuple[tuple[str, float], ...]) -> Html:
    """Where the time went: a row for each stage with its bar on a common line, compiling told apart."""
    known = [(stage, float(duration)) for stage, duration in timings if 0 <= duration < np.inf]
    total = sum(duration for _, duration in known)
    if not total:
        return join([])
    compiling = sum((duration for stage, duration in known if _compiles(stage)), 0.0)
    starts = np.cumsum([0.0, *(duration for _, duration in known)])
    rows = (
        (stage, _bar(stage, start / total, duration / total), seconds(duration), percent(duration / total))
        for (stage, duration), start in zip(known, starts, strict=False)
    )
    sentence = f"{seconds(total)} in all: {seconds(compiling)} compiling, {seconds(total - compiling)} running."
    return table(sentence, ("stage", "one after the other", "time", "share"), rows, class_="time", words=2)


def _bar(stage: str, start: float, share: float) -> Html:
    kind = "compiling" if _compiles(stage) else "running"
    return tag("span", class_=f"bar {kind}", style=f"margin-left:{100 * start:.2f}%;width:{100 * share:.2f}%")


def _compiles(stage: str) -> bool:
    return "compil" in stage.lower()


def config(values: Mapping[str, object]) -> Html:
    """The configuration twice: to read, and as JSON to copy."""
    if not values:
        return join([])
    return join(
        [
            table(
                "Everything that was set",
                ("name", "value"),
                configuration.rows(values),
                class_="settings",
                words=2,
            ),
            tag(
                "details",
                tag("summary", "As JSON"),
                tag("button", "Copy", type="button", data_copies="json", hidden=""),
                tag("pre", configuration.as_json(values), id="json", tabindex="0"),
            ),
        ]
    )


def environment(facts: Mapping[str, str]) -> Html:
    """Versions and device."""
    if not facts:
        return join([])
    return table("What it ran on", ("name", "value"), facts.items(), class_="settings", words=2)


def title_of(name: str) -> str:
    words = name.replace("_", " ").replace("r2", "R²").replace("rmse", "RMSE")
    return words[:1].upper() + words[1:]
