"""Stage `assemble`: plans + frames -> dataset/, the repository tree of contract section 7. Knows no network.

This is the one place where rows are joined, cut and written. A scenario's data lies in a folder named by its content,
so one that didn't change isn't written again; README.md and manifest.json come last and switch to the new tree.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from build_bench import __version__, card, planning, rendering, schema, sheets, soundness, store
from build_bench.config import Config
from build_bench.draws import Draw
from build_bench.errors import BuildBenchError, InputError
from build_bench.store import Work

ROW_GROUP_BYTES = 32 << 20
"""Pictures per row group: the Hub's viewer refuses groups over 300 MB, and a stream holds one in memory."""
ROW_GROUP_ROWS = 256
FILE_BYTES = 400 << 20
LIBRARIES = ("numpy", "pillow", "pyarrow")
"""Those whose versions can change bytes of the dataset."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A scenario as it lies in dataset/."""

    made_of: str
    digest: str
    """12 hex digits of the content: the folder's name."""
    rows: int
    files: dict[str, list[Any]]
    """Path in the tree -> [bytes, sha256]."""


def assemble(work: Work, config: Config, scenarios: Sequence[str]) -> dict[str, Any]:
    """Lay out dataset/ of rendered scenarios; returns the manifest."""
    record_path = work.own / "assembled.json"
    record = _read_record(record_path)
    for scenario in scenarios:
        made_of = _made_of(work, config, scenario)
        known = record.get(scenario)
        if not (known and known.made_of == made_of and _lies_there(work, known)):
            record[scenario] = _write_scenario(work, config, scenario, made_of)
            store.write_bytes(record_path, store.to_json({name: asdict(entry) for name, entry in record.items()}))
    parts = {scenario: record[scenario] for scenario in scenarios}
    manifest = _manifest(work, config, parts)
    readme = card.render(manifest).encode()
    files = {path: facts for part in parts.values() for path, facts in part.files.items()}
    files["README.md"] = [len(readme), hashlib.sha256(readme).hexdigest()]
    manifest["files"] = {path: {"bytes": size, "sha256": digest} for path, (size, digest) in sorted(files.items())}
    store.write_bytes(work.dataset / "README.md", readme)
    store.write_bytes(work.dataset / "manifest.json", store.to_json(manifest))
    _remove_superseded(work, {*files, "manifest.json"})
    return manifest


def _read_record(path: Path) -> dict[str, Assembled]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Assembled])
    except (FileNotFoundError, msgspec.ValidationError):
        return {}


def _made_of(work: Work, config: Config, scenario: str) -> str:
    """Digest of all that a scenario's tree is a function of. Raises `InputError` if its frames don't fit its plan."""
    if not rendering.is_fresh(work, config, scenario):
        raise InputError(f"the frames of {scenario} are missing or stale", f"run build-bench build {scenario}")
    keys = [stamp.key for path in rendering.shard_paths(work, scenario) if (stamp := rendering.read_stamp(path))]
    versions = {name: metadata.version(name) for name in LIBRARIES}
    return store.digest_of([store.sha256(work.plans(scenario)), keys, planning.code_digest(), versions])


def _lies_there(work: Work, known: Assembled) -> bool:
    paths = {work.dataset / name: size for name, (size, _) in known.files.items()}
    return all(path.is_file() and path.stat().st_size == size for path, size in paths.items())


def _write_scenario(work: Work, config: Config, scenario: str, made_of: str) -> Assembled:
    """Write a scenario's parquet files and its contact sheet."""
    folder = work.dataset / "data" / scenario
    staging = folder / "staging.partial"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    shown = _shown(work, config, scenario)
    rows, examples = 0, []
    with _Files(staging, "kept") as files:
        for table in _batches(work, scenario):
            files.write(table)
            rows += len(table)
            examples += table.filter(pc.is_in(table["id"], pa.array(sorted(shown)))).to_pylist()
    if not rows:
        raise InputError(f"{scenario}: no sample could be rendered", f"the reasons are in {work.rejected(scenario)}")
    parts = {path.name: [path.stat().st_size, store.sha256(path)] for path in sorted(staging.iterdir())}
    digest = store.digest_of(parts)[:12]
    final = folder / digest
    if final.exists():
        shutil.rmtree(final)
    staging.rename(final)
    sheet = sheets.contact_sheet(examples)
    store.write_bytes(work.dataset / "assets" / f"{scenario}.jpg", sheet)
    laid = {f"data/{scenario}/{digest}/{name}": facts for name, facts in parts.items()}
    laid[f"assets/{scenario}.jpg"] = [len(sheet), hashlib.sha256(sheet).hexdigest()]
    return Assembled(made_of, digest, rows, laid)


def _shown(work: Work, config: Config, scenario: str) -> set[str]:
    """The ids of the samples on the contact sheet: drawn among those rendered, of different answers where there are."""
    rendered = {
        i
        for path in rendering.shard_paths(work, scenario)
        for i in pq.read_table(path, columns=["id"])["id"].to_pylist()
    }
    rows = [
        row
        for row in pq.read_table(work.plans(scenario), columns=["id", "answer"]).to_pylist()
        if row["id"] in rendered
    ]
    rows.sort(key=lambda row: Draw(config.seed, scenario, row["id"]).integer("contact sheet", 2**62))
    first_of = {row["answer"]: row["id"] for row in reversed(rows)}
    chosen = dict.fromkeys([*reversed(first_of.values()), *(row["id"] for row in rows)])
    return set(list(chosen)[: sheets.SAMPLES])


