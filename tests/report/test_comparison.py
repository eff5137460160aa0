"""The page about a comparison: says in words what the figures say, and opens anywhere."""

import math
import re

import numpy as np
import pytest

from purefit.report import Comparison, Setting, answers, comparison_rows, render_comparison

HOSTILE = "</script><script>alert(1)</script>"


def setting(label, values, epochs=5, **history):
    seeds = len(values)
    losses = np.linspace(2, 1, epochs) + 0.1 * np.arange(seeds)[:, None]
    curves = {"loss": losses, "gradient_norm": np.ones((seeds, epochs))}
    return Setting(label, values, curves | history, 3.0)


def comparison(*settings, **given):
    options = {"metric": "accuracy", "split": "test", "larger_is_better": True} | given
    return Comparison("a comparison", "3 settings", settings=settings, **options)


FIRST = setting("dropout=0", {0: 0.900, 1: 0.910, 2: 0.905})


@pytest.mark.parametrize(
    ("values", "end"),
    [
        ({0: 0.910, 1: 0.921, 2: 0.915}, "better."),
        ({0: 0.890, 1: 0.901, 2: 0.895}, "worse."),
        ({0: 0.910, 1: 0.900, 2: 0.906}, "no difference that 3 seeds can show."),
        ({0: 0.910}, "more --seeds would tell."),
        ({7: 0.910}, "no seed has finished both."),
        ({0: math.nan}, "no seed has finished both."),
    ],
)
def test_the_sentence_says_what_the_seeds_can_tell(values, end):
    [sentence] = answers(comparison(FIRST, setting("dropout=0.1", values)))
    assert sentence.startswith("dropout=0.1 against dropout=0: ")
    assert sentence.endswith(end)


def test_a_smaller_metric_may_be_the_better_one():
    values = {0: 0.890, 1: 0.901, 2: 0.895}
    [sentence] = answers(comparison(FIRST, setting("b", values), metric="rmse", larger_is_better=False))
    assert sentence.endswith("better.")


def test_the_table_has_every_setting_and_its_diverged_runs():
    rows = comparison_rows(comparison(FIRST, setting("wild", {0: math.nan, 1: 0.92, 2: math.nan})))
    assert [row[:2] for row in rows] == [("dropout=0", "3"), ("wild", "1 (+ 2 diverged)")]
    assert rows[0][2] == "90.50 ± 0.29 %"
    assert rows[1][3] == "+1.00 points"


def test_names_of_users_are_text_on_the_page():
    page = render_comparison(comparison(FIRST, setting(HOSTILE, {0: 0.5}), config={HOSTILE: HOSTILE}))
    assert HOSTILE not in page


@pytest.fixture
def page_of(tmp_path):
    def page(contents):
        path = tmp_path / "comparison.html"
        path.write_text(render_comparison(contents))
        return path

    return page


CONTENTS = {
    "usual": comparison(FIRST, setting("dropout=0.1", {0: 0.91, 1: 0.92}), setting(HOSTILE, {0: 0.8})),
    "many": comparison(*(setting(f"learning_rate={i}", {0: 0.9 + i / 1000, 1: 0.91}) for i in range(30))),
    "stopped early": comparison(
        FIRST, setting("b", {0: 0.9, 1: 0.8}, valid_loss=np.array([[1.0, 0.5, np.nan, np.nan, np.nan]] * 2))
    ),
    "nothing finite": comparison(
        setting("a", {0: math.nan}), setting("b", {0: math.nan}, loss=np.full((1, 5), np.nan))
    ),
}


@pytest.mark.parametrize("width", [1100, 390])
@pytest.mark.parametrize("name", CONTENTS)
def test_it_is_drawn_in_a_browser_without_a_complaint(chromium, page_of, name, width):
    page = chromium.new_page(viewport={"width": width, "height": 800})
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(page_of(CONTENTS[name]).as_uri())
    charts = page.locator(".chart")
    drawn = page.locator(".chart .main-svg")
    assert charts.count() >= 1
    assert drawn.count() >= charts.count()
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heading = page.locator("h1").inner_text()
    assert re.fullmatch("a comparison", heading)
    page.close()
