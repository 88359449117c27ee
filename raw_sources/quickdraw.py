"""Quick, Draw! as Google distributes it: one ndjson file a word, one drawing a line.

Which drawings of a word are looked at, and why so: docs/decisions/quickdraw-selection.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

import msgspec
import numpy as np
import numpy.typing as npt

from build_bench import draws, manifests
from build_bench.errors import InputError, Rejected, shown
from build_bench.raw_sources import Reader, missing
from build_bench.raw_sources.json_id import BOM
from build_bench.raw_sources.ndjson_ids import Line, scan
from build_bench.raw_sources.quickdraw_files import SAMPLE, SAMPLED, find, fold, one_of
from build_bench.records import Census, Rejection

KINDS = ("simplified", "raw")
"""The two forms of every drawing, the preferred one first. Both have the same ids, and as many strokes."""

URL = "https://storage.googleapis.com/quickdraw_dataset/full/{kind}/{word}.ndjson"

KEEP = 1024
"""Lines of the smallest ranks that one pass keeps at least, and four for each that is wanted: a second is rare."""

LARGEST = 1e9
"""A coordinate beyond it is no drawing's (raw ones reach about 2,000 px)."""


Stroke = tuple[tuple[float, ...], tuple[float, ...]]
"""The xs and the ys of one stroke, in pixels: ints 0..255 in simplified files, any numbers in raw ones."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """One line that can be used."""

    word: str
    key_id: str
    strokes: tuple[Stroke, ...]
    kind: str
    """`simplified` or `raw`."""
    countrycode: str
    path: str
    """The file, relative to the source's folder."""
    line: int
    """From 1."""

    @property
    def url(self) -> str:
        return URL.format(kind=self.kind, word=quote(self.word))


class _Row(msgspec.Struct):
    word: str
    recognized: bool
    key_id: str | int
    drawing: list[list[list[int | float]]]
    countrycode: str = ""


_DECODER = msgspec.json.Decoder(_Row)

Ranks = Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.uint64]]
"""A bijection: the smallest come first."""


@cache
def known_words() -> tuple[str, ...]:
    """The 345 words, sorted."""
    return tuple(manifests.text("annotations/quickdraw_words.txt").splitlines())


