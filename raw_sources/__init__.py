"""How the original data lies on disk: typed raw records, in an order that doesn't depend on the disk's.

A reader finds the common namings, packed or unpacked, reads archives in place and never writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from build_bench import manifests
from build_bench.errors import InputError, Rejected
from build_bench.records import Census

LARGEST = 64 << 20
"""Bytes of a picture: the largest here, ROD's, have about three million. More is something else, and is not read."""


class Reader(ABC):
    """One source as it lies under `<raw>/<source>/`.

    Raises `InputError` on construction if nothing of the source is there: it names the folder, what was expected in it
    and how to get it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        if not root.is_dir():
            raise missing(root)

    @property
    @abstractmethod
    def files(self) -> Sequence[Path]:
        """The files that planning reads, sorted by name: their checksums go into the manifest. A folder stands for the
        files in it: the manifest has their names, and one that is edited makes the plan stale."""

    @property
    def below(self) -> str:
        """What changes when anything below the folders among `files` does, where those are too many to be named: a plan
        is stale when it differs. Empty where `files` says it all."""
        return ""

    @property
    @abstractmethod
    def census(self) -> Census:
        """How many candidates planning met; complete once the plan is."""

    @property
    def gaps(self) -> Sequence[str]:
        """What the source has and this copy lacks, in words: reported, never guessed."""
        return ()


def missing(root: Path) -> InputError:
    """The error for a source that isn't there: what was expected, and where it comes from."""
    about = manifests.source(root.name)
    steps = "\n  ".join(step.format(folder=root) for step in about["steps"])
    return InputError(
        f"{root.name}: {about['title']} is not in {root}, expected {about['expected']}",
        f"get {root.name} (licence: {about['license']}), or leave it out by naming others with --scenario:\n  {steps}",
    )


def is_file(path: Path) -> bool:
    """Whether there is one. What the disk can't even look up (a name of 5,000 characters) is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def check_size(size: int, name: str) -> None:
    """Raises `Rejected` for a file that is too large to be a picture."""
    if size > LARGEST:
        raise Rejected("too_large", f"{name}: {size} bytes, more than a picture")
