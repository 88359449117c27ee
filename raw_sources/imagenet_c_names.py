"""How ImageNet-C names its pictures (format page 1.2), and the number that stands for a name.

    [ImageNet-C/][<group>/]<corruption>/<severity>/<wnid>/ILSVRC2012_val_<8 digits>.JPEG

750,000 names of a tar are 60 MB as text and 6 MB as numbers, which numpy sorts and compares.
"""

from __future__ import annotations

import re

GROUPS = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
    "extra": ("gaussian_blur", "saturate", "spatter", "speckle_noise"),
}
"""Tar -> the corruptions in it."""

CORRUPTIONS = tuple(corruption for group in GROUPS.values() for corruption in group)
SEVERITIES = (5, 4, 3, 2, 1)
IMAGES = 50_000
"""ImageNet's validation pictures are numbered 1 to this."""

NAME = re.compile(
    rb"(?:\./)?(?:ImageNet-C/)?(?:(?:%s)/)?(%s)/([1-5])/n(\d{8})/ILSVRC2012_val_(\d{8})\.JPEG(?:\0|\Z)"
    % ("|".join(GROUPS).encode(), "|".join(CORRUPTIONS).encode())
)
"""Matched where a name begins; a tar ends a name with a zero byte."""

_CODES = {corruption.encode(): number << 57 for number, corruption in enumerate(CORRUPTIONS)}
_IMAGE_BITS = 54

IMAGE_MASK = (1 << _IMAGE_BITS) - 1
"""What is left of a key without corruption and severity: class and picture."""


def key(corruption: str, severity: int, image: int) -> int:
    """The key of one picture file: 5 bits of corruption, 3 of severity, then `image`."""
    return _CODES[corruption.encode()] | severity << _IMAGE_BITS | image


def image(wnid: str, number: int) -> int:
    """27 bits of class, 27 of picture: `n02111500`, 293."""
    return int(wnid[1:]) << 27 | number


def wnid_and_number(image: int) -> tuple[str, int]:
    """The reverse of `image`."""
    return f"n{image >> 27:08d}", image & (1 << 27) - 1


class Names:
    """The key of the name that some bytes begin with, up to a zero byte; 0, which no picture has, if it names none.

    Pictures of one class follow one another in a tar: what the last name began with is looked for first.
    """

    def __init__(self) -> None:
        self._start, self._class = b"\0", 0

    def __call__(self, data: bytes) -> int:
        digits = len(self._start)
        if data.startswith(self._start) and data[digits + 8 : digits + 14] == b".JPEG\0":
            number = data[digits : digits + 8]
        else:
            found = NAME.match(data)
            if not found:
                return 0
            corruption, severity, wnid, number = found.groups()
            self._start = data[: found.start(4)]
            self._class = _CODES[corruption] | int(severity) << _IMAGE_BITS | int(wnid) << 27
        return self._class | int(number) if number.isdigit() and 1 <= int(number) <= IMAGES else 0


def stem(number: int) -> str:
    """`ILSVRC2012_val_00000293`."""
    return f"ILSVRC2012_val_{number:08d}"
