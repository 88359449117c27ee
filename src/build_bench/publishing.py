"""`push`: a dataset tree becomes a release on the Hub (contract section 7).

A push does the next step that is missing there, and looks again: files into storage, data folders that no card names
yet, one commit that switches card, manifest and changelog, the tag. So a killed push, a lost answer and a push that is
run twice are one case: what is done isn't done again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build_bench import listing, manifests, releases, store, tree, verifying_manifest
from build_bench.errors import InputError, UsageError
from build_bench.executors import Progress, notice
from build_bench.hub import Repository
from build_bench.push_steps import Published, Push, tag, tag_base, version_of
from build_bench.release_changes import changes


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a push."""

    release: str = ""
    """vX.Y.Z; empty: the one that the tree was assembled as, else the lowest that the change allows."""
    private: bool = False
    create_pr: bool = False
    dry_run: bool = False


def push(
    folder: Path, repository: Repository, wanted: Wanted, check: Callable[[dict[str, Any]], None] = lambda _: None
) -> dict[str, Any]:
    """Publish the tree in `folder`; returns what contract section 9 says, and

    url; since, the release before, or None; reasons, what changed since, in words; creates, what kind of repository
    was made or would be, or None; there, whether that release was published already. With `dry_run` also uploads
    (path -> bytes) and removals, with `create_pr` pull_request.

    `check` is called with the manifest that would be published, and may raise. Raises `InputError` for a damaged tree
    or a repository that isn't ours, `UsageError` for a number that is taken or too low: before anything is changed.
    `NetworkError` for what running again gets over.
    """
    manifest = listing.read(folder)
    if wanted.release:
        releases.parse(wanted.release)
    checked = _check_whole(folder, manifest)
    for found in verifying_manifest.problems(folder, verifying_manifest.typed(manifest, folder / tree.MANIFEST)):
        raise InputError(f"{folder / found.path}: {found.problem}", "build-bench verify names all; assemble again")
    base = _look(repository, wanted)
    _check_split(repository, manifest, base)
    changed = changes(base.manifest, manifest)
    version = wanted.release or manifest["release"] or _lowest(manifest, base)
    tags = repository.tags() if base.commit else {}
    if version in tags:
        base = _tagged(repository, version, tags[version])
    sealed, texts = releases.sealed(manifest, version, base.manifest, base.changelog, repository.name)
    check(sealed)
    plan = Push(folder, sealed, {**texts, tree.MANIFEST: store.to_json(sealed)}, repository, base, checked)
    lacking = plan.missing(base)
    report = {
        "repo": repository.name, "url": repository.url, "release": version, "revision": tags.get(version),
        "uploaded_bytes": sum(lacking.values()), "files": len(sealed["files"]), "since": changed.since,
        "reasons": [words for _, words in changed.reasons()] if changed.since else [], "there": version in tags,
        "creates": None if base.commit else ("private" if wanted.private else "public"),
        **({"split": manifest["split"]} if "split" in manifest else {}),
    }  # fmt: skip
    if not wanted.private:
        _warn(manifest)
    if wanted.dry_run:
        return report | {"uploads": lacking, "removals": plan.superseded(base)}
    tree.write_texts(folder, sealed, texts)
    if version in tags:
        return report
    if wanted.create_pr:
        return report | {"pull_request": plan.propose(lacking)}
    if not base.commit:
        repository.create(wanted.private)
    if version != changed.since:
        tag_base(repository, base, tags)
    commit = plan.run()
    tag(repository, version, commit)
    return report | {"revision": commit}


def _look(repository: Repository, wanted: Wanted) -> Published:
    """What is there; nothing if there is no such repository."""
    head = repository.head()
    if head is None and wanted.create_pr:
        raise UsageError(f"there is no {repository.url} to propose anything to", "push without --create-pr makes it")
    if head is None:
        return Published("")
    if wanted.private and not repository.is_private():
        raise UsageError(
            f"{repository.name} is there already, and not private", "make it private in its settings first"
        )
    return Published.at(repository, head)


def _check_split(repository: Repository, manifest: dict[str, Any], base: Published) -> None:
    """Raise `UsageError` if what is there is of another split: who loads the one must not get the other."""
    ours, theirs = (found.get("split", "test") for found in (manifest, base.manifest or manifest))
    if ours != theirs:
        raise UsageError(
            f"{repository.name} holds the {theirs} split, this is the {ours} split",
            "it goes to a repository of its own: --repo ORG/OTHER",
        )


def _tagged(repository: Repository, version: str, commit: str) -> Published:
    """The release that has that tag. Raises `UsageError` if the tag is on something else."""
    found = Published.at(repository, commit)
    named = found.manifest and found.manifest["release"]
    if named != version:
        raise UsageError(
            f"the tag {version} of {repository.name} is on {named or 'no release'}, commit {commit[:8]}",
            "name a higher number; or delete that tag there, if nobody relies on it",
        )
    return found


def _lowest(manifest: dict[str, Any], base: Published) -> str:
    """The number of a release that nobody numbered: the one that is there if it is the same, else the next."""
    if base.manifest and base.manifest["release"] and releases.is_same(manifest, base.manifest):
        return str(base.manifest["release"])
    return str(releases.lowest(changes(base.manifest, manifest)))


def _check_whole(folder: Path, manifest: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Raise `InputError` if a file isn't what the manifest says: a damaged one must not become a release.

    Returns `version_of` the files that keep their bytes when the tree is sealed.
    """
    files = manifest["files"]
    checked = {}
    with Progress("check", sum(facts["bytes"] for facts in files.values()), "B") as progress:
        for name, facts in files.items():
            if problem := listing.damage(folder, name, facts):
                raise InputError(
                    f"{folder / name} {problem}", "run build-bench assemble: what is damaged is made again"
                )
            if listing.is_data(name):
                checked[name] = version_of(folder / name)
            progress.add(facts["bytes"])
    return checked


def _warn(manifest: dict[str, Any]) -> None:
    """Say what its authors should know before everybody can read it."""
    if manifest.get("drawn"):
        notice("this is a demonstration, drawn by build-bench: its card says so")
        return
    closed = [name for name in manifest["scenarios"] if not manifests.source(name).get("passing_on", True)]
    if closed:
        notice(
            f"{', '.join(closed)}: their terms forbid passing pictures on without consent; ask their authors, or leave "
            f"them out: build-bench assemble {' '.join(f'--without {name}' for name in closed)}"
        )
