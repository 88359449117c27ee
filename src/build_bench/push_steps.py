"""The next step of a push, found by looking at the Hub: what is there, what is missing, who else was at it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from build_bench import listing, tree
from build_bench.errors import BuildBenchError, InputError, NetworkError, UsageError
from build_bench.hub import NotNow, RemoteFile, Repository

COMMIT_FILES = 50
"""Files in one commit: the Hub gives it 60 seconds. What fits in one is one. (formats/hub.md, "Repo limits")"""
SWITCH = (tree.CARD, tree.CHANGELOG, tree.MANIFEST)
_BY_HAND = {".gitattributes", ".gitignore", "LICENSE", tree.CARD}
"""What a repository may hold that was made by hand, to be published to."""


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
        manifest = listing.decoded(data, f"{tree.MANIFEST} of {repository.name}", "mend it there, or delete it")
        log = repository.read(commit, tree.CHANGELOG).decode(errors="replace") if tree.CHANGELOG in files else ""
        return cls(commit, files, manifest, log)


def version_of(path: Path) -> tuple[int, int]:
    """What changes when a file does: size and time."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@dataclass(slots=True)
class Push:
    """One push: a sealed tree, and the repository it goes to."""

    folder: Path
    manifest: dict[str, Any]
    texts: Mapping[str, bytes]
    """Card, changelog and manifest: those that switch, by path."""
    repository: Repository
    base: Published
    """What was there at first: the changelog and the number are relative to it."""
    checked: Mapping[str, tuple[int, int]]
    """`version_of` the files when they were found to be what the manifest says."""
    uploads: dict[str, Any] = field(default_factory=dict)
    """What was brought to storage and not yet committed, by path."""

    @property
    def version(self) -> str:
        return str(self.manifest["release"])

    @property
    def title(self) -> str:
        return title_of(self.version)

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
        additions = self.upload(part)
        self.check_unchanged(part)
        self.repository.commit(additions, superseded, title, now.commit)
        for name in part:
            del self.uploads[name]
        return {*part}

    def check_unchanged(self, names: Sequence[str]) -> None:
        """Raise if a file isn't the one that was checked: its upload may be of other bytes than the manifest says."""
        for name in names:
            if name in self.checked and self.checked[name] != version_of(self.folder / name):
                raise InputError(f"{self.folder / name} changed while it was uploaded", "assemble, and push again")

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
            if commit := self.released(now):
                return commit
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

    def released(self, now: Published) -> str | None:
        """The commit at which this release became whole; None if it didn't.

        Others may have committed since, a person may even have edited its card: the release stays what it was.
        """
        found = None
        if tree.MANIFEST not in self.missing(now):
            for commit, _ in self.repository.commits(now.commit):
                files = self.repository.files(commit)
                if files.get(tree.MANIFEST) != now.files[tree.MANIFEST]:
                    break
                found = commit if not self.missing(Published(commit, files)) else found
        return found

    def propose(self, lacking: Mapping[str, int]) -> str:
        """Open a pull request, unless it is open; returns its address."""
        if not lacking:
            raise UsageError(f"{self.repository.name} has all of {self.version} already", "push without --create-pr")
        if there := self.repository.proposals().get(self.title):
            return there
        failures = 0
        while True:
            additions = self.upload(sorted(lacking))
            try:
                return self.repository.propose(additions, self.superseded(self.base), self.title, self.base.commit)
            except NotNow as why:
                failures += 1
                self.repository.pause(failures, why)
                if there := self.repository.proposals().get(self.title):
                    return there


def tag(repository: Repository, version: str, commit: str) -> None:
    """Name a release's commit. Raises `UsageError` if another has the name."""
    failures = 0
    while True:
        named = repository.tags().get(version)
        if named == commit:
            return
        if named:
            raise UsageError(f"somebody else tagged {version} of {repository.name} meanwhile", "name a higher number")
        try:
            repository.tag(version, commit)
        except NotNow as why:
            failures += 1
            repository.pause(failures, why)


def tag_base(repository: Repository, base: Published, tags: Mapping[str, str]) -> None:
    """Tag the release before, if the push that made it died just before that: nobody else would."""
    version = base.manifest and base.manifest["release"]
    if version and version not in tags:
        for commit, title in repository.commits(base.commit):
            if title == title_of(version):
                tag(repository, version, commit)
                return


def title_of(version: str) -> str:
    """Of the commit that switches to a release."""
    return f"Release {version}"
