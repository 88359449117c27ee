"""The reader and the builder on real rows: 60 words of 25 simplified drawings, six words of raw ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from build_bench import prompting
from build_bench.builders.quickdraw import QuickDrawBuilder, QuickDrawSettings
from build_bench.raw_sources.ndjson_ids import scan
from build_bench.records import Draft, Rejection

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples" / "quickdraw"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the real samples lie outside the repository: not here")


def build(source: str) -> tuple[list[Draft], Counter[str]]:
    """The drafts, and how often each reason for rejection was given."""
    builder = QuickDrawBuilder(QuickDrawSettings(source=source), 0)
    raw = builder.open(SAMPLES, SAMPLES)
    outcomes = list(builder.plan(raw))
    assert raw.census.candidates == len(outcomes)
    lines = sum(len(path.read_bytes().splitlines()) for path in raw.files)
    assert raw.census.candidates + raw.census.passed_over == lines
    drafts = [outcome for outcome in outcomes if isinstance(outcome, Draft)]
    return drafts, Counter(outcome.reason for outcome in outcomes if isinstance(outcome, Rejection))


def test_all_simplified_words_are_built_as_far_as_their_rows_go() -> None:
    drafts, rejected = build("simplified")
    assert len(drafts) == 555
    assert rejected == {"single_stroke": 262, "not_recognized": 53}
    per_word = Counter(draft.answer for draft in drafts)
    assert len(per_word) == 60
    short = {
        "circle": 1,
        "line": 3,
        "paper clip": 4,
        "stairs": 4,
        "square": 5,
        "octagon": 6,
        "string bean": 6,
        "cloud": 8,
    }
    assert {word: count for word, count in per_word.items() if count < 9} == short


def test_all_raw_words_are_built_too() -> None:
    drafts, rejected = build("raw")
    assert len(drafts) == 46
    assert rejected == {"single_stroke": 83, "not_recognized": 3}


def test_both_kinds_of_file_make_up_for_one_another() -> None:
    drafts, _ = build("auto")
    assert len({draft.answer for draft in drafts}) == 63
    assert {draft.source.url.split("/")[-2] for draft in drafts} == {"simplified", "raw"}


def test_every_sample_can_be_worded_and_drawn() -> None:
    drafts, _ = build("auto")
    pool = prompting.load_pool("quickdraw")
    builder = QuickDrawBuilder(QuickDrawSettings(), 0)
    for draft in drafts[::17]:
        plan = prompting.word(draft, pool, "quickdraw", 0)
        frames = list(builder.render(plan, None))  # type: ignore[arg-type]
        assert len(frames) == len(plan.frames) == plan.max_turns
        assert len(set(frames)) > 1


def test_every_id_that_is_read_is_the_rows() -> None:
    for path in sorted(SAMPLES.glob("full/*/*.ndjson")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        found = scan(path, lambda numbers: numbers, 10_000)
        assert not found.broken
        assert [line.id for line in found.smallest] == sorted(int(row["key_id"]) for row in rows)


def test_both_forms_of_one_drawing_have_as_many_strokes() -> None:
    forms: dict[str, dict[str, int]] = {"simplified": {}, "raw": {}}
    for kind, strokes in forms.items():
        for path in SAMPLES.glob(f"full/{kind}/*.ndjson"):
            for line in path.read_text(encoding="utf-8").split("\n"):
                if line:
                    row = json.loads(line)
                    strokes[row["key_id"]] = len(row["drawing"])
    common = forms["simplified"].keys() & forms["raw"].keys()
    assert all(forms["simplified"][key] == forms["raw"][key] for key in common)
