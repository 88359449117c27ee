"""Decoding pictures. Source bytes that are already a picture are copied, never decoded and encoded again: what is
decoded here is only looked at."""

from __future__ import annotations

import io
import struct
import warnings
import zlib

from PIL import Image, UnidentifiedImageError

from build_bench.errors import Rejected
from build_bench.records import Crop

DAMAGE = (OSError, SyntaxError, ValueError, TypeError, ArithmeticError, LookupError, struct.error, zlib.error,
          Image.DecompressionBombWarning, Image.DecompressionBombError)  # fmt: skip
"""What Pillow raises for bytes that are no sound picture: which of them depends on format and place of the damage."""


def decode(data: bytes, crop: Crop = ()) -> Image.Image:
    """The picture as RGB, whole or cropped to (left, top, right, bottom) in pixels.

    Raises `Rejected`: `not_a_picture` (empty, or HTML saved as .jpg), `truncated_picture`. `Image.verify` and OpenCV
    both pass a truncated JPEG, so every pixel is decoded.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data))
        rgb = image.convert("RGB")
    except UnidentifiedImageError as error:
        raise Rejected("not_a_picture", f"{len(data)} bytes that begin with {data[:16]!r}") from error
    except DAMAGE as error:
        raise Rejected("truncated_picture", str(error)) from error
    return rgb.crop(crop) if crop else rgb
