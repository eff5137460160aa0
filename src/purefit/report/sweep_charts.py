"""The charts of a sweep: all members through all hyperparameters, against each one, and epoch by epoch.

Members come in the order of their score, the best first, each with its grade, which is its colour. All of one
grade are one trace, with gaps between members: a thousand lines are drawn as five.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from purefit.report.charts import Figure, counted, evenly, framed, plain, value_axis
from purefit.report.scales import Scale, usual

BELOW = -0.12
"""Where members without a score stand, the scores being from 0 to 1."""

MOST_POINTS = 30_000
"""Points of all curves in one chart; longer curves are thinned evenly, both ends kept."""


@dataclass(frozen=True)
class Grade:
    """How members of one grade are drawn: lines and points this wide, in pixels."""

    colour: str
    width: float
    point: float
    symbol: str = "circle"


GRADES: Mapping[str, Grade] = {
    "no score": Grade("var(--setting-6)", 1, 7, "x"),
    "worse half": Grade("var(--pale)", 1, 6),
    "better half": Grade("var(--right)", 1.2, 6),
    "best tenth": Grade("var(--validation)", 1.8, 7),
    "best": Grade("var(--training)", 4, 13),
}
"""In the order they are drawn in, the last on top. Shades of blue, stronger for better, in light and dark alike."""


def grades(scored: int, unscored: int, *, best: bool) -> list[str]:
    """The grade of each member, the scored ones in the order of their score, then those without.

    best: whether the first is the chosen one.

    >>> grades(5, 1, best=True)
    ['best', 'better half', 'better half', 'worse half', 'worse half', 'no score']
    """

    def grade(rank: int) -> str:
        if best and rank == 0:
            return "best"
        return "best tenth" if 10 * (rank + 1) <= scored else "better half" if 2 * rank < scored else "worse half"

    return [*map(grade, range(scored)), *["no score"] * unscored]


@dataclass(frozen=True)
class Column:
    """One quantity of all members: its name, its axis, and each one's value (NaN where it has none)."""

    name: str
    scale: Scale
    values: Float[np.ndarray, " members"]

    def places(self) -> Float[np.ndarray, " members"]:
        return self.scale.places(self.values)


def parallel(columns: Sequence[Column], graded: Sequence[str], texts: Sequence[str]) -> Figure:
    """A line for each member through an upright axis for each column, of which the last is the score.

    texts: what each member's line says under the mouse.
    """
    places = np.stack([column.places() for column in columns], axis=1)
    places[:, -1] = np.where(np.isfinite(places[:, -1]), places[:, -1], BELOW)
    across, last = list(range(len(columns))), len(columns) - 1
    traces = [
        _merged(name, [(across, places[i], texts[i]) for i in members]) for name, members in _by_grade(graded).items()
    ]
    # Names that would touch on a phone, where the chart is 640 pixels wide, lean to the right.
    leaning = 7.5 * max(min(len(column.name), 24) for column in columns) > 520 / last
    named = {
        "tickvals": across,
        "tickangle": -30 if leaning else 0,
        "ticktext": [plain(column.name, 24) for column in columns],
        "side": "top",
        "range": [-0.04, last + 0.02],
        "showgrid": True,
        "gridcolor": "var(--muted)",
        "showline": False,
        "ticks": "",
        "ticklabelstandoff": 8,
        "tickfont": {"size": 13, "color": "var(--ink)"},
    }
    unscored = "no score" in graded
    hidden = {"visible": False, "range": [BELOW - 0.06 if unscored else -0.05, 1.05]}
    figure = framed(traces, x=named, y=hidden)
    written = [
        (x, place, text) for x, column in zip(across, columns, strict=True) for place, text in column.scale.ticks
    ]
    written += [(last, BELOW, "no score")] if unscored else []
    figure["layout"] |= {
        "annotations": [_written(x, place, text) for x, place, text in written],
        "hovermode": "closest",
        "height": 430,
        "margin": {"l": 44, "r": 140 if leaning else 74, "t": 40, "b": 4},
    }
    return figure


def _written(x: int, y: float, text: str) -> dict[str, Any]:
    """A value beside its axis, on a ground that keeps it readable over the lines."""
    place = {"x": x, "y": y, "xanchor": "left", "yanchor": "middle", "xshift": 4, "showarrow": False}
    return place | {
        "text": plain(text, 14),
        "font": {"size": 11, "color": "var(--ink)"},
        "bgcolor": "var(--panel)",
        "borderpad": 1,
    }


def against(column: Column, score: Column, graded: Sequence[str], texts: Sequence[str]) -> Figure:
    """The score over one hyperparameter: a point for each member, those without a score as crosses below.

    Points of one choice are spread a little sideways, so that all can be seen.
    """
    x, y = column.places(), score.places()
    if column.scale.step:
        x = x + column.scale.step * _spread(column.values)
    y = np.where(np.isfinite(y), y, BELOW)
    traces = []
    for name, members in _by_grade(graded).items():
        grade = GRADES[name]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": _short(x[members]),
                "y": _short(y[members]),
                "text": [texts[i] for i in members],
                "marker": {"color": grade.colour, "size": grade.point, "symbol": grade.symbol, "opacity": 0.9},
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    unscored = "no score" in graded
    lowest = BELOW - 0.06 if unscored else -0.06
    below = ((BELOW, "no score"),) if unscored else ()
    figure = framed(
        traces,
        x=_written_at(column.scale.ticks) | {"title": plain(column.name, 40), "range": [-0.04, 1.04]},
        y=_written_at((*below, *score.scale.ticks)) | {"range": [lowest, 1.06], "zeroline": False},
    )
    figure["layout"] |= {"hovermode": "closest"}
    return figure


