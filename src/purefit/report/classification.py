"""What a classifier got right and wrong on a split: its confusion, its classes, and its surest mistakes."""

from collections.abc import Sequence

import numpy as np

from purefit.report import charts
from purefit.report.confusion import by_class, ranked, shares, worst
from purefit.report.contents import Classification, Mistake
from purefit.report.figures import chart
from purefit.report.images import data_uri
from purefit.report.markup import Html, join, scrolling, table, tag
from purefit.report.numbers import number, percent

MOST_CELLS = 20
"""Classes up to which the confusion matrix is a table with its counts; above, a heat map."""

MOST_TILES = 200
"""Classes up to which it is a heat map; above, a page would take minutes to make and fill many megabytes."""


def shown(results: Classification, split: str) -> Html:
    """Confusion, classes, and mistakes of a classifier."""
    if not results.confusion.sum():
        return tag("p", f"The {split} split has no rows.", class_="quiet")
    count = len(results.classes)
    if count > MOST_TILES:
        matrix = tag("p", f"{count} classes are too many to draw their confusion.", class_="quiet")
    else:
        matrix = cells(results) if count <= MOST_CELLS else heat_map(results)
    tables = tag("div", per_class(results), confusions(results), class_="pair")
    return join([matrix, tables, mistakes(results, split)])


def cells(results: Classification) -> Html:
    """The confusion matrix as a table: counts, and their shares of the row's target."""
    names, counts, share = results.classes, results.confusion, shares(results.confusion)
    darkest = worst(share)

    def cell(row: int, column: int) -> Html:
        if not counts[row, column]:
            return tag("td", "0", class_="zero")
        strength = share[row, column] if row == column else share[row, column] / darkest
        return tag(
            "td",
            str(counts[row, column]),
            tag("small", percent(share[row, column])),
            class_="right" if row == column else "wrong",
            style=f"--strength:{100 * strength:.0f}%",
        )

    def name(text: str, scope: str) -> Html:
        return tag("th", tag("span", text), scope=scope, title=text)

    head = tag("tr", tag("td"), *(name(text, "col") for text in names))
    body = (tag("tr", name(text, "row"), *(cell(i, j) for j in range(len(names)))) for i, text in enumerate(names))
    # Names that would be wider than their columns stand upright in them.
    columns = "upright" if any(len(text) > 5 for text in names) else ""
    return tag(
        "figure",
        tag("h3", "Confusion"),
        scrolling(
            "Confusion matrix",
            tag("table", tag("thead", head), tag("tbody", *body), class_=f"confusion {columns}".strip()),
        ),
        tag("figcaption", "A row for each target, a column for each prediction. Percentages are of the row."),
        class_="panel",
    )


def heat_map(results: Classification) -> Html:
    """The confusion matrix as a chart, where its cells would be too many to print a number in each."""
    label = f"Heat map of the confusion of {len(results.classes)} classes; the worst are in the tables below."
    return chart(
        "Confusion",
        charts.confusion(results.classes, results.confusion),
        label,
        wide=True,
        caption="A row for each target, a column for each prediction; shades are shares of the row. "
        "Point at a cell for its count, drag to look closer.",
    )


def per_class(results: Classification) -> Html:
    """Precision, recall and F1 of every class, the worst recall first."""
    scores = by_class(results.confusion)
    order = np.argsort(np.where(np.isnan(scores.recall), np.inf, scores.recall), kind="stable")
    return table(
        "Each class, the worst recall first",
        ("class", "examples", "precision", "recall", "F1"),
        (
            (
                results.classes[i],
                str(scores.examples[i]),
                percent(scores.precision[i]),
                percent(scores.recall[i]),
                percent(scores.f1[i]),
            )
            for i in order.tolist()
        ),
        class_="long",
    )


def confusions(results: Classification) -> Html:
    """Which class was taken for which, the most often first."""
    pairs = ranked(results.confusion, 10)
    if not pairs:
        return tag("p", "No example was given a wrong class.", class_="quiet")
    counts, share = results.confusion, shares(results.confusion)
    return table(
        "The most frequent confusions",
        ("target", "taken for", "examples", "of target"),
        ((results.classes[i], results.classes[j], str(counts[i, j]), percent(share[i, j])) for i, j in pairs),
        words=2,
    )


def mistakes(results: Classification, split: str) -> Html:
    """The mistakes that the model was surest of: as pictures where there are any, else as a table."""
    if not results.mistakes:
        return join([])
    return join(
        [
            tag("h3", "Most confidently wrong"),
            tag(
                "p",
                f"The mistakes in the {split} split that were made with the highest probability: look here "
                "first for wrong labels and odd examples. Each says what was predicted, what it is, and the "
                "probabilities that the model gave to both.",
                class_="quiet",
            ),
            gallery([mistake for mistake in results.mistakes if mistake.image is not None]),
            features([mistake for mistake in results.mistakes if mistake.image is None]),
        ]
    )


def gallery(mistakes: Sequence[Mistake]) -> Html:
    """A picture of each mistake; what it was taken for, what it is."""
    return tag("div", *map(_picture, mistakes), class_="gallery") if mistakes else join([])


def _picture(mistake: Mistake) -> Html:
    if mistake.image is None:
        return join([])
    alt = f"Row {mistake.row}: target {mistake.target}, predicted {mistake.predicted}"
    return tag(
        "figure",
        tag("img", src=data_uri(mistake.image), alt=alt),
        tag(
            "figcaption",
            tag("p", tag("b", mistake.predicted), " ", _probability(mistake.probability), class_="predicted"),
            tag("p", "is ", mistake.target, " ", _probability(mistake.target_probability)),
            tag("p", f"row {mistake.row}"),
        ),
    )


def _probability(probability: float) -> Html:
    return tag("span", percent(probability), class_="number")


def features(mistakes: Sequence[Mistake]) -> Html:
    """A row for each mistake that has no picture, with its first few features."""
    if not mistakes:
        return join([])
    return table(
        "Rows count from 0",
        ("row", "target", "predicted", "features", "probability", "of target"),
        (
            (
                str(mistake.row),
                mistake.target,
                mistake.predicted,
                _few(mistake.features),
                percent(mistake.probability),
                percent(mistake.target_probability),
            )
            for mistake in mistakes
        ),
        words=4,
    )


def _few(features: np.ndarray | None) -> str:
    if features is None:
        return ""
    values = np.ravel(features)
    more = f", … {len(values) - 6} more" if len(values) > 6 else ""
    return ", ".join(number(float(value)) for value in values[:6]) + more
