"""ChangeIt as a clone lies there, with `downloads/` beside it; and videos with every property that matters."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.frame import VideoFrame

from build_bench.demo.changeit import write

__all__ = ["annotate", "film", "pack", "remove", "set_edit_list", "set_matrix", "shuffle", "write"]

ONE = 1 << 16


def remove(root: Path, source_key: str) -> None:
    """Take one video's annotation out, and with it both of its questions."""
    category, video, _ = source_key.split("/")
    (root / "annotations" / category / f"{video}.fps1.csv").unlink()


def shuffle(root: Path) -> None:
    """Turn the lists around; the folders' order is the disk's already."""
    for path in [root / "categories.csv", *(root / "videos").glob("*.csv")]:
        lines = path.read_text().splitlines()
        head = lines[:1] if path.name == "categories.csv" else []
        path.write_text("\n".join([*head, *reversed(lines[len(head) :])]) + "\n")


def pack(root: Path) -> None:
    """Put what is the repository's into the zip that GitHub hands out; `downloads/` stays."""
    own = [root / "categories.csv", root / "labels.csv"]
    own += sorted(path for name in ("annotations", "videos") for path in (root / name).rglob("*.csv"))
    with zipfile.ZipFile(root / "ChangeIt-main.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in own:
            archive.write(path, f"ChangeIt-main/{path.relative_to(root)}")
            path.unlink()
    for name in ("annotations", "videos"):
        for folder in sorted((root / name).rglob("*"), reverse=True):
            folder.rmdir()
        (root / name).rmdir()


def annotate(root: Path, category: str, video: str, labels: Sequence[int]) -> Path:
    """Write one annotation; returns its path."""
    path = root / "annotations" / category / f"{video}.fps1.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{second},{label}\n" for second, label in enumerate(labels)))
    return path


def film(
    path: Path,
    pts: Sequence[int],
    base: Fraction = Fraction(1, 10),
    codec: str = "libx264",
    options: dict[str, str] | None = None,
    size: tuple[int, int] = (64, 48),
) -> Path:
    """Write a video whose every picture differs; `pts` in units of `base` seconds. By default two B pictures in a row
    and a key picture every twelve, made small and fast."""
    width, height = size
    y, x = np.mgrid[0:height, 0:width]
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=Fraction(10))
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.time_base = stream.codec_context.time_base = base
        stream.codec_context.gop_size = 12
        stream.codec_context.thread_count = 1
        if codec in ("libx264", "libx265", "mpeg4"):
            stream.codec_context.max_b_frames = 2
        stream.options = options or {}
        for number, at in enumerate(pts):
            pixels = np.stack([(x * 3 + number * 5) % 256, (y * 4 + number * 2) % 256, (x + y + number * 7) % 256], -1)
            pixels[: height // 2, : width // 2] = [number * 37 % 256, number * 59 % 256, number * 83 % 256]
            frame = VideoFrame.from_ndarray(pixels.astype(np.uint8), "rgb24")
            frame.pts, frame.time_base = at, base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def set_matrix(path: Path, a: int, b: int, c: int, d: int) -> None:
    """Turn or mirror an MP4 by its track's display matrix (a stored x, y is shown at ax + cy, bx + dy)."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    values = [a * ONE, b * ONE, 0, c * ONE, d * ONE, 0, 0, 0, 1 << 30]
    data[at : at + 36] = np.array(values, ">i4").tobytes()
    path.write_bytes(data)


def set_edit_list(path: Path, skip: int) -> None:
    """Let an MP4 begin `skip` units of its media time later than its first picture, as a cut without encoding does."""
    data = bytearray(path.read_bytes())
    at = data.index(b"elst") + 4 + 4 + 4  # version and flags, count; then duration, media time
    media_time = int.from_bytes(data[at + 4 : at + 8], "big") + skip
    data[at + 4 : at + 8] = media_time.to_bytes(4, "big")
    path.write_bytes(data)