class QuickDraw(Reader):
    """The files of each word. `source` is `auto` (simplified where there is one), `simplified` or `raw`.

    A sample stands for the simplified file where no whole one is there: `sampled` has its words, and `gaps` says so.
    """

    def __init__(self, root: Path, source: str = "auto") -> None:
        super().__init__(root)
        kinds = {"auto": (*KINDS, SAMPLE), "simplified": ("simplified", SAMPLE), "raw": ("raw",)}[source]
        found, self._unnamed = find(root, KINDS, known_words())
        self._sampled: list[str] = []
        self._files: dict[str, tuple[str, Path]] = {}
        for word in sorted(found):
            for kind in kinds:
                if kind in found[word] and word not in self._files:
                    path = one_of(found[word][kind], word, kind, root)
                    self._files[word] = ("simplified" if kind == SAMPLE else kind, path)
                    self._sampled += [word] * (kind == SAMPLE)
        if not self._files:
            raise missing(root)
        self._counts: dict[str, tuple[int, int]] = {}
        self._short: dict[str, tuple[int, str]] = {}
        """Of words with too few drawings: how many there are, and how many there should be, in words."""

    @property
    def words(self) -> Sequence[str]:
        """The words that have a file, sorted."""
        return tuple(self._files)

    @property
    def sampled(self) -> Sequence[str]:
        """Those of them of which only lines drawn at random are here, sorted."""
        return tuple(self._sampled)

    @property
    def places(self) -> Mapping[str, Path]:
        """The file of each word."""
        return {word: path for word, (_, path) in self._files.items()}

    @property
    def files(self) -> Sequence[Path]:
        origin = [self.root / SAMPLE / SAMPLED] if self._sampled else []
        return sorted([*self.places.values(), *origin])

    @property
    def census(self) -> Census:
        candidates = sum(count for count, _ in self._counts.values())
        return Census(candidates, sum(lines for _, lines in self._counts.values()) - candidates)

    @property
    def gaps(self) -> Sequence[str]:
        absent = [word for word in known_words() if word not in self._files]
        listed = [f"{len(absent)} of {len(known_words())} words are absent: {', '.join(absent)}"] if absent else []
        if self._sampled:
            listed.append(
                f"{len(self._sampled)} of {len(self._files)} words are samples drawn by ranges (fetch --sample), "
                f"another draw than the smallest hashes of all drawings: {', '.join(self._sampled)}"
            )
        for wanted in sorted({wanted for _, wanted in self._short.values()}):
            few = [f"{word} {self._short[word][0]}" for word in sorted(self._short) if self._short[word][1] == wanted]
            words = f"{len(few)} word has" if len(few) == 1 else f"{len(few)} words have"
            listed.append(f"{words} fewer drawings that can be used than {wanted}: {', '.join(few)}")
        return [*listed, *self._unnamed]

    def choose(self, word: str, k: int, seed: int, min_strokes: int = 2) -> Iterator[Drawing | Rejection]:
        """Up to `k` usable drawings of a word, recognised and of at least `min_strokes`, and what was met on the way.

        They are those with the smallest `draws.ranks` of their ids: a property of the set of drawings, whatever the
        order or the kind of the file, and nested in `k`. Lines without an id come first. Raises `InputError` if the
        file can't be read.
        """
        return self._choose(word, k, _ranks(word, seed), min_strokes)

    def choose_last(
        self, word: str, k: int, without: int, seed: int, min_strokes: int = 2
    ) -> Iterator[Drawing | Rejection]:
        """Up to `k` usable drawings from the other end: those with the largest ranks, and on the way.

        None of the first `without` is among them, nor of the first however many, as long as the word has as many more.
        """
        first = {one.key_id for one in self.choose(word, without, seed, min_strokes) if isinstance(one, Drawing)}
        smallest = _ranks(word, seed)
        return self._choose(word, k, lambda ids: ~smallest(ids), min_strokes, first)

    def _choose(
        self, word: str, k: int, ranks: Ranks, min_strokes: int, until: Collection[str] = ()
    ) -> Iterator[Drawing | Rejection]:
        """Those with the smallest `ranks`, up to the first drawing in `until`."""
        kind, path = self._files[word]
        name = shown(path.relative_to(self.root).as_posix())
        keep, complete = max(KEEP, 4 * k), False
        outcomes: list[Drawing | Rejection] = []
        usable = 0
        while usable < k and not complete:
            try:
                found = scan(path, ranks, keep)
                outcomes = [
                    Rejection(f"{word}/line-{number}", "plan", "broken_line", f"{name}, line {number}: {why}")
                    for number, why in found.broken
                ]
                usable, ended = 0, False
                for outcome in self._outcomes(word, kind, path, name, found.smallest, min_strokes):
                    ended = isinstance(outcome, Drawing) and outcome.key_id in until
                    if ended or usable == k:
                        break
                    outcomes.append(outcome)
                    usable += isinstance(outcome, Drawing)
            except OSError as error:
                raise InputError(f"quickdraw: {name} can't be read: {error.strerror}", "download it again") from error
            self._counts[word] = (len(outcomes), found.lines)
            keep, complete = 16 * keep, found.complete or ended
        self._short.pop(word, None)
        if usable < k:
            beside = f" beside the test's {len(until)}" if until else ""
            self._short[word] = usable, f"{k:,}{beside}"
        yield from outcomes

    def _outcomes(
        self, word: str, kind: str, path: Path, name: str, lines: Sequence[Line], min_strokes: int
    ) -> Iterator[Drawing | Rejection]:
        """One drawing or rejection for each id, in the order of `lines`, after the rejections of its broken lines."""
        with path.open("rb") as file:
            for key_id, group in groupby(lines, key=lambda line: line.id):
                same = list(group)
                drawings: list[tuple[Drawing, _Row]] = []
                for line in same:
                    file.seek(line.start)
                    try:
                        row = _decode(file.read(line.size), key_id)
                        strokes = _strokes(row)
                    except Rejected as why:
                        key = f"{word}/{key_id}" + (f"-line-{line.number}" if len(same) > 1 else "")
                        yield Rejection(key, "plan", why.reason, f"{name}, line {line.number}: {why.detail}")
                    else:
                        at = (name, line.number)
                        drawings.append((Drawing(word, str(key_id), strokes, kind, row.countrycode, *at), row))
                if drawings:
                    try:
                        yield _usable(drawings, min_strokes)
                    except Rejected as why:
                        numbers = ", ".join(str(drawing.line) for drawing, _ in drawings)
                        detail = f"{name}, line{'s' if len(drawings) > 1 else ''} {numbers}: {why.detail}"
                        yield Rejection(f"{word}/{key_id}", "plan", why.reason, detail)


