"""What a regressor got right and wrong on a split: its errors in figures, in charts, and one by one."""

import numpy as np

from purefit.report import charts
from purefit.report.contents import Regression
from purefit.report.figures import chart
from purefit.report.markup import Html, join, table, tag
from purefit.report.numbers import number

MOST_TARGETS = 6
"""Targets that get charts; all of them are in the table of errors."""


def shown(results: Regression, split: str) -> Html:
    """Errors of a regressor: in figures, in charts of the first targets, and the largest one by one."""
    if not len(results.targets):
        return tag("p", f"The {split} split has no rows.", class_="quiet")
    drawn = range(min(len(results.names), MOST_TARGETS))
    rest = len(results.names) - len(drawn)
    return join(
        [
            scores(results),
            *(_target(results, i) for i in drawn),
            tag("p", f"{rest} more targets aren't drawn.", class_="quiet") if rest else "",
            largest(results, split),
        ]
    )


def scores(results: Regression) -> Html:
    """R², errors and bias of each target, over its rows that are finite."""
    return table(
        "Errors of each target, in its own units",
        ("target", "R²", "root mean square", "mean absolute", "bias"),
        ((name, *_scores(results, i)) for i, name in enumerate(results.names)),
    )


def _scores(results: Regression, place: int) -> tuple[str, ...]:
    targets, predictions = results.targets[:, place], results.predictions[:, place]
    finite = np.isfinite(targets) & np.isfinite(predictions)
    if not finite.any():
        return ("–",) * 4
    targets, errors = targets[finite], predictions[finite] - targets[finite]
    squared, spread = float(np.mean(errors**2)), float(np.var(targets))
    r2 = f"{1 - squared / spread:.4f}".replace("-", "−") if spread else "–"
    return r2, number(squared**0.5), number(float(np.mean(np.abs(errors)))), number(float(np.mean(errors)))


def _target(results: Regression, place: int) -> Html:
    name, targets, predictions = (
        results.names[place],
        results.targets[:, place],
        results.predictions[:, place],
    )
    errors = predictions - targets
    lost = len(errors) - int(np.isfinite(errors).sum())
    note = f"{lost} of {len(errors)} rows aren't finite and aren't shown." if lost else ""
    if lost == len(errors):
        return tag("p", f"{name}: no prediction is finite.", class_="quiet")
    shown = min(len(errors), charts.MOST_SCATTERED)
    return tag(
        "div",
        chart(
            f"{name}: predicted and actual",
            charts.against_actual(targets, predictions),
            f"Scatter of predictions of {name} over its targets, with the line of equality.",
            caption=f"{shown} of {len(errors)} examples, evenly picked." if shown < len(errors) else note,
        ),
        chart(
            f"{name}: errors",
            charts.residuals(errors),
            f"Histogram of predicted minus actual {name}.",
            caption=note,
        ),
        class_="pair",
    )


def largest(results: Regression, split: str) -> Html:
    """The largest errors one by one, over all targets in units of each target's spread."""
    errors = results.predictions - results.targets
    with np.errstate(all="ignore"):
        spread = np.nanstd(np.where(np.isfinite(results.targets), results.targets, np.nan), axis=0)
    size = np.abs(errors) / np.where(spread > 0, spread, 1)
    # A prediction that isn't finite is wrong beyond measure, so it comes first.
    order = np.argsort(-np.where(np.isfinite(size), size, np.inf), axis=None, kind="stable")[:12]
    scale = ", in units of each target's standard deviation" if len(results.names) > 1 else ""
    return table(
        f"The largest errors in the {split} split{scale}; rows count from 0",
        ("row", "target", "actual", "predicted", "error"),
        (
            (
                str(i),
                results.names[j],
                number(results.targets[i, j]),
                number(results.predictions[i, j]),
                number(errors[i, j]),
            )
            for i, j in zip(*np.unravel_index(order, errors.shape), strict=True)
        ),
        words=2,
    )
