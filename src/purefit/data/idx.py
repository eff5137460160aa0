"""IDX files, the format of MNIST: two zero bytes, a type, a rank, the sizes, then the numbers, big-endian.

Plain or gzip. The sizes are believed only if the file is exactly as long as they say.
"""

import gzip
import zlib
from math import prod
from pathlib import Path

import numpy as np

from purefit.errors import InputError

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: Path) -> np.ndarray:
    """The array in an IDX file, in native byte order.

    Raises InputError if the file can't be read, isn't IDX, or is longer or shorter than it says.
    """
    content = read_bytes(path)
    if content[:512].lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        raise InputError(f"{path}: an HTML page, not an IDX file; download it again")
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in TYPES:
        start = content[:4].hex(" ") or "nothing"
        raise InputError(f"{path}: not an IDX file (it starts with {start}; expected 00 00, a type, a rank)")
    dtype, rank = np.dtype(TYPES[content[2]]), content[3]
    header = 4 + 4 * rank
    shape = tuple(np.frombuffer(content[4:header], ">u4").tolist()) if len(content) >= header else ()
    expected = header + prod(shape) * dtype.itemsize
    if len(content) < header or len(content) < expected:
        raise InputError(f"{path}: cut short, {len(content)} bytes of {expected}; download it again")
    if len(content) > expected:
        raise InputError(f"{path}: {len(content) - expected} bytes too long for its sizes {shape}")
    array = np.frombuffer(content, dtype, offset=header).reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)


def read_bytes(path: Path) -> bytes:
    """A file's bytes, unpacked if it is gzip, whatever its name."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error})") from error
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: damaged gzip ({error}); download it again") from error


def find_idx(folder: Path, split: str, what: str) -> Path | None:
    """The file of a split's "images" or "labels" in the folder, under any of its names; None without one."""
    rank = 3 if what == "images" else 1
    names = [f"{split}-{what}{dot}idx{rank}-ubyte{end}" for dot in "-." for end in ("", ".gz")]
    return next((folder / name for name in names if (folder / name).exists()), None)


def read_folder(folder: Path, *, targets: bool = True) -> dict[str, np.ndarray]:
    """{"x_train", "y_train"} and, where there is a test split, {"x_test", "y_test"}.

    targets: without, label files may be missing. Raises InputError if a file is missing or the counts of
    images and labels differ.
    """
    arrays = {}
    for split, prefix in (("train", "train"), ("test", "t10k")):
        images, labels = (find_idx(folder, prefix, what) for what in ("images", "labels"))
        if images is None and (labels is not None or split == "train") and (targets or labels is not None):
            raise InputError(f"{folder}: no {prefix}-images-idx3-ubyte (or .gz) in it{contents(folder)}")
        if images is None:
            continue
        arrays[f"x_{split}"] = read_idx(images)
        if labels is not None:
            arrays[f"y_{split}"] = read_idx(labels)
            counts = len(arrays[f"x_{split}"]), len(arrays[f"y_{split}"])
            if counts[0] != counts[1]:
                raise InputError(f"{labels}: {counts[1]} labels for {counts[0]} images in {images.name}")
        elif targets:
            raise InputError(f"{folder}: no {prefix}-labels-idx1-ubyte (or .gz) beside {images.name}")
    if not arrays:
        raise InputError(f"{folder}: no IDX files in it{contents(folder)}")
    return arrays


def contents(folder: Path) -> str:
    """What is in a folder, for a message."""
    names = sorted(path.name for path in folder.iterdir())
    listed = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    return f"; found {listed}" if names else "; it is empty"