def _written_at(ticks: Sequence[tuple[float, str]]) -> dict[str, Any]:
    return {"tickvals": [place for place, _ in ticks], "ticktext": [plain(text, 16) for _, text in ticks]}


def _spread(values: Float[np.ndarray, " members"]) -> Float[np.ndarray, " members"]:
    """Steps sideways within -0.3 to 0.3, the same at each drawing; 0 for a value that only one member has."""
    sideways = np.zeros(len(values))
    for value in np.unique(values[np.isfinite(values)]):
        here = np.flatnonzero(values == value)
        if len(here) > 1:
            # Multiples of the golden ratio never bunch, however many there are.
            sideways[here] = 0.6 * (0.618034 * np.arange(len(here)) % 1) - 0.3
    return sideways


@dataclass(frozen=True)
class Curve:
    """A member's quantity by epoch, from the first. end: a marker's symbol for where it stopped short, or ""."""

    values: Float[np.ndarray, " epochs"]
    grade: str
    end: str = ""
    text: str = ""


def learning(curves: Sequence[Curve], *, metric: bool, larger_is_better: bool, shares: bool) -> tuple[Figure, bool]:
    """(the members' curves, whether some leave the chart).

    metric: whether it is a metric, which keeps an even axis; a loss has a logarithmic one where it spans much.
    shares: whether it is shown in percent.
    """
    longest = max(len(curve.values) for curve in curves)
    most = max(2, MOST_POINTS // len(curves))
    traces = []
    for name, members in _by_grade([curve.grade for curve in curves]).items():
        lines = []
        for curve in (curves[i] for i in members):
            kept = evenly(len(curve.values), most)
            lines.append(((kept + 1).tolist(), curve.values[kept], curve.text))
        trace = _merged(name, lines)
        if name in ("best", "best tenth"):
            trace["hovertemplate"] = "%{text}, epoch %{x}: %{y:.4g}<extra></extra>"
        else:
            # Hundreds of lines that answer the mouse would hide the few that matter, and weigh the most.
            trace |= {"hoverinfo": "skip"}
            del trace["text"], trace["hovertemplate"]
        if longest == 1:
            grade = GRADES[name]
            trace |= {"mode": "lines+markers", "marker": {"size": grade.point, "color": grade.colour}}
        traces.append(trace)
    together = np.concatenate([curve.values for curve in curves])
    axis, (low, high) = _bounded(together, even=metric, larger_is_better=larger_is_better)
    if shares:
        axis |= {"tickformat": ".1~%"}
    figure = framed(traces + _stops(curves), x=counted("epoch", [0.5, longest + 0.5]), y=axis)
    if longest <= 12:
        figure["layout"]["xaxis"] |= {"dtick": 1}
    figure["layout"] |= {"hovermode": "closest"}
    finite = together[np.isfinite(together)]
    return figure, bool((finite < low).any() or (finite > high).any())


def _stops(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Where curves end before the last epoch: a marker for each, all of one symbol in one trace."""
    traces = []
    for symbol, colour, size in (("circle", "var(--muted)", 4), ("x", "var(--setting-6)", 7)):
        ended = [curve.values for curve in curves if curve.end == symbol]
        if ended:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": "end",
                    "x": [len(values) for values in ended],
                    "y": _short(np.array([values[-1] for values in ended], float)),
                    "marker": {"color": colour, "size": size, "symbol": symbol, "opacity": 0.8},
                    "hoverinfo": "skip",
                }
            )
    return traces


def _bounded(
    values: Float[np.ndarray, " values"], *, even: bool, larger_is_better: bool
) -> tuple[dict[str, Any], tuple[float, float]]:
    """An axis for what most values are, without those that are far worse; and its two ends."""
    axis = {"type": "linear", "nticks": 6} if even else value_axis(values)
    log = axis["type"] == "log"
    known = values[np.isfinite(values)]
    if not (even or log) and known.min() > 0:
        # They span too little for any to be far from the others.
        low, high = float(known.min()), float(known.max())
    else:
        low, high = usual(np.log10(known) if log else known, larger_is_better)
    margin = 0.05 * (high - low) or 0.5
    ends = low - margin, high + margin
    if log:
        # Ticks that fit what is shown, not what was left out.
        axis = value_axis(known[np.log10(known) <= ends[1]]) | {"type": "log"}
        axis.setdefault("tickformat", "~g")
    return axis | {"range": [float(f"{end:.4g}") for end in ends]}, (10 ** ends[0], 10 ** ends[1]) if log else ends


def _by_grade(graded: Sequence[str]) -> dict[str, list[int]]:
    """Grade -> places of its members, in the order of drawing."""
    found = {name: [i for i, each in enumerate(graded) if each == name] for name in GRADES}
    return {name: members for name, members in found.items() if members}


def _merged(name: str, lines: Sequence[tuple[list[int], Float[np.ndarray, " _"], str]]) -> dict[str, Any]:
    """One trace of many lines, each (x, y, text), with a gap after each."""
    x: list[int | None] = []
    y: list[float | None] = []
    texts: list[str] = []
    for along, values, text in lines:
        x += [*along, None]
        y += [*_short(values), None]
        texts += [text] * len(along) + [""]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x[:-1],
        "y": y[:-1],
        "text": texts[:-1],
        "line": {"color": GRADES[name].colour, "width": GRADES[name].width},
        "hovertemplate": "%{text}<extra></extra>",
    }


def _short(values: Float[np.ndarray, " values"]) -> list[float | None]:
    """Four significant digits, less than a pixel off; `None` where not finite."""
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values.tolist()]
