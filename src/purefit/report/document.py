"""The frame of a page: one file that loads nothing, whatever is on it.

Its Content-Security-Policy forbids the network altogether, and every script but the two that are here,
known by their hashes: a class name that found a way to be a script still would not run.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources

from purefit.report.markup import Html, section, tag

Parts = Mapping[str, tuple[str, Html]]
"""The parts of a page: identity -> (heading, what is under it). Those that are empty are left out."""


def document(title: str, subtitle: str, notes: Sequence[str], headline: Sequence[tuple[str, str]], parts: Parts) -> str:
    """The text of an HTML file (5 MB, nearly all of it plotly.js).

    title, subtitle: what it is about. notes: what the reader must know first. headline: (label, value)
    pairs to print large.
    """
    # Takes 60 ms, so whoever imports this module without rendering doesn't pay for it.
    from plotly.offline import get_plotlyjs

    scripts = (Html(get_plotlyjs()), Html(_asset("page.js")))
    shown = {identity: part for identity, part in parts.items() if part[1]}
    return "<!doctype html>\n" + tag(
        "html",
        head(title, scripts),
        tag(
            "body",
            tag(
                "main",
                top(title, subtitle, notes, headline),
                tag("nav", *(tag("a", name, href=f"#{key}") for key, (name, _) in shown.items())),
                *(section(identity, name, part) for identity, (name, part) in shown.items()),
            ),
            tag("footer", "Made by purefit. This page is one file and asks the network for nothing."),
            *(tag("script", script) for script in scripts),
        ),
        lang="en",
    )


def head(title: str, scripts: tuple[Html, ...]) -> Html:
    """Title, style, and the policy that forbids everything that isn't on the page."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; "
        # plotly.js styles its elements one by one, which has no hash.
        "style-src 'unsafe-inline'; script-src " + " ".join(f"'sha256-{digest}'" for digest in hashes)
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} – purefit"),
        # Without it a browser asks the server for /favicon.ico.
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(_asset("page.css"))),
    )


def top(title: str, subtitle: str, notes: Sequence[str], headline: Sequence[tuple[str, str]]) -> Html:
    """Name, the sentence about the run, the figures to take home, and what to be warned of."""
    return tag(
        "header",
        tag("h1", title),
        tag("p", subtitle, class_="subtitle"),
        tag("ul", *(tag("li", note) for note in notes), class_="notes") if notes else "",
        tag(
            "dl",
            *(tag("div", tag("dt", label), tag("dd", value)) for label, value in headline),
            class_="headline",
        )
        if headline
        else "",
    )


def _asset(name: str) -> str:
    return resources.files("purefit.report").joinpath(name).read_text("utf-8")
