"""The bundled digits are scikit-learn's, to the pixel."""

import numpy as np
from sklearn.datasets import load_digits

from purefit.data import load
from purefit.data.digits import read_table


def test_every_image_and_label_is_scikit_learns():
    bundled, dataset = load_digits(), load("digits")
    images = np.concatenate([dataset.x, dataset.x_test]).reshape(-1, 64)
    labels = np.concatenate([dataset.y, dataset.y_test])
    assert dataset.x.dtype == np.uint8
    assert dataset.x.shape == (1438, 8, 8)
    ours = sorted(map(tuple, np.column_stack([images, labels]).astype(float)))
    assert ours == sorted(map(tuple, np.column_stack([bundled.data, bundled.target])))


def test_a_fifth_of_each_class_is_the_test_split_and_always_the_same():
    dataset = load("digits")
    sizes = np.bincount(load_digits().target)
    assert np.all(np.abs(np.bincount(dataset.y_test) - sizes / 5) < 1)
    assert load("digits").fingerprint == dataset.fingerprint


def test_the_file_of_scikit_learn_and_its_loader_say_the_same(monkeypatch):
    from_file = read_table()
    monkeypatch.setattr("purefit.data.digits.find_spec", lambda name: None)
    np.testing.assert_array_equal(read_table(), from_file)