def _ranks(word: str, seed: int) -> Ranks:
    """The order in which the drawings of a word are looked at."""
    return partial(draws.ranks, seed=seed, scenario="quickdraw", group=word, purpose="drawings")


def _decode(line: bytes, key_id: int) -> _Row:
    """Raises `Rejected`: the line is no JSON, has a value of another type, or another id than its head says."""
    try:
        row = _DECODER.decode(line.removeprefix(BOM))
    except msgspec.ValidationError as error:
        raise Rejected("wrong_type", str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        glued = " (two records without a line feed between them)" if b"}{" in line else ""
        raise Rejected("broken_line", f"{error}{glued}") from error
    if not str(row.key_id).isdecimal() or int(row.key_id) != key_id:
        raise Rejected("broken_line", f"has two key_ids, {key_id} and {row.key_id}")
    return row


def _strokes(row: _Row) -> tuple[Stroke, ...]:
    """The strokes without times. Raises `Rejected` if they can't be drawn."""
    if not row.drawing:
        raise Rejected("bad_strokes", "the drawing has no strokes")
    for number, stroke in enumerate(row.drawing, 1):
        if len(stroke) < 2:
            raise Rejected("bad_strokes", f"stroke {number} has {len(stroke)} lists, expected xs and ys")
        if len(stroke[0]) != len(stroke[1]) or not stroke[0]:
            raise Rejected("bad_strokes", f"stroke {number} has {len(stroke[0])} xs and {len(stroke[1])} ys")
        if min(map(min, stroke[:2])) < -LARGEST or max(map(max, stroke[:2])) > LARGEST:
            raise Rejected("bad_strokes", f"stroke {number} has a coordinate beyond {LARGEST:,.0f}")
    return tuple((tuple(stroke[0]), tuple(stroke[1])) for stroke in row.drawing)


def _usable(drawings: Sequence[tuple[Drawing, _Row]], min_strokes: int) -> Drawing:
    """The one drawing of an id. Raises `Rejected` if lines differ, or the paper's rules leave it out (section A.5)."""
    drawing, row = drawings[0]
    if any(
        (other.word, other.recognized, other.drawing) != (row.word, row.recognized, row.drawing)
        for _, other in drawings
    ):
        raise Rejected("duplicate_key_id", f"key_id {drawing.key_id} stands for different drawings")
    if fold(row.word) != fold(drawing.word):
        raise Rejected("wrong_word", f"the word is {row.word!r}, the file is of {drawing.word!r}")
    if not row.recognized:
        raise Rejected("not_recognized", "recognized is false")
    count = len(drawing.strokes)
    if count < min_strokes:
        reason = "single_stroke" if count == 1 else "too_few_strokes"
        raise Rejected(reason, f"{count} of at least {min_strokes} strokes")
    return drawing
