"""The charts, as the plain dictionaries that plotly.js draws; `page.js` draws them.

Colours and fonts are named by their CSS variables ("var(--training)"), which page.js looks up, so that a
chart follows the page into the dark and onto paper. A value that isn't finite is `None`: a gap.

>>> figure = curve("loss", {"training": np.array([0.9, np.nan, 0.5])}, best_epoch=3)
>>> figure["data"][0]["y"]
[0.9, None, 0.5]
"""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float, Integer, Num

from purefit.report.confusion import shares, worst
from purefit.report.numbers import percent

Figure = dict[str, Any]

MOST_POINTS = 3000
"""Points of one trace; a longer series is shown as its bins' least, median and greatest value."""

MOST_SCATTERED = 2000
"""Points of a scatter, evenly picked from all."""


def curve(name: str, series: Mapping[str, Num[np.ndarray, " epochs"]], best_epoch: int | None) -> Figure:
    """One metric by epoch: a line for each split it was measured on.

    series: split -> one value for each epoch, the first epoch being 1.
    """
    epochs = max(len(values) for values in series.values())
    traces = [_epochs(split, values) for split, values in series.items()]
    figure = framed(traces, x=counted("epoch", [0.5, epochs + 0.5]), y=value_axis(*series.values()))
    if epochs <= 12:
        figure["layout"]["xaxis"] |= {"dtick": 1}
    if "accuracy" in name:
        figure["layout"]["yaxis"] |= {"tickformat": ".1~%", "hoverformat": ".2%"}
    return _marked(figure, best_epoch, f"best epoch {best_epoch}", epochs)


def _epochs(split: str, values: Num[np.ndarray, " epochs"]) -> dict[str, Any]:
    kept = evenly(len(values), MOST_POINTS)
    colour = f"var(--{split})"
    return _line(split, (kept + 1).tolist(), values[kept], colour) | _pointed(len(values), colour)


def _pointed(count: int, colour: str) -> dict[str, Any]:
    """Few values are drawn as points too: one alone, or between gaps, has no line to be seen by."""
    return {"mode": "lines+markers", "marker": {"size": 6, "color": colour}} if count <= 60 else {}


def each_step(values: Num[np.ndarray, " steps"], steps_per_epoch: int, best_epoch: int | None) -> Figure:
    """A quantity of every step of a run, pale, and the median of neighbouring steps over it.

    Above 3000 steps the pale part is the band from each bin's least to its greatest value: extremes stay.
    """
    count = len(values)
    if count > MOST_POINTS:
        middle, low, _, high = binned(values, 500)
        band = {"mode": "lines", "line": {"width": 0, "color": "var(--pale)"}}
        traces = [
            _line("least", middle, low, "") | band | {"showlegend": False},
            _line(f"range of {count / 500:.0f} steps", middle, high, "")
            | band
            | {
                "fill": "tonexty",
                "fillcolor": "var(--pale)",
                "hovertemplate": "%{y:.4g}<extra>greatest</extra>",
            },
        ]
    elif count >= 300:
        traces = [_line("each step", list(range(1, count + 1)), values, "var(--pale)")]
        traces[0]["line"]["width"] = 1
    else:
        colour = "var(--validation)"
        traces = [_line("each step", list(range(1, count + 1)), values, colour) | _pointed(count, colour)]
    if count >= 300:
        middle, _, median, _ = binned(values, 100)
        traces.append(_line(f"median of {count / 100:.0f} steps", middle, median, "var(--validation)"))
    figure = framed(traces, x=counted("step", [0, count + 1]), y=value_axis(values))
    return _marked(figure, best_epoch, f"epoch {best_epoch}", count, scale=steps_per_epoch)


def binned(
    values: Num[np.ndarray, " steps"], bins: int
) -> tuple[list[float], Num[np.ndarray, " bins"], Num[np.ndarray, " bins"], Num[np.ndarray, " bins"]]:
    """(middle step, least, median, greatest) of the finite values in each of `bins` stretches of steps.

    Stretches without a finite value are left out.

    >>> [list(map(float, part)) for part in binned(np.array([1.0, 5.0, 3.0, np.nan, np.inf, np.nan]), 2)]
    [[2.0], [1.0], [3.0], [5.0]]
    """
    edges = np.linspace(0, len(values), min(bins, len(values)) + 1).round().astype(int)
    kept = [
        ((start + end + 1) / 2, finite.min(), np.median(finite), finite.max())
        for start, end in pairwise(edges)
        if len(finite := values[start:end][np.isfinite(values[start:end])])
    ]
    middle, low, median, high = np.array(kept, dtype=float).reshape(-1, 4).T
    return middle.tolist(), low, median, high


