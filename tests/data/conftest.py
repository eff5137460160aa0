"""Files of data made by hand, and the one way in which bad ones are refused."""

import gzip
import struct

import numpy as np
import pytest

from purefit import InputError
from purefit.data import load

CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


@pytest.fixture(scope="session")
def idx():
    """The bytes of an IDX file, by the format's description: http://yann.lecun.com/exdb/mnist."""

    def pack(array):
        kind = array.dtype.str[1:]
        header = struct.pack(f">BBBB{array.ndim}I", 0, 0, CODES[kind], array.ndim, *array.shape)
        return header + array.astype(">" + kind).tobytes()

    return pack


@pytest.fixture(scope="session")
def images():
    return np.arange(6 * 4 * 3, dtype=np.uint8).reshape(6, 4, 3)


@pytest.fixture(scope="session")
def labels():
    return np.array([0, 1, 2, 0, 1, 2], np.uint8)


@pytest.fixture
def folder(tmp_path, idx, images, labels):
    """Makes a folder of IDX files, in a place whose name is no plain one."""

    def write(dot="-", end="", test=False, images=images, labels=labels):
        place = tmp_path / "mes données"
        place.mkdir(exist_ok=True)
        for prefix in ["train", "t10k"][: 1 + test]:
            for what, array in ((f"images{dot}idx3", images), (f"labels{dot}idx1", labels)):
                (place / f"{prefix}-{what}-ubyte{end}").write_bytes((gzip.compress if end else bytes)(idx(array)))
        return place

    return write


@pytest.fixture
def save(tmp_path):
    """Saves arrays in an archive, and returns its path as the user gives it."""

    def write(name="mes données.npz", **arrays):
        np.savez(tmp_path / name, **arrays)
        return str(tmp_path / name)

    return write


@pytest.fixture
def refused():
    """Expects one line that names the file, holds all the words, and says what to do; returns it."""

    def check(source, *words, call=load, **options):
        with pytest.raises(InputError) as raised:
            call(str(source), **options)
        message = str(raised.value)
        assert message.isprintable()
        assert ";" in message or "can't be read" in message
        for word in (str(options.get("data_dir", source)), *words):
            assert word in message
        return message

    return check
