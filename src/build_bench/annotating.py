"""`annotate vsod`: the table that people fill in, and a page that makes it quick: docs/decisions/vsod-annotating.md.

answers.csv     a row per video; what people wrote stays, new videos are added
answers.html    the same rows with pictures, to be filled in in a browser; needs no network and no server
sheets/         each video's frames as one picture
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from build_bench import manifests, store
from build_bench.builders import vsod_suggest
from build_bench.builders.vsod import VsodSettings, seen
from build_bench.builders.vsod_candidates import events
from build_bench.builders.vsod_suggest import Seen
from build_bench.errors import InputError, Rejected
from build_bench.executors import Progress
from build_bench.prompting import slug
from build_bench.raw_sources.vsod import TABLE, Video, Vsod
from build_bench.raw_sources.vsod_answers import ASIDE, COLUMNS, format_table, read_cells

TILE, PER_ROW, MOST_TILES = 256, 8, 120
"""Width of a frame on a sheet in pixels, frames in a row, and frames on a sheet (the clips seen have 40 to 76)."""

Row = dict[str, str]


def annotate(raw_root: Path, out_dir: Path, settings: VsodSettings | None = None) -> list[Path]:
    """Write the table and the page for the videos under `raw_root` into `out_dir`; returns their two paths.

    Rows that people filled in, in `raw_root`'s table or in `out_dir`'s, are kept. Raises `InputError` if the two say
    different things.
    """
    settings = settings or VsodSettings()
    raw = Vsod(raw_root, settings.split)
    page = out_dir / "answers.html"
    typed = merged(raw_root / TABLE, out_dir / TABLE, page)
    sights = []
    with Progress("annotate vsod", raw.census.candidates, "videos") as progress:
        for video in raw.videos():
            row = typed.pop(video.key, None) or dict.fromkeys(COLUMNS, "") | {"video": video.key}
            sights.append(_look(video, raw, row, settings.strong_cover, out_dir / "sheets"))
            progress.add(1)
    for path in (out_dir / "sheets").glob("*.jpg"):  # of videos that changed or went
        if path.name not in {sight.sheet for sight in sights}:
            path.unlink()
    others = [row | dict.fromkeys(ASIDE, "") for row in typed.values()]
    table = format_table([*(sight.row | sight.aside for sight in sights), *others], (*COLUMNS, *ASIDE)).encode()
    data = {
        "columns": [*COLUMNS, *ASIDE], "videos": [sight.for_page() for sight in sights], "others": others,
        "events": events(), "strong_cover": settings.strong_cover,
    }  # fmt: skip
    store.write_bytes(out_dir / TABLE, table)
    store.write_bytes(page, _page(data, hashlib.sha256(table).hexdigest()).encode())
    return [out_dir / TABLE, page]


def merged(used: Path, begun: Path, page: Path) -> dict[str, Row]:
    """The rows of two tables, cell by cell: `used` is the one that a build reads, `begun` the one beside `page`.

    If nobody has touched `begun` since it was written (the page knows its checksum), all that is in it came from `used`
    or stood there before: `used` is then the newer. Else both may hold work: raises `InputError` where they differ.
    """
    first, second = ({k: dict(c.texts) for k, c in read_cells(p).items()} if p.is_file() else {} for p in (used, begun))
    untouched = begun.is_file() and page.is_file() and store.sha256(begun) in page.read_text(encoding="utf-8")[:1000]
    for key, row in second.items():
        kept = first.setdefault(key, row)
        for column in COLUMNS:
            if kept[column] and row[column] and kept[column] != row[column] and not untouched:
                raise InputError(
                    f"{key}: {column} is {kept[column]!r} in {used} and {row[column]!r} in {begun}",
                    f"mend the one that is wrong; or if {used} is right throughout, move {begun} away",
                )
            kept[column] = kept[column] or row[column]
    return first


@dataclass(frozen=True, slots=True)
class Sight:
    """One video as people see it: what they wrote, what is suggested, and its frames."""

    video: Video
    row: Row
    seen: Sequence[Seen | None]
    """Per frame; None where nothing is known."""
    trouble: str
    """What would keep it from being used, or nothing."""
    first: int | None
    reference: int | None
    """The suggestions, as positions in the video."""
    strong: bool | None
    shown: Sequence[int]
    """Positions of the frames on its sheet."""
    sheet: str
    height: int
    """Of a frame on the sheet, in pixels."""

    def _number(self, at: int | None) -> int | None:
        return None if at is None else self.video.numbers[at]

    @property
    def aside(self) -> Row:
        """The cells of the table that are not for people to fill in."""
        cells = (len(self.video.frames), self._number(self.first), self._number(self.reference), self.strong)
        return dict(zip(ASIDE, ("" if cell is None else str(cell).lower() for cell in cells), strict=True))

    def for_page(self) -> dict[str, Any]:
        """The video as answers.html knows it: frames by number; coverage in percent, -1 for clean, null for unknown."""
        unknown, occluded = self.seen.count(None), sum(frame is not None and frame.occluded for frame in self.seen)
        about = f"{len(self.video.frames)} frames, {occluded} occluded"
        chosen = [self.seen[at] for at in self.shown]
        return {
            "key": self.video.key, "row": {column: self.row[column] for column in COLUMNS[1:]}, "aside": self.aside,
            "about": f"{about}, {unknown} without usable XML" if unknown else about, "trouble": self.trouble,
            "frames": [self.video.numbers[at] for at in self.shown],
            "covers": [None if s is None else round(100 * s.covered) if s.occluded else -1 for s in chosen],
            "first": self._number(self.first), "reference": self._number(self.reference),
            "sheet": f"sheets/{self.sheet}", "tile": [TILE, self.height], "columns": PER_ROW,
        }  # fmt: skip


def _look(video: Video, raw: Vsod, row: Row, strong_cover: float, sheets: Path) -> Sight:
    """Everything about a video; its sheet is drawn if it isn't there yet."""
    trouble = ": ".join(video.problem) if video.problem else ""
    frames: Sequence[Seen | None] = [None] * len(video.frames)
    try:
        frames = seen(video, raw)
    except Rejected as why:
        trouble = trouble or str(why)
    first = vsod_suggest.first(frames)
    reference = None if first is None else vsod_suggest.reference(frames, first)
    at_first = None if first is None else frames[first]
    strong = None if at_first is None else at_first.covered >= strong_cover
    count = len(frames)
    shown: Sequence[int] = range(count)
    if count > MOST_TILES:
        even = {round(i * (count - 1) / (MOST_TILES - 1)) for i in range(MOST_TILES)}
        shown = sorted(even.union(at for at in (first, reference) if at is not None))
    height = _tile_height(video, raw)
    sheet = _sheet(video, shown, raw, height, sheets)
    return Sight(video, row, frames, trouble, first, reference, strong, shown, sheet, height)


