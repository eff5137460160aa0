"""The page about a sweep: has every member, shows the best, stays light, and opens anywhere."""

import json
import math
import re

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

from purefit.report import Axis, SweepContents, SweepMember, render_sweep, sweep_rows
from purefit.report.scales import scale
from purefit.report.sweep_charts import BELOW

HOSTILE = "</script><script>alert(1)</script>"

RATE, DROPOUT = Axis("learning_rate", "log"), Axis("dropout", "linear")
OPTIMIZER = Axis("optimizer", "choice", ("adam", "sgd"))


def member(number, score, epochs=6, **given):
    """A member with values for the three axes; its number is in all of them."""
    decay = np.linspace(2, 1, epochs) + 0.01 * number
    options = {
        "values": {"learning_rate": 10.0 ** -(1 + number % 4), "dropout": number / 10, "optimizer": "sgd"},
        "seed": 0,
        "status": "finished" if score is not None else "diverged",
        "test": None,
        "history": {"loss": decay, "valid_loss": decay + 0.1, "valid_accuracy": 1 - decay / 4},
    } | given
    return SweepMember(number, score=score, epochs=epochs, **options)


def sweep(*members, axes=(RATE, DROPOUT, OPTIMIZER), **given):
    scores = {each.number: each.score for each in members if each.score is not None and math.isfinite(each.score)}
    options = {"metric": "accuracy", "larger_is_better": True} | given
    pick = max if options["larger_is_better"] else min
    options = {"best": pick(scores, key=scores.get) if scores else None} | options
    return SweepContents("a sweep", "of made-up members", axes=axes, members=tuple(members), **options)


def many(count, epochs=30):
    rng = np.random.default_rng(0)
    scores = rng.random(count)
    history = {name: rng.random((count, epochs)) for name in ("loss", "valid_loss", "valid_accuracy", "gradient_norm")}
    return sweep(
        *(
            member(i, float(scores[i]), epochs, history={name: rows[i] for name, rows in history.items()})
            for i in range(count)
        )
    )


def figures(html):
    """The charts of the page, by their headings."""
    found = re.findall(r'<h3>(.*?)</h3>.*?<script type="application/json">(.*?)</script>', html, flags=re.DOTALL)
    return {title: json.loads(figure) for title, figure in found}


def traces(figure):
    return {trace["name"]: trace for trace in figure["data"]}


def lines(trace):
    """The lines that are merged in a trace, each as its y values."""
    found = [[]]
    for x, y in zip(trace["x"], trace["y"], strict=True):
        if x is None:
            found.append([])
        else:
            found[-1].append(y)
    return found


USUAL = sweep(member(0, 0.90, test=0.89), member(1, 0.95, test=0.93), member(2, None), member(3, 0.5, status="dropped"))
WAY = "Each member's way to its validation accuracy"


def test_every_member_is_a_line_through_all_axes_and_a_point_at_each():
    drawn = figures(render_sweep(many(100)))
    ways = [line for trace in drawn[WAY]["data"] for line in lines(trace)]
    assert len(ways) == 100
    assert {len(line) for line in ways} == {4}
    for axis in (RATE, DROPOUT, OPTIMIZER):
        points = drawn[f"Validation accuracy by {axis.name}"]["data"]
        assert sum(len(trace["x"]) for trace in points) == 100
    assert len([line for trace in drawn["Training loss"]["data"] for line in lines(trace)]) == 100


def test_the_best_member_is_drawn_last_and_heaviest_in_every_chart():
    for title, figure in figures(render_sweep(USUAL)).items():
        named = [trace for trace in figure["data"] if trace["name"] != "end"]
        assert named[-1]["name"] == "best", title
        assert len(lines(named[-1])) == 1 if "lines" in named[-1]["mode"] else len(named[-1]["x"]) == 1
        if "lines" in named[-1]["mode"]:
            assert all(named[-1]["line"]["width"] > 2 * trace["line"]["width"] for trace in named[:-1])


def test_the_chosen_member_is_the_best_even_where_another_scored_higher():
    contents = sweep(member(0, 0.9), member(1, 0.8), best=1)
    assert sweep_rows(contents)[1][0] == "1 (best)"
    assert traces(figures(render_sweep(contents))[WAY])["best"]["text"][0] == "member 1: 80.00 %"


