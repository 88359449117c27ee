"""The cache of what models answered: work/predictions/<model>/<scenario>.parquet (contract section 6).

A row per sample and input: when a prompt changes, the answer to the old one stays, and counts again should the old
prompt come back. A failed sample has an empty verdict and its reason in `runtime` ("error"): it is tried again next
time and never counted as wrong. Beside the contract's columns there is `choice`, the place that was chosen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import filelock
import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from build_bench import store
from build_bench.errors import InputError, UsageError
from build_bench.filters import binding
from build_bench.filters.inputs import VERDICTS, Inputs, judge, plan_rows
from build_bench.store import Work

FAILED = ""
"""The verdict of a sample that the model didn't answer."""

_TEXTS = ("model", "id", "input_digest", "answer", "verdict", "created", "runtime")
SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), ("choice", pa.int32())])
_BOUND = ["model", "id", "input_digest", "answer", "verdict", "choice"]
"""Columns that the stamp's `content` is a digest of: all that decides anything."""
ROW_GROUP = 1 << 17
_LONGEST = 200
"""Bytes of a folder's name; file systems allow 255."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A row of the cache but for its model."""

    id: str
    input_digest: str
    answer: str
    """The raw text; empty if there is none."""
    verdict: str
    """One of `inputs.VERDICTS`; `FAILED` if the model didn't answer."""
    created: str
    """When, ISO 8601 in UTC."""
    runtime: str
    """JSON: library versions, device, dtype, generation settings; `error` for a failed sample."""
    choice: int | None = None
    """Place of what was chosen among what was shown; None if nothing was."""


def now() -> str:
    """The time as `created` has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def answered(row: Mapping[str, Any], digest: str, text: str, runtime: Mapping[str, Any]) -> Prediction:
    """What a model wrote when shown the first turn of `row`, judged."""
    verdict, choice = judge(row, text)
    return Prediction(str(row["id"]), digest, text, verdict, now(), json.dumps(runtime, sort_keys=True), choice)


def failed(sample: str, digest: str, error: str, runtime: Mapping[str, Any]) -> Prediction:
    """A sample that got no answer, and why."""
    return Prediction(sample, digest, "", FAILED, now(), json.dumps({**runtime, "error": error}, sort_keys=True))


def folder_name(model: str) -> str:
    """A model's name as a folder that every file system takes; `model_name` is the way back.

    Raises `UsageError` if it is empty, too long or no Unicode.
    """
    try:
        name = quote(model, safe="")
    except UnicodeEncodeError:
        raise UsageError(f"the model's name {model!a} is no Unicode") from None
    if not 0 < len(name) <= _LONGEST:
        shown = repr(model if len(model) <= _LONGEST else f"{model[:40]}...")
        raise UsageError(f"the model's name {shown} takes {len(name):,} bytes as a folder, 1 to {_LONGEST} expected")
    # Not hidden, not `..`; and Windows drops a full stop at the end.
    ends = {0, len(name) - 1}
    return "".join("%2E" if sign == "." and place in ends else sign for place, sign in enumerate(name))


def model_name(folder: str) -> str:
    """The model whose folder this is. Raises `InputError` if it is no model's."""
    model = unquote(folder)
    try:
        spelled = folder_name(model)
    except UsageError as error:
        raise InputError(f"predictions/{folder!a} is no model's folder", f"rename it: {error.message}") from error
    if spelled != folder:
        raise InputError(f"predictions/{folder} is no model's folder", f"rename it: {model} is spelled {spelled}")
    return model


def path_of(work: Work, model: str, scenario: str) -> Path:
    """Where the predictions of a model lie."""
    return work.predictions / folder_name(model) / f"{scenario}.parquet"


def models(work: Work) -> list[str]:
    """The models in the cache, sorted."""
    folders = work.predictions.iterdir() if work.predictions.is_dir() else ()
    return sorted(model_name(path.name) for path in folders if path.is_dir() and any(path.glob("*.parquet")))


def read(path: Path, model: str, sample: str = "") -> pl.DataFrame:
    """All rows of a file, or those of one sample, in the columns of `SCHEMA`, ids and digests in order.

    Raises `InputError`, naming file and row: columns absent or of another type, another model, a verdict that is none,
    two rows for one input.
    """
    return _checked(path, _table(path, sample=sample), model)


