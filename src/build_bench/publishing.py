"""`push`: a dataset tree becomes a release on the Hub (contract section 7).

A push does the next step that is missing there, and looks again: files into storage, data folders that no card names
yet, one commit that switches card, manifest and changelog, the tag. So a killed push, a lost answer and a push that is
run twice are one case: what is done isn't done again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from build_bench import listing, releases, store, tree
from build_bench.errors import BuildBenchError, InputError, NetworkError, UsageError
from build_bench.executors import Progress, notice
from build_bench.hub import NotNow, RemoteFile, Repository
from build_bench.release_changes import changes

COMMIT_FILES = 50
"""Files in one commit: the Hub gives it 60 seconds. What fits in one is one. (formats/hub.md, "Repo limits")"""
SWITCH = (tree.CARD, tree.CHANGELOG, tree.MANIFEST)
_BY_HAND = {".gitattributes", ".gitignore", "LICENSE", tree.CARD}
"""What a repository may hold that was made by hand, to be published to."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a push."""

    release: str = ""
    """vX.Y.Z; empty: the one that the tree was assembled as, else the lowest that the change allows."""
    private: bool = False
    create_pr: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """What a repository holds at one commit."""

    commit: str
    files: Mapping[str, RemoteFile] = field(default_factory=dict)
    manifest: dict[str, Any] | None = None
    changelog: str = ""

    @classmethod
    def at(cls, repository: Repository, commit: str) -> Published:
        """Read it. Raises `InputError` if it is another program's dataset."""
        files = repository.files(commit)
        if tree.MANIFEST not in files:
            if others := sorted(name for name in set(files) - _BY_HAND if not listing.is_data(name)):
                raise InputError(
                    f"{repository.name} holds what build-bench didn't publish: {', '.join(others[:3])}",
                    "name another repository with --repo, or empty that one",
                )
            return cls(commit, files)
        data = repository.read(commit, tree.MANIFEST)
        manifest = listing.decoded(data, f"{tree.MANIFEST} of {repository.name}")
        log = repository.read(commit, tree.CHANGELOG).decode() if tree.CHANGELOG in files else ""
        return cls(commit, files, manifest, log)


def push(folder: Path, repository: Repository, wanted: Wanted) -> dict[str, Any]:
    """Publish the tree in `folder`; returns what contract section 9 says, and `url`.

    With `dry_run` also `uploads` (path -> bytes) and `removals`; with `create_pr` also `pull_request`. Raises
    `InputError` for a damaged tree or a repository that isn't ours, `UsageError` for a number that is taken or too low,
    `NetworkError` for what running again gets over.
    """
    manifest = listing.read(folder)
    _check_whole(folder, manifest)
    base = _look(repository, wanted)
    version = wanted.release or manifest["release"] or _lowest(manifest, base)
    tags = repository.tags() if base.commit else {}
    if version in tags:
        base = Published.at(repository, tags[version])
    sealed, texts = releases.sealed(manifest, version, base.manifest, base.changelog, repository.name)
    plan = _Push(folder, sealed, {**texts, tree.MANIFEST: store.to_json(sealed)}, repository, base)
    lacking = plan.missing(base)
    report = {
        "repo": repository.name, "url": repository.url, "release": version, "revision": tags.get(version),
        "uploaded_bytes": sum(lacking.values()), "files": len(sealed["files"]),
    }  # fmt: skip
    if wanted.dry_run:
        return report | {"uploads": lacking, "removals": plan.superseded(base)}
    tree.write_texts(folder, sealed, texts)
    if version in tags:
        return report
    if wanted.create_pr:
        return report | {"pull_request": plan.propose(lacking)}
    commit = plan.run()
    plan.tag(commit)
    return report | {"revision": commit}


def _look(repository: Repository, wanted: Wanted) -> Published:
    """What is there; the repository is made if it isn't."""
    head = repository.head()
    if head is None and wanted.dry_run:
        return Published("")
    if head is None:
        repository.create(wanted.private)
        notice(f"made {repository.url}" + " (private)" * wanted.private)
        head = repository.existing_head()
    elif wanted.private and not repository.is_private():
        raise UsageError(
            f"{repository.name} is there already, and not private", "make it private in its settings first"
        )
    return Published.at(repository, head)


def _lowest(manifest: dict[str, Any], base: Published) -> str:
    """The number of a release that nobody numbered: the one that is there if it is the same, else the next."""
    if base.manifest and releases.is_same(manifest, base.manifest):
        return str(base.manifest["release"])
    return str(releases.lowest(changes(base.manifest, manifest)))