def confusion(classes: Sequence[str], counts: Integer[np.ndarray, "classes classes"]) -> Figure:
    """A heat map of each target's shares: right answers in one colour, mistakes in the other."""
    share = shares(counts)
    places = list(range(len(classes)))
    hover = np.array(
        [
            [
                f"target {plain(target, 40)}<br>predicted {plain(predicted, 40)}<br>"
                f"{counts[i, j]} of {counts[i].sum()} ({percent(share[i, j])})"
                for j, predicted in enumerate(classes)
            ]
            for i, target in enumerate(classes)
        ]
    )
    diagonal = np.eye(len(classes), dtype=bool)
    gap = 1 if len(classes) <= 50 else 0
    traces = [
        {
            "type": "heatmap",
            "x": places,
            "y": places,
            "z": _numbers(np.where(here & (counts > 0), share, np.nan)),
            "zmin": 0,
            "zmax": darkest,
            "colorscale": [[0, f"var(--{kind}-faint)"], [1, colour]],
            "showscale": False,
            "xgap": gap,
            "ygap": gap,
            "text": np.where(here & (counts > 0), hover, "").tolist(),
            "hoverinfo": "text",
        }
        for kind, colour, here, darkest in (
            ("right", "var(--validation)", diagonal, 1),
            ("wrong", "var(--training)", ~diagonal, worst(share)),
        )
    ]
    labelled = places[:: len(places) // 40 + 1]
    axis = {
        "tickvals": labelled,
        "ticktext": [plain(classes[i], 18) for i in labelled],
        "showgrid": False,
        "ticks": "",
        "tickfont": {"size": 10},
    }
    figure = framed(
        traces,
        x=axis | {"title": "predicted", "tickangle": -90, "side": "bottom"},
        y=axis | {"title": "target", "autorange": "reversed", "zeroline": False},
    )
    figure["layout"] |= {"hovermode": "closest", "height": 640}
    return figure


def against_actual(targets: Float[np.ndarray, " examples"], predictions: Float[np.ndarray, " examples"]) -> Figure:
    """Predictions over targets, at most `MOST_SCATTERED` of them, with the line where the two are equal."""
    kept = evenly(len(targets), MOST_SCATTERED)
    x, y = targets[kept], predictions[kept]
    ends = _ends(x, y)
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": "examples",
        "x": _numbers(x),
        "y": _numbers(y),
        "marker": {"size": 5, "color": "var(--validation)", "opacity": 0.45},
        "hovertemplate": "target %{x:.4g}<br>predicted %{y:.4g}<extra></extra>",
    }
    equal = _line("equal", ends, np.array(ends), "var(--muted)") | {"hoverinfo": "skip"}
    equal["line"] |= {"dash": "dot", "width": 1.5}
    figure = framed([points, equal], x={"title": "target"}, y={"title": "predicted"})
    figure["layout"] |= {"hovermode": "closest"}
    return figure


def residuals(errors: Float[np.ndarray, " examples"]) -> Figure:
    """How many examples have which error (prediction - target), in 40 bins."""
    counts, edges = np.histogram(errors[np.isfinite(errors)], bins=40)
    bars = {
        "type": "bar",
        "name": "examples",
        "x": _numbers((edges[:-1] + edges[1:]) / 2),
        "y": counts.tolist(),
        "width": float(f"{edges[1] - edges[0]:.6g}"),
        "marker": {"color": "var(--validation)"},
        "hovertemplate": "error %{x:.4g}: %{y} examples<extra></extra>",
    }
    figure = framed([bars], x={"title": "predicted − target"}, y={"title": "examples"})
    figure["layout"] |= {"bargap": 0.08, "hovermode": "closest"}
    return figure


def evenly(count: int, most: int) -> Integer[np.ndarray, " kept"]:
    """The places, from 0, of at most `most` out of `count` things, evenly spread with both ends.

    >>> evenly(3, 10), evenly(100, 4)
    (array([0, 1, 2]), array([ 0, 33, 66, 99]))
    """
    places: Integer[np.ndarray, " kept"] = np.linspace(0, count - 1, min(most, count)).round().astype(int)
    return places


