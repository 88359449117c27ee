"""What a change costs over Xet: content-defined chunks in the parquet files, and kept rows apart from dropped ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from build_bench import publishing, sheets
from build_bench.hub import Repository
from build_bench.publishing import Wanted
from build_bench.records import Plan
from tests import samples, trees

from .server import Hub

PICTURE = 50_000
SAMPLES = 60
Change = Callable[[Plan], Plan]


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures that can't be packed: noise, different for each frame."""

    def noise(plan: Plan, frame: int) -> bytes:
        return random.Random(f"{plan.id} {frame}").randbytes(PICTURE)

    monkeypatch.setattr(trees, "picture", noise)
    monkeypatch.setattr(sheets, "contact_sheet", lambda rows: b"sheet")


def plans() -> list[Plan]:
    return [replace(samples.plan(f"key/{number}"), scenario="quickdraw") for number in range(SAMPLES)]


def push(folder: Path, chosen: list[Plan], keep: Mapping[str, bool] | None = None) -> dict[str, Any]:
    return publishing.push(trees.lay_out(folder, chosen, keep), Repository("lab/bench"), Wanted())


def reworded(plan: Plan) -> Plan:
    return replace(plan, question=f"{plan.question} Really?")


@pytest.mark.usefixtures("pictures")
def test_changed_questions_cost_text_only(hub: Hub, tmp_path: Path) -> None:
    push(tmp_path / "a", plans())
    everything = hub.uploaded_bytes
    hub.forget()
    push(tmp_path / "b", [reworded(plan) for plan in plans()])
    assert 0 < hub.uploaded_bytes < 0.03 * everything


@pytest.mark.usefixtures("pictures")
def test_a_changed_threshold_costs_a_part(hub: Hub, tmp_path: Path) -> None:
    """A tenth changes sides, evenly spread: the worst case. docs/decisions/push.md has the shares."""
    chosen = plans()
    push(tmp_path / "a", chosen, {plan.id: True for plan in chosen})
    everything = hub.uploaded_bytes
    hub.forget()
    push(tmp_path / "b", chosen, {plan.id: at % 10 != 0 for at, plan in enumerate(chosen)})
    assert 0 < hub.uploaded_bytes < 0.6 * everything
