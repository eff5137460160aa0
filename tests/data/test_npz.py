""".npz archives: read as NumPy wrote them, or refused by name, and never unpickled."""

import io
import random
import zipfile

import numpy as np
import pytest

from purefit import InputError
from purefit.data import load
from purefit.data.npz import read_npz

X, Y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2


def archive(save=np.savez, **arrays):
    file = io.BytesIO()
    save(file, **(arrays or {"x": X, "y": Y}))
    return file.getvalue()


def array_file(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def archive_of_files(**contents):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        for name, content in contents.items():
            zipped.writestr(f"{name}.npy", content)
    return file.getvalue()


def with_wrong_checksum():
    content = bytearray(archive())
    content[content.find(X.tobytes()) + 9] ^= 1
    return bytes(content)


def with_shape(rows):
    changed = f"({rows}, 2), }}"
    whole = array_file(X)
    header = whole.replace(b"(20, 2), }".ljust(len(changed)), changed.encode())
    assert len(header) == len(whole)
    return archive_of_files(x=header, y=array_file(Y))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_read_under_both_kinds_of_names(tmp_path, save):
    path = tmp_path / "données 1.npz"
    path.write_bytes(archive(save))
    read = read_npz(path)
    np.testing.assert_array_equal(read["x_train"], X)
    np.testing.assert_array_equal(read["y_train"], Y)
    path.write_bytes(archive(save, x_train=X, y_train=Y, x_test=X[:3], y_test=Y[:3], notes=np.array("mine")))
    lengths = {name: len(array) for name, array in read_npz(path).items()}
    assert lengths == {"x_train": 20, "y_train": 20, "x_test": 3, "y_test": 3}


def test_inputs_alone_are_read_without_looking_at_targets(tmp_path):
    path = tmp_path / "d.npz"
    path.write_bytes(archive(x=X, y=np.array([{}] * 20)))
    assert read_npz(path, targets=False).keys() == {"x_train"}
    path.write_bytes(archive(x_test=X))
    assert read_npz(path, targets=False).keys() == {"x_test"}


BAD_FILES = {
    "text": (b"hello, world", ["not an .npz archive", "np.savez"]),
    "nothing": (b"", ["not an .npz archive"]),
    "an HTML page": (b"<!DOCTYPE html><html></html>", ["not an .npz archive"]),
    "a pickle": (b"\x80\x04K\x01.", ["not an .npz archive"]),
    "an .npy": (array_file(X), ["a single array", "np.savez"]),
    "cut short": (archive()[:-30], ["damaged, or cut short"]),
    "cut in half": (archive()[:300], ["damaged, or cut short"]),
    "a damaged member": (with_wrong_checksum(), ["array 'x' is damaged (Bad CRC-32"]),
    "other things": (archive_of_files(x=b"not an array", y=b"neither"), ["x is a file, not an array"]),
    "2⁴⁸ rows": (with_shape(2**48), ["array 'x' is larger than the memory"]),
    "2⁷⁰ rows": (with_shape(2**70), ["array 'x' is damaged"]),
    "more rows than it holds": (with_shape(21), ["array 'x' is damaged"]),
    "no arrays": (archive_of_files(), ["no inputs", "found nothing"]),
    "inputs alone": (archive(x=X), ["no targets", "found x"]),
    "targets alone": (archive(y=Y), ["no inputs", "found y"]),
    "other names": (archive(images=X, labels=Y), ["no inputs", "found images, labels"]),
    "names that break the line": (archive(**{"a\nb": X}), ["found 'a\\nb'"]),
    "many names": (archive(**{f"a{i}": X for i in range(50)}), ["a8, a9, …"]),
    "no train split": (archive(x_test=X, y_test=Y), ["no inputs", "x_train"]),
    "x_test alone": (archive(x_train=X, y_train=Y, x_test=X), ["both x_test and y_test"]),
    "y_test alone": (archive(x_train=X, y_train=Y, y_test=Y), ["both x_test and y_test"]),
    "objects as inputs": (archive(x=X.astype(object), y=Y), ["'x' holds Python objects", "can run code"]),
    "objects as targets": (archive(x=X, y=np.array([{}] * 20)), ["'y' holds Python objects"]),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_archive_is_named(tmp_path, refused, name):
    content, words = BAD_FILES[name]
    (tmp_path / "mes données.npz").write_bytes(content)
    refused(tmp_path / "mes données.npz", *words)


class Mine:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_no_code_of_an_archive_ever_runs(tmp_path, refused):
    (tmp_path / "d.npz").write_bytes(archive(x=X, y=np.array([Mine(tmp_path / "ran")] * 20)))
    refused(tmp_path / "d.npz", "never loaded")
    assert not (tmp_path / "ran").exists()


def refusal(path):
    """What `load` says of a file; nothing if it takes it, as where the damage hit a byte that doesn't matter."""
    try:
        load(str(path))
    except InputError as error:
        return str(error)
    return ""


def test_whatever_is_damaged_is_one_line(tmp_path):
    damage = random.Random(0)
    path = tmp_path / "d.npz"
    said = []
    for whole in [archive(), archive(np.savez_compressed)] * 250:
        content = bytearray(whole)
        for _ in range(damage.randint(1, 3)):
            content[damage.randrange(len(content))] = damage.randrange(256)
        path.write_bytes(content[: damage.choice([len(content), damage.randrange(len(content))])])
        said.append(refusal(path))
    assert all(message.isprintable() for message in said if message)
    assert sum("damaged" in message for message in said) > 250


def test_an_archive_larger_than_the_memory_is_refused(tmp_path, refused, monkeypatch):
    def exhausted(*_, **__):
        raise MemoryError

    (tmp_path / "d.npz").write_bytes(archive())
    monkeypatch.setattr(np.lib.format, "read_array", exhausted)
    refused(tmp_path / "d.npz", "array 'x' is larger than the memory")
