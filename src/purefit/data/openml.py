"""MNIST and Fashion-MNIST: from IDX files where they are, else from OpenML through scikit-learn, which caches."""

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from purefit.data.idx import read_folder
from purefit.data.messages import listed
from purefit.errors import InputError

TRAIN, TEST = 60000, 10000


class Collection(NamedTuple):
    """A data set of 70,000 images, its name on OpenML, its classes, and where a system package puts it."""

    openml: str
    classes: tuple[str, ...]
    package: str = ""
    folder: str = ""


COLLECTIONS = {
    "mnist": Collection("mnist_784", tuple("0123456789")),
    "fashion-mnist": Collection(
        "Fashion-MNIST",
        (
            "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
            "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
        ),
        "dataset-fashion-mnist",
        "/usr/share/datasets/fashion-mnist",
    ),
}  # fmt: skip


def read_collection(name: str, data_dir: Path | None, *, targets: bool = True) -> dict[str, np.ndarray]:
    """{"x_train", "y_train", "x_test", "y_test"} of mnist or fashion-mnist, images `(n, 28, 28)` uint8.

    data_dir: a folder with the IDX files. targets: without, it need not have labels. Raises InputError if
    nothing has them.
    """
    collection = COLLECTIONS[name]
    if data_dir is not None:
        return read_folder(data_dir, targets=targets)
    if collection.folder and Path(collection.folder).is_dir():
        return read_folder(Path(collection.folder))
    return download(name, collection)


def download(name: str, collection: Collection) -> dict[str, np.ndarray]:
    """The collection from OpenML, or from scikit-learn's cache of it."""
    from sklearn.datasets import fetch_openml

    package = f" (Debian's package {collection.package} has them)" if collection.package else ""
    instead = f"give --data-dir a folder with the four IDX files{package}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one for each retry
            bunch = fetch_openml(collection.openml, version=1, as_frame=False, parser="liac-arff")
    except Exception as error:  # whatever a network, a server or a cache can do
        reason = listed(str(error).strip().splitlines() or [type(error).__name__], 1)
        raise InputError(f"{name}: OpenML can't be reached ({reason}); {instead}") from error
    if bunch.data.shape != (TRAIN + TEST, 784) or bunch.target.shape != (TRAIN + TEST,):
        raise InputError(f"{name}: OpenML sent shapes {bunch.data.shape} and {bunch.target.shape}; {instead}")
    x, y = bunch.data.astype(np.uint8).reshape(-1, 28, 28), bunch.target.astype(np.int64)
    return {"x_train": x[:TRAIN], "y_train": y[:TRAIN], "x_test": x[TRAIN:], "y_test": y[TRAIN:]}
