"""`preview --study`: samples for a person to answer as a model does, at the first turn, without a hint.

The folder holds, of each sample, the first view, the question and the choices; no answer, no later view, no rule. An
id may name the category and metadata of a picture its item, so neither is in it: what a person chooses is saved under
numbers, and the work folder keeps which samples they stand for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from build_bench import jpeg, store
from build_bench.episode import Episode
from build_bench.errors import InputError, Rejected, UsageError
from build_bench.filters import inputs
from build_bench.filters.inputs import FirstTurn
from build_bench.gallery import choosing, folder
from build_bench.gallery.dataset import Dataset
from build_bench.gallery.pictures import BARE, as_png, for_browsers
from build_bench.imaging import decode
from build_bench.store import Work

KIND = "study"
PAGES = {"index.html": "study.html", "gallery.css": "gallery.css", "data.js": "data.js", "shown.js": "shown.js",
         "study.js": "study.js"}  # fmt: skip
_KEY = re.compile(r"study-([0-9a-f]{12})-(\d+)")
"""What a saved answer has for an id: the study's name and the number of the question."""


def drawn(dataset: Dataset, count: int, seed: int) -> list[FirstTurn]:
    """`count` samples as a model meets them, as many of one scenario as of another, in random order.

    Raises `UsageError` if there are fewer, `InputError` for a damaged dataset.
    """
    chosen = [row["id"] for row in choosing.studied(dataset.index, seed, count)]
    if len(chosen) < count:
        raise UsageError(f"--study {count}: there are {len(chosen)} samples", "ask for fewer, or name more scenarios")
    rows = {row["id"]: row for part in dataset.slices(chosen)[0] for row in part.rows(_COLUMNS)}
    return [_turn(rows[name]) for name in chosen]


def check_importable(work: Work, turns: Sequence[FirstTurn], dataset: Path) -> None:
    """Raise `InputError` unless `predict --import` will take answers to `turns`: else people answer for nothing."""
    wanted: dict[str, dict[str, str]] = {}
    for turn in turns:
        wanted.setdefault(turn.row["scenario"], {})[turn.row["id"]] = turn.digest
    for scenario, digests in wanted.items():
        if not inputs.built(work, [scenario]):
            raise InputError(
                f"what people answer couldn't be imported: {scenario} is not built in {work.root}",
                "name the work folder that the dataset was built in with --work; an adopted or pulled dataset has none",
            )
        there = {turn.row["id"]: turn.digest for turn in inputs.first_turns(work, scenario, set(digests))}
        if other := next((name for name, digest in digests.items() if there.get(name) != digest), None):
            raise InputError(
                f"what people answer wouldn't count: {work.root} shows {other} otherwise than {dataset}",
                "run build-bench assemble, or name the work folder that the dataset was built in with --work",
            )


def write(turns: Sequence[FirstTurn], work: Work, out: Path, seed: int) -> dict[str, Any]:
    """Write a study of `turns`; returns study, samples, files, bytes.

    Raises `UsageError` if `out` isn't ours, `InputError` for a picture that is broken.
    """
    ids = [turn.row["id"] for turn in turns]
    name = store.digest_of([seed, ids, [turn.digest for turn in turns]])[:12]
    with folder.claimed(out, KIND):
        # under the study's name: a page that is open shows no picture of a later study
        pictures = [_picture(turn, f"{name}-{number:04d}") for number, turn in enumerate(turns, 1)]
        for file, data in pictures:
            store.write_bytes(out / "pictures" / file, data)
        samples = [_item(turn, file) for turn, (file, _) in zip(turns, pictures, strict=True)]
        store.write_bytes(_samples_of(work, name), store.to_json(ids))
        folder.write(out, {"study": {"study": name, "samples": samples}}, PAGES)
        folder.sweep(out / "pictures", {file for file, _ in pictures})
        files, size = folder.size(out)
    return {"study": str(out / "index.html"), "samples": len(samples), "files": files, "bytes": size}


