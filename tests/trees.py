"""Small dataset trees without a build: plans of all seven scenarios with pictures drawn here."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from build_bench import schema, tree
from build_bench.records import Plan
from tests.evaluator import stress

Row = dict[str, Any]


def some_plans() -> list[Plan]:
    """Six of each scenario, of few frames; among ROD's are some with the hole."""
    found: dict[str, list[Plan]] = {}
    for plan in stress.plans():
        if len(plan.frames) <= 14 and len(plan.states) <= 15:
            found.setdefault(plan.scenario, []).append(plan)
    return [plans[at * (len(plans) - 1) // 5] for plans in found.values() for at in range(6)]


def picture(plan: Plan, frame: int) -> bytes:
    """An encoded picture, large enough for the crops, different for each frame of a sample."""
    edges = [edge for state in plan.states for edge in state.view.crop] or [24]
    side = max(edges) + 1
    data = io.BytesIO()
    image = Image.new("L", (side, side), 10 * frame % 256)
    image.save(data, "PNG" if plan.frames[frame].endswith("png") else "JPEG")
    return data.getvalue()


def lay_out(dataset: Path, plans: Sequence[Plan], keep: Mapping[str, bool] | None = None) -> Path:
    """A tree of `plans` with a card and a manifest."""
    parts, facts = {}, {}
    for scenario in dict.fromkeys(plan.scenario for plan in plans):
        chosen = sorted((plan for plan in plans if plan.scenario == scenario), key=lambda plan: plan.id)
        rendered = [
            {
                "id": plan.id,
                "frames": [{"bytes": picture(plan, at), "path": name} for at, name in enumerate(plan.frames)],
            }
            for plan in chosen
        ]
        table = schema.published_table(schema.plans_table(chosen), pa.Table.from_pylist(rendered, schema.RENDERED))
        parts[scenario] = tree.lay_out(dataset, scenario, [table], {chosen[0].id}, keep)
        facts[scenario] = {
            "candidates": len(chosen), "rejected": 0, "rejected_by_reason": {}, "passed_over": 0,
            "frames": sum(len(plan.frames) for plan in chosen), "settings": {}, "facts": {}, "gaps": [], "sources": [],
            **parts[scenario].facts(),
        }  # fmt: skip
    manifest = {
        "format": 1, "release": None, "code": {"build-bench": "0"}, "seed": 0, "threshold": None, "filtered_by": None,
        "models": {}, "scenarios": facts,
    }  # fmt: skip
    tree.finish(dataset, manifest, parts.values())
    return dataset


def rows_of(dataset: Path) -> dict[str, Row]:
    """id -> row, of both splits."""
    return {
        row["id"]: row for path in sorted(dataset.glob("data/*/*/*.parquet")) for row in pq.read_table(path).to_pylist()
    }
