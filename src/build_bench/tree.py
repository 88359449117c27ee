"""A dataset repository on disk (contract section 7): its parquet files, card and manifest. Knows no stage.

A scenario's data lies in a folder named by its content, so one that didn't change isn't written again; README.md and
manifest.json come last and switch to the new tree.
"""

from __future__ import annotations

import hashlib
import heapq
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from build_bench import card, card_samples, row_digests, schema, sheets, soundness, store
from build_bench.draws import Draw
from build_bench.errors import BuildBenchError
from build_bench.executors import cores

ROW_GROUP_BYTES = 32 << 20
"""Pictures per row group: the Hub's viewer refuses groups over 300 MB, and a stream holds one in memory."""
ROW_GROUP_ROWS = 256
FILE_BYTES = 400 << 20

KEPT, DROPPED = "kept", "dropped"
WHOLE = {"test": "unfiltered", "train": "train"}
"""The published split that has every row, by what `--split` was."""
CARD, MANIFEST, CHANGELOG = "README.md", "manifest.json", "CHANGELOG.md"
_DIGEST = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Part:
    """A scenario as it lies in the tree."""

    digest: str
    """12 hex digits of the content: the folder's name."""
    rows: int
    kept: int | None
    """Rows in the split `filtered`; None where nothing was filtered."""
    files: dict[str, list[Any]]
    """Path in the tree -> [bytes, sha256]."""
    digests: dict[str, dict[str, str]]
    """`kept` and `dropped` -> id -> `row_digests.of` it."""
    shown: list[dict[str, Any]]
    """`card_samples.facts` of the samples on the contact sheet, in its order."""

    def facts(self, split: str = "test") -> dict[str, Any]:
        """What the manifest says of the files and the rows in them. `split`: of what they are a part."""
        whole = WHOLE[split]
        splits = {whole: self.rows} | ({} if self.kept is None else {"filtered": self.kept})
        sizes = {name: size for name, (size, _) in self.files.items() if name.endswith(".parquet")}
        kept = sum(size for name, size in sizes.items() if is_kept(name))
        return {
            "digest": self.digest,
            "built": self.rows,
            "bytes": sum(sizes.values()),
            "rows": self.digests,
            "shown": self.shown,
            "splits": splits,
            "split_bytes": {whole: sum(sizes.values())} | ({} if self.kept is None else {"filtered": kept}),
        }


def is_kept(path: str) -> bool:
    """Whether a parquet file of the tree belongs to `filtered`, where there is such a split."""
    return path.rpartition("/")[2].startswith(f"{KEPT}-")


def lay_out(
    dataset: Path, scenario: str, tables: Iterable[pa.Table], shown: set[str], keep: Mapping[str, bool] | None
) -> Part:
    """Write a scenario's rows, and a contact sheet of those in `shown`.

    `tables`: rows of `schema.PUBLISHED` in the order of ids, bounded in bytes. `keep`: which ids `filtered` has; None:
    there is no such split. Raises `BuildBenchError` for a row that can't be played, or an id that `keep` doesn't know.
    """
    folder = dataset / "data" / scenario
    staging = folder / store.STAGING
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    digests: dict[str, dict[str, str]] = {KEPT: {}, DROPPED: {}}
    examples: list[dict[str, Any]] = []
    with ExitStack() as stack:
        files = {split: stack.enter_context(_Files(staging, split)) for split in (KEPT, DROPPED)}
        for table in tables:
            verdicts = [True] * len(table) if keep is None else [*_verdicts(table, keep)]
            for row, verdict in zip(row_digests.rows(table), verdicts, strict=True):
                _check(row)
                digests[KEPT if verdict else DROPPED][row["id"]] = row_digests.of_row(row)
            mask = pa.array(verdicts, pa.bool_())
            files[KEPT].write(table.filter(mask))
            files[DROPPED].write(table.filter(pc.invert(mask)))
            examples += table.filter(pc.is_in(table["id"], pa.array(sorted(shown), pa.string()))).to_pylist()
    kept = len(digests[KEPT])
    rows = kept + len(digests[DROPPED])
    if not rows:
        shutil.rmtree(staging)
        return Part("", 0, None if keep is None else 0, {}, digests, [])
    paths = sorted(staging.iterdir())
    with ThreadPoolExecutor(cores()) as pool:
        checksums = pool.map(store.sha256, paths)
    parts = {path.name: [path.stat().st_size, found] for path, found in zip(paths, checksums, strict=True)}
    digest = content_digest(parts)
    final = folder / digest
    if final.exists():
        shutil.rmtree(final)
    staging.rename(final)
    sheet = sheets.contact_sheet(examples)
    store.write_bytes(dataset / "assets" / f"{scenario}.jpg", sheet)
    laid = {f"data/{scenario}/{digest}/{name}": facts for name, facts in parts.items()}
    laid[f"assets/{scenario}.jpg"] = [len(sheet), hashlib.sha256(sheet).hexdigest()]
    known = [card_samples.facts(row) for row in examples]
    return Part(digest, rows, None if keep is None else kept, laid, digests, known)


