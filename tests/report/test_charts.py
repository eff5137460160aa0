import json

import numpy as np
import pytest

from purefit.report import charts


def test_a_value_that_is_not_finite_is_a_gap() -> None:
    figure = charts.curve("loss", {"training": np.array([1.0, np.nan, np.inf, -np.inf, 2.0])}, None)
    assert figure["data"][0]["y"] == [1.0, None, None, None, 2.0]
    json.dumps(figure, allow_nan=False)


def test_epochs_are_counted_from_1() -> None:
    assert charts.curve("loss", {"training": np.ones(3)}, None)["data"][0]["x"] == [1, 2, 3]


def test_float32_is_plotted_without_the_digits_it_does_not_have() -> None:
    assert charts.curve("loss", {"training": np.array([0.1], np.float32)}, None)["data"][0]["y"] == [0.1]


@pytest.mark.parametrize("count", [1, 2, 299, 300, 3000, 3001, 100_000])
def test_no_trace_has_more_than_3000_points_however_long_the_run(count: int) -> None:
    values = np.random.default_rng(0).random(count)
    figures = charts.each_step(values, 10, None), charts.curve("loss", {"training": values}, None)
    for trace in figures[0]["data"] + figures[1]["data"]:
        assert len(trace["x"]) == len(trace["y"]) <= 3000


def test_a_single_spike_in_a_million_steps_is_still_in_the_chart() -> None:
    values = np.ones(1_000_000)
    values[654_321], values[123_456] = 1000.0, 0.001
    least, greatest, _ = charts.each_step(values, 1000, None)["data"]
    assert min(least["y"]) == 0.001
    assert max(greatest["y"]) == 1000.0
    assert abs(greatest["x"][int(np.argmax(greatest["y"]))] - 654_322) <= 1000


def test_up_to_3000_steps_are_drawn_one_by_one() -> None:
    values = np.random.default_rng(0).random(3000).round(4)
    step = charts.each_step(values, 10, None)["data"][0]
    assert step["x"] == list(range(1, 3001))
    assert step["y"] == values.tolist()


def test_steps_that_diverge_end_the_band_where_they_do() -> None:
    values = np.where(np.arange(5000) < 2000, 1.0, np.nan)
    least, greatest, median = charts.each_step(values, 100, None)["data"]
    assert max(least["x"] + greatest["x"] + median["x"]) <= 2000


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.0, 0.9, 0.8], "linear"),
        ([100.0, 1.0, 0.01], "log"),
        ([100.0, 1.0, 0.0], "linear"),
        ([100.0, 1.0, -0.01], "linear"),
        ([100.0, np.nan, 0.01, np.inf], "log"),
        ([np.nan], "linear"),
    ],
)
def test_the_axis_is_logarithmic_for_positive_values_of_several_sizes(values: list[float], kind: str) -> None:
    assert charts.curve("loss", {"training": np.array(values)}, None)["layout"]["yaxis"]["type"] == kind


def test_the_best_epoch_is_marked_at_its_last_step() -> None:
    shapes = charts.each_step(np.ones(100), 10, 3)["layout"]["shapes"]
    assert [shape["x0"] for shape in shapes] == [30]


@pytest.mark.parametrize("best", [None, 0, 11])
def test_no_epoch_is_marked_where_none_of_the_drawn_was_best(best: int | None) -> None:
    assert "shapes" not in charts.curve("loss", {"training": np.ones(10)}, best)["layout"]


def test_a_scatter_is_picked_evenly_to_2000_points_with_both_ends() -> None:
    targets = np.arange(50_000.0)
    points = charts.against_actual(targets, targets)["data"][0]
    assert len(points["x"]) == 2000
    assert (points["x"][0], points["x"][-1]) == (0.0, 49_999.0)
    assert set(np.diff(points["x"])) <= {25.0, 26.0}


def test_every_finite_error_is_counted_once_in_the_histogram() -> None:
    errors = np.r_[np.random.default_rng(0).normal(size=999), np.nan, np.inf]
    assert sum(charts.residuals(errors)["data"][0]["y"]) == 999


def test_the_heat_map_has_right_answers_in_one_layer_and_mistakes_in_the_other() -> None:
    figure = charts.confusion(("a", "b"), np.array([[3, 1], [0, 0]]))
    right, wrong = (layer["z"] for layer in figure["data"])
    assert right == [[0.75, None], [None, None]]
    assert wrong == [[None, 0.25], [None, None]]
    assert "1 of 4 (25.0 %)" in figure["data"][1]["text"][0][1]