def _table(path: Path, columns: Sequence[str] = SCHEMA.names, sample: str = "") -> pa.Table:
    """Columns of `SCHEMA`, as they stand in a file. Raises `InputError`."""
    try:
        if sample:
            table = pq.read_table(path, columns=list(columns), partitioning=None, filters=[("id", "=", sample)])
        else:  # read_table would load pyarrow.dataset first
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                table = file.read(columns=list(columns))
    except (pa.ArrowException, OSError) as error:  # pyarrow raises an OSError, without the name, for damaged pages
        raise InputError(f"{path} can't be read: {error}", "delete it and predict again") from error
    absent = [name for name in columns if name not in table.column_names and name != "choice"]
    if absent:
        raise InputError(f"{path} has no column {', '.join(absent)}", f"it has {', '.join(table.column_names)}")
    if "choice" not in table.column_names:
        table = table.append_column("choice", pa.nulls(len(table), pa.int32()))
    schema = pa.schema([field for field in SCHEMA if field.name in table.column_names])
    try:
        return table.select(schema.names).cast(schema)
    except (pa.ArrowException, ValueError, KeyError) as error:
        raise InputError(f"{path} has columns of other types: {error}", f"expected {schema.to_string()}") from error


def _checked(path: Path, table: pa.Table, model: str) -> pl.DataFrame:
    frame = pl.DataFrame(pl.from_arrow(table))
    text = [pl.col(name).is_null() for name in _TEXTS]
    _refuse(path, frame, pl.any_horizontal(text), "a value is missing in the row of")
    _refuse(path, frame, pl.col("model") != model, f"another model than {model} in the row of")
    _refuse(path, frame, ~pl.col("verdict").is_in([*VERDICTS, FAILED]), "not a verdict in the row of")
    _refuse(path, frame, pl.struct("id", "input_digest").is_duplicated(), "two predictions of one input for")
    return frame.sort("id", "input_digest")


def _refuse(path: Path, frame: pl.DataFrame, wrong: pl.Expr, what: str) -> None:
    found = frame.with_row_index("row", offset=1).filter(wrong).select("row", "id").head(3).rows()
    if found:
        rows = ", ".join(f"{name} (row {row})" for row, name in found)
        raise InputError(f"{path}: {what} {rows}", "mend those rows, or delete the file and predict again")


def merge(work: Work, model: str, scenario: str, new: Iterable[Prediction], inputs: Inputs) -> None:
    """Add rows to a model's file, whole or not at all. A new row replaces the one of the same input, but a failure
    never replaces an answer. Raises `InputError` if the file there is broken."""
    path = path_of(work, model, scenario)
    rows = [(model, *astuple(prediction)) for prediction in new]
    added = pl.DataFrame(rows, pl.DataFrame(pl.from_arrow(SCHEMA.empty_table())).schema, orient="row")
    with _writing(work):
        if path.exists():
            added = pl.concat([_current(work, model, scenario, inputs)[0], added])
        _write(path, _best(added), inputs)


def join(work: Work, path: Path, other: Path) -> None:
    """Add to a model's file the rows of one that another machine wrote; of two answers to one input the later one
    stays. They are judged when they are needed. Raises `InputError` if either is broken."""
    with _writing(work):
        rows = pl.concat([pl.DataFrame(pl.from_arrow(_table(each))) for each in (path, other)])
        best = _best(rows.sort("created", maintain_order=True)).sort("id", "input_digest")
        store.write_table(path, best.to_arrow().cast(SCHEMA), {"rules": "of neither"}, ROW_GROUP)


