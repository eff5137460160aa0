import json
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from purefit.report import Classification, Mistake, Regression, render

HOSTILE = ("</script><script>alert(1)</script>", "<b>", "&lt;i&gt;", '"><img src=x onerror=alert(1)>')

SEEN = """() => [...document.querySelectorAll(".chart")].map(place => ({
    drawn: place.querySelectorAll(".main-svg").length > 0,
    traces: place.querySelectorAll(".scatterlayer .trace, .barlayer .trace, .heatmaplayer .hm").length,
    given: place.data.length,
}))"""


class Headings(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.levels: list[int] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))


def nothing(runs: SimpleNamespace) -> Any:
    empty = {"headline": (), "notes": (), "history": {}, "steps": {}, "config": {}, "timings": ()}
    return runs.made_up(**empty, environment={}, best_epoch=None, results=None)


def strange(runs: SimpleNamespace) -> dict[str, Any]:
    """Runs that are short of something, or too much of it."""
    made_up, classification = runs.made_up, runs.classification
    gone = np.full(3, np.nan)
    # Every third name is on the axes of a heat map of so many.
    many = (HOSTILE[1], "one", "two", HOSTILE[0], *(f"class number {i}" for i in range(4, 100)))
    return {
        "nothing at all": nothing(runs),
        "one epoch, one step": made_up(
            history={"loss": np.ones(1)}, steps={"loss": np.ones(1)}, steps_per_epoch=1, best_epoch=1
        ),
        "no validation": made_up(history={"loss": np.linspace(1, 0.5, 10)}, best_epoch=None),
        "diverged": made_up(
            history={"loss": np.array([1, np.inf, np.nan]), "valid_loss": gone},
            steps={"loss": np.full(30, np.nan), "gradient_norm": np.r_[1.0, np.full(29, np.inf)]},
            steps_per_epoch=10,
        ),
        "all history lost": made_up(history={"loss": gone, "valid_loss": gone}, steps={"loss": gone}),
        "no steps": made_up(steps={"loss": np.zeros(0)}),
        "no mistakes": made_up(results=Classification(("a", "b"), np.diag([5, 7]), ())),
        "empty split": made_up(results=Classification(("a", "b"), np.zeros((2, 2), int), ())),
        "two classes": made_up(results=classification(("no", "yes"), [None, None])),
        "a hundred classes": made_up(results=classification(many, [])),
        "digits": runs.digits(),
        "regression": runs.regression(),
        "many targets": runs.regression(tuple("abcdefgh"), rows=50),
        "regression without rows": made_up(results=Regression(("y",), np.zeros((0, 1)), np.zeros((0, 1)))),
        "regression of one row": made_up(results=Regression(("y",), np.ones((1, 1)), np.ones((1, 1)))),
        "regression without sense": made_up(
            results=Regression(HOSTILE[:2], np.ones((3, 2)), np.c_[[np.nan, np.inf, -np.inf], [1, 2, 3]])
        ),
        "long names": made_up(
            title="n" * 300,
            results=classification(("x" * 300, "y" * 300), [np.eye(3), None]),
            config={"k" * 99: "v" * 999},
        ),
    }  # fmt: skip


STRANGE = (
    "nothing at all", "one epoch, one step", "no validation", "diverged", "all history lost", "no steps",
    "no mistakes", "empty split", "two classes", "a hundred classes", "digits", "regression", "many targets",
    "regression without rows", "regression of one row", "regression without sense", "long names",
)  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_every_strange_run_gets_a_page(name: str, runs: SimpleNamespace) -> None:
    html = render(strange(runs)[name])
    assert "<h1>" in html
    body = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    assert not re.search(r"\b(nan|inf|None)\b", re.sub("<[^>]*>", " ", body))


