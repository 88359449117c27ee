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
    columns_added: tuple[str, ...] = ()
    """`name (type)`; another type is another column."""
    columns_removed: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    """What it was made with that is otherwise, in words."""

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
    rows = {name: _row_changes(before[name], facts) for name, facts in scenarios.items() if name in before}
    columns = [{f"{name} ({kind})" for name, kind in manifest["columns"].items()} for manifest in (old, new)]
    return Changes(
        since=old["release"],
        rows={name: found for name, found in rows.items() if found != RowChanges()},
        scenarios_added={name: facts["built"] for name, facts in scenarios.items() if name not in before},
        scenarios_removed=tuple(sorted(before.keys() - scenarios.keys())),
        columns_added=tuple(sorted(columns[1] - columns[0])),
        columns_removed=tuple(sorted(columns[0] - columns[1])),
        made=tuple(_made(old, new)),
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


def _made(old: Manifest, new: Manifest) -> Iterator[str]:
    """Inputs that are otherwise and have a short name."""
    facts = [
        {"seed": m["seed"], "rule": m.get("rule"), **m["code"]}
        | {"models": ", ".join(sorted(m["models"])), "left out": ", ".join(sorted(m.get("left_out", ())))}
        for m in (old, new)
    ]
    for name in sorted({**facts[0], **facts[1]}):
        was, now = (found.get(name) for found in facts)
        if was != now:
            yield f"{name}: {_shown(now)}, before {_shown(was)}"


def _shown(value: Any) -> str:
    return "none" if value in (None, "") else str(value)
