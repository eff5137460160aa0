"""The page about a comparison: several settings, each trained with several seeds, against the first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from purefit.paired import Difference, Mean, difference, finite, mean_of
from purefit.report import charts
from purefit.report.document import document
from purefit.report.figures import chart, pairs
from purefit.report.markup import Html, join, table, tag
from purefit.report.numbers import number, seconds
from purefit.report.page import config, environment, title_of

MOST_LARGE = 6
"""Settings whose result is printed large; the table has them all."""


@dataclass(frozen=True)
class Setting:
    """One of the settings that are compared.

    values: seed -> the metric; not finite where the run diverged. history: name -> (seeds, epochs), NaN after
    a run's end. seconds: of training, over all seeds; None if unknown.
    """

    label: str
    values: Mapping[int, float]
    history: Mapping[str, Float[np.ndarray, "seeds epochs"]]
    seconds: float | None = None

    @property
    def diverged(self) -> int:
        return len(self.values) - len(finite(self.values))


@dataclass(frozen=True)
class Comparison:
    """All that the page about a comparison says.

    metric, split: what is compared, and on which examples. larger_is_better: of the metric.
    settings: the first is what the others are compared with. config: what all have in common.
    """

    title: str
    subtitle: str
    metric: str
    split: str
    larger_is_better: bool
    settings: tuple[Setting, ...]
    notes: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def means(self) -> list[Mean]:
        return [mean_of(setting.values) for setting in self.settings]

    def differences(self) -> list[Difference]:
        """Of each setting but the first, to the first."""
        return [difference(setting.values, self.settings[0].values) for setting in self.settings[1:]]


def render_comparison(contents: Comparison) -> str:
    """The whole page, as the text of an HTML file.

    >>> first = Setting("dropout=0", {0: 0.90, 1: 0.92}, {"loss": np.array([[0.5, 0.4], [0.5, 0.3]])})
    >>> other = Setting("dropout=0.1", {0: 0.91, 1: 0.94}, {"loss": np.array([[0.6, 0.4], [0.6, 0.4]])})
    >>> page = render_comparison(Comparison("c", "digits", "accuracy", "test", True, (first, other)))
    >>> page[:15], "<h1>c</h1>" in page
    ('<!doctype html>', True)
    """
    return document(
        contents.title,
        contents.subtitle,
        contents.notes,
        [
            (setting.label, mean_text(contents, mean))
            for setting, mean in zip(contents.settings, contents.means(), strict=True)
        ][:6],
        {
            "answer": ("The difference", answer(contents)),
            "curves": ("Learning", curves(contents)),
            "config": ("What all have in common", config(contents.config)),
            "environment": ("Environment", environment(contents.environment)),
        },
    )


def answer(contents: Comparison) -> Html:
    """In words, as intervals, and in a table."""
    sentences = answers(contents)
    parts: list[Html] = [tag("p", sentence) for sentence in sentences]
    found, others = contents.differences(), contents.settings[1:]
    if any(each.mean is not None for each in found):
        figure = charts.differences(
            [setting.label for setting in others],
            [tuple(shown(contents, value) for value in (each.low, each.mean, each.high)) for each in found],
            [[shown(contents, value) for value in pairs_of(contents, setting)] for setting in others],
        )
        label = "Each setting's difference to the first, with its 95 % interval and each seed's own. "
        caption = f"In {unit(contents)}. Large: the mean over seeds, with its 95 % interval; small: each seed."
        title = f"{title_of(contents.metric)}: difference to {contents.settings[0].label}"
        parts.append(chart(title, figure, label + " ".join(sentences), caption=caption, wide=True))
    head = ("setting", "seeds", f"{contents.split} {contents.metric}", "difference", "95 % interval", "p", "time")
    about = "Mean ± standard error over seeds; differences in pairs of one seed"
    return join([*parts, table(about, head, comparison_rows(contents))])


def answers(contents: Comparison) -> list[str]:
    """A sentence about each setting but the first."""
    return [verdict(contents, *each) for each in zip(contents.settings[1:], contents.differences(), strict=True)]


def comparison_rows(contents: Comparison) -> list[tuple[str, ...]]:
    """The table's rows, in words."""
    found: list[Difference | None] = [None, *contents.differences()]
    texts: list[tuple[str, ...]] = []
    for setting, mean, each in zip(contents.settings, contents.means(), found, strict=True):
        seeds = f"{mean.seeds}" + (f" (+ {setting.diverged} diverged)" if setting.diverged else "")
        interval = "–" if each is None or each.low is None else interval_text(contents, each)
        texts.append(
            (
                setting.label,
                seeds,
                mean_text(contents, mean),
                "–" if each is None or each.mean is None else signed(contents, each.mean),
                interval,
                "–" if each is None or each.p is None else f"{each.p:.2g}",
                "–" if setting.seconds is None else seconds(setting.seconds),
            )
        )
    return texts