def _batches(work: Work, scenario: str) -> Iterator[pa.Table]:
    """Published rows in id order, a bounded number of bytes at a time; each row is checked."""
    first = 0
    for path in rendering.shard_paths(work, scenario):
        stamp = rendering.read_stamp(path)
        assert stamp is not None
        count = stamp.samples + len(stamp.rejected)
        planned = rendering.planned(work, scenario, first, count)
        first += count
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                rendered = file.read_row_group(group)
                chosen = planned.filter(pc.is_in(planned["id"], rendered["id"].combine_chunks()))
                _check(chosen, rendered)
                yield schema.published_table(chosen, rendered)


def _check(planned: pa.Table, rendered: pa.Table) -> None:
    if planned["id"].to_pylist() != rendered["id"].to_pylist():
        raise BuildBenchError("frames and plans don't fit", "delete the frames folder and run again")
    for row in planned.to_pylist():
        for problem in soundness.problems(row):
            raise BuildBenchError(f"{row['id']}: {problem}", "this is a mistake in the builder or in the prompts")


class _Files:
    """Parquet files of one split, cut by bytes: `kept-00000.parquet`, `kept-00001.parquet`, ..."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._schema = schema.features().arrow_schema
        self._texts = [
            leaf for field in schema.PUBLISHED if field.name != "frames" for leaf in _leaves(field.name, field.type)
        ]
        self._writer: pq.ParquetWriter | None = None
        self._number = self._written = 0
        self._pending: list[pa.Table] = []
        self._size = self._rows = 0

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        if self._writer:
            self._writer.close()

    def write(self, table: pa.Table) -> None:
        """Append rows, a row group whenever enough bytes are there."""
        step = max(1, int(len(table) * ROW_GROUP_BYTES / max(table.nbytes, 1)))
        for start in range(0, len(table), step):
            part = table.slice(start, step)
            self._pending.append(part)
            self._size, self._rows = self._size + part.nbytes, self._rows + len(part)
            if self._size >= ROW_GROUP_BYTES or self._rows >= ROW_GROUP_ROWS:
                self._flush()

    def _flush(self) -> None:
        if not self._pending:
            return
        if self._writer and self._written + self._size > FILE_BYTES:
            self._writer.close()
            self._writer = None
        if not self._writer:
            path = self._folder / f"{self._name}-{self._number:05d}.parquet"
            self._number, self._written = self._number + 1, 0
            self._writer = pq.ParquetWriter(
                path, self._schema, compression="none", use_dictionary=self._texts, write_statistics=["id"],
                use_content_defined_chunking=True, write_page_index=True,
            )  # fmt: skip
        self._writer.write_table(pa.concat_tables(self._pending).cast(self._schema))
        self._written += self._size
        self._pending, self._size, self._rows = [], 0, 0


def _leaves(name: str, kind: pa.DataType) -> Iterator[str]:
    """The names of a column's leaves as parquet spells them."""
    if pa.types.is_list(kind):
        yield from _leaves(f"{name}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{name}.{field.name}", field.type)
    else:
        yield name


def _manifest(work: Work, config: Config, parts: dict[str, Assembled]) -> dict[str, Any]:
    """Everything about how the tree came to be; without the day, so that the same build gives the same bytes."""
    scenarios = {}
    for scenario, part in parts.items():
        plan = planning.read_stamp(work, scenario)
        assert plan is not None
        stamps = [stamp for path in rendering.shard_paths(work, scenario) if (stamp := rendering.read_stamp(path))]
        reasons = Counter(r.reason for r in store.read_rejections(work.rejected(scenario)))
        if plan.candidates != part.rows + reasons.total():
            raise BuildBenchError(
                f"{scenario}: {plan.candidates} candidates, {part.rows} built, {reasons.total()} rejected"
            )
        scenarios[scenario] = {
            "digest": part.digest,
            "candidates": plan.candidates,
            "built": part.rows,
            "rejected": reasons.total(),
            "rejected_by_reason": dict(sorted(reasons.items())),
            "passed_over": plan.passed_over,
            "frames": sum(stamp.frames for stamp in stamps),
            "bytes": sum(size for path, (size, _) in part.files.items() if path.endswith(".parquet")),
            "splits": {"unfiltered": part.rows},
            "settings": config.public(scenario),
            "facts": plan.facts,
            "gaps": list(plan.gaps),
            "sources": plan.sources,
        }
    return {
        "format": 1,
        "release": None,
        "code": {"build-bench": __version__, **{name: metadata.version(name) for name in LIBRARIES}},
        "seed": config.seed,
        "threshold": None,
        "models": {},
        "scenarios": scenarios,
    }


def _remove_superseded(work: Work, listed: set[str]) -> None:
    """Remove our data and sheets that the manifest no longer lists. Others' files stay: they are never published."""
    for path in (*work.dataset.glob("data/*/*/*.parquet"), *work.dataset.glob("assets/*.jpg")):
        if path.relative_to(work.dataset).as_posix() not in listed:
            path.unlink()
    for folder in (*work.dataset.glob("data/*/*/"), *work.dataset.glob("data/*/")):
        if not any(folder.iterdir()):
            folder.rmdir()