def content_digest(files: Mapping[str, list[Any]]) -> str:
    """What a scenario's folder is called: 12 hex digits of its files' names, sizes and checksums."""
    return store.digest_of(files)[:12]


def _check(row: Mapping[str, Any]) -> None:
    """Raise `BuildBenchError` for one of `row_digests.rows` that can't be played."""
    for problem in soundness.problems({**row, "frames": [name for name, _ in row["frames"]]}):
        raise BuildBenchError(f"{row['id']}: {problem}", "this is a mistake in the builder or in the prompts")


def _verdicts(table: pa.Table, keep: Mapping[str, bool]) -> Iterator[bool]:
    for name in table["id"].to_pylist():
        if name not in keep:
            raise BuildBenchError(f"the keep list doesn't say whether {name} is kept", "filter again")
        yield keep[name]


def shown(rows: Iterable[Mapping[str, Any]], seed: int, scenario: str) -> set[str]:
    """The ids of the samples on the contact sheet: drawn among `rows` (id, answer), of different answers where there
    are."""
    first: dict[str, tuple[int, str]] = {}
    last: dict[str, tuple[int, str]] = {}
    least: list[tuple[int, str]] = []
    for row in rows:
        rank, name, answer = Draw(seed, scenario, row["id"]).integer("contact sheet", 2**62), row["id"], row["answer"]
        first[answer] = min(first.get(answer, (rank, name)), (rank, name))
        last[answer] = max(last.get(answer, (rank, name)), (rank, name))
        heapq.heappush(least, (-rank, name))
        if len(least) > sheets.SAMPLES:
            heapq.heappop(least)
    of_each = [first[answer][1] for answer in sorted(last, key=last.__getitem__)]
    chosen = dict.fromkeys([*of_each, *(name for _, name in sorted(least, reverse=True))])
    return set(list(chosen)[: sheets.SAMPLES])


def finish(dataset: Path, manifest: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    """Write the card and the manifest, and remove what they no longer list; returns the manifest with its files."""
    files = {path: {"bytes": size, "sha256": digest} for part in parts for path, (size, digest) in part.files.items()}
    manifest, texts = with_texts(manifest | {"columns": schema.columns(), "files": files})
    write_texts(dataset, manifest, texts)
    remove_superseded(dataset, set(manifest["files"]))
    return manifest


def with_texts(manifest: dict[str, Any], changelog: str = "") -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest with its card and changelog among its files, and those two, by path.

    The card is made of what a reader of manifest.json finds: a tree that is sealed later gets the same one.
    """
    texts = {CARD: card.render(msgspec.json.decode(store.to_json(manifest))).encode()} | (
        {CHANGELOG: changelog.encode()} if changelog else {}
    )
    files = {path: facts for path, facts in manifest["files"].items() if path not in (CARD, CHANGELOG)}
    files |= {name: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for name, d in texts.items()}
    return manifest | {"files": dict(sorted(files.items()))}, texts


def write_texts(dataset: Path, manifest: dict[str, Any], texts: Mapping[str, bytes]) -> None:
    """Write what `with_texts` gave, the manifest last: it switches to them."""
    for name, data in texts.items():
        store.write_bytes(dataset / name, data)
    store.write_bytes(dataset / MANIFEST, store.to_json(manifest))
    if CHANGELOG not in texts:
        (dataset / CHANGELOG).unlink(missing_ok=True)


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


def remove_superseded(dataset: Path, listed: set[str]) -> None:
    """Remove our data and sheets that the manifest no longer lists. Others' files stay: they are never published.

    Links are not followed: they lead to what isn't ours.
    """
    parts = [
        part for scenario in _folders(dataset / "data") for part in _folders(scenario) if _DIGEST.fullmatch(part.name)
    ]
    files = [path for part in parts for path in part.glob("*.parquet")]
    for path in [*files, *(dataset / "assets").glob("*.jpg")]:
        if path.relative_to(dataset).as_posix() not in listed:
            path.unlink()
    for folder in [*parts, *_folders(dataset / "data")]:
        if not any(folder.iterdir()):
            folder.rmdir()


def _folders(path: Path) -> list[Path]:
    real = path.is_dir() and not path.is_symlink()
    return [entry for entry in sorted(path.iterdir()) if entry.is_dir() and not entry.is_symlink()] if real else []