def test_members_that_diverged_stand_at_the_bottom():
    drawn = figures(render_sweep(USUAL))
    points = traces(drawn["Validation accuracy by dropout"])["no score"]
    assert points["y"] == [BELOW]
    assert points["marker"]["symbol"] == "x"
    assert lines(traces(drawn[WAY])["no score"])[0][-1] == BELOW


def test_several_seeds_are_several_points():
    members = (member(i, 0.9 + i / 100, seed=i, values={"dropout": 0.1}) for i in range(3))
    [figure] = [f for title, f in figures(render_sweep(sweep(*members, axes=(DROPOUT,)))).items() if " by " in title]
    assert [x for trace in figure["data"] for x in trace["x"]] == [0.5] * 3


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors():
    contents = sweep(*(member(i, 0.9 + i / 100) for i in range(4)), axes=(RATE,))
    figure = figures(render_sweep(contents))["Validation accuracy by learning_rate"]
    np.testing.assert_allclose(sorted(x for t in figure["data"] for x in t["x"]), [0, 1 / 3, 2 / 3, 1], atol=1e-4)
    assert figure["layout"]["xaxis"]["ticktext"] == ["0.0001", "0.001", "0.01", "0.1"]


def test_zero_on_a_logarithmic_axis_makes_it_even_and_is_drawn():
    found = scale(np.array([0.0, 0.01, 0.1]), log=True)
    assert not found.log
    assert found.places(np.array([0.0, 0.05]))[0] == 0


def test_curves_end_where_members_were_dropped():
    nan = np.nan
    early = member(3, 0.4, 6, status="dropped", history={"loss": np.array([2, 1.5, nan, nan, nan, nan])})
    drawn = figures(render_sweep(sweep(member(0, 0.9), early)))
    assert sorted(map(len, (line for t in drawn["Training loss"]["data"][:2] for line in lines(t)))) == [2, 6]
    assert traces(drawn["Training loss"])["end"]["x"] == [2]


def test_a_score_far_below_the_others_does_not_flatten_them():
    scores = [-500.0, *np.linspace(0.5, 0.9, 9)]
    contents = sweep(*(member(i, float(score)) for i, score in enumerate(scores)), metric="r2")
    figure = figures(render_sweep(contents))["Validation R² by dropout"]
    ys = sorted(y for trace in figure["data"] for y in trace["y"])
    assert ys[0] == 0
    assert ys[-1] - ys[1] > 0.2
    assert figure["layout"]["yaxis"]["ticktext"][0].startswith("≤")


def test_the_better_end_is_above_for_errors_too():
    contents = sweep(member(0, 3.0), member(1, 5.0), member(2, 9.0), metric="rmse", larger_is_better=False)
    figure = figures(render_sweep(contents))["Validation RMSE by dropout"]
    assert traces(figure)["best"]["y"] == [1]
    assert [row[0] for row in sweep_rows(contents)[1:]] == ["0 (best)", "1", "2"]


def test_the_rows_for_the_terminal_are_the_head_and_the_ten_best():
    head, *rows = sweep_rows(many(30))
    assert head == (
        "member", "validation accuracy", "learning_rate", "dropout", "optimizer", "seed", "epochs", "status",
    )  # fmt: skip
    scores = [float(row[1].removesuffix(" %")) for row in rows]
    assert len(rows) == 10
    assert scores == sorted(scores, reverse=True)
    assert sweep_rows(USUAL)[-1][:3] == ("2", "–", "–")


def test_the_large_numbers_are_the_best_score_its_test_and_the_counts():
    html = render_sweep(USUAL)
    found = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html))
    assert found == {
        "best validation accuracy": "95.00 %",
        "its test accuracy": "93.00 %",
        "members trained": "4",
        "dropped early": "1",
        "diverged": "1",
    }


def test_a_sweep_in_which_all_diverged_says_so():
    html = render_sweep(sweep(member(0, None), member(1, math.nan, status="diverged")))
    assert "All 2 members diverged, so there is no best one." in html
    assert len(lines(traces(figures(html)[WAY])["no score"])) == 2
    assert "best member is drawn heavy" not in html


