"""What the user names becomes a data set, or one line that says what could be named instead."""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from purefit import InputError
from purefit.data import Schema, load, load_inputs

X, Y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2


def test_nothing_of_data_imports_jax_or_scikit_learn():
    code = (
        "import sys, purefit.data as d; d.load('digits'); print(sorted({'jax', 'sklearn', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("test", [False, True])
def test_a_folder_becomes_a_data_set(folder, images, labels, test):
    place = folder(test=test)
    dataset = load(str(place))
    np.testing.assert_array_equal(dataset.x, images)
    np.testing.assert_array_equal(dataset.y, labels)
    assert dataset.x.dtype == np.uint8
    assert (dataset.x_test is not None) == (dataset.y_test is not None) == test
    assert (dataset.name, dataset.source) == ("mes données", str(place))
    assert dataset.schema == Schema("classification", (4, 3), "uint8", ("0", "1", "2"), (0, 1, 2), 0)


@pytest.mark.parametrize("name", ["mes données.npz", "LOUD.NPZ", "a.b.npz"])
def test_an_archive_becomes_a_data_set(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with open(name, "wb") as file:
        np.savez(file, x_train=X, y_train=Y, x_test=X[:3], y_test=Y[:3])
    dataset = load(name)
    np.testing.assert_array_equal(dataset.x, X)
    np.testing.assert_array_equal(dataset.y_test, Y[:3])
    assert (dataset.name, dataset.source) == (name[:-4], str(tmp_path / name))
    monkeypatch.chdir("/")
    assert load(dataset.source).fingerprint == dataset.fingerprint


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("digit", "did you mean digits?"),
        ("Digits", "did you mean digits?"),
        ("MNIST", "did you mean mnist?"),
        ("mnits", "did you mean mnist?"),
        ("fashionmnist", "did you mean fashion-mnist?"),
        ("fashion_mnist", "did you mean fashion-mnist?"),
        ("xyzzy", "known names are digits, mnist, fashion-mnist"),
        ("my données.npz", "no such file or folder"),
        ("nowhere/data.npz", "no such file or folder"),
        ("file/data.npz", "no such file or folder"),
        ("x" * 5000, "can't be read (File name too long)"),
    ],
)
def test_a_source_that_is_not_there_is_named_with_the_nearest(tmp_path, monkeypatch, refused, source, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    refused(source, said)


def test_a_name_that_no_file_can_have_is_quoted():
    with pytest.raises(InputError, match=r"'a\\x00b': can't be read") as raised:
        load("a\0b")
    assert str(raised.value).isprintable()


def test_a_link_to_nothing_is_named(tmp_path, refused):
    (tmp_path / "link.npz").symlink_to(tmp_path / "nothing")
    refused(tmp_path / "link.npz", "a link to nothing")
    (tmp_path / "loop.npz").symlink_to(tmp_path / "loop.npz")
    refused(tmp_path / "loop.npz", "can't be read (Too many levels of symbolic links)")


def test_a_folder_with_an_archives_name_is_a_folder(tmp_path, refused):
    (tmp_path / "d.npz").mkdir()
    refused(tmp_path / "d.npz", "no train-images-idx3-ubyte (or .gz) in it; it is empty")


@pytest.mark.parametrize("name", ["table.csv", "x.npy", "train-images-idx3-ubyte", "mes données"])
def test_files_of_other_kinds_say_what_is_read(tmp_path, refused, name):
    (tmp_path / name).write_text("a,b\n1,2\n")
    refused(tmp_path / name, "not an .npz file or a folder of IDX files; save arrays x and y with np.savez")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_file_without_permission_is_named(save, refused):
    source = save(x=X, y=Y)
    Path(source).chmod(0)
    refused(source, "can't be read (Permission denied)")


def test_inputs_need_no_targets(save, refused):
    schema = load(save(x=X, y=Y)).schema
    assert load_inputs(save(x=X[:3]), schema=schema).shape == (3, 2)
    assert load_inputs(save(x_test=X[:3]), schema=schema).shape == (3, 2)
    refused(save(y=Y), "no inputs", "found y", call=load_inputs, schema=schema)


def test_the_inputs_of_each_split_can_be_had(save, refused):
    schema = load(save(x=X, y=Y)).schema
    both = save(x_train=X, x_test=X[:3])
    assert [len(load_inputs(both, schema=schema, split=split)) for split in ("auto", "train", "test")] == [3, 20, 3]
    refused(save(x=X), "has no test split; found x_train", call=load_inputs, schema=schema, split="test")
    refused(save(x_test=X), "has no train split; found x_test", call=load_inputs, schema=schema, split="train")


def test_loading_60000_images_takes_little_more_memory_than_they_do(folder):
    images = np.random.default_rng(0).integers(0, 256, (60000, 28, 28), np.uint8)
    place = folder(images=images, labels=(np.arange(60000) % 10).astype(np.uint8))
    tracemalloc.start()
    dataset = load(str(place))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(dataset.x, images)
    assert peak < 1.15 * images.nbytes
