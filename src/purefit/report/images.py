"""Images as PNG data URIs, so that a page can hold them: gray or RGB, 8 bits, from any numeric array.

>>> data_uri(np.array([[0, 16], [8, 4]]))[:22]
'data:image/png;base64,'
"""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from jaxtyping import Shaped, UInt8


def data_uri(image: Shaped[np.ndarray, "height width *channels"]) -> str:
    """The image, stretched so that its least value is black and its greatest white, as a data URI.

    image: (height, width) or (height, width, 1 or 3), any numeric or boolean dtype; NaN becomes black.
    Raises ValueError for another shape.
    """
    return "data:image/png;base64," + base64.b64encode(png(stretched(image))).decode("ascii")


def stretched(image: Shaped[np.ndarray, "*shape"]) -> UInt8[np.ndarray, "*shape"]:
    """The image in 0..255, least value black, greatest white.

    What an input's white is can't be known once data are standardised (or, as scikit-learn's digits, go
    from 0 to 16), so every image is stretched alike.

    >>> stretched(np.array([[-1.0, 0.0, 1.0, np.nan]]))
    array([[  0, 128, 255,   0]], dtype=uint8)
    """
    values = np.asarray(image, dtype=np.float64)
    finite = np.isfinite(values)
    if not finite.any():
        return np.zeros(values.shape, np.uint8)
    low, high = values[finite].min(), values[finite].max()
    with np.errstate(over="ignore"):
        span = high - low
    if not 0 < span < np.inf:
        return np.zeros(values.shape, np.uint8)
    unit = (np.clip(np.where(np.isnan(values), low, values), low, high) - low) / span
    gray: UInt8[np.ndarray, "*shape"] = np.rint(255 * unit).astype(np.uint8)
    return gray


def png(image: UInt8[np.ndarray, "height width *channels"]) -> bytes:
    """A PNG file of the image (https://www.w3.org/TR/png-3/).

    image: (height, width) or (height, width, 1) is written as gray, (height, width, 3) as RGB.
    Raises ValueError for another shape.
    """
    channels = image.shape[2] if image.ndim == 3 else 1
    if image.ndim not in (2, 3) or channels not in (1, 3) or 0 in image.shape:
        raise ValueError(f"image: expected shape (height, width) or (height, width, 1 or 3), got {image.shape}")
    height, width = image.shape[:2]
    header = struct.pack(">2I5B", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    rows = image.reshape(height, width * channels)
    # Each row begins with its filter's number; 0 is no filter.
    filtered: np.ndarray[Any, np.dtype[np.uint8]] = np.pad(rows, ((0, 0), (1, 0)))
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
