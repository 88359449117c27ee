"""Repositories as the test server keeps them: commits that never change, and names that point at them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

from .messages import Refusal

MAIN = "main"
LARGE = (".parquet", ".png", ".jpg", ".jpeg", ".webp", ".gz", ".zip", ".bin", ".arrow")
"""Endings that go to large file storage, as the first commit's .gitattributes says."""
_ATTRIBUTES = "".join(f"*{ending} filter=lfs diff=lfs merge=lfs -text\n" for ending in LARGE).encode()
_serial = count()


def git_blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass(frozen=True, slots=True)
class Blob:
    """One file's bytes: in git (`data`), or in large file storage (`sha256`), git having the pointer."""

    size: int
    oid: str
    data: bytes | None = None
    sha256: str | None = None
    pointer_size: int = 0

    @classmethod
    def regular(cls, data: bytes) -> Blob:
        return cls(len(data), git_blob(data), data)

    @classmethod
    def large(cls, sha256: str, size: int) -> Blob:
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()
        return cls(size, git_blob(pointer), None, sha256, len(pointer))

    @property
    def etag(self) -> str:
        return self.sha256 or self.oid


@dataclass(frozen=True, slots=True)
class Commit:
    oid: str
    parent: str | None
    title: str
    message: str
    author: str
    date: str
    files: Mapping[str, Blob]

    @classmethod
    def on(cls, parent: Commit | None, title: str, message: str, author: str, files: Mapping[str, Blob]) -> Commit:
        above = parent.oid if parent else None
        content = [next(_serial), above, title, sorted((path, blob.oid) for path, blob in files.items())]
        oid = hashlib.sha1(repr(content).encode()).hexdigest()
        return cls(oid, above, title, message, author, now(), dict(files))


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass
class Discussion:
    """A discussion; a pull request if it has a `base`, the branch to merge into. Its own branch is `refs/pr/NUM`."""

    num: int
    title: str
    author: str
    base: str | None = None
    start: str = ""
    """The commit that it began at."""
    created: str = field(default_factory=now)
    status: str = "open"
    merged: str | None = None
    """The commit that it became."""

    @property
    def branch(self) -> str:
        return f"refs/pr/{self.num}"


@dataclass
class Repository:
    name: str
    private: bool = False
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    discussions: list[Discussion] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.add(MAIN, Commit.on(None, "initial commit", "", "system", {".gitattributes": Blob.regular(_ATTRIBUTES)}))

    def add(self, branch: str, commit: Commit) -> Commit:
        """Move a branch to a commit."""
        self.commits[commit.oid] = commit
        self.branches[branch] = commit.oid
        return commit

    def at(self, revision: str) -> Commit:
        """The commit of a branch, tag, full or short id. Raises `Refusal` (404)."""
        oid = self.branches.get(revision) or self.tags.get(revision)
        if oid is None and len(revision) >= 7:
            oid = next((known for known in self.commits if known.startswith(revision)), None)
        if oid is None:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[oid]

    def history(self, revision: str) -> Iterator[Commit]:
        """A commit and those before it."""
        oid: str | None = self.at(revision).oid
        while oid is not None:
            commit = self.commits[oid]
            yield commit
            oid = commit.parent

    def discuss(self, title: str, author: str, base: str | None = None, start: Commit | None = None) -> Discussion:
        """A new discussion; with a branch and a commit to start from, a pull request."""
        made = Discussion(len(self.discussions) + 1, title, author, base, start.oid if start else "")
        self.discussions.append(made)
        if start:
            self.branches[made.branch] = start.oid
        return made


def folders(files: Mapping[str, Blob]) -> set[str]:
    """All folders that the paths imply."""
    return {"/".join(parts[:end]) for parts in (path.split("/") for path in files) for end in range(1, len(parts))}


def tree_oid(files: Mapping[str, Blob], folder: str) -> str:
    """An id that changes with what is in the folder."""
    inside = sorted((path, blob.oid) for path, blob in files.items() if path.startswith(f"{folder}/"))
    return hashlib.sha1(repr(inside).encode()).hexdigest()
