"""A chart on the page: its heading, its legend, its place, what it shows in words, its caption.

The data stand beside the place as JSON in a script element of a type that no browser runs; page.js draws
them. Legend and heading are HTML, because text in a chart neither wraps nor scales on a phone.
"""

import json
from collections.abc import Sequence

from purefit.report.charts import Figure
from purefit.report.markup import Html, join, scrolling, tag


def chart(title: str, figure: Figure, label: str, *, caption: str = "", wide: bool = False) -> Html:
    """A figure element with one chart.

    wide: on a phone it scrolls sideways instead of shrinking.
    label: what a reader who can't see the chart hears. caption: a sentence under it, if there is one to say.
    """
    drawing = join(
        [
            tag("div", class_="chart", role="img", aria_label=label),
            tag("script", embedded(figure), type="application/json"),
        ]
    )
    return tag(
        "figure",
        tag("h3", title),
        _legend(figure),
        scrolling(title, drawing) if wide else drawing,
        tag("figcaption", caption) if caption else "",
        class_="panel",
    )


def pairs(charts: Sequence[Html]) -> Html:
    """Charts side by side; the first of an odd number has the full width."""
    odd = len(charts) % 2
    return join([*charts[:odd], tag("div", *charts[odd:], class_="pair") if len(charts) > 1 else ""])


def embedded(figure: Figure) -> Html:
    """JSON that can't end the script element it is in: `<`, `>` and `&` are written as escapes.

    >>> embedded({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(figure, separators=(",", ":"), allow_nan=False)
    return Html(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _legend(figure: Figure) -> Html:
    keys = [
        (trace["name"], trace.get("fillcolor") or trace["line"]["color"])
        for trace in figure["data"]
        if trace["type"] == "scatter" and trace["mode"] != "markers" and trace.get("showlegend", True)
    ]
    if len(keys) < 2:
        return join([])
    return tag("p", *(tag("span", name, style=f"--key:{colour}") for name, colour in keys), class_="legend")