def verdict(contents: Comparison, setting: Setting, found: Difference) -> str:
    """What the seeds say about a setting against the first, in one sentence."""
    against = f"{setting.label} against {contents.settings[0].label}"
    if found.mean is None:
        return f"{against}: no seed has finished both."
    said = f"{against}: {signed(contents, found.mean)} {contents.metric.replace('_', ' ')}"
    if found.low is None or found.high is None:
        return f"{said} with one seed, which says little: more --seeds would tell."
    interval = f"95 % interval {interval_text(contents, found)}, {found.seeds} seeds"
    if found.low <= 0 <= found.high:
        return f"{said} ({interval}): no difference that {found.seeds} seeds can show."
    better = (found.mean > 0) == contents.larger_is_better
    return f"{said} ({interval}): {'better' if better else 'worse'}."


def pairs_of(contents: Comparison, setting: Setting) -> list[float]:
    mine, first = finite(setting.values), finite(contents.settings[0].values)
    return [mine[seed] - first[seed] for seed in sorted(mine.keys() & first.keys())]


def is_share(contents: Comparison) -> bool:
    return contents.metric.endswith("accuracy")


def shown(contents: Comparison, value: float | None) -> Any:
    """A value as it is shown: shares in percent."""
    return None if value is None else 100 * value if is_share(contents) else value


def unit(contents: Comparison) -> str:
    return "percentage points" if is_share(contents) else f"units of the {contents.metric.replace('_', ' ')}"


def signed(contents: Comparison, value: float) -> str:
    """A difference, with its sign: shares in percentage points."""
    return f"{100 * value:+.2f} points" if is_share(contents) else f"{value:+.4g}"


def interval_text(contents: Comparison, found: Difference) -> str:
    kind = "+.2f" if is_share(contents) else "+.3g"
    return f"{shown(contents, found.low):{kind}} to {shown(contents, found.high):{kind}}"


def mean_text(contents: Comparison, mean: Mean) -> str:
    """A mean and its standard error: shares in percent."""
    if mean.mean is None:
        return "–"
    if not is_share(contents):
        return number(mean.mean) + ("" if mean.error is None else f" ± {number(mean.error)}")
    return f"{100 * mean.mean:.2f}" + ("" if mean.error is None else f" ± {100 * mean.error:.2f}") + " %"


def curves(contents: Comparison) -> Html:
    """Each quantity by epoch, all settings in one chart."""
    names = dict.fromkeys(name for setting in contents.settings for name in setting.history)
    drawn = []
    for name in names:
        series = [
            (each.label, np.asarray(each.history[name], float)) for each in contents.settings if name in each.history
        ]
        series = [(label, values) for label, values in series if np.isfinite(values).any()]
        if series:
            title = title_of(name.replace("valid_", "validation_"))
            last = "; ".join(f"{label} ends at {number(last_of(values))}" for label, values in series)
            drawn.append(chart(title, charts.overlaid(series), f"Line chart of {title.lower()} by epoch; {last}."))
    return pairs(drawn) if drawn else join([])


def last_of(values: Float[np.ndarray, "seeds epochs"]) -> float:
    """The mean over seeds of each one's last finite value."""
    ends = [row[np.isfinite(row)][-1] for row in values if np.isfinite(row).any()]
    return float(np.mean(ends))