def framed(traces: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any]) -> Figure:
    """The traces between axes in the page's colours. x, y: what plotly is told of an axis besides."""
    axis = {
        "gridcolor": "var(--line)",
        "linecolor": "var(--line)",
        "zerolinecolor": "var(--line)",
        "tickcolor": "var(--line)",
        "automargin": True,
        "ticklabelstandoff": 4,
    }
    layout = {
        "xaxis": axis | {"showgrid": False, "showline": True, "ticks": "outside", "zeroline": False} | _titled(x),
        "yaxis": axis | {"showline": False, "ticks": ""} | _titled(y),
        "font": {"family": "var(--font)", "size": 12, "color": "var(--muted)"},
        "hoverlabel": {
            "bgcolor": "var(--panel)",
            "bordercolor": "var(--line)",
            "font": {"color": "var(--ink)", "family": "var(--font)"},
        },
        "paper_bgcolor": "var(--panel)",
        "plot_bgcolor": "var(--panel)",
        "margin": {"l": 8, "r": 12, "t": 24, "b": 8},
        "height": 280,
        "hovermode": "x unified",
        "showlegend": False,
    }
    return {"data": traces, "layout": layout}


def _titled(axis: dict[str, Any]) -> dict[str, Any]:
    return axis | ({"title": {"text": axis["title"], "standoff": 8, "font": {"size": 12}}} if "title" in axis else {})


SETTINGS = 10
"""Colours for settings that are compared, var(--setting-0) and on; further ones begin again, dashed."""


def overlaid(series: Sequence[tuple[str, Float[np.ndarray, "_ _"]]]) -> Figure:
    """A quantity by epoch for each setting: the mean over seeds, and behind it their range.

    series: (label, one row a seed). Values that aren't finite are gaps; seeds may have stopped early.
    """
    bands, lines = [], []
    for place, (label, values) in enumerate(series):
        known = np.isfinite(values)
        counts = known.sum(axis=0)
        filled = np.where(known, values, 0.0)
        mean = np.where(counts > 0, filled.sum(axis=0) / np.maximum(counts, 1), np.nan)
        kept = evenly(values.shape[1], MOST_POINTS)
        epochs = (kept + 1).tolist()
        line = _line(label, epochs, mean[kept], setting_colour(place))
        line["line"] |= {"dash": setting_dash(place)}
        lines.append(line | _pointed_as(line, len(kept)))
        if len(values) > 1:
            low = np.where(counts > 0, np.where(known, values, np.inf).min(axis=0), np.nan)
            high = np.where(counts > 0, np.where(known, values, -np.inf).max(axis=0), np.nan)
            quiet = {"line": {"width": 0, "color": setting_colour(place)}, "showlegend": False, "hoverinfo": "skip"}
            edge = [_line(label, epochs, each[kept], "") | quiet for each in (low, high)]
            bands += [edge[0], edge[1] | {"fill": "tonexty", "opacity": 0.3}]
    longest = max(values.shape[1] for _, values in series)
    return framed(
        [*bands, *lines],
        x=counted("epoch", [0.5, longest + 0.5]),
        y=value_axis(*(values.ravel() for _, values in series)),
    )


def _pointed_as(line: dict[str, Any], count: int) -> dict[str, Any]:
    return {"mode": "lines+markers", "marker": {"size": 5, "color": line["line"]["color"]}} if count <= 30 else {}


def differences(
    labels: Sequence[str],
    intervals: Sequence[tuple[float | None, float | None, float | None]],
    pairs: Sequence[Sequence[float]],
) -> Figure:
    """Each setting's difference to the first: its interval, its mean, and each seed's own difference.

    intervals: (low, mean, high) of each; None where too few seeds say it.
    """
    traces: list[dict[str, Any]] = []
    hidden = {"hoverinfo": "skip", "showlegend": False}
    for place, (label, (low, mean, high), seeds) in enumerate(zip(labels, intervals, pairs, strict=True), 1):
        colour = setting_colour(place)
        if low is not None and high is not None:
            traces.append(_line(label, [low, high], np.array([place, place]), colour) | hidden)
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label,
                "x": [*seeds] if mean is None else [*seeds, mean],
                "y": [place] * (len(seeds) + (mean is not None)),
                "marker": {
                    "color": colour,
                    "size": [6] * len(seeds) + ([13] if mean is not None else []),
                    "opacity": [0.55] * len(seeds) + ([1] if mean is not None else []),
                },
                "hovertemplate": "%{x:.4g}<extra></extra>",
            }
        )
    places = list(range(1, len(labels) + 1))
    axis = {"tickvals": places, "ticktext": [plain(label, 28) for label in labels], "range": [len(labels) + 0.6, 0.4]}
    known = [value for trace in traces for value in trace["x"] if value is not None] + [0.0]
    margin = 0.06 * (max(known) - min(known)) or 1.0
    x = {"title": "difference", "nticks": 7, "range": [min(known) - margin, max(known) + margin]}
    figure = framed(traces, x=x, y=axis)
    zero = {"xref": "x", "yref": "paper", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "layer": "below", "type": "line"}
    figure["layout"] |= {
        "shapes": [zero | {"line": {"color": "var(--muted)", "width": 1.5, "dash": "dot"}}],
        "hovermode": "closest",
        "height": 120 + 44 * len(labels),
    }
    return figure


