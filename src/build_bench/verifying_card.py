"""Does a card's YAML name the files, splits and columns that the manifest lists?

Meanings are compared, not bytes: the card of an older release was written by other code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec
import yaml

from build_bench import schema

EVERYTHING = "all"
"""The config with the rows of every scenario."""

SPLITS = ("unfiltered", "filtered", "train")

_PICTURE = re.compile(r"\]\((assets/[^)\s]+)\)")


class _DataFiles(msgspec.Struct):
    split: str
    path: str | list[str]


class _Config(msgspec.Struct):
    config_name: str
    data_files: list[_DataFiles]
    default: bool = False


class _Split(msgspec.Struct):
    name: str
    num_examples: int


class _Info(msgspec.Struct):
    config_name: str
    features: list[Any]
    splits: list[_Split]


class _Front(msgspec.Struct):
    """What is checked of the YAML."""

    configs: list[_Config]
    dataset_info: list[_Info]


Tables = Mapping[str, Mapping[str, Iterable[str]]]
"""Scenario -> split -> its parquet files."""
Rows = Mapping[str, Mapping[str, int]]
"""Scenario -> split -> its rows."""


def problems(card: bytes, files: Iterable[str], tables: Tables, rows: Rows) -> Iterator[str]:
    """What the card says otherwise. `files`: all that are listed. Splits without rows are left out everywhere."""
    listed = {*files}
    try:
        text = card.decode()
        front = msgspec.convert(yaml.safe_load(_front_matter(text)), _Front)
    except (ValueError, yaml.YAMLError, RecursionError) as error:  # msgspec's errors are ValueErrors
        yield f"its YAML can't be read: {' '.join(str(error).split())[:300]}"
        return
    for picture in dict.fromkeys(_PICTURE.findall(text)):
        if picture not in listed:
            yield f"it shows {picture}, which is not in the manifest"
    parts = {EVERYTHING: [*tables], **{name: [name] for name in tables}}
    for what, found in (("configs", front.configs), ("dataset_info", front.dataset_info)):
        if sorted(each.config_name for each in found) != sorted(parts):
            yield f"its {what} are {', '.join(each.config_name for each in found)}; expected {', '.join(parts)}"
    if [config.config_name for config in front.configs if config.default] != [EVERYTHING]:
        yield f"its default config is not {EVERYTHING}"
    for config in front.configs:
        expected = _merged({name: tables[name] for name in parts.get(config.config_name, ())})
        yield from (f"config {config.config_name}: {problem}" for problem in _file_problems(config, listed, expected))
    for info in front.dataset_info:
        counts = _summed({name: rows[name] for name in parts.get(info.config_name, ())})
        yield from (f"config {info.config_name}: {problem}" for problem in _info_problems(info, counts))


def _front_matter(text: str) -> str:
    """The YAML. Raises `ValueError` if there is none."""
    found = re.match(r"---\r?\n(.*?\n)---\r?\n", text, re.DOTALL)
    if not found:
        raise ValueError("it doesn't stand between two lines of dashes at the top")
    return found[1]


def _merged(tables: Tables) -> dict[str, set[str]]:
    return {
        split: {path for found in tables.values() for path in found.get(split, ())}
        for split in SPLITS
        if any(split in found for found in tables.values())
    }


def _summed(rows: Rows) -> dict[str, int]:
    return {
        split: sum(found.get(split, 0) for found in rows.values())
        for split in SPLITS
        if any(split in found for found in rows.values())
    }


def _file_problems(config: _Config, listed: set[str], expected: Mapping[str, set[str]]) -> Iterator[str]:
    if sorted(part.split for part in config.data_files) != sorted(expected):
        yield f"its splits are {', '.join(part.split for part in config.data_files)}; expected {', '.join(expected)}"
    for part in config.data_files:
        matched: set[str] = set()
        for pattern in [part.path] if isinstance(part.path, str) else part.path:
            found = {path for path in listed if _matches(path, pattern)}
            if not found:
                yield f"no file is called {pattern}"
            matched |= found
        wanted = expected.get(part.split, set())
        yield from (f"split {part.split} lacks {path}" for path in sorted(wanted - matched))
        yield from (f"split {part.split} has {path}, which belongs elsewhere" for path in sorted(matched - wanted))


def _matches(path: str, pattern: str) -> bool:
    """As the Hub reads patterns: `*` stays within a folder."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _info_problems(info: _Info, rows: Mapping[str, int]) -> Iterator[str]:
    columns = {f["name"]: _spelled(f) for f in info.features if isinstance(f, dict) and isinstance(f.get("name"), str)}
    expected = schema.columns() | {"frames": "list of image"}
    for name in dict.fromkeys([*expected, *columns]):
        if columns.get(name) != expected.get(name):
            yield f"feature {name} is {columns.get(name, 'absent')}, the column {expected.get(name, 'absent')}"
    found = {split.name: split.num_examples for split in info.splits}
    if found != rows:
        yield f"its num_examples are {found}, the rows {dict(rows)}"


def _spelled(feature: Any) -> str:
    """A feature in the YAML of `datasets`, spelled as `schema.columns` spells types."""
    match feature:
        case {"struct": [*fields]} | [*fields]:
            named = [(f.get("name"), _spelled(f)) for f in fields if isinstance(f, dict)]
            return f"{{{', '.join(f'{name}: {kind}' for name, kind in named)}}}"
        case {"list": inner}:
            return f"list of {_spelled(inner)}"
        case {"dtype": kind} | kind:
            return "float" if kind == "float32" else str(kind)
