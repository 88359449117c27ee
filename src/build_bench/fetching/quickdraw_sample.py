"""QuickDraw by ranges: as many usable drawings of each word as are built, instead of 24 GB of files.

raw/quickdraw/sample/<word>.ndjson     the lines that were drawn, in that order
raw/quickdraw/sample/sample.json       from which files, with which seed, after how many tries
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from build_bench.draws import Draw
from build_bench.errors import InputError, UsageError
from build_bench.fetching import keeping, sampling
from build_bench.fetching.asking import Asker, Patience
from build_bench.fetching.sampling import NoRanges
from build_bench.fetching.states import SourceState
from build_bench.fetching.wanted import RemoteFile, place
from build_bench.raw_sources.quickdraw import Drawing, QuickDraw
from build_bench.raw_sources.quickdraw_files import SAMPLE, SAMPLED

TRIES = 50_000
"""For one word: where 24 of 25 drawings are of a single stroke (circle), ten usable ones take about 1,000."""


class WordSample(msgspec.Struct, frozen=True):
    """How the lines of a word were drawn."""

    url: str
    bytes: int
    """Of the whole file."""
    etag: str
    tries: int
    lines: int
    usable: int
    """Recognised, and of enough strokes."""
    bytes_read: int
    """In the last run."""


class Sample(msgspec.Struct):
    """What `sample.json` says."""

    seed: int
    min_strokes: int
    rule: str = "a random byte, the line that holds it, taken with probability (shortest possible length / its length)"
    words: dict[str, WordSample] = {}


@dataclass(frozen=True, slots=True)
class Draws:
    """What is drawn."""

    count: int
    """Usable drawings of each word."""
    min_strokes: int
    seed: int


def shortest(word: str) -> int:
    """Bytes of the shortest line there can be of a word: the keys of every row, and one stroke of two points."""
    row = (
        f'{{"word":"{word}","countrycode":"ZZ","timestamp":"2017-01-01 00:00:00 UTC","recognized":true,'
        '"key_id":"100000000000000","drawing":[[[0,0],[0,0]]]}\n'
    )
    return len(row.encode())


def read(folder: Path, wanted: Draws) -> Sample:
    """What was drawn before. Raises `UsageError` if it was drawn otherwise, `InputError` if it can't be read."""
    path = folder / SAMPLE / SAMPLED
    if not path.exists():
        return Sample(wanted.seed, wanted.min_strokes)
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=Sample)
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is damaged: {error}", f"remove {path.parent}, and sample again") from error
    if (kept.seed, kept.min_strokes) != (wanted.seed, wanted.min_strokes):
        raise UsageError(
            f"{path.parent} was drawn with seed {kept.seed} and at least {kept.min_strokes} strokes",
            f"keep to them, or remove {path.parent} and sample anew",
        )
    return kept


def lacking(source: SourceState, sample: Sample, wanted: Draws) -> dict[str, RemoteFile]:
    """The words to draw, with their files: no whole file is there, and too few lines of it or none."""
    files = {state.file.path.rpartition("/")[2].removesuffix(".ndjson"): state for state in source.files}
    return {
        word: state.file
        for word, state in files.items()
        if isinstance(state.file, RemoteFile)
        and (state.lacking or (state.note == f"as {SAMPLE}/{word}.ndjson"))
        and (word not in sample.words or state.lacking or sample.words[word].usable < wanted.count)
    }


def whole_only(file: RemoteFile, why: NoRanges) -> InputError:
    """The error for a server that can't be sampled."""
    return InputError(f"{file.shown[0]} {why}", "build-bench fetch quickdraw, without --sample, gets them whole")


class Sampler:
    """Draws words, several at once if need be."""

    def __init__(self, asker: Asker, patience: Patience, stop: threading.Event, wanted: Draws, folder: Path) -> None:
        self._asker, self._patience, self._wanted, self._folder = asker, patience, wanted, folder
        self._sleep: Callable[[float], object] = patience.sleep or stop.wait
        self._stop = stop

    def draw(self, word: str, file: RemoteFile, known: WordSample | None) -> WordSample:
        """Draw until there are enough usable lines, from where an earlier run ended. Raises `Refused`, `NoRanges`."""
        url = file.addresses[0]
        source = sampling.RangedFile(self._asker, url, self._patience, self._sleep)
        path = place(self._folder, f"{SAMPLE}/{word}.ndjson")
        same = known and path.is_file() and (known.bytes, known.etag) == (source.size, source.etag)
        lines = [line + b"\n" for line in path.read_bytes().split(b"\n")[:-1]] if same else []
        tries, usable, short = known.tries if known and same else 0, self._usable(word, lines), 0
        draw = Draw(self._wanted.seed, "quickdraw", word)
        if usable < self._wanted.count and source.size:
            for number, line in sampling.tries(source.read, source.size, shortest(word), draw, tries):
                tries = number + 1
                if line is not None and _ended(line) not in lines:
                    lines.append(_ended(line))
                    short += 1
                if usable + short >= self._wanted.count:
                    usable, short = self._usable(word, lines), 0
                if usable >= self._wanted.count or tries >= TRIES or self._stop.is_set():
                    break
            usable = self._usable(word, lines)
        keeping.write(path, b"".join(lines))
        return WordSample(url, source.size, source.etag, tries, len(lines), usable, source.read_bytes)

    def _usable(self, word: str, lines: Sequence[bytes]) -> int:
        """How many of the lines a builder could take: its own reader says."""
        if not lines:
            return 0
        with tempfile.TemporaryDirectory() as folder:
            keeping.write(Path(folder, "full", "simplified", f"{word}.ndjson"), b"".join(lines))
            found = QuickDraw(Path(folder)).choose(word, len(lines), self._wanted.seed, self._wanted.min_strokes)
            return sum(isinstance(outcome, Drawing) for outcome in found)


def _ended(line: bytes) -> bytes:
    """The last line of a file may lack its end."""
    return line if line.endswith(b"\n") else line + b"\n"
