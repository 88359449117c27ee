"""What of each source is there and what its scenario still needs, for `doctor`: by names and sizes alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from build_bench import demo, manifests, planning
from build_bench.config import Config
from build_bench.errors import BuildBenchError
from build_bench.fetching import states, wanted
from build_bench.raw_sources import Reader
from build_bench.store import Work

THERE, PARTLY, ABSENT = "there", "partly", "absent"

SAMPLE_BYTES = {
    "rod": 35e6, "vsod": 20e6, "mvp_n": 2e6, "imagenet_c": 70e3, "quickdraw": 100e3, "changeit": 1e6, "coco": 163e3,
}  # fmt: skip
"""Of one sample's frames, roughly; from the sizes of archives where those are known, else generous. For the free space
alone."""

COPIES = 2
"""Frames are on disk once as rendered, and once in the dataset."""


@dataclass(slots=True)
class Source:
    """A scenario's source, as it lies here."""

    name: str
    state: str = ABSENT
    needs: list[str] = field(default_factory=list)
    """What a whole build of the scenario lacks, in words."""
    steps: list[str] = field(default_factory=list)
    """What to do about it."""
    broken: str = ""
    """What is there and can't be used as it is; empty if nothing is."""
    spoilt: bool = False
    """Whether a file of it can't be read as it is: half of one, or a web page."""
    ready: bool = False
    """Whether it can be built as far as it goes, once the steps are done."""
    fetchable: bool = False
    """Whether `fetch` can bring what it lacks, or some of it."""
    to_download: int = 0
    """Bytes, as well as they are known."""
    to_write: int = 0
    """Bytes in the work folder, roughly, until it is built."""

    def need(self, error: BuildBenchError) -> None:
        """Take note of what an error says is missing."""
        self.needs.append(error.message)
        self.steps += [error.hint] if error.hint else []


def examine(work: Work, config: Config, name: str, memory: states.Memory) -> Source:
    """One source. What goes wrong in looking is part of the answer."""
    found = Source(name)
    folder = work.raw / name
    for look in (_files, _reader, _build):
        try:
            look(found, folder, work, config, memory)
        except BuildBenchError as error:
            found.need(error)
        except Exception as error:  # a report on a machine where something is wrong must not end by it
            found.broken = found.broken or f"{folder} can't be looked at: {type(error).__name__}: {error}"
    if found.state == THERE and found.needs:
        found.state = PARTLY
    return found


def _files(found: Source, folder: Path, work: Work, config: Config, memory: states.Memory) -> None:
    """The files that its manifest names. Those that the demo draws are of no such size."""
    if demo.is_drawn(work.raw):
        return
    state = states.look(work, config, found.name, memory)
    lacking = [one for one in state.files if one.lacking]
    found.to_download = sum(one.to_come for one in state.files)
    found.fetchable = bool(state.to_download)
    found.spoilt = any(
        not one.takeable or (one.state == states.PARTIAL and (folder / one.file.path).is_file()) for one in state.files
    )
    for one in state.files:
        if one.state == states.BAD:
            what = f"{folder / one.file.path} {one.note}"
            new = f"build-bench fetch {found.name} --accept-new if its authors changed it, else " * one.takeable
            found.steps.append(f"{new}remove {folder / one.file.path}, then build-bench fetch {found.name}")
            if isinstance(one.file, wanted.RemoteFile) and one.file.certainty != "first-hand":
                found.needs.append(what)  # the number that it contradicts may be the wrong one
            else:
                found.broken = found.broken or what
    found.needs += [f"{folder / one.file.path} {one.note}" for one in lacking if one.note]
    if lacking and len(lacking) < len(state.files):
        names = ", ".join(one.file.path for one in lacking[:5])
        more = ", ..." if len(lacking) > 5 else ""
        found.needs.append(f"{len(lacking)} of {len(state.files)} files are not here: {names}{more}")


def _reader(found: Source, folder: Path, work: Work, config: Config, memory: states.Memory) -> None:
    """What its reader makes of the folder, and what its builder wants beside."""
    builder = config.builder(found.name)
    try:
        raw = builder.open(folder, work.scratch(found.name))
    except BuildBenchError as error:
        if not _holds(folder):
            found.needs, found.steps = [], [error.hint]
            return
        found.state = PARTLY
        found.needs.append(error.message)
        if not found.fetchable:  # else one command gets all that is lacking
            found.steps.append(error.hint)
        return
    found.state, found.ready = THERE, not found.spoilt
    looks: tuple[Callable[[], None], ...] = (lambda: builder.check(work.root), lambda: _tables(found, raw))
    for look in looks:
        try:
            look()
        except BuildBenchError as error:
            found.need(error)


def _holds(folder: Path) -> bool:
    """Whether there is anything in a folder but what is hidden."""
    with suppress(OSError):
        return any(not path.name.startswith(".") for path in folder.iterdir())
    return False


def _tables(found: Source, raw: Reader) -> None:
    """The tables that people supply, and videos. Raises `BuildBenchError` for one that is absent or wrong."""
    checks: dict[str, Callable[[Any, Source], None]] = {"vsod": _vsod, "mvp_n": _mvp_n, "changeit": _changeit}
    if found.name in checks:
        checks[found.name](raw, found)


def _vsod(raw: Any, found: Source) -> None:
    _ = raw.answers


def _mvp_n(raw: Any, found: Source) -> None:
    from build_bench.builders.mvp_n_names import Names

    Names(raw.names_file, None)


def _changeit(raw: Any, found: Source) -> None:
    annotated = list(raw.videos())
    if lacking := sum(raw.find(one.category, one.video) is None for one in annotated):
        found.needs.append(f"{lacking} of {len(annotated)} annotated videos are not here")
        found.fetchable = not demo.is_drawn(raw.root.parent)


def _build(found: Source, folder: Path, work: Work, config: Config, memory: states.Memory) -> None:
    """What a plan that was made found missing, and what building will still write."""
    plan = planning.read_stamp(work, found.name)
    if plan and found.state != ABSENT:
        found.needs += [gap for gap in plan.gaps if gap not in found.needs]
    if not demo.is_drawn(work.raw) and not any(work.frames(found.name).glob("shard-*.parquet")):
        samples = manifests.table("expected.toml").get(found.name, {}).get("before", 0)
        found.to_write = round(samples * SAMPLE_BYTES.get(found.name, 0) * COPIES)
        if found.name == "rod" and folder.is_dir():  # archives that can only be read in order are laid out
            found.to_write += sum(path.stat().st_size for path in folder.glob("*gz"))


def disk(path: Path) -> dict[str, Any]:
    """Free bytes where `path` is or will be, and whether one may write there."""
    there = next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())
    return {
        "path": str(path),
        "free": shutil.disk_usage(there).free,
        "device": there.stat().st_dev,
        "writable": os.access(there, os.W_OK | os.X_OK) and there.is_dir(),
    }


def addresses(names: list[str]) -> Iterator[str]:
    """Where the sources come from beside the Hub: one address of each of their files, and of YouTube for the videos."""
    for name in names:
        yield from (
            url
            for file in wanted.source(name).files
            for url in file.urls[:1]
            if "test" in file.splits and wanted.HUB not in url
        )
        if name == "quickdraw":
            yield "https://storage.googleapis.com/"
        if name == "changeit":
            yield from ("https://github.com/", "https://www.youtube.com/")
