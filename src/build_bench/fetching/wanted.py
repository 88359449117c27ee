"""What a source consists of, as its manifest in manifests/sources/ says: files to download, and what people get."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import quote

import msgspec

from build_bench import manifests
from build_bench.errors import InputError
from build_bench.fetching import addresses

HUB = "{hub}"
"""What an address begins with that lies on the Hugging Face Hub: `HF_ENDPOINT` may name another."""


class RemoteFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file to download. Sizes and checksums are those of the pages in shared formats/."""

    path: str
    """Below the source's folder."""
    urls: tuple[str, ...]
    """The authors' address, then mirrors of the same bytes."""
    bytes: int | None = None
    about: int | None = None
    """Bytes, roughly, where the exact number isn't known: for tables and the free space."""
    md5: str = ""
    sha256: str = ""
    certainty: Literal["first-hand", "second-hand", "none"] = "none"
    """Of `bytes` and the checksum: read where the authors say it, or with others who have the file."""
    instead: tuple[str, ...] = ()
    """Other forms that the reader takes. Each is a row of patterns; all of a row must be found, at most two folders
    deep."""
    splits: tuple[str, ...] = ("test", "train")
    """What it is needed for."""

    @property
    def size(self) -> int:
        """Bytes, as well as they are known."""
        return self.bytes or self.about or 0

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses, without placeholders."""
        return tuple(url.replace(HUB, addresses.hub(), 1) for url in self.urls)

    @property
    def shown(self) -> tuple[str, ...]:
        """The addresses without a password that `HF_ENDPOINT` may hold."""
        return tuple(map(addresses.without_login, self.addresses))


class ByHand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that a program can't get: a person follows a step."""

    path: str
    step: int
    """Which of the manifest's steps, from 1."""
    instead: tuple[str, ...] = ()
    """As with `RemoteFile`."""


class PerWord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Many files that differ in a word: QuickDraw."""

    words: str
    """The list of words, a file of build_bench.manifests."""
    path: str
    """`{kind}` is `simplified` or `raw`, `{word}` a word."""
    url: str
    about: dict[str, int]
    """kind -> bytes of all files, roughly."""


class SourceManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What `fetch` needs of a source's manifest; the card and the readers use other keys of it."""

    title: str
    homepage: str
    license: str
    license_url: str
    conditions: str
    not_allowed: str
    steps: tuple[str, ...]
    """How a person gets it; `{folder}` is the source's folder."""
    files: tuple[RemoteFile, ...] = ()
    per_word: PerWord | None = None
    by_hand: tuple[ByHand, ...] = ()
    videos: str = ""
    """How its videos come, if it has any beside its files."""


def source(name: str) -> SourceManifest:
    """The manifest of a source."""
    return msgspec.convert(manifests.source(name), SourceManifest)


def files(name: str, kind: str = "simplified", split: str = "test") -> tuple[RemoteFile, ...]:
    """All files of a source that a split is built of. `kind`: which of QuickDraw's two."""
    about = source(name)
    needed = tuple(file for file in about.files if split in file.splits)
    return needed if about.per_word is None else (*needed, *_per_word(about.per_word, kind))


def _per_word(pattern: PerWord, kind: str) -> Sequence[RemoteFile]:
    words = manifests.text(pattern.words).splitlines()
    each = pattern.about[kind] // len(words)
    return [
        RemoteFile(
            path=pattern.path.format(kind=kind, word=word),
            urls=(pattern.url.format(kind=kind, word=quote(word)),),
            about=each,
        )
        for word in words
    ]


def steps(name: str, wanted: Sequence[ByHand], folder: Path) -> list[str]:
    """What a person does to get files of a source, numbered."""
    said = source(name).steps
    return [f"{name} {file.step}. {said[file.step - 1].format(folder=folder)}" for file in wanted]


def place(folder: Path, path: str) -> Path:
    """Where a file of a source goes. Raises `InputError` for a name that leads out of the source's folder.

    No name from outside gets here (addresses and headers never name a file), and still none is trusted.
    """
    pure = PurePosixPath(path)
    odd = "\\" in path or "\0" in path or ":" in path or pure.is_absolute() or path != pure.as_posix()
    if odd or not path.strip(".") or ".." in pure.parts:
        raise InputError(f"{path!r} is no name of a file below {folder}", "expected folders and a name, joined by /")
    target = folder / pure
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{target.parent} leads out of {folder}", "remove that link: nothing is written behind it")
    return target
