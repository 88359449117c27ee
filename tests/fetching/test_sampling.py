"""Lines drawn by ranges: each as likely as any other, however long."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_bench.draws import Draw
from build_bench.errors import InputError, UsageError
from build_bench.fetching import quickdraw_sample, sampling
from build_bench.fetching.asking import Asker, Patience, Refused
from build_bench.fetching.quickdraw_sample import Draws, Sample, Sampler, WordSample
from build_bench.fetching.wanted import RemoteFile
from build_bench.raw_sources.quickdraw import Drawing, QuickDraw
from build_bench.raw_sources.quickdraw_files import SAMPLE

from . import server
from .server import Content, Site

SHORTEST = 20
PATIENCE = Patience(connect=5, read=5, attempts=3, sleep=lambda seconds: None)


def uneven(count: int = 60) -> list[bytes]:
    """Lines of 20 to 139 bytes."""
    return [f"{number:04d}".encode() + b"x" * (15 + 2 * number) + b"\n" for number in range(count)]


@pytest.fixture
def asker() -> Iterator[Asker]:
    made = Asker(PATIENCE, 1)
    yield made
    made.close()


def chi_square(counts: list[int]) -> float:
    """How far counts are from equal ones, in standard deviations (Wilson and Hilferty)."""
    expected, free = sum(counts) / len(counts), len(counts) - 1
    value = sum((count - expected) ** 2 / expected for count in counts)
    return float(((value / free) ** (1 / 3) - (1 - 2 / (9 * free))) / np.sqrt(2 / (9 * free)))


def taken(read: Callable[[int, int], bytes], size: int, tries: int, *, accepting: bool) -> Counter[bytes]:
    """How often each line is taken; `accepting`: as it is done, or each line that holds a drawn byte."""
    draw = Draw(0, "quickdraw", "cat")
    if accepting:
        found = (line for _, line in islice(sampling.tries(read, size, SHORTEST, draw), tries) if line is not None)
        return Counter(found)
    return Counter(sampling.line_at(read, size, draw.integer(f"byte {number}", size)) for number in range(tries))


@pytest.mark.parametrize(("accepting", "uniform"), [(True, True), (False, False)])
def test_lines_of_very_uneven_lengths_are_equally_likely(accepting: bool, uniform: bool) -> None:
    lines = uneven()
    whole = b"".join(lines)
    counts = taken(lambda start, end: whole[start:end], len(whole), 40_000, accepting=accepting)
    z = chi_square([counts[line] for line in lines])
    assert (abs(z) < 3) == uniform, z
    assert sorted(counts) == lines


def test_they_are_so_over_a_connection(site: Site, asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "WINDOW", 100)
    lines = uneven()[::6]
    site.files["/cat.ndjson"] = Content(b"".join(lines))
    file = sampling.RangedFile(asker, f"{site.url}/cat.ndjson", PATIENCE, lambda seconds: None)
    read = cache(file.read)
    fair = taken(read, file.size, 400, accepting=True)
    unfair = taken(read, file.size, 400, accepting=False)
    assert abs(chi_square([fair[line] for line in lines])) < 3
    assert chi_square([unfair[line] for line in lines]) > 4


@given(lines=st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), min_size=1, max_size=12),
       window=st.integers(2, 40), ended=st.booleans(), data=st.data())  # fmt: skip
def test_the_line_that_holds_a_byte_is_found_and_no_byte_read_twice(
    lines: list[bytes], window: int, ended: bool, data: st.DataObject
) -> None:
    whole = b"\n".join(lines) + (b"\n" if ended else b"")
    if not whole:
        return
    offset = data.draw(st.integers(0, len(whole) - 1))
    read: list[int] = []

    def part(start: int, end: int) -> bytes:
        assert 0 <= start < end <= len(whole)
        read.extend(range(start, end))
        return whole[start:end]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "WINDOW", window)
        found = sampling.line_at(part, len(whole), offset)
    start = whole.rfind(b"\n", 0, offset) + 1
    assert found == whole[start : start + len(found)]
    assert start <= offset < start + len(found)
    assert found.endswith(b"\n") or start + len(found) == len(whole)
    assert found.count(b"\n") == found.endswith(b"\n")
    assert len(read) == len(set(read))


def test_what_a_try_comes_to_depends_on_its_number_alone() -> None:
    whole = b"".join(uneven())

    def some(first: int, count: int) -> list[sampling.Try]:
        draw = Draw(3, "quickdraw", "cat")
        return list(islice(sampling.tries(lambda a, b: whole[a:b], len(whole), SHORTEST, draw, first), count))

    assert some(0, 50) == some(0, 20) + some(20, 30)


def test_lines_shorter_than_a_row_can_be_are_never_taken() -> None:
    whole = b"{}\n" * 50 + b"x" * 40 + b"\n"
    draw = Draw(0, "quickdraw", "cat")
    taken = {line for _, line in islice(sampling.tries(lambda a, b: whole[a:b], len(whole), 30, draw), 500)}
    assert taken == {None, b"x" * 40 + b"\n"}


# QuickDraw's files


def row(word: str, number: int, recognized: bool = True, strokes: int = 2, points: int = 2) -> bytes:
    drawing = [[[*range(points)], [*range(points)]] for _ in range(strokes)]
    fields = {
        "word": word,
        "countrycode": "ZZ",
        "timestamp": "2017-01-01 00:00:00.00000 UTC",
        "recognized": recognized,
        "key_id": str(5 * 10**15 + number),
        "drawing": drawing,
    }
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def rows(word: str, count: int = 300) -> list[bytes]:
    draw = random.Random(word)
    return [row(word, n, draw.random() < 0.9, draw.choice([1, 2, 3, 9]), draw.randint(2, 20)) for n in range(count)]


def sampler(asker: Asker, folder: Path, count: int = 10, seed: int = 0) -> Sampler:
    return Sampler(asker, PATIENCE, threading.Event(), Draws(count, 2, seed), folder)


def remote(site: Site, word: str) -> RemoteFile:
    site.files.setdefault(f"/{word}.ndjson", Content(b"".join(rows(word))))
    return RemoteFile(path=f"full/simplified/{word}.ndjson", urls=(f"{site.url}/{word}.ndjson",))


def test_as_many_usable_drawings_as_are_built_come(site: Site, asker: Asker, tmp_path: Path) -> None:
    known = sampler(asker, tmp_path).draw("cat", remote(site, "cat"), None)
    lines = (tmp_path / SAMPLE / "cat.ndjson").read_bytes().splitlines(keepends=True)
    assert known.usable == 10
    assert known.lines == len(lines) == len(set(lines)) >= 10
    assert set(lines) <= set(rows("cat"))


def test_the_same_seed_draws_the_same_and_more_are_added_to_them(site: Site, asker: Asker, tmp_path: Path) -> None:
    file = remote(site, "cat")
    ten, twenty, grown, other = (tmp_path / name for name in ("ten", "twenty", "grown", "other"))
    known = sampler(asker, ten).draw("cat", file, None)
    sampler(asker, twenty, 20).draw("cat", file, None)
    first = sampler(asker, grown).draw("cat", file, None)
    before = len(site.asked)
    assert sampler(asker, grown).draw("cat", file, first) == WordSample(**{**_dict(first), "bytes_read": 1})
    assert len(site.asked) == before + 1, "the file's size and version alone"
    sampler(asker, grown, 20).draw("cat", file, first)
    sampler(asker, other, seed=1).draw("cat", file, None)
    text = {folder.name: (folder / SAMPLE / "cat.ndjson").read_bytes() for folder in (ten, twenty, grown, other)}
    assert text["twenty"].startswith(text["ten"])
    assert text["grown"] == text["twenty"]
    assert text["other"] != text["ten"]
    assert known == first


def _dict(known: WordSample) -> dict[str, object]:
    return {name: getattr(known, name) for name in known.__struct_fields__}


def test_a_file_that_changed_is_drawn_from_anew(site: Site, asker: Asker, tmp_path: Path) -> None:
    file = remote(site, "cat")
    known = sampler(asker, tmp_path).draw("cat", file, None)
    site.files["/cat.ndjson"] = Content(b"".join(rows("cat", 400)[300:]))
    again = sampler(asker, tmp_path).draw("cat", file, known)
    lines = (tmp_path / SAMPLE / "cat.ndjson").read_bytes().splitlines(keepends=True)
    assert set(lines) <= set(rows("cat", 400)[300:])
    assert again.etag != known.etag


def test_a_word_with_too_few_usable_drawings_ends(
    site: Site, asker: Asker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quickdraw_sample, "TRIES", 60)
    site.files["/circle.ndjson"] = Content(b"".join(row("circle", n, strokes=1) for n in range(20)))
    known = sampler(asker, tmp_path).draw("circle", remote(site, "circle"), None)
    assert (known.usable, known.tries) == (0, 60)


def test_a_server_without_ranges_is_not_read(site: Site, asker: Asker, tmp_path: Path) -> None:
    site.files["/cat.ndjson"] = Content(b"".join(rows("cat")), ranges=False)
    with pytest.raises(sampling.NoRanges, match="doesn't send parts"):
        sampler(asker, tmp_path).draw("cat", remote(site, "cat"), None)


def test_a_packed_piece_is_refused(site: Site, asker: Asker) -> None:
    site.files["/cat.ndjson"] = Content(b"".join(rows("cat")), headers={"Content-Encoding": "gzip"})
    with pytest.raises(Refused, match="sends the file packed"):
        sampling.RangedFile(asker, f"{site.url}/cat.ndjson", PATIENCE, lambda _: None)


@pytest.mark.parametrize("faults", [[server.says(503)], [server.hangs_up], [server.cut(0)]])
def test_a_request_that_is_lost_is_asked_again(
    site: Site, asker: Asker, tmp_path: Path, faults: list[server.Fault]
) -> None:
    site.faults["/cat.ndjson"] = [lambda handler, content: handler.give(content), *faults]
    assert sampler(asker, tmp_path).draw("cat", remote(site, "cat"), None).usable == 10


def test_another_part_than_was_asked_for_is_not_taken(site: Site, asker: Asker, tmp_path: Path) -> None:
    site.faults["/cat.ndjson"] = [server.shifted]
    with pytest.raises(Refused):
        sampler(asker, tmp_path).draw("cat", remote(site, "cat"), None)


def test_no_line_can_be_shorter_than_the_shortest() -> None:
    assert quickdraw_sample.shortest("cat") <= len(row("cat", 0, strokes=1))


def test_the_reader_takes_a_sample_and_says_so(site: Site, asker: Asker, tmp_path: Path) -> None:
    known = sampler(asker, tmp_path).draw("cat", remote(site, "cat"), None)
    (tmp_path / SAMPLE / "sample.json").write_text("{}")
    raw = QuickDraw(tmp_path)
    assert (raw.words, raw.sampled) == (("cat",), ("cat",))
    assert any("samples drawn by ranges" in gap for gap in raw.gaps)
    assert [path.name for path in raw.files] == ["cat.ndjson", "sample.json"]
    found = [outcome for outcome in raw.choose("cat", 10, 0) if isinstance(outcome, Drawing)]
    assert len(found) == known.usable == 10
    assert {drawing.kind for drawing in found} == {"simplified"}


def test_a_whole_file_comes_before_a_sample(site: Site, asker: Asker, tmp_path: Path) -> None:
    sampler(asker, tmp_path).draw("cat", remote(site, "cat"), None)
    (tmp_path / SAMPLE / "sample.json").write_text("{}")
    (tmp_path / "full" / "simplified").mkdir(parents=True)
    (tmp_path / "full" / "simplified" / "cat.ndjson").write_bytes(b"".join(rows("cat")))
    raw = QuickDraw(tmp_path)
    assert raw.sampled == ()
    assert not any("ranges" in gap for gap in raw.gaps)


@pytest.mark.parametrize(
    ("text", "error"),
    [('{"seed":1,"min_strokes":2}', UsageError), ('{"seed":0,"min_strokes":3}', UsageError), ("{", InputError)],
)
def test_a_sample_of_another_draw_is_not_mixed(tmp_path: Path, text: str, error: type[Exception]) -> None:
    (tmp_path / SAMPLE).mkdir()
    (tmp_path / SAMPLE / "sample.json").write_text(text)
    with pytest.raises(error):
        quickdraw_sample.read(tmp_path, Draws(10, 2, 0))


def test_a_first_sample_is_empty(tmp_path: Path) -> None:
    assert quickdraw_sample.read(tmp_path, Draws(10, 2, 5)) == Sample(5, 2)
