import numpy as np
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from purefit.report.confusion import by_class, ranked, shares, worst


def test_scores_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    targets, predictions = rng.integers(0, 7, (2, 500))
    expected = precision_recall_fscore_support(targets, predictions)
    scores = by_class(confusion_matrix(targets, predictions))
    for found, reference in zip((scores.precision, scores.recall, scores.f1, scores.examples), expected, strict=True):
        np.testing.assert_allclose(found, reference, rtol=1e-12)


def test_a_class_without_examples_has_no_recall_and_breaks_nothing() -> None:
    scores = by_class(np.array([[5, 0], [0, 0]]))
    np.testing.assert_array_equal(np.isnan(scores.recall), [False, True])
    np.testing.assert_array_equal(shares(np.array([[5, 0], [0, 0]])), [[1, 0], [0, 0]])


def test_confusions_are_ranked_by_count_and_never_right_or_empty() -> None:
    assert ranked(np.array([[90, 3, 0], [7, 90, 0], [0, 1, 90]]), 10) == [(1, 0), (0, 1), (2, 1)]


def test_a_few_mistakes_are_not_drawn_as_a_disaster() -> None:
    assert worst(shares(np.array([[999, 1], [0, 1000]]))) == 0.05
    assert worst(shares(np.array([[50, 50], [0, 100]]))) == 0.5