def _best(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each input: the last answer, or the last failure if there is none."""
    is_answer = pl.col("verdict") != FAILED
    ordered = rows.with_row_index("order").sort(is_answer, "order")
    return ordered.unique(["id", "input_digest"], keep="last", maintain_order=True).drop("order")


@contextmanager
def _writing(work: Work) -> Iterator[None]:
    """One writer at a time, and others wait: predicting goes on while samples are filtered, and no row is lost."""
    work.own.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(work.own / "predictions.lock"):
        for left in work.predictions.glob("*/*.parquet.*.partial"):
            left.unlink()
        yield


def forget_former(work: Work, model: str, scenario: str, inputs: Inputs) -> None:
    """Forget a model's answers to former inputs."""
    path = path_of(work, model, scenario)
    if path.exists():
        with _writing(work):
            frame, _ = _current(work, model, scenario, inputs)
            _write(path, frame.join(inputs.table, on=["id", "input_digest"], how="semi"), inputs)


def _write(path: Path, frame: pl.DataFrame, inputs: Inputs) -> None:
    """Write a file: the rows of the samples as they are now, in the samples' order, then those of former inputs."""
    shown = inputs.table.select("id", "input_digest")
    fits = shown.join(frame, on=["id", "input_digest"], maintain_order="left").select(frame.columns)
    others = frame.join(shown, on=["id", "input_digest"], how="anti").sort("id", "input_digest")
    said = [fits[name].to_list() for name in ("model", "id", "input_digest", "answer", "verdict")]
    table = pl.concat([fits, others]).to_arrow().select(SCHEMA.names).cast(SCHEMA)
    stamp = {
        "rules": inputs.rules,
        "complete": len(fits) == len(shown),
        "digest": store.digest_of(said),
        "content": binding.content(table.select(_BOUND)),
    }
    store.write_table(path, table, stamp, ROW_GROUP)


@dataclass(frozen=True, slots=True)
class Settled:
    """A file that is known to be sound and judged by the rules as they are."""

    path: Path
    digest: str
    """Of what the model said of the samples as they are now: the same on any day and machine."""
    complete: bool
    """Whether its first rows are those of the samples, one by one in their order; `FAILED` ones among them."""


def settle(work: Work, model: str, scenario: str, inputs: Inputs) -> Settled:
    """Bring a model's file up to date with the samples.

    A file judged by other rules (the right answer was corrected) is judged again. One that another program wrote or
    changed is checked: raises `InputError` for what `read` does, and for a verdict that contradicts its answer.
    """
    path = path_of(work, model, scenario)
    seen = binding.look(work, path)
    stamp = _sound(path, model, inputs, seen)
    if stamp:
        seen.remember()
    else:
        with _writing(work):
            frame, sound = _current(work, model, scenario, inputs)
            if not sound:
                _write(path, frame, inputs)
        stamp = _stamp(path)
    return Settled(path, stamp["digest"], stamp["complete"])


def _sound(path: Path, model: str, inputs: Inputs, seen: binding.Seen) -> dict[str, Any]:
    """The file's stamp; empty if it was judged by other rules, or its rows aren't those that it was given for."""
    stamp = _stamp(path)
    if stamp.get("rules") != inputs.rules:
        return {}
    if not seen.known:
        table = _table(path, columns=_BOUND)
        if stamp.get("content") != binding.content(table) or set(table["model"].unique().to_pylist()) - {model}:
            return {}
    return stamp


def _current(work: Work, model: str, scenario: str, inputs: Inputs) -> tuple[pl.DataFrame, bool]:
    """The rows of a file, judged by the rules as they are; and whether they stand there like that."""
    path = path_of(work, model, scenario)
    stamp, table = _stamp(path), _table(path)
    frame = _checked(path, table, model)
    if stamp.get("rules") == inputs.rules and stamp.get("content") == binding.content(table.select(_BOUND)):
        return frame, True
    fits = inputs.table.select("id", "input_digest")
    fresh = frame.filter(pl.col("verdict") != FAILED).join(fits, on=["id", "input_digest"], maintain_order="left")
    known = plan_rows(work, scenario, fresh["id"].to_list())
    judged = [judge(known[name], text) for name, text in fresh.select("id", "answer").rows()]
    verdicts = pl.Series("verdict", [verdict for verdict, _ in judged], pl.String)
    if stamp.get("rules") in (None, inputs.rules):  # by other rules, another verdict is no contradiction
        _contradictions(path, fresh, verdicts)
    again = fresh.with_columns(verdicts, pl.Series("choice", [choice for _, choice in judged], pl.Int32))
    others = frame.join(again, on=["id", "input_digest"], how="anti")
    return pl.concat([again.select(frame.columns), others]), False


def digest(work: Work, model: str, scenario: str, inputs: Inputs) -> str:
    """`Settled.digest`; empty if there is no file, or `settle` must look at it first. Writes nothing."""
    path = path_of(work, model, scenario)
    return str(_sound(path, model, inputs, binding.look(work, path)).get("digest", "")) if path.exists() else ""


def _contradictions(path: Path, frame: pl.DataFrame, verdicts: Sequence[str] | pl.Series) -> None:
    for name, text, said, found in zip(frame["id"], frame["answer"], frame["verdict"], verdicts, strict=True):
        if said != found:
            raise InputError(
                f"{path}: {name}: the answer {text!r} is {found}, but its verdict is {said}",
                "mend the row, or import the answers alone: predict --import judges them",
            )


def _stamp(path: Path) -> dict[str, Any]:
    """The file's stamp; empty if another program wrote it."""
    try:
        return store.decoded_stamp(pq.read_metadata(path).metadata) or {}
    except (pa.ArrowException, msgspec.DecodeError) as error:
        raise InputError(f"{path} can't be read: {error}", "delete it and predict again") from error
