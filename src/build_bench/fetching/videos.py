"""ChangeIt's videos, which nobody distributes: fetched from YouTube one by one, with yt-dlp (the extra `videos`).

    report = fetch_videos(Path("work/raw/changeit"), VideoOptions(), notify=executors.notice)

The annotated videos that the reader doesn't find are wanted. Each comes as `downloads/<category>/<id>.<ext>`:

    downloads/.incoming/<category>/<id>.<ext>.part      while it comes; the next run goes on where it ends
    downloads/<category>/<id>.<ext>                     whole, and found to be a video
    downloads/unavailable.jsonl                         what didn't come: category, video, reason, detail, tried

A second run tries what may have changed: all but what is dead or private. Running it again is always safe.
"""

from __future__ import annotations

import importlib.util
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from build_bench import store
from build_bench.errors import InputError, Rejected
from build_bench.executors import Progress
from build_bench.fetching.video_failures import LIMITED, NETWORK, NO_VIDEO, SETTLED, Failure, failure, line, utc_now
from build_bench.raw_sources.changeit import ENDINGS, ChangeIt

FORMAT = "bestvideo[height<=480]/best[height<=?480]"
"""The authors' own recipe (format page 3.3), and their annotations count the seconds of such files. No sound; the
builder shows a shorter side of 480 pixels at most. Behind the stroke: where pictures and sound are one stream."""

SORT = ["res", "vcodec:h264"]
"""Of equal resolutions H.264: the builder's decoder can skip pictures in it that it can't skip in VP9 or AV1."""

UNAVAILABLE = "unavailable.jsonl"
INCOMING = ".incoming"
OFFLINE = 5
"""So many videos in a row that the network keeps away: there is none, and the others aren't tried."""


@dataclass(frozen=True, slots=True)
class VideoOptions:
    """How to fetch."""

    address: str = "https://www.youtube.com/watch?v={id}"
    jobs: int = 1
    """Videos at a time. YouTube gives a guest some 300 an hour before it asks for a login."""
    retry_dead: bool = False
    pause: float = 5.0
    """Seconds that each job waits before a video, as yt-dlp's wiki advises."""
    timeout: float = 20.0
    """Seconds without a byte."""


class Missing(msgspec.Struct, frozen=True):
    """A line of `unavailable.jsonl`."""

    category: str
    video: str
    reason: str
    """A word of `video_failures`."""
    detail: str
    tried: str
    """When, UTC."""


@dataclass(slots=True)
class VideoReport:
    """What a run came to."""

    wanted: int
    """Annotated videos, each once however many categories it has."""
    there: int = 0
    """Before the run."""
    fetched: int = 0
    passed_over: int = 0
    """Dead or private when last tried."""
    missing: list[Missing] = field(default_factory=list)
    """All that `unavailable.jsonl` says, those passed over included."""
    stopped: str = ""
    """Why the run ended early, and when to go on; empty if it didn't."""

    @property
    def by_reason(self) -> dict[str, int]:
        """How many are missing for which reason."""
        return dict(sorted(Counter(one.reason for one in self.missing).items()))


Whose = tuple[str, str]
"""(category, id)."""


def fetch_videos(root: Path, options: VideoOptions, notify: Callable[[str], None]) -> VideoReport:
    """Fetch what is missing under `root`, which holds the annotations; `notify` gets a line per video that didn't come.

    Raises `InputError` if the annotations or yt-dlp are absent, or the disk is full.
    """
    report, wanted = _wanted(root)
    if wanted and importlib.util.find_spec("yt_dlp") is None:
        raise InputError(
            f"ChangeIt's {len(wanted):,} videos that are not here come with yt-dlp, which isn't installed",
            "pip install 'build-bench[videos]'",
        )
    ledger = _Ledger(root / "downloads" / UNAVAILABLE, wanted)
    todo = [one for one in wanted if options.retry_dead or ledger.reason(one) not in SETTLED]
    report.passed_over = len(wanted) - len(todo)
    run = _Run(root / "downloads", options)
    with Progress("videos", len(todo), "videos") as progress, ThreadPoolExecutor(options.jobs) as pool:
        try:
            for done in as_completed([pool.submit(run.one, one) for one in todo]):
                outcome = done.result()
                if outcome is None:  # the run was stopped before
                    continue
                progress.add(1)
                whose, failed = outcome
                report.fetched += failed is None
                ledger.note(whose, failed)
                if failed:
                    notify(f"{'/'.join(whose)}: {failed.kind}: {failed.detail}")
        except OSError as error:
            raise InputError(
                f"{run.downloads}: {error.strerror}", "make room, then run it again: it goes on"
            ) from error
        finally:
            run.stop.set()
    report.missing, report.stopped = ledger.missing(), run.stopped
    return report


def counted(root: Path) -> tuple[int, int]:
    """Annotated videos: those that are there, and all. Raises `InputError` if the annotations are absent."""
    report, _ = _wanted(root)
    return report.there, report.wanted


