"""IDX files: read to the last bit, or refused by name."""

import gzip
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from purefit.data.idx import read_folder, read_idx


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(["u1", "i1", "i2", "i4", "f4", "f8"]), st.integers(0, 5), st.booleans())
def test_idx_files_of_every_type_and_rank_are_read(tmp_path_factory, idx, data, kind, rank, packed):
    array = data.draw(arrays(np.dtype(kind), data.draw(st.tuples(*[st.integers(0, 3)] * rank))))
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(gzip.compress(idx(array)) if packed else idx(array))
    read = read_idx(path)
    np.testing.assert_array_equal(read, array)
    assert (read.dtype, read.shape) == (np.dtype(kind), array.shape)


@pytest.mark.parametrize("dot", ["-", "."])
@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("test", [False, True])
def test_a_folder_is_read_under_all_its_names(folder, images, labels, dot, end, test):
    read = read_folder(folder(dot, end, test))
    for split in ["train", "test"][: 1 + test]:
        np.testing.assert_array_equal(read.pop(f"x_{split}"), images)
        np.testing.assert_array_equal(read.pop(f"y_{split}"), labels)
    assert read == {}


BAD_FILES = {
    "an HTML page": (lambda good: b"\n<!DOCTYPE html><html>no such page", ["an HTML page", "download it again"]),
    "wrong magic": (lambda good: b"\x00\x01" + good[2:], ["not an IDX file", "00 01 08 03"]),
    "unknown type": (lambda good: b"\x00\x00\x77" + good[3:], ["not an IDX file", "00 00 77 03"]),
    "empty": (lambda good: b"", ["not an IDX file", "nothing"]),
    "magic cut": (lambda good: good[:3], ["not an IDX file"]),
    "header cut": (lambda good: good[:9], ["cut short, 9 bytes of a header of 16"]),
    "body cut": (lambda good: good[:-1], ["cut short, 87 bytes of 88"]),
    "no body": (lambda good: good[:16], ["cut short, 16 bytes of 88"]),
    "too long": (lambda good: good + b"a", ["longer than the 88 bytes"]),
    "far too long": (lambda good: good + bytes(2**22), ["longer than the 88 bytes"]),
    "absurd sizes": (lambda good: struct.pack(">BBBB3I", 0, 0, 8, 3, *[2**32 - 1] * 3), ["cut short, 16 bytes of"]),
    "absurd sizes of nothing": (
        lambda good: struct.pack(">BBBB5I", 0, 0, 8, 5, 0, *[2**32 - 1] * 4),
        ["sizes that no array can have"],
    ),
    "rank 255": (lambda good: struct.pack(">BBBB255I", 0, 0, 8, 255, *[1] * 255) + b"a", ["no array can have"]),
    "gzip with a damaged header": (lambda good: gzip.compress(good)[:3] + b"?" * 20, ["damaged gzip"]),
    "gzip with a damaged body": (lambda good: gzip.compress(good)[:20] + b"?" * 40, ["damaged gzip"]),
    "gzip with a wrong checksum": (lambda good: gzip.compress(good)[:-8] + b"?" * 8, ["damaged gzip"]),
    "gzip cut": (lambda good: gzip.compress(good)[:-9], ["damaged gzip"]),
    "gzip cut in its header": (lambda good: gzip.compress(good)[:5], ["damaged gzip"]),
    "labels as images": (lambda good: struct.pack(">BBBBI", 0, 0, 8, 1, 6) + b"012345", ["not images"]),
    "other count": (lambda good: struct.pack(">BBBBIII", 0, 0, 8, 3, 1, 1, 1) + b"a", ["6 labels for 1 images"]),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_named(folder, idx, images, refused, name):
    change, words = BAD_FILES[name]
    place = folder()
    (place / "train-images-idx3-ubyte").write_bytes(change(idx(images)))
    refused(place, "train-images-idx3-ubyte", *words)


def test_labels_of_rank_3_are_no_labels(folder, images, refused):
    refused(folder(labels=images), "train-labels-idx1-ubyte: labels need one value an example, not shape (6, 4, 3)")


def test_sizes_are_not_believed_before_the_bytes_are_there(folder, refused):
    place = folder()
    (place / "train-images-idx3-ubyte").write_bytes(struct.pack(">BBBBII", 0, 0, 8, 2, 2**16, 2**16) + bytes(1000))
    tracemalloc.start()
    refused(place, "cut short, 1012 bytes of 4294967308")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


def test_a_small_gzip_of_far_too_many_bytes_is_not_unpacked(folder, idx, images, refused):
    place = folder()
    (place / "train-images-idx3-ubyte").write_bytes(gzip.compress(idx(images) + bytes(2**26)))
    tracemalloc.start()
    refused(place, "longer than the 88 bytes")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["u1", "f4"])
def test_reading_60000_images_takes_little_more_memory_than_they_do(tmp_path, idx, packed, kind):
    array = np.zeros((60000, 28, 28 if kind == "u1" else 7), kind)
    content = idx(array)
    (tmp_path / "file").write_bytes(gzip.compress(content, 1) if packed else content)
    del content
    tracemalloc.start()
    read = read_idx(tmp_path / "file")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert read.shape == array.shape
    assert peak < 1.1 * array.nbytes + 2**22


def test_a_file_that_cannot_be_read_is_named(folder, refused):
    place = folder()
    file = place / "train-images-idx3-ubyte"
    file.unlink()
    file.symlink_to(place / "nothing")
    refused(place, "train-images-idx3-ubyte: can't be read (No such file or directory)")
    file.unlink()
    file.mkdir()
    refused(place, "train-images-idx3-ubyte: can't be read (Is a directory)")


@pytest.mark.parametrize("lost", ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte"])
def test_a_folder_without_one_of_its_files_is_refused_with_the_files_name(folder, refused, lost):
    place = folder(test=True)
    (place / lost).unlink()
    refused(place, f"no {lost} (or .gz)")


def test_a_folder_of_other_things_says_what_it_holds(tmp_path, refused):
    refused(tmp_path, "no train-images-idx3-ubyte (or .gz) in it; it is empty")
    for name in ("a", "b", "c", "d", "e"):
        (tmp_path / name).write_text("")
    refused(tmp_path, "found a, b, c, d, …")


def test_a_folder_needs_no_labels_for_inputs_alone(folder, images):
    place = folder(test=True)
    for path in place.glob("*labels*"):
        path.unlink()
    assert read_folder(place, targets=False).keys() == {"x_train", "x_test"}
    (place / "train-images-idx3-ubyte").unlink()
    np.testing.assert_array_equal(read_folder(place, targets=False)["x_test"], images)
