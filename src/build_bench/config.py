"""The configuration: one TOML table per scenario, `--set scenario.key=value` on top, defaults in the builders.

seed = 0
repo = "my-lab/my-bench"        # where push and pull go
limit = 100                     # samples of each scenario, at most
per_class = 5                   # of each scenario that has such a setting
[coco]
negatives = "supercategory"
limit = 200
[licenses]
accepted = ["coco"]             # so that fetch needn't ask
[slurm]                         # for --executor slurm; likewise [ray]
partition = "cpu"
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
import reprlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from build_bench import builders
from build_bench.errors import UsageError, unknown
from build_bench.executors import engines

LIMIT, PER_CLASS = "limit", "per_class"
_PLAIN = ("seed", "repo", LIMIT, PER_CLASS)
"""What stands outside the tables."""

LICENSES = "licenses"
"""The table that is no scenario's: accepted = ["coco"]."""

LARGEST = 2**31 - 1
"""Of a whole number in a setting; a seed has 64 bits."""

_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text, in quotes"}
"""What a setting may be, in words."""

_ABSOLUTE = re.compile(r"(?:(?<=:)|^)(?:[A-Za-z]:)?[/\\\\].*[/\\\\]")
"""An absolute path but for its last part, also after a prefix as in local-dir:/models/clip."""


@dataclasses.dataclass(frozen=True, slots=True)
class Config:
    """What a build is a function of, beside the source bytes."""

    seed: int
    settings: Mapping[str, Any]
    """Per scenario, its builder's `Settings`."""
    repo: str = ""
    """The repository on the Hub, ORG/NAME; what is built doesn't depend on it."""
    accepted_licenses: tuple[str, ...] = ()
    """The sources whose licences whoever fetches accepts; what is built doesn't depend on it."""
    engines: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Per engine, its settings; what is built doesn't depend on them."""
    limits: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Samples at most, of the scenarios that are limited."""
    split: str = builders.TEST

    def builder(self, scenario: str) -> builders.Builder[Any]:
        """The builder of a scenario with its settings."""
        return builders.made(scenario, self.settings[scenario], self.seed)

    def values(self, scenario: str) -> dict[str, Any]:
        """The settings by name, with the limit if there is one."""
        limit = {LIMIT: self.limits[scenario]} if scenario in self.limits else {}
        return {**dataclasses.asdict(self.settings[scenario]), **limit}

    def public(self, scenario: str) -> dict[str, Any]:
        """`values` as the manifest shows them."""
        return public(self.values(scenario))


def public(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as the manifest shows them: of a path only the last part, it names a place on one machine."""
    return {key: _ABSOLUTE.sub("", value) if isinstance(value, str) else value for key, value in values.items()}


def read(
    scenarios: Sequence[str], file: Path | None = None, changes: Sequence[str] = (), seed: int | None = None,
    base: Mapping[str, Any] | None = None, split: str = builders.TEST,
) -> Config:  # fmt: skip
    """Defaults, then `base`, then the file, then `changes` (`scenario.key=value`), then `seed`. Raises `UsageError`.

    `base`: what a file would have, for that which the user doesn't name. A file is for both splits: in the test's
    tables, settings that only training has are passed over.
    """
    data = _for_all(_read_file(file), scenarios, split) if file else {}
    for name, value in (base or {}).items():
        data[name] = {**value, **data.get(name, {})} if isinstance(value, Mapping) else data.get(name, value)
    for change in changes:
        name, equals, value = change.partition("=")
        scenario, dot, key = name.partition(".")
        if not (equals and dot):
            raise UsageError(f"--set {change}: expected SCENARIO.KEY=VALUE, as in coco.negatives=supercategory")
        if scenario not in {*builders.SCENARIOS, *engines.SETTINGS}:
            raise unknown("scenario", scenario, [*builders.SCENARIOS, *engines.SETTINGS])
        data.setdefault(scenario, {})[key] = value
    accepted = _accepted(data.pop(LICENSES, {}))
    spread = {name: _filled(name, kind, data.pop(name, {})) for name, kind in engines.SETTINGS.items()}
    for name in data:
        if name not in _PLAIN and name not in builders.SCENARIOS:
            raise unknown("table", name, [*builders.SCENARIOS, *engines.SETTINGS, LICENSES])
    chosen = data.get("seed", 0) if seed is None else seed
    if type(chosen) is not int or not -(2**63) <= chosen < 2**63:
        raise UsageError(f"seed = {_short(chosen)}: expected a whole number of 64 bits")
    repo = data.get("repo", "")
    if not isinstance(repo, str):
        raise UsageError(f"repo = {_short(repo)}: expected a repository's name, as in my-lab/my-bench")
    tables = {scenario: dict(data.get(scenario, {})) for scenario in scenarios}
    limits = {name: _limit(f"{name}.{LIMIT}", table.pop(LIMIT)) for name, table in tables.items() if LIMIT in table}
    settings = {scenario: _settings(scenario, table, split) for scenario, table in tables.items()}
    return Config(chosen, settings, repo, accepted, spread, limits, split)


