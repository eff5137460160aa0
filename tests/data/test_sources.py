"""Every source ends as arrays and a schema; what can't be used is one line that says where and what to do."""

import gzip
import io
import struct
import subprocess
import sys
import urllib.error
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from purefit import InputError
from purefit.data import Schema, hold_out, load, load_inputs
from purefit.data.dataset import fingerprint
from purefit.data.idx import read_idx

FASHION = Path("/usr/share/datasets/fashion-mnist")
CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


def idx(array):
    """The bytes of an IDX file, by the format's description."""
    kind = array.dtype.str[1:]
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, CODES[kind], array.ndim, *array.shape)
    return header + array.astype(">" + kind).tobytes()


IMAGES = np.arange(6 * 4 * 3, dtype=np.uint8).reshape(6, 4, 3)
LABELS = np.array([0, 1, 2, 0, 1, 2], np.uint8)


def write_folder(folder, dot="-", end="", test=False, images=IMAGES, labels=LABELS):
    pack = gzip.compress if end else bytes
    folder.mkdir(exist_ok=True)
    for prefix in ["train", "t10k"][: 1 + test]:
        (folder / f"{prefix}-images{dot}idx3-ubyte{end}").write_bytes(pack(idx(images)))
        (folder / f"{prefix}-labels{dot}idx1-ubyte{end}").write_bytes(pack(idx(labels)))
    return folder


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(list(CODES)), st.integers(0, 4))
def test_idx_files_of_every_type_and_rank_are_read(tmp_path_factory, data, kind, rank):
    shape = data.draw(st.tuples(*[st.integers(0, 3)] * rank))
    array = data.draw(arrays(np.dtype(kind), shape))
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(idx(array))
    np.testing.assert_array_equal(read_idx(path), array)
    assert read_idx(path).dtype == np.dtype(kind)


@pytest.mark.parametrize("dot", ["-", "."])
@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("test", [False, True])
def test_a_folder_of_idx_files_is_read_under_all_its_names(tmp_path, dot, end, test):
    dataset = load(str(write_folder(tmp_path / "my data é", dot, end, test)))
    np.testing.assert_array_equal(dataset.x, IMAGES)
    np.testing.assert_array_equal(dataset.y, LABELS)
    assert dataset.x.dtype == np.uint8
    assert (dataset.x_test is not None) == test
    assert dataset.schema == Schema("classification", (4, 3), "uint8", ("0", "1", "2"), (0, 1, 2), 0)


@pytest.mark.skipif(not FASHION.is_dir(), reason="Debian's package dataset-fashion-mnist is not installed")
def test_the_real_fashion_mnist_is_read_whole():
    dataset = load("fashion-mnist")
    raw = gzip.decompress((FASHION / "train-images-idx3-ubyte.gz").read_bytes())
    assert dataset.x.tobytes() == raw[16:]
    assert dataset.x_test.shape == (10000, 28, 28)
    assert np.bincount(dataset.y).tolist() == [6000] * 10
    assert dataset.schema.classes[9] == "Ankle boot"


def test_the_bundled_digits_are_scikit_learns():
    from sklearn.datasets import load_digits

    bundled, dataset = load_digits(), load("digits")
    both = np.concatenate([dataset.x, dataset.x_test]).reshape(-1, 64).astype(float)
    labels = np.concatenate([dataset.y, dataset.y_test])
    mine = sorted(map(tuple, np.column_stack([both, labels])))
    assert mine == sorted(map(tuple, np.column_stack([bundled.data, bundled.target])))
    assert dataset.x.dtype == np.uint8


