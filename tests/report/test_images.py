import base64
import struct
import zlib

import numpy as np
import pytest

from purefit.report.images import data_uri, png, stretched


def decoded(file: bytes) -> np.ndarray:
    """A decoder of its own: unfiltered 8-bit PNG files only, all checksums checked."""
    assert file[:8] == bytes([137, 80, 78, 71, 13, 10, 26, 10])
    place, chunks = 8, {}
    while place < len(file):
        (length,) = struct.unpack_from(">I", file, place)
        kind, body = file[place + 4 : place + 8], file[place + 8 : place + 8 + length]
        assert struct.unpack_from(">I", file, place + 8 + length) == (zlib.crc32(kind + body),)
        chunks[kind], place = body, place + 12 + length
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, colour, *rest = struct.unpack(">2I5B", chunks[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    channels = {0: 1, 2: 3}[colour]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("shape", [(28, 28), (1, 1), (5, 3, 1), (4, 7, 3), (2, 300)])
def test_a_png_decodes_to_the_pixels_it_was_made_of(shape: tuple[int, ...]) -> None:
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_array_equal(decoded(png(image)), image.reshape(*shape[:2], -1))


@pytest.mark.parametrize("shape", [(4, 4, 2), (4, 4, 4), (0, 4), (1, 4, 4, 1)])
def test_a_shape_that_is_no_image_is_refused_by_name(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"image: expected shape \(height, width\) or .*, got \("):
        png(np.zeros(shape, np.uint8))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64"])
def test_least_is_black_and_greatest_is_white_in_every_dtype(dtype: str) -> None:
    np.testing.assert_array_equal(stretched(np.array([[0, 1], [1, 0]], dtype)), [[0, 255], [255, 0]])


def test_digits_from_0_to_16_use_all_of_the_grays() -> None:
    np.testing.assert_array_equal(stretched(np.array([[0, 4, 8, 16]])), [[0, 64, 128, 255]])


def test_a_whole_uint8_image_is_left_as_it_is() -> None:
    image = np.arange(256, dtype=np.uint8).reshape(16, 16)
    np.testing.assert_array_equal(stretched(image), image)


@pytest.mark.parametrize("value", [0.0, 7.0, np.nan, np.inf])
def test_an_image_without_contrast_is_black(value: float) -> None:
    assert not stretched(np.full((2, 2), value)).any()


def test_what_is_not_finite_becomes_black_or_white() -> None:
    image = np.array([[np.nan, -np.inf, 0.0, 1.0, np.inf]])
    np.testing.assert_array_equal(stretched(image), [[0, 0, 0, 255, 255]])


def test_the_data_uri_holds_the_png() -> None:
    image = np.array([[0, 255]], np.uint8)
    kind, encoded = data_uri(image).split(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(encoded) == png(image)