def _wanted(root: Path) -> tuple[VideoReport, list[Whose]]:
    """What is annotated and isn't there, each video once: the reader finds it in another category's folder too."""
    reader = ChangeIt(root)
    first: dict[str, str] = {}
    there = set()
    for annotated in reader.videos():
        if not annotated.problem:
            first.setdefault(annotated.video, annotated.category)
            if reader.find(annotated.category, annotated.video):
                there.add(annotated.video)
    wanted = [(category, video) for video, category in first.items() if video not in there]
    return VideoReport(len(first), len(there)), sorted(wanted)


class _Ledger:
    """`unavailable.jsonl`, written whole after every video. What is no longer wanted is dropped."""

    def __init__(self, path: Path, wanted: list[Whose]) -> None:
        self._path = path
        self._known: dict[Whose, Missing] = {}
        still = set(wanted)
        for text in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                row = msgspec.json.decode(text, type=Missing)
            except (msgspec.DecodeError, UnicodeDecodeError):  # a line that someone spoilt: that video is tried again
                continue
            if (row.category, row.video) in still:
                self._known[row.category, row.video] = row

    def reason(self, whose: Whose) -> str:
        return self._known[whose].reason if whose in self._known else ""

    def note(self, whose: Whose, failed: Failure | None) -> None:
        before = self._known.pop(whose, None)
        if failed:
            self._known[whose] = Missing(*whose, failed.kind, failed.detail, utc_now().isoformat())
        if failed or before:
            store.write_bytes(self._path, b"".join(msgspec.json.encode(row) + b"\n" for row in self.missing()))

    def missing(self) -> list[Missing]:
        return [row for _, row in sorted(self._known.items())]


class _Run:
    """One run's jobs, and what makes them all stop."""

    def __init__(self, downloads: Path, options: VideoOptions) -> None:
        self.downloads, self._options = downloads, options
        self.stop = threading.Event()
        self.stopped = ""
        self._lost = 0

    def one(self, whose: Whose) -> tuple[Whose, Failure | None] | None:
        """Fetch a video; None if the run is stopped. Raises `OSError` if nothing can be written."""
        if self.stop.wait(self._options.pause):
            return None
        failed = self._fetch(whose)
        if self.stop.is_set() and failed and failed.kind not in SETTLED and failed.kind != LIMITED:
            return None  # it was cut short
        self._lost = self._lost + 1 if failed and failed.kind == NETWORK else 0
        if failed and failed.until:
            self._halt(f"the service asks for a pause: go on after {failed.until:%Y-%m-%d %H:%M} UTC")
        elif self._lost >= OFFLINE:
            self._halt(f"{OFFLINE} videos in a row failed for the network: run it again when it is back")
        return whose, failed

    def _halt(self, why: str) -> None:
        self.stopped = self.stopped or why
        self.stop.set()

    def _fetch(self, whose: Whose) -> Failure | None:
        import yt_dlp

        category, video = whose
        incoming = self.downloads / INCOMING / category
        incoming.mkdir(parents=True, exist_ok=True)
        try:
            with yt_dlp.YoutubeDL(self._settings(incoming, video)) as downloader:
                downloader.extract_info(self._options.address.format(id=video))
        except yt_dlp.utils.YoutubeDLError as error:
            return failure(error, utc_now())
        came = [path for path in _of(incoming, video) if path.suffix in ENDINGS]
        if not came:
            found = ", ".join(path.name for path in _of(incoming, video)) or "nothing"
            return Failure(NO_VIDEO, f"{found} came, expected one of {', '.join(ENDINGS)}")
        if why := _why_no_video(came[0]):
            came[0].unlink()
            return Failure(NO_VIDEO, why)
        place = self.downloads / category / came[0].name
        place.parent.mkdir(parents=True, exist_ok=True)
        came[0].replace(place)
        return None

    def _settings(self, incoming: Path, video: str) -> Mapping[str, Any]:
        folder = str(incoming).replace("%", "%%")
        return {
            "format": FORMAT,
            "format_sort": SORT,
            "outtmpl": f"{folder}/{video}.%(ext)s",
            "logger": _Silent(),
            "noprogress": True,
            "noplaylist": True,
            "updatetime": False,
            "retries": 3,
            "fragment_retries": 3,
            "extractor_retries": 1,
            "socket_timeout": self._options.timeout,
            "progress_hooks": [self._cancel],
        }

    def _cancel(self, _: Mapping[str, Any]) -> None:
        """Called between blocks: ends a download when the run is stopped; its `.part` stays."""
        import yt_dlp

        if self.stop.is_set():
            raise yt_dlp.utils.DownloadCancelled("stopped")


class _Silent:
    """yt-dlp says nothing itself: what it raises is told in our words."""

    def debug(self, _: str) -> None: ...

    def warning(self, _: str) -> None: ...

    def error(self, _: str) -> None: ...


def _of(folder: Path, video: str) -> Iterator[Path]:
    """The files of a video; ids hold no character that means something to a pattern, but may begin with a dash."""
    return (path for path in sorted(folder.iterdir()) if path.name.split(".")[0] == video and path.suffix != ".part")


def _why_no_video(path: Path) -> str:
    """Why a file that came whole is no video; empty if it is one."""
    from build_bench.raw_sources.changeit_video import Video

    try:
        return "" if Video(path).seconds else f"{path.name}: nothing to show in it"
    except Rejected as why:
        return line(f"{why.reason}: {why.detail}")
