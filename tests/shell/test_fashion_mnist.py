"""The main job on the real data: what the reference recipe reaches on Fashion-MNIST."""

from pathlib import Path

import pytest

from experiments import train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path("/usr/share/datasets/fashion-mnist").is_dir(),
        reason="Debian's package dataset-fashion-mnist is not installed",
    ),
]


def test_the_reference_recipe_ends_at_87_5_percent_and_its_report_shows_it(tmp_path):
    done = train("fashion-mnist", tmp_path / "run", epochs=10)
    assert done["test_accuracy"] >= 0.875
    assert f"{100 * done['test_accuracy']:.1f} %" in (tmp_path / "run/report.html").read_text()


def test_trained_on_every_row_it_ends_at_88_3_percent_on_average(tmp_path):
    accuracies = [
        train("fashion-mnist", tmp_path / f"run-{seed}", epochs=10, valid=0.0, seed=seed)["test_accuracy"]
        for seed in range(3)
    ]
    assert sum(accuracies) / 3 >= 0.883, accuracies
