"""`preview --study`: samples for a person to answer as a model does, at the first turn, without a hint.

The folder holds, of each sample, the first view, the question and the choices; no answer, no later view, no rule. An
id may name the category, so ids are kept in base64 and the pictures have numbers. What a person chooses is saved as a
table for `predict --import`, which judges it.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from build_bench import store
from build_bench.episode import Episode
from build_bench.errors import InputError, Rejected, UsageError
from build_bench.filters.inputs import FirstTurn
from build_bench.gallery import choosing, folder
from build_bench.gallery.dataset import Dataset
from build_bench.gallery.pictures import for_browsers
from build_bench.imaging import decode

KIND = "study"
PAGES = {"index.html": "study.html", "gallery.css": "gallery.css", "data.js": "data.js", "shown.js": "shown.js",
         "study.js": "study.js"}  # fmt: skip


def write(dataset: Dataset, out: Path, count: int, seed: int) -> dict[str, Any]:
    """Write a study of `count` samples, as many of one scenario as of another; returns study, samples, bytes.

    Raises `UsageError` if there are fewer, or `out` isn't ours; `InputError` for a damaged dataset.
    """
    chosen = choosing.studied(dataset.index, seed, count)
    if len(chosen) < count:
        raise UsageError(f"--study {count}: there are {len(chosen)} samples", "ask for fewer, or name more scenarios")
    folder.claim(out, KIND)
    rows = {row["id"]: row for part in dataset.slices([row["id"] for row in chosen])[0] for row in part.rows(_COLUMNS)}
    turns = [_turn(rows[row["id"]]) for row in chosen]
    pictures = [_picture(turn, number) for number, turn in enumerate(turns, 1)]
    for name, data in pictures:
        store.write_bytes(out / "pictures" / name, data)
    samples = [_item(turn, name) for turn, (name, _) in zip(turns, pictures, strict=True)]
    study = {"study": store.digest_of([seed, [turn.digest for turn in turns]])[:12], "samples": samples}
    folder.write(out, {"study": study}, PAGES)
    folder.sweep(out / "pictures", {name for name, _ in pictures})
    files, size = folder.size(out)
    return {"study": str(out / "index.html"), "samples": len(samples), "files": files, "bytes": size}


_COLUMNS = ["id", "question", "context", "hint", "reference_question", "options", "categories", "answer", "frames",
            "states", "start", "reference", "max_turns", "first_turn_answerable"]  # fmt: skip


def _turn(row: Mapping[str, Any]) -> FirstTurn:
    return FirstTurn(row, row["frames"][row["states"][row["start"]]["frame"]]["bytes"])


def _picture(turn: FirstTurn, number: int) -> tuple[str, bytes]:
    """The first view under a name that says nothing: the pixels that a model gets."""
    try:
        if not (crop := turn.episode.view.crop):
            kind, data, _ = for_browsers(turn.picture, None)
            return f"{number:04d}.{kind}", data
        buffer = io.BytesIO()
        decode(turn.picture, crop).save(buffer, "PNG")
        return f"{number:04d}.png", buffer.getvalue()
    except Rejected as why:
        raise InputError(f"the first picture of {turn.row['id']} is broken: {why}", "run build-bench verify") from why


def _item(turn: FirstTurn, picture: str) -> dict[str, Any]:
    episode = turn.episode
    return {
        "key": base64.b64encode(str(turn.row["id"]).encode()).decode(),
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
