"""MNIST and Fashion-MNIST: from the user's folder, the system's, or OpenML; without any, one line says what to do."""

import gzip
import urllib.error
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from purefit import InputError
from purefit.data import load, load_inputs
from purefit.data.openml import COLLECTIONS

FASHION = Path("/usr/share/datasets/fashion-mnist")


@pytest.fixture
def openml(monkeypatch):
    """Lets OpenML answer with what is given, or raise it."""
    collections = {name: collection._replace(folder="") for name, collection in COLLECTIONS.items()}
    monkeypatch.setattr("purefit.data.openml.COLLECTIONS", collections)

    def answer(data=None, target=None, error=None):
        def fetch_openml(name, **_):
            assert name in ("mnist_784", "Fashion-MNIST")
            if error is not None:
                warnings.warn("A network error occurred. Retrying...", stacklevel=1)
                raise error
            return SimpleNamespace(data=data, target=target)

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)

    return answer


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
def test_openml_gives_60000_images_to_train_and_10000_to_test(openml, name, dtype):
    data = np.zeros((70000, 784), dtype)
    data[60000, :3] = 7, 8, 255
    target = np.array(list("0123456789") * 7000, object)
    openml(data, target)
    dataset = load(name)
    assert (dataset.x.shape, dataset.x_test.shape) == ((60000, 28, 28), (10000, 28, 28))
    assert dataset.x.dtype == dataset.x_test.dtype == np.uint8
    assert dataset.x_test[0, 0, :3].tolist() == [7, 8, 255]
    assert dataset.y.tolist() == list(range(10)) * 6000
    assert dataset.schema.classes == COLLECTIONS[name].classes


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (urllib.error.URLError("Name or service not known"), "Name or service not known"),
        (OSError("disk\nfull"), "disk"),
        (TimeoutError(), "TimeoutError"),
        (ValueError("md5 checksum of local file does not match"), "md5 checksum"),
    ],
)
@pytest.mark.parametrize("name", COLLECTIONS)
def test_without_a_network_one_line_says_to_give_a_folder(openml, refused, name, error, reason):
    openml(error=error)
    said = refused(name, f"{name}: OpenML can't be reached", reason, "give --data-dir a folder with the four IDX files")
    assert ("dataset-fashion-mnist" in said) == (name == "fashion-mnist")


def test_an_answer_of_another_shape_is_refused(openml, refused):
    openml(np.zeros((10, 784)), np.zeros(10))
    refused("mnist", "OpenML sent shapes (10, 784) and (10,)", "--data-dir")


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_folder_of_the_users_comes_first(openml, folder, images, labels, name, end):
    openml(error=AssertionError("asked OpenML"))
    dataset = load(name, data_dir=folder(end=end, test=True))
    np.testing.assert_array_equal(dataset.x, images)
    np.testing.assert_array_equal(dataset.y_test, labels)
    assert (dataset.name, dataset.source) == (name, name)


def test_inputs_alone_need_no_labels_in_the_folder(folder):
    place = folder()
    schema = load("mnist", data_dir=place).schema
    (place / "train-labels-idx1-ubyte").unlink()
    assert load_inputs("mnist", data_dir=place, schema=schema).shape == (6, 4, 3)


def test_a_data_dir_that_is_none_is_named(tmp_path, folder, refused):
    refused("mnist", "can't be read as a folder (No such file or directory)", data_dir=tmp_path / "no such")
    (tmp_path / "file").write_text("")
    refused("mnist", "can't be read as a folder (Not a directory)", data_dir=tmp_path / "file")
    place = folder(labels=np.zeros(6, np.uint8))
    refused("mnist", "y_train: only one class", data_dir=place)
    with pytest.raises(InputError, match="--data-dir is for mnist and fashion-mnist, not for digits; leave it out"):
        load("digits", data_dir=place)


@pytest.mark.skipif(not FASHION.is_dir(), reason="Debian's package dataset-fashion-mnist is not installed")
def test_the_real_fashion_mnist_is_read_whole():
    def body(name, header):
        return gzip.decompress((FASHION / f"{name}-ubyte.gz").read_bytes())[header:]

    dataset = load("fashion-mnist")
    for x, y, prefix in ((dataset.x, dataset.y, "train"), (dataset.x_test, dataset.y_test, "t10k")):
        assert x.tobytes() == body(f"{prefix}-images-idx3", 16)
        assert y.astype(np.uint8).tobytes() == body(f"{prefix}-labels-idx1", 8)
    assert (dataset.x.shape, dataset.x_test.shape) == ((60000, 28, 28), (10000, 28, 28))
    assert dataset.x.dtype == np.uint8
    assert dataset.schema.classes[9] == "Ankle boot"
    assert load(str(FASHION)).fingerprint == dataset.fingerprint
