"""The published columns (contract section 5) and how a `Plan` becomes a row of them, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from build_bench.records import Option, Plan, Source, State, View

if TYPE_CHECKING:
    from datasets import Features

_text, _index, _indexes = pa.string(), pa.int32(), pa.list_(pa.int32())
_texts = pa.list_(pa.string())
_view = [("frame", _index), ("crop", _indexes)]

FRAME = pa.struct([("bytes", pa.binary()), ("path", _text)])
"""How an Image is stored: the encoded picture and its name."""

_WORDED = [
    ("id", _text),
    ("scenario", _text),
    ("question", _text),
    ("question_kind", _text),
    ("context", _text),
    ("hint", _text),
    ("reference_question", _text),
    ("options", pa.list_(pa.struct([("text", _text), ("kind", _text), ("action", _text)]))),
    ("categories", _texts),
    ("answer", _text),
]
_WALKED = [
    ("states", pa.list_(pa.struct([*_view, ("options", _indexes), ("moves", _indexes)]))),
    ("start", _index),
    ("reference", pa.struct(_view)),
    ("max_turns", _index),
    ("first_turn_answerable", pa.bool_()),
    ("open_answers", pa.struct([("proactive", _texts), ("categories", _texts)])),
    ("source", pa.struct([("dataset", _text), ("key", _text), ("url", _text), ("license", _text)])),
]

PUBLISHED = pa.schema(
    [*_WORDED, ("frames", pa.list_(FRAME)), *_WALKED, ("first_turn_accuracy", pa.float32()), ("num_models", _index)]
)
"""One row of the dataset."""

PLANNED = pa.schema([*_WORDED, ("frames", _texts), *_WALKED, ("group", _text), ("recipe", _text)])
"""One row of `plans/<scenario>.parquet`: `frames` are names, `recipe` is what they are rendered from."""

RENDERED = pa.schema([("id", _text), ("frames", pa.list_(FRAME))])
"""One row of a frames shard."""


def columns() -> dict[str, str]:
    """Name and type of each published column, as the manifest has them, spelled the same by any version of pyarrow."""
    return {field.name: _spelled(field.type) for field in PUBLISHED}


def _spelled(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list of {_spelled(kind.value_type)}"
    if pa.types.is_struct(kind):
        return f"{{{', '.join(f'{field.name}: {_spelled(field.type)}' for field in kind)}}}"
    return str(kind)


def features() -> Features:
    """The published columns as `datasets` knows them. Imported here: it takes a second."""
    from datasets import Features, Image, List

    result = Features.from_arrow_schema(PUBLISHED)
    result["frames"] = List(Image())
    return result


def plan_row(plan: Plan) -> dict[str, Any]:
    """A plan as a row of `PLANNED`."""
    return {
        "id": plan.id,
        "scenario": plan.scenario,
        "question": plan.question,
        "question_kind": plan.question_kind,
        "context": plan.context,
        "hint": plan.hint,
        "reference_question": plan.reference_question,
        "options": [{"text": o.text, "kind": o.kind, "action": o.action} for o in plan.options],
        "categories": plan.categories,
        "answer": plan.answer,
        "frames": plan.frames,
        "states": [{**_view_row(s.view), "options": s.options, "moves": s.moves} for s in plan.states],
        "start": plan.start,
        "reference": _view_row(plan.reference),
        "max_turns": plan.max_turns,
        "first_turn_answerable": plan.first_turn_answerable,
        "open_answers": {"proactive": plan.open_proactive, "categories": plan.open_categories},
        "source": {name: getattr(plan.source, name) for name in ("dataset", "key", "url", "license")},
        "group": plan.group,
        "recipe": plan.recipe,
    }


def _view_row(view: View) -> dict[str, Any]:
    return {"frame": view.frame, "crop": view.crop}


def plan_of(row: Mapping[str, Any]) -> Plan:
    """The plan that `plan_row` made `row` of."""
    return Plan(
        **{name: row[name] for name in (
            "id", "scenario", "question", "question_kind", "context", "hint", "reference_question", "answer",
            "start", "max_turns", "first_turn_answerable", "group", "recipe",
        )},
        options=tuple(Option(**option) for option in row["options"]),
        categories=tuple(row["categories"]),
        frames=tuple(row["frames"]),
        states=tuple(State(_view_of(s), tuple(s["options"]), tuple(s["moves"])) for s in row["states"]),
        reference=_view_of(row["reference"]),
        open_proactive=tuple(row["open_answers"]["proactive"]),
        open_categories=tuple(row["open_answers"]["categories"]),
        source=Source(**row["source"]),
    )  # fmt: skip


def _view_of(row: Mapping[str, Any]) -> View:
    return View(row["frame"], tuple(row["crop"]))


def plans_table(plans: Iterable[Plan]) -> pa.Table:
    """Plans as a table of `PLANNED`."""
    return pa.Table.from_pylist([plan_row(plan) for plan in plans], PLANNED)


def published_table(planned: pa.Table, rendered: pa.Table) -> pa.Table:
    """Join plans and frames, row by row in the same order, into rows of `PUBLISHED` that no model has answered yet."""
    columns: dict[str, Any] = {name: planned[name] for name in planned.column_names if name in PUBLISHED.names}
    columns["frames"] = rendered["frames"]
    columns["first_turn_accuracy"] = pa.nulls(len(planned), pa.float32())
    columns["num_models"] = pa.array([0] * len(planned), pa.int32())
    return pa.table([columns[name] for name in PUBLISHED.names], PUBLISHED)
