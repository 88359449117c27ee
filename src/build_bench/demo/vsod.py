"""A small VSOD in its real layout: drawn clips in which someone gets in the way, and a few that must be rejected."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from build_bench.demo.vsod_scenes import EVENTS, HEIGHT, WIDTH, passer, people, speaker
from build_bench.draws import Draw

FRAMES = 14


@dataclass(frozen=True, slots=True)
class Clip:
    """One video. `kind` and `answer` say what is drawn."""

    kind: str
    answer: str
    passer: str
    peak: int
    """The frame in which the passer is in the middle."""
    row: tuple[str, str, str] | None = ("", "", "")
    """What answers.csv has in first, reference and strong; None: no row at all."""
    oddity: str = ""


CLIPS = (
    Clip("speaker", "Sherlock Holmes", "coat", 6, ("6", "1", "true")),
    Clip("count", "3", "umbrella", 7),
    Clip("speaker", "Pinocchio", "placard", 5),
    Clip("event", "Football match", "coat", 8, ("8", "", "true")),
    Clip("speaker", "Queen of Hearts", "umbrella", 6, ("", "", "true")),
    Clip("count", "5", "bus", 6),
    Clip("speaker", "Captain Nemo", "bus", 7, ("7", "13", "true")),
    Clip("event", "Concert", "placard", 5),
    Clip("speaker", "Robin Hood", "coat", 8),
    Clip("count", "9", "placard", 7, ("7", "0", "true")),
    Clip("speaker", "Little Red Riding Hood", "bus", 5),
    Clip("event", "Wedding", "umbrella", 7),
    Clip("count", "2", "hand", 6),  # a hand covers little: suggested as weak
    Clip("speaker", "Sherlock Holmes", "hand", 7, ("7", "7", "false")),  # judged as weak, as most released records are
    Clip("speaker", "Pinocchio", "coat", 6, None),
    Clip("event", "Concert", "bus", 6, oddity="hole"),
    Clip("count", "4", "umbrella", 6, oddity="truncated"),
)


def write(root: Path) -> None:
    """Draw `OcclusionDataSet-MM20/` and `answers.csv` under `root`. The same bytes each time."""
    rows = []
    for number, clip in enumerate(CLIPS, 1):
        key = f"test_{number:04d}"
        _write_clip(root / "OcclusionDataSet-MM20", key, clip)
        if clip.row is not None:
            rows.append((key, clip.kind, clip.answer, *clip.row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("video", "question_kind", "answer", "first", "reference", "strong"))
    writer.writerows(rows)
    (root / "answers.csv").write_text(text.getvalue(), encoding="utf-8")


def _write_clip(root: Path, key: str, clip: Clip) -> None:
    frames, notes = root / "Data" / "test" / key, root / "Annotations" / "test" / key
    frames.mkdir(parents=True)
    notes.mkdir(parents=True)
    scenes = _scenes(clip, key)
    front, mask = passer(clip.passer)
    shown = mask.point([0] * 128 + [255] * 128).getbbox() or (0, 0, 1, 1)
    draw = Draw(0, "demo vsod", key)
    pace = (WIDTH + front.width) // 8 * draw.choice("way", (-1, 1))
    for frame in range(FRAMES + draw.integer("length", 4)):
        left = (WIDTH - front.width) // 2 + pace * (frame - clip.peak)
        picture = scenes[draw.integer(f"talk {frame}", 2)].copy()
        picture.paste(front, (left, -8), mask)
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=80)
        data = buffer.getvalue()
        if clip.oddity == "truncated" and frame == 3:
            data = data[: len(data) * 6 // 10]
        if not (clip.oddity == "hole" and frame in (4, 5)):
            (frames / f"{frame:04d}.JPEG").write_bytes(data)
        box = max(left + shown[0], 0), max(shown[1] - 8, 0), min(left + shown[2], WIDTH), min(shown[3] - 8, HEIGHT)
        xml = annotation(f"{key}/{frame:04d}", [box] if box[0] < box[2] else [])
        (notes / f"{frame:04d}.xml").write_text(xml, encoding="utf-8")


def _scenes(clip: Clip, key: str) -> list[Image.Image]:
    if clip.kind == "speaker":
        return speaker(clip.answer, key)
    return people(int(clip.answer), key) if clip.kind == "count" else EVENTS[clip.answer](key)


def annotation(
    name: str, boxes: list[tuple[int, int, int, int]], size: tuple[int, int] | None = (WIDTH, HEIGHT)
) -> str:
    """A frame's XML: `boxes` are (xmin, ymin, xmax, ymax) in pixels, `size` is (width, height)."""
    objects = "".join(
        f"<object><name>occlusion</name><bndbox><xmin>{left}</xmin><ymin>{top}</ymin><xmax>{right}</xmax>"
        f"<ymax>{bottom}</ymax></bndbox></object>"
        for left, top, right, bottom in boxes
    )
    sides = f"<size><width>{size[0]}</width><height>{size[1]}</height><depth>3</depth></size>" if size else ""
    return f"<annotation><filename>{name}</filename>{sides}{objects}</annotation>\n"
