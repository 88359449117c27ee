"""Eight of ImageNet-C's corruptions in plain numpy, with its constants for severities 1 to 5.

For drawing test material only: pictures are (height, width, 3) floats in [0, 1]. No library's blur and no generator of
random numbers: the same bytes on every machine. Spatter is of our own making; the others follow the published formulas.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image

from build_bench.draws import ranks

Pixels = npt.NDArray[np.float32]


def smooth(seed: int, name: str, shape: tuple[int, int], cell: int) -> Pixels:
    """Noise in [0, 1] of `shape`, one random value per `cell` pixels."""
    rows, columns = -(-shape[0] // cell) + 2, -(-shape[1] // cell) + 2
    values = ranks(np.arange(rows * columns, dtype=np.uint64), seed, "demo imagenet_c", name, str(cell))
    grid = Image.fromarray((values.reshape(rows, columns) >> np.uint64(40)).astype(np.float32) / 2**24)
    grown = grid.resize((columns * cell, rows * cell), Image.Resampling.BICUBIC)
    return np.asarray(grown, np.float32)[: shape[0], : shape[1]]


def brightness(pixels: Pixels, severity: int, seed: int) -> Pixels:
    value = pixels.max(axis=2, keepdims=True)
    raised = np.clip(value + (0.1, 0.2, 0.3, 0.4, 0.5)[severity - 1], 0, 1)
    bright: Pixels = np.where(value > 0, pixels / np.maximum(value, 1e-6), 1) * raised
    return bright


def contrast(pixels: Pixels, severity: int, seed: int) -> Pixels:
    mean = pixels.mean(axis=(0, 1), keepdims=True)
    flat: Pixels = (pixels - mean) * np.float32((0.4, 0.3, 0.2, 0.1, 0.05)[severity - 1]) + mean
    return flat


def saturate(pixels: Pixels, severity: int, seed: int) -> Pixels:
    factor, more = ((0.3, 0.0), (0.1, 0.0), (2.0, 0.0), (5.0, 0.1), (20.0, 0.2))[severity - 1]
    value = pixels.max(axis=2, keepdims=True)
    missing = value - pixels
    saturation = missing.max(axis=2, keepdims=True) / np.maximum(value, 1e-6)
    wanted = np.clip(saturation * np.float32(factor) + np.float32(more), 0, 1)
    coloured: Pixels = value - missing * (wanted / np.maximum(saturation, 1e-3))
    return coloured


def defocus_blur(pixels: Pixels, severity: int, seed: int) -> Pixels:
    """The mean over a disk: one running sum along each row of it, in whole numbers, so that no rounding adds up."""
    radius = (3, 4, 6, 8, 10)[severity - 1]
    height, width, _ = pixels.shape
    padded = np.pad(np.rint(pixels * 255).astype(np.int32), ((radius,) * 2, (radius + 1, radius), (0, 0)), "reflect")
    sums = padded.cumsum(axis=1, dtype=np.int32)
    total, count = np.zeros(pixels.shape, np.int32), 0
    for down in range(-radius, radius + 1):
        half = int((radius**2 - down**2) ** 0.5)
        rows = sums[radius + down : radius + down + height]
        total += rows[:, radius + half + 1 :][:, :width] - rows[:, radius - half :][:, :width]
        count += 2 * half + 1
    return total.astype(np.float32) / np.float32(255 * count)


def gaussian_noise(pixels: Pixels, severity: int, seed: int) -> Pixels:
    """The sum of four uniform numbers stands for a normal one."""
    bits = ranks(np.arange(pixels.size, dtype=np.uint64), seed, "demo imagenet_c", "noise", str(severity))
    quarters = bits.view(np.uint16).reshape(-1, 4).sum(axis=1, dtype=np.int32).astype(np.float32) / 65536 - 2
    scale = (0.08, 0.12, 0.18, 0.26, 0.38)[severity - 1] * 3**0.5
    noisy: Pixels = pixels + quarters.reshape(pixels.shape) * np.float32(scale)
    return noisy


def jpeg_compression(pixels: Pixels, severity: int, seed: int) -> Pixels:
    file = io.BytesIO()
    to_image(pixels).save(file, "JPEG", quality=(25, 18, 15, 10, 7)[severity - 1])
    return np.asarray(Image.open(file), np.float32) / np.float32(255)


def pixelate(pixels: Pixels, severity: int, seed: int) -> Pixels:
    image = to_image(pixels)
    share = (0.6, 0.5, 0.4, 0.3, 0.25)[severity - 1]
    small = image.resize((int(image.width * share), int(image.height * share)), Image.Resampling.BOX)
    return np.asarray(small.resize(image.size, Image.Resampling.NEAREST), np.float32) / np.float32(255)


def spatter(pixels: Pixels, severity: int, seed: int) -> Pixels:
    """Drops of water at 1 to 3, of mud at 4 and 5."""
    shape = pixels.shape[:2]
    field = smooth(seed, "spatter", shape, 13) * 0.7 + smooth(seed, "spatter", shape, 6) * 0.3
    cover = np.clip((field - np.float32((0.68, 0.63, 0.58, 0.55, 0.47)[severity - 1])) * 16, 0, 1)[..., None]
    if severity > 3:
        muddy: Pixels = pixels * (1 - cover) + cover * np.array((0.247, 0.165, 0.078), np.float32)
        return muddy
    rim = 4 * cover * (1 - cover)
    wet: Pixels = pixels * (1 - 0.55 * cover - 0.25 * rim) + 0.5 * cover * np.array((0.69, 0.93, 0.93), np.float32)
    return wet


CORRUPTIONS: dict[str, Callable[[Pixels, int, int], Pixels]] = {
    "brightness": brightness, "contrast": contrast, "defocus_blur": defocus_blur, "gaussian_noise": gaussian_noise,
    "jpeg_compression": jpeg_compression, "pixelate": pixelate, "saturate": saturate, "spatter": spatter,
}  # fmt: skip
"""Name -> f(pixels, severity, seed)."""


def to_image(pixels: Pixels) -> Image.Image:
    return Image.fromarray(np.rint(np.clip(pixels, 0, 1) * 255).astype(np.uint8))


def corrupted(picture: Image.Image, corruption: str, severity: int, seed: int) -> bytes:
    """The JPEG of `picture` under a corruption, saved with ImageNet-C's quality."""
    pixels = np.asarray(picture.convert("RGB"), np.float32) / np.float32(255)
    file = io.BytesIO()
    to_image(CORRUPTIONS[corruption](pixels, severity, seed)).save(file, "JPEG", quality=85)
    return file.getvalue()