def _sheet(video: Video, shown: Sequence[int], raw: Vsod, height: int, folder: Path) -> str:
    """The video's frames as one JPEG, made unless it is there: its name holds what the frames' bytes stand for."""
    names = [video.frames[at] for at in shown]
    stamp = store.digest_of([video.key, names, raw.stamp(video.whose, names), TILE, PER_ROW])[:8]
    path = folder / f"{slug(video.key)}-{stamp}.jpg"
    if not path.is_file():
        rows = max(1, math.ceil(len(names) / PER_ROW))
        sheet = Image.new("RGB", (TILE * PER_ROW, height * rows), (128, 128, 128))
        for place, name in enumerate(names):
            if tile := _thumbnail(video, name, raw, height):
                sheet.paste(tile, (place % PER_ROW * TILE, place // PER_ROW * height))
        buffer = io.BytesIO()
        sheet.save(buffer, "JPEG", quality=72)
        store.write_bytes(path, buffer.getvalue())
    return path.name


def _tile_height(video: Video, raw: Vsod) -> int:
    """Of a frame TILE wide; frames much taller than wide are cut to a square's double."""
    try:
        width, height = raw.size(video)
    except (Rejected, IndexError):
        return TILE * 9 // 16
    return min(max(1, round(TILE * height / width)), 2 * TILE)


def _thumbnail(video: Video, name: str, raw: Vsod, height: int) -> Image.Image | None:
    """A small picture of a frame; None if it can't be decoded (the page then shows grey, and building rejects it)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = Image.open(io.BytesIO(raw.frame(video.whose, name)))
            picture.draft("RGB", (TILE, height))  # JPEG decodes to a half or a quarter several times as fast
            return picture.convert("RGB").resize((TILE, height), Image.Resampling.BILINEAR)
    except (OSError, SyntaxError, Rejected, Image.DecompressionBombError):
        return None


def _page(data: Mapping[str, Any], checksum: str) -> str:
    """The page with the rows in it. No text of the source can end the script or be taken for markup."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True)
    escaped = re.sub("[<>&\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text)
    page = manifests.text("annotations/vsod_answers.html")
    return page.replace("%TABLE%", checksum, 1).replace("%DATA%", escaped, 1)
