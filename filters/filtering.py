"""`filter`: the rule over all of the chosen models' fresh predictions, one keep list per scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from build_bench.errors import InputError, UsageError
from build_bench.filters import coverage, first_turn, inputs, keep_list, predictions
from build_bench.filters.first_turn import Rule
from build_bench.filters.inputs import Inputs
from build_bench.filters.keep_list import KeepStamp
from build_bench.store import Work

FILTER = "run build-bench filter with the --threshold that you want, and --models if you named some"


@dataclass(frozen=True, slots=True)
class Choice:
    """How to filter."""

    rule: Rule
    models: tuple[str, ...] = ()
    """Those asked; those that `keep_list.counted` gives if none is named."""
    allow_missing: bool = False
    engine: str = "cpu"
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeepList:
    """A keep list as it lies on disk."""

    stamp: KeepStamp
    table: pa.Table
    """Columns of `keep_list.SCHEMA`."""

    def facts(self) -> dict[str, Any]:
        """kept, and the share of right first answers to all samples and to those kept."""
        kept = self.table.filter(self.table["kept"])
        return {
            "kept": len(kept),
            "first_turn_accuracy": _accuracy(self.table),
            "kept_first_turn_accuracy": _accuracy(kept),
        }


def _accuracy(table: pa.Table) -> float | None:
    answers = pc.sum(table["models"]).as_py()
    return pc.sum(table["correct"]).as_py() / answers if answers else None


def read_inputs(work: Work, scenarios: Sequence[str], *, save: bool = True) -> dict[str, Inputs]:
    """What the built ones of `scenarios` show. Raises `InputError` if none is built."""
    found = {name: inputs.read(work, name, save=save) for name in inputs.built(work, scenarios)}
    if not found:
        raise InputError(f"nothing is built in {work.root}", "run build-bench build SCENARIO, or build-bench all")
    return found


def filter_(work: Work, scenarios: Sequence[str], choice: Choice) -> dict[str, Any]:
    """Write the keep lists of the built scenarios; returns rule, threshold, models and counts per scenario.

    Raises `InputError` listing what isn't covered, unless that is allowed; no keep list is touched then.
    """
    engine = keep_list.engine(choice.engine)
    models = keep_list.chosen_models(work, choice.models, choice.left_out)
    shown = read_inputs(work, scenarios)
    marked = {name: keep_list.mark(work, models, name, found) for name, found in shown.items()}
    decided = {name: keep_list.decide(found, choice.rule, engine) for name, found in marked.items()}
    full = all(pc.min(table["models"]).as_py() == len(models) for table in decided.values())
    covered = {} if full else coverage.table(work, models, shown)
    if not choice.allow_missing:
        keep_list.refuse_gaps(covered)
    for name, table in decided.items():
        files = marked[name].files
        gaps = {model: found[name].counts for model, found in covered.items() if not found[name].complete}
        stamp = KeepStamp(
            choice.rule.name,
            str(choice.rule.threshold),
            not choice.models,
            {model: files[model].digest if model in files else "" for model in models},
            shown[name].key,
            gaps,
            choice.left_out,
        )
        keep_list.write(work, name, table, stamp)
    lists = read(work, list(decided))
    said = keep_list.facts({name: found.stamp for name, found in lists.items()})
    return {
        **said,
        "beside": [name for name in predictions.models(work) if name not in models],
        "gaps": coverage.gaps(covered),
        "scenarios": {name: {"total": len(k.table), **k.facts()} for name, k in lists.items()},
    }


def read(work: Work, scenarios: Sequence[str]) -> dict[str, KeepList]:
    """The keep lists there are, fresh or not."""
    stamps = {name: stamp for name in scenarios if (stamp := keep_list.read_stamp(work, name))}
    return {name: KeepList(stamp, keep_list.read(work, name)) for name, stamp in stamps.items()}


def fresh(work: Work, scenarios: Sequence[str]) -> dict[str, KeepList]:
    """The keep lists of `scenarios`, to be applied; none if none was ever written.

    Raises `InputError` if one is absent or stale, or if they were decided by different rules.
    """
    if not any(work.keep(name).exists() for name in scenarios):
        return {}
    lists = read(work, scenarios)
    hint = "run build-bench filter again; or assemble without the split `filtered`: --unfiltered"
    for name in scenarios:
        if name not in lists:
            raise InputError(f"{name} has no keep list that can be read, and there are others", hint)
        if why := keep_list.why_stale(work, name, lists[name].stamp, inputs.read(work, name, save=False)):
            raise InputError(f"{name}: {why}", hint)
    if len({(found.stamp.rule, tuple(found.stamp.models)) for found in lists.values()}) > 1:
        raise InputError("the scenarios were filtered by different rules or models", hint)
    return lists


def former(work: Work, scenarios: Sequence[str]) -> Choice | None:
    """How the scenarios were filtered last, whether or not that still fits, or others if these never were; None if none
    was.

    Raises `InputError` if that can't be told: nobody's threshold is to become another without a word.
    """
    every = sorted(path.stem for path in work.keep("").parent.glob("*.parquet"))
    there = [name for name in scenarios if name in every] or every
    stamps = {name: keep_list.read_stamp(work, name) for name in there}
    choices = {
        Choice(
            Rule(Fraction(stamp.threshold)),
            () if stamp.all_models else tuple(stamp.models),
            any(one.gaps for one in stamps.values() if one),
            left_out=stamp.left_out,
        )
        for stamp in stamps.values()
        if stamp
    }
    if unread := [name for name, stamp in stamps.items() if stamp is None]:
        raise InputError(f"the keep list of {', '.join(unread)} can't be read", FILTER)
    if len(choices) > 1:
        rules = ", ".join(f"{name} by {stamp.rule}" for name, stamp in stamps.items() if stamp)
        raise InputError(f"the scenarios were filtered by different rules or models: {rules}", FILTER)
    return next(iter(choices), None)


def again(work: Work, scenarios: Sequence[str]) -> tuple[dict[str, KeepList], str]:
    """Fresh keep lists for `all`: those there are, or filtered as before; or none, and why not in a line."""
    if not predictions.models(work):
        return {}, "There are no predictions, so no split `filtered`: run build-bench predict, then all again."
    try:
        filter_(work, scenarios, former(work, scenarios) or Choice(first_turn.rule()))
        return fresh(work, scenarios), ""
    except (InputError, UsageError) as error:  # a model that was asked formerly may be gone
        return {}, f"Not filtered, so no split `filtered`: {error.message}; {error.hint}"


def status(work: Work, scenario: str) -> dict[str, Any]:
    """predicted_by, kept and stale of contract section 9. Writes nothing."""
    models = predictions.models(work)
    stamp = keep_list.read_stamp(work, scenario)
    if not (models or stamp) or not inputs.built(work, [scenario]):
        return {"predicted_by": {}, "kept": None, "stale": []}
    shown = inputs.read(work, scenario, save=False)
    covered = {model: found[scenario] for model, found in coverage.table(work, models, {scenario: shown}).items()}
    stale = [
        f"predictions of {model}: {found.stale:,} samples changed" for model, found in covered.items() if found.stale
    ]
    kept = None
    if stamp:
        try:
            kept = int(pc.sum(keep_list.read(work, scenario)["kept"]).as_py() or 0)
            stale += filter(None, [keep_list.why_stale(work, scenario, stamp, shown)])
        except InputError as error:
            stale.append(f"keep list: {error.message}")
    return {
        "predicted_by": {m: found.fresh for m, found in covered.items() if found.fresh},
        "kept": kept,
        "stale": stale,
    }
