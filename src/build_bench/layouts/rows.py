"""From a record and its game to a row: names, kinds and sources that the layout doesn't say, and pictures."""

from __future__ import annotations

import io
import warnings
from pathlib import PurePosixPath

from msgspec import UNSET
from PIL import Image

from build_bench import imaging, manifests, schema, soundness
from build_bench.builders.rod import published
from build_bench.errors import Rejected
from build_bench.layouts.folders import Release
from build_bench.layouts.record import Record
from build_bench.layouts.rules import Game, Look
from build_bench.prompting import Pool, open_texts
from build_bench.records import Plan, Source, State, View


def plan_of(record: Record, game: Game, scenario: str, pool: Pool) -> Plan:
    """A record as a plan of ours. Fields that our own export left (`bench_...`) come back as they were.

    Raises `Rejected`: `bad_bench_field`, and what `soundness` finds.
    """
    paths = game.paths()
    place = {path: number for number, path in enumerate(paths)}
    name = f"{scenario}-{record.id}" if record.bench_id is UNSET else record.bench_id
    if (
        not name.startswith(f"{scenario}-")
        or not name.isascii()
        or not name.replace("-", "").replace("_", "").isalnum()
    ):
        raise Rejected("bad_bench_field", f"bench_id {name!r}, expected {scenario}-...")

    def view(look: Look) -> View:
        return View(place[look.path], look.crop)

    plan = Plan(
        id=name,
        scenario=scenario,
        question=record.prompt,
        question_kind=_question_kind(record, scenario),
        context=game.context,
        hint=game.hint,
        reference_question=game.reference_question,
        options=game.options,
        categories=record.categories,
        answer=record.answer,
        frames=_names(record, paths),
        states=tuple(State(view(step.look), step.options, step.moves) for step in game.steps),
        start=game.start,
        reference=view(game.reference),
        max_turns=game.max_turns,
        first_turn_answerable=game.first_turn_answerable,
        open_proactive=(
            tuple(dict.fromkeys(text for option in game.options for text in open_texts(option, pool)))
            if record.bench_open_proactive is UNSET
            else record.bench_open_proactive
        ),
        open_categories=(
            (record.answer.rstrip("."),) if record.bench_open_categories is UNSET else record.bench_open_categories
        ),
        source=_source(record, scenario) if record.bench_source is UNSET else record.bench_source,
        group=name,
        recipe="",
    )
    for problem in soundness.problems(schema.plan_row(plan)):
        raise Rejected("unsound", problem)
    return plan


def _source(record: Record, scenario: str) -> Source:
    about = manifests.source(scenario)
    return Source(about["title"], record.image_template, about["homepage"], about["license"])


def _question_kind(record: Record, scenario: str) -> str:
    """What is asked for. The layout doesn't say; for videos the options (ChangeIt) or the answers (VSOD) show it."""
    if record.bench_question_kind is not UNSET:
        return record.bench_question_kind
    if scenario == "changeit":
        return "action" if any("action" in text for text in record.options) else "object"
    if scenario != "vsod":
        return "object"
    if all(text.rstrip(".").isdecimal() for text in record.categories):
        return "count"
    about_people = ("who", "speak", "talk", "individual", "person", "name")
    return "speaker" if any(word in record.prompt.lower() for word in about_people) else "event"


def _names(record: Record, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The frames' names: the files' own; with their folders where these alone would be the same."""
    if record.bench_frames is not UNSET:
        names = record.bench_frames
        if len(names) != len(paths) or any(not name or "/" in name or "\\" in name for name in names):
            raise Rejected("bad_bench_field", f"bench_frames has {len(names)} names for {len(paths)} pictures")
        return names
    plain = tuple(PurePosixPath(path).name for path in paths)
    return plain if len({*plain}) == len(plain) else tuple("-".join(path.split("/")[1:]) for path in paths)


def pictures(plan: Plan, paths: tuple[str, ...], release: Release) -> list[bytes]:
    """The frames' bytes, each once every pixel of it has been decoded. Raises `Rejected`."""
    found, sizes = [], []
    for path in paths:
        data = release.picture(path)
        try:
            sizes.append(imaging.decode(data).size)
        except Rejected as why:
            raise Rejected(why.reason, f"{path}: {why.detail}") from why
        if plan.scenario == "rod":
            data = published(data, path)
        elif turned := _turned(data):
            # The evaluator shows the pixels as they are stored, viewers and `datasets` would turn them.
            raise Rejected("exif_orientation", f"{path}: orientation {turned}")
        found.append(data)
    for problem in soundness.problems(schema.plan_row(plan), sizes):
        raise Rejected("unsound", problem)
    return found


def _turned(data: bytes) -> int:
    """The EXIF orientation; 0 where viewers turn nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a damaged EXIF block says no orientation
        orientation = Image.open(io.BytesIO(data)).getexif().get(0x0112, 1)
    return 0 if orientation in (0, 1) else int(orientation)
