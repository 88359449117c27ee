"""Releases: their numbers, CHANGELOG.md, and a tree that becomes one. Knows no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build_bench import store, tree
from build_bench.errors import UsageError
from build_bench.listing import VERSION, is_version
from build_bench.release_changes import Bump, Changes, RowChanges, changes

LISTED = 50
"""Ids of one kind of change that the changelog names; the manifests have them all."""
_HEAD = """# Changelog

What each release changed, by scenario, the newest first. Rows are named by the column `id`; one that moves between kept
and dropped enters or leaves the split `filtered` and stays in `unfiltered`.

"""


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """vMAJOR.MINOR.PATCH."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}.{self.patch}"

    def raised(self, bump: Bump) -> Version:
        """The lowest version above this one of which that part is higher."""
        if bump is Bump.MAJOR:
            return Version(self.major + 1, 0, 0)
        return Version(self.major, self.minor + 1, 0) if bump else Version(self.major, self.minor, self.patch + 1)


def parse(text: str) -> Version:
    """A version. Raises `UsageError` if it is none."""
    found = VERSION.fullmatch(text)
    if not found or not is_version(text):
        raise UsageError(f"{text!r} is no release", "expected vMAJOR.MINOR.PATCH, as in v1.0.0; the lowest is v0.0.1")
    return Version(*map(int, found.groups()))


def least_bump(found: Changes) -> Bump:
    """The part of the version that must rise."""
    return max((bump for bump, _ in found.reasons()), default=Bump.PATCH)


def lowest(found: Changes) -> Version:
    """The lowest version that a release with these changes may have; v1.0.0 for the first, if nobody names another."""
    return parse(found.since).raised(least_bump(found)) if found.since else Version(1, 0, 0)


def is_same(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether two manifests are of the same rows made in the same way, whatever they are numbered."""

    def content(manifest: Mapping[str, Any]) -> dict[str, Any]:
        files = {path: facts for path, facts in manifest["files"].items() if path not in (tree.CARD, tree.CHANGELOG)}
        return {**manifest, "files": files, "release": None, "repository": None}

    return store.to_json(content(new)) == store.to_json(content(old))


def check_version(new: str, found: Changes) -> None:
    """Raise `UsageError`, with the reason and the lowest number allowed, if `new` is too low for these changes.

    The first release may have any number. Before v1.0.0 the same rule holds: who pinned v0.2.0 is let down no less.
    """
    version = parse(new)
    if found.since is None or version >= lowest(found):
        return
    bump = least_bump(found)
    why = ", ".join(words for size, words in found.reasons() if size is bump) or f"{found.since} is released"
    raise UsageError(f"{new} is too low after {found.since}: {why}", f"name {lowest(found)} or higher")


def changelog(older: str, version: str, found: Changes) -> str:
    """CHANGELOG.md with a section for `version` before the sections of `older`, which stay as they are."""
    body = "\n".join(_section(found)).strip("\n")
    before = older[max(f"\n{older}".find("\n## "), 0) :]
    return f"{_HEAD}## {version}\n\n{body}\n" + (f"\n{before}" if before else "")


def changelog_at(text: str, version: str) -> str | None:
    """CHANGELOG.md as it was when `version` was released; None if it has no section of it."""
    start = f"\n{text}".find(f"\n## {version}\n")
    return _HEAD + text[start:] if start >= 0 else None


def _section(found: Changes) -> Iterator[str]:
    """The lines of one release's section."""
    if found.since is None:
        yield "The first release."
    elif least_bump(found) is Bump.PATCH:
        yield f"The rows are those of {found.since}."
    else:
        yield f"Compared with {found.since}:"
    yield ""
    yield from (f"- Scenario `{name}` is new: {rows:,} rows." for name, rows in found.scenarios_added.items())
    yield from (f"- Scenario `{name}` is gone." for name in found.scenarios_removed if name not in found.left_out)
    if found.left_out:
        yield f"- Not published any more: {_named(found.left_out)}."
    yield from (f"- Column `{name}` is new." for name in found.columns_added)
    yield from (f"- Column `{name}` is gone." for name in found.columns_removed)
    yield from (f"- Made with {words}." for words in found.made)
    for words, models in (("added", found.models_added), ("removed", found.models_removed)):
        if models:
            yield f"- Models {words}: {_named(models)}."
    for scenario, rows in found.rows.items():
        yield from ("", f"### `{scenario}`", "", *_row_lines(rows))


def _row_lines(rows: RowChanges) -> Iterator[str]:
    if rows.filtered_came:
        yield "- the split `filtered` is new"
    if rows.filtered_went:
        yield "- the split `filtered` is gone"
    kinds = {
        "added": rows.added, "removed": rows.removed, "changed": rows.changed, "from kept to dropped": rows.to_dropped,
        "from dropped to kept": rows.to_kept,
    }  # fmt: skip
    yield from (f"- {len(ids):,} {words}: {_named(ids)}" for words, ids in kinds.items() if ids)


def _named(ids: Iterable[str]) -> str:
    names = [f"`{name}`" for name in ids]
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def seal(
    folder: Path,
    manifest: Mapping[str, Any],
    version: str,
    previous: Mapping[str, Any] | None = None,
    previous_changelog: str = "",
    repository: str = "",
) -> dict[str, Any]:
    """Make the tree in `folder` a release, as `sealed` says; returns its manifest."""
    new, texts = sealed(manifest, version, previous, previous_changelog, repository)
    tree.write_texts(folder, new, texts)
    return new


def sealed(
    manifest: Mapping[str, Any],
    version: str,
    previous: Mapping[str, Any] | None = None,
    previous_changelog: str = "",
    repository: str = "",
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest of the release `version`, and its card and changelog, by path: the number goes into both.

    `previous`: the manifest of the release before, or of this very one, which must then be the same. `repository`:
    ORG/NAME, for the card; the previous release's if it isn't named. Raises `UsageError` if the number doesn't fit the
    changes.
    """
    parse(version)
    known = previous if previous and previous["release"] else None
    address = repository or manifest.get("repository") or (known or {}).get("repository")
    renamed = {**manifest, "release": version, "repository": address}
    if known and known["release"] == version:
        new, texts = tree.with_texts(renamed, previous_changelog)
        if store.to_json(new) != store.to_json(known):
            raise _released_otherwise(version, known, new)
        return new, texts
    found = changes(known, manifest)
    check_version(version, found)
    return tree.with_texts(renamed, changelog(previous_changelog, version, found))


def _released_otherwise(version: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> UsageError:
    found = changes(old, new)
    files = [path for path in {**old["files"], **new["files"]} if old["files"].get(path) != new["files"].get(path)]
    models = [*found.models_added, *found.models_removed]
    made = [*found.made, *(f"the answers of {name}" for name in models), *(f"{path} differs" for path in files)]
    what = [words for _, words in found.reasons()] or made
    return UsageError(
        f"{version} is released already, with other content: {', '.join(what[:5]) or 'the manifests differ'}",
        f"a release never changes: name {lowest(found)} or higher",
    )
