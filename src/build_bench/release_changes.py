"""What changed between two releases, from their manifests alone; and how far the version must rise for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from build_bench import row_digests
from build_bench.tree import DROPPED, KEPT

Manifest = Mapping[str, Any]


class Bump(IntEnum):
    """The part of vMAJOR.MINOR.PATCH that must rise, the others falling back to 0."""

    PATCH = 0
    """The rows are the same: the card, scores or how files are cut changed."""
    MINOR = 1
    """Whoever used the old release finds all of it: something came to it."""
    MAJOR = 2
    """What somebody may have used is gone or otherwise."""


@dataclass(frozen=True, slots=True)
class RowChanges:
    """A scenario that both releases have: ids, sorted."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    to_dropped: tuple[str, ...] = ()
    """In `filtered` before, now only in `unfiltered`."""
    to_kept: tuple[str, ...] = ()
    filtered_came: bool = False
    """There was no split `filtered` before."""
    filtered_went: bool = False

    def reasons(self, scenario: str) -> Iterator[tuple[Bump, str]]:
        """Each kind of change, in words."""
        kinds = (
            (Bump.MAJOR, self.removed, "{} of {} removed"),
            (Bump.MAJOR, self.changed, "{} of {} changed"),
            (Bump.MAJOR, self.to_dropped, "{} of {} no longer in the split `filtered`"),
            (Bump.MINOR, self.added, "{} of {} added"),
            (Bump.MINOR, self.to_kept, "{} of {} new in the split `filtered`"),
        )
        for bump, ids, words in kinds:
            if ids:
                yield bump, words.format(f"{len(ids):,} row{'s' * (len(ids) > 1)}", scenario)
        if self.filtered_went:
            yield Bump.MAJOR, f"the split `filtered` of {scenario} removed"
        if self.filtered_came:
            yield Bump.MINOR, f"the split `filtered` of {scenario} added"


@dataclass(frozen=True, slots=True)
class Changes:
    """What a release changes."""

    since: str | None
    """The release it is compared with; None: there is none, all is new."""
    rows: Mapping[str, RowChanges] = field(default_factory=dict)
    """By scenario, those in which a row or a split changed."""
    scenarios_added: Mapping[str, int] = field(default_factory=dict)
    """Their rows."""
    scenarios_removed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Those of them that still belong to the benchmark, and are no longer published."""
    columns_added: tuple[str, ...] = ()
    """`name (type)`; another type is another column."""
    columns_removed: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    """What it was made with that is otherwise, in words."""
    models_added: tuple[str, ...] = ()
    models_removed: tuple[str, ...] = ()

    def reasons(self) -> Iterator[tuple[Bump, str]]:
        """Each kind of change of the data, in words."""
        yield from ((Bump.MAJOR, f"scenario {name} removed") for name in self.scenarios_removed)
        yield from ((Bump.MAJOR, f"column {name} removed") for name in self.columns_removed)
        yield from ((Bump.MINOR, f"scenario {name} added") for name in self.scenarios_added)
        yield from ((Bump.MINOR, f"column {name} added") for name in self.columns_added)
        for scenario, found in self.rows.items():
            yield from found.reasons(scenario)


def changes(old: Manifest | None, new: Manifest) -> Changes:
    """What `new` changes."""
    scenarios = dict(sorted(new["scenarios"].items()))
    if old is None:
        return Changes(None, scenarios_added={name: facts["built"] for name, facts in scenarios.items()})
    before = old["scenarios"]
    removed = sorted(before.keys() - scenarios.keys())
    rows = {name: _row_changes(before[name], facts) for name, facts in scenarios.items() if name in before}
    columns = [{f"{name} ({kind})" for name, kind in manifest["columns"].items()} for manifest in (old, new)]
    return Changes(
        since=old["release"],
        rows={name: found for name, found in rows.items() if found != RowChanges()},
        scenarios_added={name: facts["built"] for name, facts in scenarios.items() if name not in before},
        scenarios_removed=tuple(removed),
        left_out=tuple(name for name in removed if name in _left_out(new)),
        columns_added=tuple(sorted(columns[1] - columns[0])),
        columns_removed=tuple(sorted(columns[0] - columns[1])),
        made=tuple(_made(old, new)),
        models_added=tuple(sorted(new["models"].keys() - old["models"].keys())),
        models_removed=tuple(sorted(old["models"].keys() - new["models"].keys())),
    )


def _row_changes(old: Manifest, new: Manifest) -> RowChanges:
    before, after = _rows(old), _rows(new)
    both = sorted(before.keys() & after.keys())
    was, has = "filtered" in old["splits"], "filtered" in new["splits"]
    moved = [name for name in both if was and has and before[name][0] != after[name][0]]
    return RowChanges(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(name for name in both if not row_digests.same(before[name][1], after[name][1])),
        to_dropped=tuple(name for name in moved if after[name][0] == DROPPED),
        to_kept=tuple(name for name in moved if after[name][0] == KEPT),
        filtered_came=has and not was,
        filtered_went=was and not has,
    )


def _rows(scenario: Manifest) -> dict[str, tuple[str, str]]:
    """id -> side, digest."""
    return {name: (side, digest) for side, rows in scenario["rows"].items() for name, digest in rows.items()}


def _left_out(manifest: Manifest) -> Manifest:
    found: Manifest = manifest.get("left_out", {})
    return found


def _made(old: Manifest, new: Manifest) -> Iterator[str]:
    """Inputs that are otherwise and have a short name."""
    facts = [_inputs(old), _inputs(new)]
    both = _settings(old).keys() & _settings(new).keys()
    for scenario in sorted(both):
        for found, manifest in zip(facts, (old, new), strict=True):
            found.update({f"{scenario}.{key}": value for key, value in _settings(manifest)[scenario].items()})
    for name in sorted({**facts[0], **facts[1]}):
        was, now = (found.get(name) for found in facts)
        if was != now:
            yield f"{name}: {_shown(now)}, before {_shown(was)}"
    for scenario in sorted(both):
        if changed := _changed_sources(*(manifest["scenarios"].get(scenario, {}) for manifest in (old, new))):
            yield f"{changed:,} other source file{'s' * (changed != 1)} of {scenario}"


def _inputs(manifest: Manifest) -> dict[str, Any]:
    drawn = "drawn by build-bench" if manifest.get("drawn") else "as distributed"
    named = {key: manifest.get(key) for key in ("seed", "rule", "threshold")}
    return {**named, "source files": drawn, **manifest["code"]}


def _settings(manifest: Manifest) -> dict[str, dict[str, Any]]:
    """By scenario, published or left out; with the checksums of tables that came in beside the sources."""
    known = {**_left_out(manifest), **manifest["scenarios"]}
    return {
        name: {
            **facts.get("settings", {}),
            **{key: value for key, value in facts.get("facts", {}).items() if key.endswith("sha256")},
        }
        for name, facts in known.items()
    }


def _changed_sources(old: Manifest, new: Manifest) -> int:
    """Source files that came, went or changed."""
    if not (old and new):  # left out in one of them: nothing is known of its sources there
        return 0
    before, after = ({str(entry["path"]): entry for entry in facts.get("sources", [])} for facts in (old, new))
    return sum(before.get(path) != after.get(path) for path in {**before, **after})


def _shown(value: Any) -> str:
    return "none" if value in (None, "") else str(value)
