"""The keep list: id -> kept, correct, models, in work/keep/<scenario>.parquet, with all that it was decided on.

It decides, it cuts nothing: `assemble` applies it, while it is fresh.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from build_bench import store
from build_bench.errors import InputError, UsageError
from build_bench.filters import binding, coverage, first_turn, predictions
from build_bench.filters.first_turn import Rule
from build_bench.filters.inputs import Inputs
from build_bench.filters.predictions import Settled
from build_bench.store import Work

SCHEMA = pa.schema([("id", pa.string()), ("kept", pa.bool_()), ("correct", pa.int32()), ("models", pa.int32())])
_CONTENT = "content"
"""In the stamp, beside what the list was decided on: a digest of its rows."""
_AGAIN = "run build-bench filter: it is made again"
BASELINE = "baseline:"
"""Begins the name of a model that looks at nothing."""
PERSON = "person:"
"""Begins the name of a person who answered a study."""


@dataclass(frozen=True, slots=True)
class KeepStamp:
    """What a keep list was decided on."""

    rule: str
    threshold: str
    """Exactly, as a decimal or a fraction."""
    all_models: bool
    """Whether those that `counted` gives were asked, rather than those that --models names."""
    models: dict[str, str]
    """Model -> digest of what it said; empty if it said nothing of this scenario."""
    inputs: str
    """Digest of what the samples showed."""
    gaps: dict[str, dict[str, int]]
    """Model -> stale, missing and failed samples, where --allow-missing let them pass."""
    left_out: tuple[str, ...] = ()
    """Models that --except names."""


@dataclass(frozen=True, slots=True)
class Marked:
    """Who was right on which sample of a scenario."""

    inputs: Inputs
    files: dict[str, Settled]
    """By model; those that said something of the scenario."""
    table: pl.LazyFrame
    """`first_turn.side_by_side`, in the order of `files`."""

    def tally(self) -> pl.LazyFrame:
        """id, first_turn_answerable, correct, models."""
        return first_turn.tally(self.table, len(self.files))


def counted(known: Sequence[str]) -> list[str]:
    """Those that count where nobody names any: the real models, or the baselines if there is none.

    Baselines beside models would move the line: what looks at no picture is right by chance. People answer a few.
    """
    real = [name for name in known if not name.startswith((BASELINE, PERSON))]
    return real or [name for name in known if name.startswith(BASELINE)]


def chosen_models(work: Work, wanted: Sequence[str], left_out: Sequence[str] = ()) -> list[str]:
    """The models wanted, or else those that count, without those left out.

    Raises `UsageError` for a name that isn't there, `InputError` if no model is left.
    """
    known = predictions.models(work)
    if not known:
        raise InputError(f"there are no predictions in {work.predictions}", "run build-bench predict first")
    for name in (*wanted, *left_out):
        if name not in known:
            raise _unknown(name, known)
    others = [name for name in known if name not in left_out]
    chosen = [name for name in others if name in wanted] if wanted else counted(others)
    if not chosen:
        raise InputError(
            f"no model is left that counts, of {', '.join(known)}",
            "run build-bench predict, or name with --models who is to count",
        )
    return chosen


def uncounted(work: Work, chosen: Sequence[str], left_out: Sequence[str] = ()) -> list[str]:
    """Baselines and people in the cache beside the models chosen."""
    others = (name for name in predictions.models(work) if name not in chosen and name not in left_out)
    return [name for name in others if name.startswith((BASELINE, PERSON))]


def _unknown(name: str, known: Sequence[str]) -> UsageError:
    """A model may be called without its kind and organisation: the nearest is named in full."""
    spelled = {part: model for model in known for part in (model.rpartition("/")[2], model.partition(":")[2], model)}
    near = difflib.get_close_matches(name, [part for part in spelled if part], n=1)
    meant = f"did you mean {spelled[near[0]]!r}? " if near else ""
    return UsageError(f"there is no model with predictions {name!r}", f"{meant}known: {', '.join(known)}")


def mark(work: Work, models: Sequence[str], scenario: str, inputs: Inputs) -> Marked:
    """Bring the models' files up to date and mark them. Raises `InputError` for a file that is broken."""
    files = {
        model: predictions.settle(work, model, scenario, inputs)
        for model in models
        if predictions.path_of(work, model, scenario).exists()
    }
    samples = inputs.table.lazy()
    marks = []
    for file in files.values():
        scanned = pl.scan_parquet(file.path, glob=False)
        if file.complete:
            marks.append(first_turn.marks(samples, scanned.head(len(inputs.table)), exact=True))
        else:  # one join after the other: side by side they would all be in memory
            marks.append(first_turn.marks(samples, scanned).collect(engine="streaming").lazy())
    return Marked(inputs, files, first_turn.side_by_side(samples, marks))


