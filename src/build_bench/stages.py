"""The stages in the order of the pipeline, and what the work folder says about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq

from build_bench import planning, release, rendering, store
from build_bench.config import Config
from build_bench.errors import BuildBenchError
from build_bench.store import Work

PLAN, RENDER = "plan", "render"


def check(work: Work, config: Config, scenarios: Sequence[str]) -> None:
    """Raise what would stop the build later (an absent source, a missing extra) before any work is done."""
    for scenario in scenarios:
        builder = config.builder(scenario)
        builder.open(work.raw / scenario, work.scratch(scenario))
        builder.check(work.root)


def build(work: Work, config: Config, scenarios: Sequence[str], workers: int, only: str = "") -> dict[str, Any]:
    """Plan and render scenarios; returns their part of `status`."""
    with work.locked():
        check(work, config, scenarios)
        for scenario in scenarios:
            if only != RENDER:
                planning.plan(work, config, scenario)
            if only != PLAN:
                rendering.render(work, config, scenario, workers)
    return status(work, config, scenarios)


def assemble(work: Work, config: Config, scenarios: Sequence[str]) -> dict[str, Any]:
    """Lay out dataset/; returns the manifest."""
    with work.locked():
        return release.assemble(work, config, scenarios)


def status(work: Work, config: Config, scenarios: Sequence[str]) -> dict[str, Any]:
    """Per scenario: what was planned, rendered and rejected, and what is stale and why. Reads only."""
    return {"scenarios": {scenario: _status(work, config, scenario) for scenario in scenarios}}


def _status(work: Work, config: Config, scenario: str) -> dict[str, Any]:
    plan = planning.read_stamp(work, scenario)
    stamps = [stamp for path in rendering.shard_paths(work, scenario) if (stamp := rendering.read_stamp(path))]
    reasons = Counter(rejection.reason for rejection in store.read_rejections(work.rejected(scenario)))
    return {
        "candidates": plan.candidates if plan else 0,
        "planned": pq.read_metadata(work.plans(scenario)).num_rows if plan else 0,
        "built": sum(stamp.samples for stamp in stamps),
        "rejected": reasons.total(),
        "rejected_by_reason": dict(sorted(reasons.items())),
        "passed_over": plan.passed_over if plan else 0,
        "frames": sum(stamp.frames for stamp in stamps),
        "predicted_by": {},
        "kept": None,
        "gaps": list(plan.gaps) if plan else [],
        "stale": _stale(work, config, scenario, plan),
    }


def _stale(work: Work, config: Config, scenario: str, plan: planning.PlanStamp | None) -> list[str]:
    """What would be done again, and why, in words."""
    try:
        raw = config.builder(scenario).open(work.raw / scenario, work.scratch(scenario))
    except BuildBenchError as error:
        return [f"source: {error.message}"]
    if plan is None:
        return ["plan: not made yet"]
    if plan.made_of != planning.inputs(work, config, scenario, raw):
        return ["plan: the source, the settings, the seed or the program changed"]
    if not rendering.is_fresh(work, config, scenario):
        return ["frames: some are missing, or the plan changed"]
    return []


def defects(config: Config, scenarios: Sequence[str], report: dict[str, Any]) -> dict[str, int]:
    """Rejections that no rule of the paper asks for, by scenario and reason: what `--strict` fails on."""
    found = {}
    for scenario in scenarios:
        by_rule = config.builder(scenario).by_rule
        for reason, count in report["scenarios"][scenario]["rejected_by_reason"].items():
            if reason not in by_rule:
                found[f"{scenario}: {reason}"] = count
    return found
