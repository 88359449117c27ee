"""What the work folder says of each stage: what is there, what is stale and why. Reads only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow.parquet as pq

from build_bench import card_made, disjoint, listing, planning, release, shards, store, tree
from build_bench.config import Config
from build_bench.errors import BuildBenchError
from build_bench.filters import filtering
from build_bench.release import Assembled
from build_bench.store import Work


def status(work: Work, config: Config, scenarios: Sequence[str]) -> dict[str, Any]:
    """Per scenario: what was planned, rendered and rejected, and what is stale and why."""
    return {"scenarios": {scenario: _of(work, config, scenario) for scenario in scenarios}}


def of_dataset(work: Work, scenarios: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """What lies in dataset/, and which of `scenarios`, as `status` gives them, would be laid out otherwise; None if
    there is none."""
    if not (work.dataset / tree.MANIFEST).exists():
        return None
    manifest = listing.read(work.dataset)
    settled = [name for name, facts in scenarios.items() if facts["built"] and not facts["stale"]]
    return {
        "release": manifest["release"],
        "splits": card_made.totals(manifest["scenarios"]),
        "stale": outdated(work, manifest, settled),
    }


def outdated(work: Work, manifest: Mapping[str, Any], scenarios: Iterable[str]) -> dict[str, str]:
    """Which of the built `scenarios` were built or filtered otherwise than what lies in dataset/, and how, in words."""
    known, left_out = release.laid_out(work), manifest.get("left_out", ())
    found = {name: _differs(work, manifest, name, known.get(name)) for name in scenarios if name not in left_out}
    return {name: why for name, why in found.items() if why}


def _differs(work: Work, manifest: Mapping[str, Any], scenario: str, known: Assembled | None) -> str:
    there = manifest["scenarios"].get(scenario)
    if not there:
        return "not in it"
    keep = filtering.read(work, [scenario]).get(scenario)
    if keep and "filtered" not in there["splits"]:
        return "filtered since, or laid out with --unfiltered"
    made_of = known.made_of if known and known.part.digest == there["digest"] else ""  # pulled or adopted
    now = keep.stamp.rule if keep else None, release.made_of(work, scenario, keep)
    return "" if (manifest.get("rule"), made_of) == now else "built or filtered otherwise since"


def _of(work: Work, config: Config, scenario: str) -> dict[str, Any]:
    predicted, shared = filtering.status(work, scenario), disjoint.shared(work, scenario)
    plan = planning.read_stamp(work, scenario)
    stamps = shards.stamps(work, scenario)
    reasons = Counter(rejection.reason for rejection in store.read_rejections(work.rejected(scenario)))
    return {
        "candidates": plan.candidates if plan else 0,
        "planned": pq.read_metadata(work.plans(scenario)).num_rows if plan else 0,
        "built": sum(stamp.samples for stamp in stamps),
        "rejected": reasons.total(),
        "rejected_by_reason": dict(sorted(reasons.items())),
        "passed_over": plan.passed_over if plan else 0,
        "frames": sum(stamp.frames for stamp in stamps),
        "predicted_by": predicted["predicted_by"],
        "kept": predicted["kept"],
        "gaps": list(plan.gaps) if plan else [],
        "stale": [*why_stale(work, config, scenario), *predicted["stale"], *filter(None, [shared])],
    }


def why_stale(work: Work, config: Config, scenario: str) -> list[str]:
    """What would be planned or rendered again, and why, in words."""
    plan = planning.read_stamp(work, scenario)
    try:
        raw = config.builder(scenario).open(work.raw / scenario, work.scratch(scenario))
    except BuildBenchError as error:
        return [f"source: {error.message}"]
    if plan is None:
        return ["plan: not made yet"]
    now = planning.inputs(work, config, scenario, raw)
    if changed := [name for name, digest in now.items() if plan.made_of.get(name) != digest]:
        return [f"plan: {' and '.join(changed)} changed{_settings_changed(config, scenario, plan)}"]
    if not shards.is_fresh(work, config, scenario):
        return ["frames: some are missing, or the plan changed"]
    return []


def _settings_changed(config: Config, scenario: str, plan: planning.PlanStamp) -> str:
    now = config.values(scenario)
    changed = [
        f"{key} = {_said(plan.settings.get(key))} then, {_said(now.get(key))} now"
        for key in {**now, **plan.settings}
        if plan.settings.get(key) != now.get(key)
    ]
    return (
        f" ({', '.join(changed)}: the same --set, --limit, --per-class and --config go with every command)"
        if changed
        else ""
    )


def _said(value: Any) -> str:
    return "none" if value is None else repr(value)


def defects(config: Config, scenarios: Sequence[str], report: dict[str, Any]) -> dict[str, int]:
    """Rejections that no rule of the paper asks for, by scenario and reason: what `--strict` fails on."""
    found = {}
    for scenario in scenarios:
        by_rule = config.builder(scenario).by_rule
        for reason, count in report["scenarios"][scenario]["rejected_by_reason"].items():
            if reason not in by_rule:
                found[f"{scenario}: {reason}"] = count
    return found