def _check_whole(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise `InputError` if a file isn't what the manifest says: a damaged one must not become a release."""
    files = manifest["files"]
    with Progress("check", sum(facts["bytes"] for facts in files.values()), "B") as progress:
        for name, facts in files.items():
            if problem := listing.damage(folder, name, facts):
                raise InputError(
                    f"{folder / name} {problem}", "run build-bench assemble: what is damaged is made again"
                )
            progress.add(facts["bytes"])


@dataclass(slots=True)
class _Push:
    """One push: a sealed tree, and the repository it goes to."""

    folder: Path
    manifest: dict[str, Any]
    texts: Mapping[str, bytes]
    """Card, changelog and manifest: those that switch, by path."""
    repository: Repository
    base: Published
    """What was there at first: the changelog and the number are relative to it."""
    uploads: dict[str, Any] = field(default_factory=dict)
    """What was brought to storage and not yet committed, by path."""

    @property
    def version(self) -> str:
        return str(self.manifest["release"])

    @property
    def title(self) -> str:
        return f"Release {self.version}"

    def content(self, name: str) -> Path | bytes:
        return self.texts.get(name) or self.folder / name

    def missing(self, now: Published) -> dict[str, int]:
        """The files that aren't there as they should be, with their sizes."""
        facts = {name: (entry["bytes"], entry["sha256"]) for name, entry in self.manifest["files"].items()}
        own = self.texts[tree.MANIFEST]
        facts[tree.MANIFEST] = (len(own), hashlib.sha256(own).hexdigest())
        return {
            name: size
            for name, (size, digest) in sorted(facts.items())
            if name not in now.files or not now.files[name].holds(self.content(name), size, digest)
        }

    def superseded(self, now: Published) -> list[str]:
        """Our files there that this release doesn't have. Others' files stay."""
        return sorted(name for name in now.files if listing.is_data(name) and name not in self.manifest["files"])

    def check_untouched(self, now: Published, lacking: Mapping[str, int]) -> None:
        """Raise if somebody else changed, since this push began, what it would change."""
        before = self.base.files
        if theirs := [n for n in SWITCH if n in lacking and now.files.get(n) != before.get(n)]:
            raise NetworkError(
                f"somebody else published to {self.repository.name} meanwhile: {', '.join(theirs)} changed",
                "look at what they did, then run again: the release is then prepared against theirs",
            )

    def step(self, now: Published, lacking: Mapping[str, int]) -> set[str]:
        """One commit towards the release; returns what it added. Raises `NotNow`."""
        superseded = self.superseded(now)
        data = sorted(name for name in lacking if name.startswith("data/"))
        if len(lacking) + len(superseded) > COMMIT_FILES and data:
            part, superseded, title = data[:COMMIT_FILES], [], f"Data of {self.version}, before its card"
        else:
            part, title = sorted(lacking), self.title
        self.repository.commit(self.upload(part), superseded, title, now.commit)
        for name in part:
            del self.uploads[name]
        return {*part}

    def upload(self, names: Sequence[str]) -> list[Any]:
        """Bring files to storage, each once; returns what a commit needs of them."""
        fresh = {name: self.content(name) for name in names if name not in self.uploads}
        if fresh:
            self.uploads |= {addition.path_in_repo: addition for addition in self.repository.upload(fresh)}
        return [self.uploads[name] for name in names]

    def run(self) -> str:
        """Commit until all is there; returns the commit that is the release."""
        failures = 0
        added: set[str] = set()
        while True:
            head = self.repository.existing_head()
            now = Published(head, self.repository.files(head))
            lacking = self.missing(now)
            if not lacking:
                return self._made_by(now)
            self.check_untouched(now, lacking)
            if refused := sorted(added.intersection(lacking)):
                raise BuildBenchError(
                    f"{self.repository.name} doesn't take {refused[0]}", "is it named in a .gitignore there?"
                )
            try:
                added, failures = self.step(now, lacking), 0
            except NotNow as why:
                failures += 1
                self.repository.pause(failures, why)

    def _made_by(self, now: Published) -> str:
        """The commit that switched to this release: others may have committed other things since."""
        for commit, title in self.repository.commits(now.commit):
            if title == self.title and self.repository.files(commit).get(tree.MANIFEST) == now.files[tree.MANIFEST]:
                return commit
        return now.commit

    def propose(self, lacking: Mapping[str, int]) -> str:
        """Open a pull request; returns its address.

        It isn't tried again where it may have been opened: there would be two.
        """
        if not lacking:
            raise UsageError(f"{self.repository.name} has all of {self.version} already", "push without --create-pr")
        failures = 0
        while True:
            additions = self.upload(sorted(lacking))
            try:
                return self.repository.propose(additions, self.superseded(self.base), self.title, self.base.commit)
            except NotNow as why:
                if why.lost:
                    raise NetworkError(
                        f"{self.repository.name}: {why}",
                        f"look at {self.repository.url}/discussions before running again",
                    ) from None
                failures += 1
                self.repository.pause(failures, why)

    def tag(self, commit: str) -> None:
        """Name the release's commit. Raises `UsageError` if another has the name."""
        failures = 0
        while True:
            named = self.repository.tags().get(self.version)
            if named == commit:
                return
            if named:
                raise UsageError(
                    f"somebody else tagged {self.version} of {self.repository.name} meanwhile", "name a higher number"
                )
            try:
                self.repository.tag(self.version, commit)
            except NotNow as why:
                failures += 1
                self.repository.pause(failures, why)
