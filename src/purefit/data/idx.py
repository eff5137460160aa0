"""IDX files, the format of MNIST: two zero bytes, a type, a rank, the sizes, then the numbers, big-endian.

Plain or gzip. The sizes are believed only if the file is exactly as long as they say.
"""

import gzip
import zlib
from io import BufferedReader
from math import prod
from pathlib import Path

import numpy as np

from purefit.data.messages import listed
from purefit.errors import InputError

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
LONGEST_HEADER = 4 + 4 * 255
CHUNK = 2**20


def read_idx(path: Path) -> np.ndarray:
    """The array in an IDX file, in native byte order; unpacked if the file is gzip, whatever its name.

    Raises InputError if the file can't be read, isn't IDX, or is longer or shorter than it says.
    """
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            return parse(gzip.GzipFile(fileobj=file) if packed else file, path)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: damaged gzip ({error}); download it again") from error
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error})") from error


def parse(file: BufferedReader | gzip.GzipFile, path: Path) -> np.ndarray:
    """The array in an open IDX file; `path` is for messages.

    Reads piece by piece, never further than the sizes say: memory is what the file really holds.
    """
    start = file.read(LONGEST_HEADER)
    if start.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        raise InputError(f"{path}: an HTML page, not an IDX file; download it again")
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in TYPES:
        begin = start[:4].hex(" ") or "nothing"
        raise InputError(f"{path}: not an IDX file, it starts with {begin}, not 00 00, a type, a rank; replace it")
    dtype, header = np.dtype(TYPES[start[2]]), 4 + 4 * start[3]
    if len(start) < header:
        raise InputError(f"{path}: cut short, {len(start)} bytes of a header of {header}; download it again")
    shape = tuple(np.frombuffer(start[4:header], ">u4").tolist())
    size = prod(shape) * dtype.itemsize
    content = bytearray(start[header:])
    while len(content) <= size and (chunk := file.read(min(CHUNK, size + 1 - len(content)))):
        content += chunk
    if len(content) < size:
        raise InputError(f"{path}: cut short, {header + len(content)} bytes of {header + size}; download it again")
    if len(content) > size:
        raise InputError(f"{path}: longer than the {header + size} bytes that its sizes say; download it again")
    try:
        array = np.frombuffer(content, dtype).reshape(shape)
    except ValueError as error:
        raise InputError(f"{path}: sizes that no array can have ({error}); download it again") from error
    return array if array.dtype.isnative else array.byteswap(inplace=True).view(dtype.newbyteorder("="))


def read_folder(folder: Path, *, targets: bool = True) -> dict[str, np.ndarray]:
    """{"x_train", "y_train"} and, where there is a test split, {"x_test", "y_test"}.

    targets: without, no labels are read, and one split is enough. Raises InputError if a file is missing, isn't
    what its name says, or the counts of images and labels differ.
    """
    found = contents(folder)
    arrays = {}
    for split, prefix in (("train", "train"), ("test", "t10k")):
        images, labels = (find_idx(folder, prefix, what) for what in ("images", "labels"))
        if images is None:
            if labels is not None:
                raise InputError(f"{folder}: no {prefix}-images-idx3-ubyte (or .gz) beside {labels.name}; add it")
            continue
        if targets and labels is None:
            raise InputError(f"{folder}: no {prefix}-labels-idx1-ubyte (or .gz) beside {images.name}; add it")
        arrays[f"x_{split}"] = x = read_idx(images)
        if x.ndim < 2:
            raise InputError(f"{images}: not images, its shape is {x.shape}; replace it")
        if targets and labels is not None:
            arrays[f"y_{split}"] = y = read_idx(labels)
            if y.ndim != 1:
                raise InputError(f"{labels}: labels need one value an example, not shape {y.shape}; replace it")
            if len(x) != len(y):
                raise InputError(f"{labels}: {len(y)} labels for {len(x)} images in {images.name}; replace one")
    if "x_train" not in arrays and (targets or not arrays):
        raise InputError(f"{folder}: no train-images-idx3-ubyte (or .gz) in it; {found}")
    return arrays


def find_idx(folder: Path, split: str, what: str) -> Path | None:
    """The file of a split's "images" or "labels" in the folder, under any of its names; None without one."""
    rank = 3 if what == "images" else 1
    paths = [folder / f"{split}-{what}{dot}idx{rank}-ubyte{end}" for dot in "-." for end in ("", ".gz")]
    # A link to nothing is found too: that it can't be read is better said than that it isn't there.
    return next((path for path in paths if path.exists() or path.is_symlink()), None)


def contents(folder: Path) -> str:
    """What is in a folder, for a message. InputError if it can't be listed."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise InputError(
            f"{folder}: can't be read as a folder ({error.strerror or error}); give the IDX files' folder"
        ) from error
    return f"found {listed(names, 4)}" if names else "it is empty"