def engine(name: str) -> Literal["streaming", "gpu"]:
    """polars' name of an engine. Raises `UsageError` if it isn't installed."""
    if name == "gpu" and importlib.util.find_spec("cudf_polars") is None:
        raise UsageError(
            "--engine gpu needs cudf_polars, which is not installed",
            "install cudf-polars on a machine with an NVIDIA GPU, or leave --engine out: the keep list is the same",
        )
    return "gpu" if name == "gpu" else "streaming"


def decide(marked: Marked, rule: Rule, on: Literal["streaming", "gpu"] = "streaming") -> pa.Table:
    """The keep list of a scenario, columns of `SCHEMA`, in id order."""
    counts = marked.tally().collect(engine=on)
    decided = counts.with_columns(first_turn.kept(counts, rule))
    return decided.select(SCHEMA.names).to_arrow().cast(SCHEMA)


def refuse_gaps(covered: Mapping[str, Mapping[str, coverage.Coverage]]) -> None:
    """Raise `InputError` listing every model and scenario that isn't covered."""
    if found := coverage.gaps(covered):
        listed = "\n    ".join(found)
        raise InputError(
            f"not every model has answered every sample as it is now:\n    {listed}",
            "run build-bench predict again, leave a model out with --except, or allow it with --allow-missing",
        )


def write(work: Work, scenario: str, decided: pa.Table, stamp: KeepStamp) -> None:
    """Write a keep list, unless it is there already."""
    if read_stamp(work, scenario) == stamp:
        with contextlib.suppress(InputError):
            if read(work, scenario).equals(decided):
                return
    store.write_table(work.keep(scenario), decided, {**asdict(stamp), _CONTENT: binding.content(decided)}, 1 << 17)


def read(work: Work, scenario: str) -> pa.Table:
    """A scenario's keep list. Raises `InputError` if it is damaged, or changed by another program."""
    path = work.keep(scenario)
    try:
        # read_table would load pyarrow.dataset first
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
            stamp = store.decoded_stamp(file.metadata.metadata)
    except (pa.ArrowException, OSError, msgspec.DecodeError) as error:
        raise InputError(f"{path} can't be read: {error}", _AGAIN) from error
    if not table.schema.equals(SCHEMA) or not stamp or stamp.get(_CONTENT) != binding.content(table):
        raise InputError(f"{path} is not as build-bench filter wrote it", _AGAIN)
    return table


def read_stamp(work: Work, scenario: str) -> KeepStamp | None:
    """What a scenario's keep list was decided on; None if there is none, or one that another version wrote."""
    path = work.keep(scenario)
    try:
        return msgspec.convert(store.stamp_of(path), KeepStamp) if path.exists() else None
    except msgspec.ValidationError:
        return None


def why_stale(work: Work, scenario: str, stamp: KeepStamp, inputs: Inputs) -> str:
    """What has changed since a keep list was decided, in words; empty if nothing has. Writes nothing."""
    if stamp.inputs != inputs.key:
        return "keep list: samples changed since they were filtered"
    if stamp.all_models:
        there = predictions.models(work)
        now = counted([name for name in there if name not in stamp.left_out])
        if new := sorted(set(now) - set(stamp.models)):
            return f"keep list: predictions came in of {', '.join(new)}"
        if gone := [name for name in stamp.models if name in there and name not in now]:
            return f"keep list: {', '.join(gone)} no longer count: only models do, where there is one"
    found = {model: predictions.digest(work, model, scenario, inputs) for model in stamp.models}
    changed = [model for model, digest in stamp.models.items() if digest != found[model]]
    return f"keep list: predictions changed of {', '.join(changed)}" if changed else ""


def facts(stamps: Mapping[str, KeepStamp]) -> dict[str, Any]:
    """What the manifest says of the filter, from the stamps of the scenarios that have one."""
    first = next(iter(stamps.values()))
    threshold = float(Fraction(first.threshold))
    return {
        "rule": first.rule,
        "threshold": threshold,
        "filtered_by": f"those that fewer than {threshold:g} of the models got right at first sight ({first.rule})",
        "models": {
            model: {
                "baseline": model.startswith(BASELINE),
                "predictions": {name: stamp.models.get(model, "") for name, stamp in stamps.items()},
            }
            for model in sorted({model for stamp in stamps.values() for model in stamp.models})
        },
        "allowed_missing": {name: stamp.gaps for name, stamp in stamps.items() if stamp.gaps},
    }