def per_class_key(scenario: str, split: str) -> str:
    """The setting that says how many items of a class there are; empty if a scenario has none."""
    key = f"train_{PER_CLASS}" if split == builders.TRAIN else PER_CLASS
    return key if key in builders.defaults(scenario, split) else ""


def _for_all(data: dict[str, Any], scenarios: Sequence[str], split: str) -> dict[str, Any]:
    """A file with what it says for all scenarios said in each one's table, unless that says otherwise."""
    limit, per_class = data.get(LIMIT), data.get(PER_CLASS)
    for scenario in scenarios:
        table = data.setdefault(scenario, {})
        if limit is not None:
            table.setdefault(LIMIT, _limit(LIMIT, limit))
        if per_class is not None and PER_CLASS in builders.defaults(scenario):
            table.setdefault(PER_CLASS, per_class)
        if split == builders.TEST:
            data[scenario] = {key: value for key, value in table.items() if key not in _of_training(scenario)}
    return data


def _of_training(scenario: str) -> set[str]:
    """The settings that only the training split has."""
    if scenario not in builders.TRAINING:
        return set()
    return builders.defaults(scenario, builders.TRAIN).keys() - builders.defaults(scenario).keys()


def _limit(name: str, value: Any) -> int:
    limit: int = _convert(name, value, int)
    if limit < 1:
        raise UsageError(f"{name} = {limit}: expected at least 1 sample")
    return limit


def _accepted(table: Mapping[str, Any]) -> tuple[str, ...]:
    """The table `licenses`. Which names there are is known where they are used."""
    names = table.get("accepted", [])
    if set(table) - {"accepted"} or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f'[{LICENSES}]: expected accepted = ["coco", "quickdraw"], or ["all"]')
    return tuple(names)


def _read_file(file: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8-sig"))  # some editors put a mark before UTF-8
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"--config {file}: {error}, expected TOML", "as in seed = 0, or below [coco]") from error
    for name, table in data.items():
        if name not in _PLAIN and not isinstance(table, dict):
            raise UsageError(
                f"--config {file}: {name} = {_short(table)}: expected {', '.join(_PLAIN)} or a table per scenario",
                "other settings stand below their table's name, as [slurm]; options, as --executor, aren't settings",
            )
    return data


def _settings(scenario: str, values: Mapping[str, Any], split: str) -> Any:
    if split == builders.TEST and (strange := sorted(_of_training(scenario) & values.keys())):
        raise UsageError(f"{scenario}.{strange[0]} is a setting of the training split", "add --split train")
    return _filled(scenario, builders.load(scenario, split).Settings, values)


def _filled(table: str, kind: type[Any], values: Mapping[str, Any]) -> Any:
    """A table's settings, of the dataclass `kind`."""
    known = {field.name: field.default for field in dataclasses.fields(kind)}
    converted = {}
    for key, value in values.items():
        if key not in known:
            raise unknown(f"setting of {table} called", key, known)
        converted[key] = _convert(f"{table}.{key}", value, type(known[key]))
    try:
        return kind(**converted)
    except ValueError as error:
        raise UsageError(f"{table}: {error}") from error


def _convert(name: str, value: Any, kind: type[Any]) -> Any:
    """`value` as `kind`: from the command line everything comes as text."""
    if isinstance(value, str) and kind is bool:
        value = {"true": True, "false": False}.get(value.lower(), value)
    elif isinstance(value, str) and kind in (int, float):
        with contextlib.suppress(ValueError):
            value = kind(value)
    elif isinstance(value, int) and kind is float and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            value = float(value)
    if type(value) is not kind:
        raise UsageError(f"{name} = {_short(value)}: expected {_KINDS[kind]}")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise UsageError(f"{name} = {_short(value)}: expected a whole number of at most {LARGEST:,}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{name} = {value!r}: expected a finite number")
    return value


def _short(value: Any) -> str:
    """A wrong value as an error shows it: an int of more than 4,300 digits can't even be written out."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"a number of {value.bit_length():,} bits"
    return reprlib.repr(value)