def test_a_thousand_members_stay_light():
    html = render_sweep(many(1000))
    assert len(html) - len(get_plotlyjs()) < 2_000_000
    assert "The best 200 of 1,000; results.csv has all" in html
    assert html.count('<th scope="row">') == 200


def test_long_histories_of_many_members_are_thinned():
    html = render_sweep(many(1500, 200))
    assert len(html) - len(get_plotlyjs()) < 2_000_000
    assert "500 of 1,500 members are left out, evenly by rank." in html


def test_names_of_users_are_text_on_the_page():
    odd = member(0, 0.9, values={HOSTILE: HOSTILE, "<b>": 1.0}, status=HOSTILE)
    axes = (Axis(HOSTILE, "choice", (HOSTILE,)), Axis("<b>", "linear"))
    html = render_sweep(sweep(odd, axes=axes, answers=(HOSTILE,), notes=(HOSTILE,), config={HOSTILE: HOSTILE}))
    assert HOSTILE not in html
    assert figures(html)[WAY]["layout"]["xaxis"]["ticktext"][1] == "&lt;b&gt;"


def test_the_page_names_no_address_to_load_from():
    html = render_sweep(USUAL).replace(get_plotlyjs(), "")
    assert not re.search(r"https?://|(?:src|href)=\"(?!#|data:)", html)


def test_every_chart_says_in_words_which_member_is_best():
    labels = re.findall(r'role="img" aria-label="(.*?)"', render_sweep(USUAL))
    assert len(labels) == 7
    assert all("Best: member 1 with learning_rate 0.01, dropout 0.1, optimizer sgd" in each for each in labels[:4])
    assert all("The best member's ends at" in each.replace("&#x27;", "'") for each in labels[4:])


GONE = {"loss": np.full(6, np.nan), "valid_loss": np.array([1, np.nan, 0.8, np.inf, np.nan, np.nan])}
CONTENTS = {
    "usual": USUAL,
    "one axis": sweep(*(member(i, i / 10) for i in range(5)), axes=(OPTIMIZER,)),
    "only seeds": sweep(*(member(i, 0.9 + i / 1000, seed=i, values={}) for i in range(30)), axes=()),
    "all diverged": sweep(member(0, None), member(1, None, history=GONE)),
    "all diverged on one axis": sweep(member(0, None), member(1, None), axes=(RATE,)),
    "gaps": sweep(member(0, 0.9, history=GONE), member(1, math.nan), member(2, 0.5, values={"optimizer": "new"})),
    "negative": sweep(
        *(member(i, -(float(i) ** 3), history={"valid_r2": np.linspace(-9 * i, 0.5, 6)}) for i in range(8)), metric="r2"
    ),
    "one member": sweep(member(0, 0.9, epochs=1)),
    "no members": sweep(),
    "no history": sweep(member(0, 0.9, history={}), member(1, 0.9, history={})),
    "many axes": sweep(
        *(member(i, i / 20, values={f"optimizer.option_{k}": i * k for k in range(12)}) for i in range(20)),
        axes=tuple(Axis(f"optimizer.option_{k}", "linear") for k in range(12)),
    ),
    "hostile": sweep(member(0, 0.9, values={HOSTILE: HOSTILE}), axes=(Axis(HOSTILE, "choice"),), config={HOSTILE: 1}),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_every_strange_sweep_gets_a_page_without_words_for_nothing(name):
    html = render_sweep(CONTENTS[name])
    body = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    assert not re.search(r"\b(nan|inf|None)\b", re.sub("<[^>]*>", " ", body))


@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (390, "dark")])
@pytest.mark.parametrize("name", CONTENTS)
def test_it_is_drawn_in_a_browser_without_a_complaint(chromium, tmp_path, name, width, scheme):
    path = tmp_path / "sweep.html"
    path.write_text(render_sweep(CONTENTS[name]))
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    seen = page.evaluate("""() => [...document.querySelectorAll(".chart")].map(place => [
        place.data.length, place.querySelectorAll(".scatterlayer .trace").length])""")
    assert all(given == drawn for given, drawn in seen)
    assert len(seen) == len(figures(render_sweep(CONTENTS[name])))
    assert said == []
    assert [url for url in asked if not url.startswith(("data:", path.as_uri()))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