@pytest.mark.parametrize(
    "name",
    ["one epoch, one step", "diverged", "regression without sense", "long names"],
)
def test_every_page_draws_its_charts_and_fits_a_phone(name: str, runs: SimpleNamespace, read: Any) -> None:
    page = read(strange(runs)[name], width=390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert all(chart["drawn"] and chart["traces"] == chart["given"] for chart in page.evaluate(SEEN))


def test_rendering_imports_no_jax_and_importing_no_plotly() -> None:
    code = (
        "import sys; import purefit.report as r; assert 'plotly' not in sys.modules;"
        "r.render(r.Contents('', '', (), (), {}, None, {}, 1, 'test', None, {}, (), {}));"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_headings_are_in_order_and_images_have_words(runs: SimpleNamespace) -> None:
    html = render(runs.made_up())
    parser = Headings()
    parser.feed(re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL))
    assert parser.levels[0] == 1
    assert parser.levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(parser.levels, parser.levels[1:], strict=False))
    images = re.findall(r"<img [^>]*>", html.split("<body>")[1].split("<script>")[0])
    assert len(images) == 12
    assert all('alt="Row ' in image for image in images)


def test_all_charts_are_drawn_with_the_values_that_were_given(runs: SimpleNamespace, fashion: Any) -> None:
    contents, page = runs.made_up(), fashion
    charts = page.evaluate(SEEN)
    assert len(charts) == 5
    assert all(chart["drawn"] and chart["traces"] == chart["given"] for chart in charts)
    # Where the points of the first chart stand on the screen, read back through the axis.
    seen = page.evaluate("""() => {
        const place = document.querySelector(".chart"), axis = place._fullLayout.yaxis;
        return [...place.querySelectorAll(".scatterlayer .trace")].map(trace =>
            [...trace.querySelectorAll(".point")].map(point =>
                axis.p2d(point.transform.baseVal.consolidate().matrix.f)));
    }""")
    for found, key in zip(seen, ("loss", "valid_loss"), strict=True):
        np.testing.assert_allclose(found, contents.history[key], atol=2e-3)
    data = page.evaluate("[...document.querySelectorAll('.chart')].map(place => place.data.map(t => t.y))")
    np.testing.assert_allclose(data[0], [contents.history["loss"], contents.history["valid_loss"]], rtol=1e-5)
    np.testing.assert_allclose(data[1], [contents.history["valid_accuracy"]], rtol=1e-5)


def test_the_best_epoch_is_marked_in_every_curve(fashion: Any) -> None:
    page = fashion
    assert page.locator("#curves .annotation-text", has_text="best epoch 9").count() == 3
    assert page.locator("#steps .annotation-text", has_text="epoch 9").count() == 2


def test_headline_notes_config_timings_and_environment_can_be_read(fashion: Any) -> None:
    page = fashion
    text = page.inner_text("body")
    for words in ("fashion-mlp", "88.3 %", "10 (best 9)", "more epochs may help", "optimizer.learning_rate"):
        assert words in text
    assert "5.3 s in all: 1.3 s compiling, 3.9 s running." in text
    assert "cpu (2 cores)" in text
    assert page.locator(".bar.compiling").count() == 1


def test_confusion_counts_and_row_shares_are_in_their_cells(runs: SimpleNamespace, fashion: Any) -> None:
    contents, page = runs.made_up(), fashion
    cells = page.locator(".confusion tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.innerText.split('\\n')))"
    )
    found = [[int(cell[0]) for cell in row] for row in cells]
    np.testing.assert_array_equal(found, contents.results.confusion)
    share = 100 * contents.results.confusion[3, 3] / contents.results.confusion[3].sum()
    assert cells[3][3][1] == f"{share:.1f} %"