def test_nothing_of_data_imports_jax_or_scikit_learn():
    code = (
        "import sys, purefit.data as d; d.load('digits'); print(sorted({'jax', 'sklearn', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def save(path, **arrays):
    np.savez(path, **arrays)
    return str(path)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(np.uint8, "uint8"), (np.int8, "int8"), (np.int16, "int16"), (np.uint16, "uint16"), (np.int32, "int32"),
     (np.int64, "int32"), (np.uint64, "int32"), (bool, "uint8"), (np.float16, "float32"), (np.float32, "float32"),
     (np.float64, "float32"), (">f4", "float32"), (">i4", "int32")],
)  # fmt: skip
def test_inputs_keep_their_type_or_one_that_holds_them_exactly(tmp_path, given, kept):
    x = (np.arange(12).reshape(6, 2) % 2).astype(given)
    dataset = load(save(tmp_path / "d.npz", x=x, y=LABELS))
    assert dataset.x.dtype == np.dtype(kept)
    assert dataset.x.dtype.isnative
    assert dataset.x.flags.c_contiguous
    np.testing.assert_array_equal(dataset.x, x)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array([3, 5, 3, 5]), ("3", "5")),
        (np.array([-1, 1, -1, 1], np.int8), ("-1", "1")),
        (np.array([[3], [5], [3], [5]]), ("3", "5")),
        (np.array(["b", "a", "b", "a"]), ("a", "b")),
        (np.array([b"b", b"a", b"b", b"a"]), ("a", "b")),
        (np.array([True, False, True, False]), ("False", "True")),
    ],
)
def test_labels_become_indices_of_named_classes(tmp_path, y, classes):
    dataset = load(save(tmp_path / "d.npz", x=np.ones((4, 2)), y=y))
    named = [dataset.schema.classes[i] for i in dataset.y]
    raw = [v.decode() if isinstance(v, bytes) else str(v) for v in y.reshape(-1).tolist()]
    assert named == raw
    assert dataset.schema.classes == classes
    assert Schema.from_json(dataset.schema.to_json()) == dataset.schema


def test_regression_targets_become_columns_of_floats(tmp_path):
    y = np.array([0.5, 1.5, 2.5])
    assert load(save(tmp_path / "d.npz", x=np.ones((3, 2)), y=y)).y.tolist() == [[0.5], [1.5], [2.5]]
    two = load(save(tmp_path / "d.npz", x=np.ones((3, 2)), y=np.column_stack([y, y])))
    assert (two.schema.task, two.schema.targets) == ("regression", 2)
    whole = load(save(tmp_path / "d.npz", x=np.ones((3, 2)), y=np.array([1, 2, 3])), task="regression")
    assert whole.y.dtype == np.float32