def with_ids(work: Work, path: Path) -> Path:
    """The table at `path` if it names samples by their ids; a study's answers are copied into the work folder, where
    the ids take the place of its numbers, line for line.

    Raises `InputError` for a study that the work folder doesn't know.
    """
    text = path.read_text("utf-8", "surrogateescape") if path.suffix == ".jsonl" and path.is_file() else ""
    if not _KEY.search(text):
        return path
    known: dict[str, list[str]] = {}
    lines = [_with_id(work, line, known, f"{path}, line {at}") for at, line in enumerate(text.split("\n"), 1)]
    copy = _studies(work) / path.name
    store.write_bytes(copy, "\n".join(lines).encode("utf-8", "surrogateescape"))
    return copy


def _with_id(work: Work, line: str, known: dict[str, list[str]], where: str) -> str:
    try:
        cells = json.loads(line)
    except (ValueError, RecursionError):
        return line  # importing says what is wrong with it
    key = _KEY.fullmatch(str(cells.get("id"))) if isinstance(cells, dict) else None
    if not key:
        return line
    name, number = key[1], int(key[2])
    ids = known.get(name) or known.setdefault(name, _ids(_samples_of(work, name), where))
    if not 1 <= number <= len(ids):
        raise InputError(f"{where}: the study has no question {number}, only {len(ids)}", "import the file as saved")
    return json.dumps(cells | {"id": ids[number - 1]})


def _ids(path: Path, where: str) -> list[str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[str])
    except (FileNotFoundError, msgspec.DecodeError) as error:
        raise InputError(
            f"{where}: the study was not made with this work folder, there is no {path}",
            "name the one that it was made with, with --work; or make the study again with the same --seed",
        ) from error


def _studies(work: Work) -> Path:
    return work.own / "studies"


def _samples_of(work: Work, name: str) -> Path:
    """Where the ids of a study's samples are kept, in the order of its questions."""
    return _studies(work) / f"{name}.json"


_COLUMNS = ["id", "scenario", "question", "context", "hint", "reference_question", "options", "categories", "answer",
            "frames", "states", "start", "reference", "max_turns", "first_turn_answerable"]  # fmt: skip


def _turn(row: Mapping[str, Any]) -> FirstTurn:
    return FirstTurn(row, row["frames"][row["states"][row["start"]]["frame"]]["bytes"])


def _picture(turn: FirstTurn, name: str) -> tuple[str, bytes]:
    """The pixels that a model gets, under a name of a file and without metadata, which might give them away."""
    crop = turn.episode.view.crop
    try:
        seen = decode(turn.picture, crop)
        if not crop and for_browsers(turn.picture, None)[0] == "jpg":
            return f"{name}.jpg", jpeg.stripped(turn.picture, BARE)
    except Rejected as why:
        raise InputError(f"the first picture of {turn.row['id']} is broken: {why}", "run build-bench verify") from why
    except ValueError:  # segments that can't be told apart, though it decodes
        pass
    return f"{name}.png", as_png(seen)


def _item(turn: FirstTurn, picture: str) -> dict[str, Any]:
    episode = turn.episode
    return {
        "digest": turn.digest,
        "picture": f"pictures/{picture}",
        "question": episode.question(),
        "choices": [[text, _answer(turn.row, place)] for place, text in enumerate(episode.choices)],
    }


def _answer(row: Mapping[str, Any], place: int) -> str:
    """A text that is read as the choice at `place`, as a model would write it.

    Of the forms that models use, the first that can't be taken for another choice. Raises `InputError` if all can.
    """
    text = Episode(row).choices[place]
    letter = chr(ord("A") + place)
    for form in (f"{letter}. {text}", text, letter):
        if Episode(row).read(form).choice == place:
            return form
    raise InputError(f"{row['id']}: no answer is read as {text!r}", "run build-bench verify on the dataset")