def test_a_hundred_classes_get_a_heat_map_that_tells_names_and_counts_on_a_phone_too(
    runs: SimpleNamespace, read: Any
) -> None:
    contents = strange(runs)["a hundred classes"]
    page = read(contents, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    chart = page.locator("#results .chart")
    layers = chart.evaluate("place => place.data.map(layer => layer.z)")
    filled = [np.array([[cell is not None for cell in row] for row in layer]) for layer in layers]
    np.testing.assert_array_equal(filled[0] | filled[1], contents.results.confusion > 0)
    chart.evaluate("place => Plotly.Fx.hover(place, {xval: 1, yval: 0}, 'xy')")
    hover = chart.locator(".hoverlayer").text_content()
    assert f"target <b>predicted one{contents.results.confusion[0, 1]} of" in hover
    assert chart.locator(".ytick text").all_text_contents()[:2] == ["<b>", "</script><script>"[:17] + "…"]


def test_gallery_images_are_loaded_and_show_the_pixels(runs: SimpleNamespace, fashion: Any) -> None:
    page = fashion
    sizes = page.locator(".gallery img").evaluate_all("images => images.map(i => [i.naturalWidth, i.naturalHeight])")
    assert sizes == [[28, 28]] * 12
    pixels = page.locator(".gallery img").first.evaluate("""image => {
        const canvas = document.createElement("canvas");
        canvas.width = canvas.height = 28;
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        return [...context.getImageData(0, 0, 28, 28).data].filter((_, i) => i % 4 == 0);
    }""")
    first = runs.images(1)[0].astype(float)
    expected = 255 * (first - first.min()) / (first.max() - first.min())
    np.testing.assert_allclose(np.reshape(pixels, (28, 28)), expected, atol=0.51)


def rows(html: str) -> list[list[str]]:
    """The texts of the cells of every table row."""
    return [
        [unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row)]
        for row in re.findall("<tr>.*?</tr>", html)
    ]


def test_tabular_mistakes_are_rows_with_their_first_features(runs: SimpleNamespace) -> None:
    mistake = Mistake(41, "no", "yes", 0.99995, 0.00005, None, np.arange(8.0))
    results = Classification(("no", "yes"), np.array([[3, 1], [0, 4]]), (mistake,))
    expected = ["41", "no", "yes", "0, 1, 2, 3, 4, 5, … 2 more", "> 99.9 %", "< 0.1 %"]
    assert expected in rows(render(runs.made_up(results=results)))


def test_the_largest_errors_are_listed_with_what_is_not_finite_first(runs: SimpleNamespace) -> None:
    targets, predictions = np.zeros((20, 1)), np.arange(20.0)[:, None]
    predictions[4] = np.nan
    html = render(runs.made_up(results=Regression(("y",), targets, predictions)))
    listed = [int(row[0]) for row in rows(html) if row[1:3] == ["y", "0"]]
    assert listed == [4, *range(19, 8, -1)]
    assert "1 of 20 rows aren't finite" in html


def test_scores_of_a_regression_are_those_of_scikit_learn(runs: SimpleNamespace) -> None:
    contents = runs.regression(("a", "b"), rows=200)
    found = {row[0]: row[1:] for row in rows(render(contents)) if row[0] in "ab" and len(row) == 5}
    for i, name in enumerate("ab"):
        both = contents.results.targets[:, i], contents.results.predictions[:, i]
        bias = f"{np.mean(both[1] - both[0]):.4g}".replace("-", "−")
        assert found[name] == [
            f"{r2_score(*both):.4f}",
            f"{root_mean_squared_error(*both):.4g}",
            f"{mean_absolute_error(*both):.4g}",
            bias,
        ]


def test_hostile_names_are_shown_as_they_are_and_run_nothing(runs: SimpleNamespace, read: Any) -> None:
    contents = runs.made_up(
        title=HOSTILE[0], subtitle=HOSTILE[1], notes=HOSTILE, headline=((HOSTILE[0], HOSTILE[3]),),
        history={HOSTILE[0]: np.ones(3), HOSTILE[1]: np.ones(3)}, steps={HOSTILE[3]: np.ones(3)},
        split=HOSTILE[0],
        results=runs.classification(HOSTILE, [np.eye(4)] * 4), config={HOSTILE[0]: {HOSTILE[1]: HOSTILE[3]}},
        timings=((HOSTILE[0], 1.0),), environment={HOSTILE[3]: HOSTILE[0]},
    )  # fmt: skip
    page = read(contents)
    assert page.inner_text("h1") == HOSTILE[0]
    assert page.locator(".notes li").all_inner_texts() == list(HOSTILE)
    assert set(HOSTILE) <= set(page.locator("#results tbody th").all_text_contents())
    assert page.locator(".gallery b").all_inner_texts() == [*HOSTILE[1:], HOSTILE[0]]
    assert json.loads(page.locator("#json").text_content()) == contents.config
    assert page.locator("script:not([type])").count() == 2
    assert page.locator("img:not([src^='data:'])").count() == 0


