"""HTML as values: a text is escaped when it enters an element, so nothing a user wrote can become markup.

>>> tag("p", "5 < 6 ", tag("b", "<b>"), lang="en")
'<p lang="en">5 &lt; 6 <b>&lt;b&gt;</b></p>'
"""

from collections.abc import Iterable, Sequence
from html import escape

VOID = frozenset({"img", "meta", "link", "br"})


class Html(str):
    """Markup: what is in it has been escaped already."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str) -> Html:
    """An element. Children that aren't `Html`, and all attributes, are escaped.

    In an attribute's name `_` stands for `-`, and a last `_` keeps it apart from Python's words: `class_`.
    """
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[str]) -> Html:
    """The children one after the other, those that aren't `Html` escaped."""
    return Html("".join(child if isinstance(child, Html) else escape(child, quote=False) for child in children))


def section(identity: str, title: str, *children: str) -> Html:
    """A part of the page with a heading that can be linked to."""
    return tag("section", tag("h2", title), *children, id=identity)


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, class_: str = "", words: int = 1
) -> Html:
    """A table in a box that scrolls on its own; a row's first cell is its heading.

    words: how many columns, from the left, hold words; the others hold numbers and are set to the right.
    """

    def cell(name: str, content: str, place: int, **attributes: str) -> Html:
        return tag(name, content, **attributes, **({"class_": "number"} if place >= words else {}))

    body = (
        tag(
            "tr",
            *(cell("td", content, i) if i else cell("th", content, i, scope="row") for i, content in enumerate(row)),
        )
        for row in rows
    )
    return scrolling(
        caption,
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", *(cell("th", content, i, scope="col") for i, content in enumerate(head)))),
            tag("tbody", *body),
            class_=class_,
        ),
    )


def scrolling(label: str, *children: str) -> Html:
    """A box that scrolls sideways (and, where style.css says so, down) instead of the page.

    It can be reached with the keyboard, else its far end couldn't be.
    """
    return tag("div", *children, class_="scrolling", tabindex="0", role="region", aria_label=label)