def bars(values: Mapping[str, float], unit: str) -> Figure:
    """A horizontal bar for each value, which is written at its end; on a logarithmic axis."""
    numbers = list(values.values())
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": numbers,
        "y": [plain(name, 40) for name in values],
        "text": [f"{number:.3g}" for number in numbers],
        "textposition": "auto",
        "marker": {"color": "var(--validation)"},
        "hovertemplate": f"%{{x:.4g}} {unit}<extra></extra>",
    }
    figure = framed([trace], x={"title": unit, "type": "log"}, y={"autorange": "reversed"})
    figure["layout"] |= {"hovermode": "closest", "height": 90 + 44 * len(numbers)}
    return figure


def setting_colour(place: int) -> str:
    return f"var(--setting-{place % SETTINGS})"


def setting_dash(place: int) -> str:
    return ("solid", "dash", "dot")[place // SETTINGS % 3]


def counted(unit: str, ends: list[float | int]) -> dict[str, Any]:
    """An axis of whole numbers: epochs or steps."""
    return {"title": unit, "range": ends, "nticks": 8, "unifiedhovertitle": {"text": f"{unit} %{{x:.0f}}"}}


def _line(name: str, x: Sequence[float | int], y: Num[np.ndarray, " points"], colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(x),
        "y": _numbers(y),
        "line": {"color": colour, "width": 2},
        "hovertemplate": "%{y:.4g}",
    }


def value_axis(*series: Num[np.ndarray, " _"]) -> dict[str, Any]:
    """A logarithmic axis for positive values that span more than a factor of 20; else an even one."""
    together = np.concatenate([np.asarray(values, float) for values in series])
    finite = together[np.isfinite(together)]
    if not len(finite) or finite.min() <= 0 or finite.max() <= 20 * finite.min():
        return {"type": "linear", "nticks": 6}
    # Ticks at 1, 2 and 5, or at powers of ten only, each written out.
    return {"type": "log", "dtick": 1 if finite.max() > 300 * finite.min() else "D2", "tickformat": "~g"}


def _marked(figure: Figure, epoch: int | None, label: str, end: int, scale: int = 1) -> Figure:
    """The figure with a dotted line at the end of an epoch, if there is one to mark."""
    if epoch is None or not 0 < epoch * scale <= end:
        return figure
    x = epoch * scale
    # The label stays inside the chart: near an end it leans away from it.
    anchor = "left" if x < 0.2 * end else "right" if x > 0.8 * end else "center"
    line = {"color": "var(--muted)", "width": 1.5, "dash": "dot"}
    place = {"yref": "paper", "xref": "x"}
    figure["layout"]["shapes"] = [
        place | {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": line, "layer": "below"}
    ]
    figure["layout"]["annotations"] = [
        place
        | {"x": x, "y": 1, "text": label, "showarrow": False, "xanchor": anchor, "yanchor": "bottom"}
        | {"font": {"size": 12, "color": "var(--muted)"}}
    ]
    return figure


def _ends(*series: Float[np.ndarray, " values"]) -> list[float]:
    together = np.concatenate(series)
    finite = together[np.isfinite(together)]
    return [float(finite.min()), float(finite.max())] if len(finite) else [0.0, 1.0]


def _numbers(values: Num[np.ndarray, "*shape"]) -> Any:
    """Nested lists of six significant digits, which are more than the eye has; `None` where not finite."""
    if values.ndim > 1:
        return [_numbers(row) for row in values]
    finite = np.isfinite(values).tolist()
    return [float(f"{v:.6g}") if ok else None for v, ok in zip(values.tolist(), finite, strict=True)]


def plain(text: str, length: int) -> str:
    """A text for plotly, which reads <b>, <a href=…> and &amp; in labels as markup."""
    return escape(text if len(text) <= length else text[: length - 1] + "…", quote=False)