X, Y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
BAD_ARRAYS = {
    "x alone": ({"x": X}, "auto", ["no targets", "found x"]),
    "y alone": ({"y": Y}, "auto", ["no inputs", "found y"]),
    "other names": ({"images": X, "labels": Y}, "auto", ["found images, labels"]),
    "x_test alone": ({"x_train": X, "y_train": Y, "x_test": X}, "auto", ["both x_test and y_test"]),
    "objects": ({"x": X, "y": np.array([{}] * 20)}, "auto", ["'y'", "objects"]),
    "rank 1": ({"x": X[:, 0], "y": Y}, "auto", ["reshape(-1, 1)"]),
    "rank 0": ({"x": np.array(3.0), "y": Y}, "auto", ["x_train"]),
    "rank 0 y": ({"x": X, "y": np.array(3)}, "auto", ["y_train"]),
    "lengths": ({"x": X, "y": Y[:7]}, "auto", ["20 rows", "has 7"]),
    "test shape": ({"x_train": X, "y_train": Y, "x_test": X[:, :1], "y_test": Y}, "auto", ["x_test", "1 features"]),
    "nan": ({"x": np.where(X == 15, np.nan, X), "y": Y}, "auto", ["row 7, column 1", "NaN"]),
    "two nans": ({"x": np.where(X >= 38, np.nan, X), "y": Y}, "auto", ["row 19, column 0", "1 more"]),
    "inf": ({"x": np.where(X == 15, np.inf, X).astype(np.float32), "y": Y}, "auto", ["row 7, column 1", "infinite"]),
    "images with nan": ({"x": np.full((20, 2, 2), np.nan), "y": Y}, "auto", ["row 0, column (0, 0)"]),
    "both infinities": ({"x": np.where(X < 3, [[-np.inf, np.inf]], X), "y": Y}, "auto", ["row 0, column 0", "2 more"]),
    "too large for float32": ({"x": X + 1e300, "y": Y}, "auto", ["row 0, column 0", "too large"]),
    "too large for int32": ({"x": X.astype(np.int64) + 2**40, "y": Y}, "auto", ["row 0, column 0", "32 bits"]),
    "uint64": ({"x": X.astype(np.uint64) + 2**63, "y": Y}, "auto", ["32 bits"]),
    "complex": ({"x": X * 1j, "y": Y}, "auto", ["complex"]),
    "text": ({"x": X.astype(str), "y": Y}, "auto", ["text"]),
    "dates": ({"x": X.astype("M8[s]"), "y": Y}, "auto", ["dates"]),
    "records": ({"x": np.zeros((20, 2), [("a", int)]), "y": Y}, "auto", ["x_train"]),
    "no rows": ({"x": X[:0], "y": Y[:0]}, "auto", ["empty"]),
    "no columns": ({"x": X[:, :0], "y": Y}, "auto", ["empty"]),
    "fractions as classes": ({"x": X, "y": Y + 0.5}, "classification", ["row 0", "0.5", "not a class"]),
    "whole floats": ({"x": X, "y": Y * 1.0}, "auto", ["--task"]),
    "too many integers": ({"x": X, "y": np.arange(20)}, "auto", ["20 distinct", "--task"]),
    "one class": ({"x": X, "y": Y * 0}, "auto", ["only one class"]),
    "one-hot": ({"x": X, "y": np.eye(2, dtype=int)[Y]}, "auto", ["argmax"]),
    "nan labels": ({"x": X, "y": np.where(Y == 1, np.nan, 0)}, "classification", ["row 1", "NaN"]),
    "nan targets": ({"x": X, "y": np.where(Y == 1, np.nan, 0.5)}, "auto", ["row 1", "NaN"]),
    "text regression": ({"x": X, "y": Y.astype(str)}, "regression", ["not a number"]),
    "rank 3 targets": ({"x": X, "y": np.ones((20, 1, 1))}, "regression", ["(20, 1, 1)"]),
    "new label": ({"x_train": X, "y_train": Y, "x_test": X, "y_test": Y + 1}, "auto", ["row 1", "unknown label 2"]),
    "complex labels": ({"x": X, "y": Y * 1j}, "classification", ["y_train"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_arrays_that_cannot_be_used_are_named(tmp_path, name):
    given, task, words = BAD_ARRAYS[name]
    source = save(tmp_path / "my data.npz", **given)
    with pytest.raises(InputError) as raised:
        load(source, task=task)
    message = str(raised.value)
    assert "\n" not in message
    for word in ["my data.npz", *words]:
        assert word in message


def zip_with_bad_checksum():
    file = io.BytesIO()
    np.savez(file, x=X, y=Y)
    content = bytearray(file.getvalue())
    place = content.find(X.tobytes())
    content[place + 9] ^= 1
    return bytes(content)


def npy():
    file = io.BytesIO()
    np.save(file, X)
    return file.getvalue()


def npz():
    file = io.BytesIO()
    np.savez(file, x=X, y=Y)
    return file.getvalue()


BAD_FILES = {
    "not a zip": (b"hello, world", ["not an .npz"]),
    "empty": (b"", ["not an .npz"]),
    "cut short": (npz()[:-30], ["d.npz"]),
    "damaged member": (zip_with_bad_checksum(), ["damaged"]),
    "npy": (npy(), ["np.savez"]),
    "an HTML page": (b"<!DOCTYPE html><html></html>", ["not an .npz"]),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_archives_that_are_none_are_named(tmp_path, name):
    content, words = BAD_FILES[name]
    (tmp_path / "d.npz").write_bytes(content)
    with pytest.raises(InputError) as raised:
        load(str(tmp_path / "d.npz"))
    for word in ["d.npz", *words]:
        assert word in str(raised.value)


def test_a_zip_of_other_things_is_no_archive_of_arrays(tmp_path):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("x.npy", b"not an array")
        archive.writestr("y.npy", b"neither")
    with pytest.raises(InputError, match=r"d\.npz"):
        load(str(tmp_path / "d.npz"))


GOOD = idx(IMAGES)
BAD_IDX = {
    "an HTML page": (b"\n<!DOCTYPE html><html>no such page", ["HTML page", "download"]),
    "wrong magic": (b"\x00\x01" + GOOD[2:], ["not an IDX file"]),
    "unknown type": (b"\x00\x00\x77" + GOOD[3:], ["not an IDX file"]),
    "empty": (b"", ["not an IDX file", "nothing"]),
    "header cut": (GOOD[:9], ["cut short"]),
    "body cut": (GOOD[:-1], ["cut short", f"{len(GOOD) - 1} bytes of {len(GOOD)}"]),
    "too long": (GOOD + b"ab", ["2 bytes too long"]),
    "absurd sizes": (struct.pack(">BBBB3I", 0, 0, 8, 3, *[2**32 - 1] * 3), ["cut short"]),
    "damaged gzip": (gzip.compress(GOOD)[:20] + b"?" * 9, ["damaged gzip"]),
    "gzip cut": (gzip.compress(GOOD)[:-9], ["damaged gzip"]),
}


@pytest.mark.parametrize("name", BAD_IDX)
def test_idx_files_that_are_none_are_named(tmp_path, name):
    content, words = BAD_IDX[name]
    folder = write_folder(tmp_path / "folder")
    (folder / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(InputError) as raised:
        load(str(folder))
    for word in ["train-images-idx3-ubyte", *words]:
        assert word in str(raised.value)


def test_folders_that_lack_a_file_or_agree_in_no_count_are_named(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="it is empty"):
        load(str(tmp_path / "empty"))
    folder = write_folder(tmp_path / "folder")
    (folder / "train-labels-idx1-ubyte").write_bytes(idx(LABELS[:4]))
    with pytest.raises(InputError, match="4 labels for 6 images"):
        load(str(folder))
    (folder / "train-labels-idx1-ubyte").write_bytes(idx(IMAGES))
    with pytest.raises(InputError, match="one value an example"):
        load(str(folder))
    (folder / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(InputError, match="no train-labels-idx1-ubyte"):
        load(str(folder))
    write_folder(folder)
    (folder / "train-images-idx3-ubyte").unlink()
    with pytest.raises(InputError, match="no train-images-idx3-ubyte"):
        load(str(folder))


@pytest.mark.parametrize(
    ("source", "words"),
    [("digit", "did you mean digits"), ("fashionmnist", "did you mean fashion-mnist"), ("data.npz", "no such file"),
     ("xyzzy", "known names are digits, mnist, fashion-mnist")],
)  # fmt: skip
def test_a_source_that_is_not_there_is_named_with_the_nearest(tmp_path, monkeypatch, source, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=words):
        load(source)


def test_files_of_other_kinds_say_what_is_read(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"not an \.npz file or a folder of IDX files"):
        load(str(tmp_path / "table.csv"))
    (tmp_path / "link.npz").symlink_to(tmp_path / "nothing")
    with pytest.raises(InputError, match="no such file"):
        load(str(tmp_path / "link.npz"))


def test_a_trained_schema_is_held_against_new_data(tmp_path):
    schema = load(save(tmp_path / "a.npz", x=X.astype(np.uint8), y=Y)).schema
    with pytest.raises(InputError, match=r"3 features an example, but 2 features"):
        load(save(tmp_path / "b.npz", x=np.ones((4, 3)), y=Y[:4]), schema=schema)
    with pytest.raises(InputError, match="row 2 has the unknown label 7; known are 0, 1"):
        load(save(tmp_path / "b.npz", x=np.ones((4, 2), np.uint8), y=np.array([0, 1, 7, 1])), schema=schema)
    with pytest.raises(InputError, match="uint8 in the training data"):
        load_inputs(save(tmp_path / "b.npz", x=np.full((4, 2), 0.5)), schema=schema)
    assert load_inputs(save(tmp_path / "b.npz", x=np.full((4, 2), 5.0)), schema=schema).dtype == np.uint8
    fewer = load(save(tmp_path / "b.npz", x=np.ones((4, 2), np.uint8), y=np.array([1, 1, 1, 1])), schema=schema)
    assert fewer.y.tolist() == [1, 1, 1, 1]


def test_inputs_need_no_targets(tmp_path):
    schema = load(save(tmp_path / "a.npz", x=X, y=Y)).schema
    assert load_inputs(save(tmp_path / "b.npz", x=X[:3]), schema=schema).shape == (3, 2)
    assert load_inputs(save(tmp_path / "b.npz", x_test=X[:3]), schema=schema).shape == (3, 2)
    both = save(tmp_path / "b.npz", x_train=X, x_test=X[:3])
    assert len(load_inputs(both, schema=schema)) == 3
    assert len(load_inputs(both, schema=schema, split="train")) == 20
    with pytest.raises(InputError, match="no test split"):
        load_inputs(save(tmp_path / "b.npz", x=X), schema=schema, split="test")
    folder = write_folder(tmp_path / "folder")
    images = load(str(folder)).schema
    (folder / "train-labels-idx1-ubyte").unlink()
    assert load_inputs(str(folder), schema=images).shape == (6, 4, 3)


def fetched(name, **_):
    assert name in ("mnist_784", "Fashion-MNIST")
    return SimpleNamespace(data=np.zeros((70000, 784)), target=np.array(["3", "5"] * 35000))


def unreachable(_, **__):
    raise urllib.error.URLError("Name or service not known")


def test_mnist_comes_from_openml_or_from_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetched)
    dataset = load("mnist")
    assert (dataset.x.shape, dataset.x.dtype, len(dataset.x_test)) == ((60000, 28, 28), np.uint8, 10000)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    with pytest.raises(InputError, match="--data-dir a folder with the four IDX files") as raised:
        load("mnist")
    assert "\n" not in str(raised.value)
    folder = write_folder(tmp_path / "folder", test=True)
    assert load("mnist", data_dir=folder).x.shape == (6, 4, 3)
    with pytest.raises(InputError, match="--data-dir is for mnist and fashion-mnist"):
        load("digits", data_dir=folder)


def test_the_fingerprint_is_of_values_not_of_memory():
    array = np.arange(12.0).reshape(3, 4)
    assert fingerprint(array) == fingerprint(np.asfortranarray(array))
    changed = array.copy()
    changed[2, 3] = np.nextafter(11, 12)
    assert fingerprint(array) != fingerprint(changed)
    assert fingerprint(array) != fingerprint(array.reshape(4, 3))
    assert fingerprint(array) != fingerprint(array.view(np.int64))
    assert fingerprint(array, None) != fingerprint(None, array)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=200), st.floats(0, 0.95), st.integers(0, 2**32 - 1))
def test_held_out_rows_are_a_stratified_share(labels, fraction, seed):
    y = np.array(labels)
    count = round(fraction * len(y))
    if fraction > 0 and count in (0, len(y)):
        with pytest.raises(InputError, match="--valid"):
            hold_out(y, fraction, seed, "classification")
        return
    train, valid = hold_out(y, fraction, seed, "classification")
    assert sorted([*train, *valid]) == list(range(len(y)))
    assert len(valid) == count
    again, _ = hold_out(y, fraction, seed, "classification")
    assert np.array_equal(train, again)
    classes = np.unique(y)
    if count <= len(y) - len(classes):
        assert set(y[train]) == set(y)
        for label in classes:
            size, held = np.sum(y == label), np.sum(y[valid] == label)
            assert abs(held - min(count * size / len(y), size - 1)) < 1 + len(classes) / 2


def test_other_seeds_hold_out_other_rows():
    y = np.arange(100) % 2
    assert not np.array_equal(hold_out(y, 0.2, 0, "classification")[1], hold_out(y, 0.2, 1, "classification")[1])
    values = np.linspace(0, 1, 100)[:, None]
    train, valid = hold_out(values, 0.25, 0, "regression")
    assert (len(train), len(valid)) == (75, 25)


@pytest.mark.parametrize("fraction", [-0.1, 1.0, 1.5, float("nan")])
def test_shares_that_are_none_are_refused(fraction):
    with pytest.raises(InputError, match="--valid"):
        hold_out(Y, fraction, 0, "classification")