def test_the_page_can_run_no_script_of_others_and_reach_no_network(runs: SimpleNamespace, read: Any) -> None:
    page = read(nothing(runs))
    assert read.complaints == []
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = true";
        document.body.append(script);
    }""")
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("fetch('https://example.com').then(() => 'reached', () => 'refused')") == "refused"
    assert all("Content Security Policy" in complaint for complaint in read.complaints)
    read.complaints.clear()


# The contrast of every piece of text with the nearest colour behind it (WCAG 2.2, 1.4.3).
CONTRASTS = """() => {
    const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const rgba = colour => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = ([r, g, b]) => {
        const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const [x, y, z] = [r, g, b].map(v => linear(v / 255));
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const behind = element => {
        const colour = rgba(getComputedStyle(element).backgroundColor);
        return colour[3] == 255 || !element.parentElement ? colour : behind(element.parentElement);
    };
    return [...document.body.querySelectorAll("*:not(script)")]
        .filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()))
        .map(e => {
            const style = getComputedStyle(e);
            const colour = rgba(e instanceof SVGElement ? style.fill : style.color);
            const [dark, light] = [luminance(colour), luminance(behind(e))].sort((a, b) => a - b);
            return [(light + 0.05) / (dark + 0.05), e.textContent.slice(0, 40)];
        });
}"""


def drawn_in(page: Any, colour: str) -> None:
    """Waits until the last chart has its background: a change of scheme reaches a page at its next frame."""
    # wait_for_function would need eval, which the page forbids.
    from playwright.sync_api import expect

    expect(page.locator(".chart").last.locator(".main-svg").first).to_have_css("background-color", colour)


BACKGROUNDS = {"dark": "rgb(24, 30, 38)", "light": "rgb(255, 255, 255)"}


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_all_text_has_enough_contrast(scheme: str, fashion: Any) -> None:
    fashion.emulate_media(color_scheme=scheme)
    drawn_in(fashion, BACKGROUNDS[scheme])
    found = fashion.evaluate(CONTRASTS)
    assert len(found) > 300
    assert [pair for pair in found if pair[0] < 4.5] == []


def test_charts_follow_the_page_into_the_dark_and_onto_paper(fashion: Any) -> None:
    def width() -> float:
        return fashion.locator(".chart .main-svg").first.bounding_box()["width"]

    wide = width()
    fashion.emulate_media(color_scheme="dark")
    drawn_in(fashion, BACKGROUNDS["dark"])
    fashion.evaluate("dispatchEvent(new Event('beforeprint'))")
    drawn_in(fashion, BACKGROUNDS["light"])
    assert 600 < width() < 680
    fashion.evaluate("dispatchEvent(new Event('afterprint'))")
    drawn_in(fashion, BACKGROUNDS["dark"])
    assert width() == wide
    fashion.emulate_media(color_scheme="light")
    drawn_in(fashion, BACKGROUNDS["light"])


def test_the_configuration_can_be_copied(runs: SimpleNamespace, fashion: Any) -> None:
    page = fashion
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_text("As JSON").click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert json.loads(page.evaluate("navigator.clipboard.readText()")) == runs.made_up().config


def test_the_history_is_there_in_numbers_with_the_best_epoch(runs: SimpleNamespace, fashion: Any) -> None:
    page = fashion
    page.get_by_text("The numbers").click()
    rows = page.locator("#curves tbody tr").all_inner_texts()
    assert len(rows) == 10
    assert rows[8].split("\t")[:2] == ["9 (best)", f"{runs.made_up().history['loss'][8]:.4g}"]


def test_thousands_of_classes_make_a_page_of_ordinary_size(runs: Any) -> None:
    classes = tuple(map(str, range(1500)))
    page = render(runs.made_up(results=Classification(classes, np.eye(1500, dtype=int), ())))
    assert len(page) < 8_000_000
    assert "1500 classes are too many to draw" in page
