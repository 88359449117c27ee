"""The pictures of a release in the layout of proactivebench: extracted folders, or the zips, read in place."""

from __future__ import annotations

import zipfile
from pathlib import Path

from build_bench.errors import InputError, Rejected
from build_bench.layouts.record import DATASETS, ENDING
from build_bench.raw_sources import members

PLACES = ("", "test", "data")
"""Where record files and zips were seen or are likely, below the folder named."""


NAME_BYTES = 255
"""Of one name in a path: no file system here takes more, and asking for it is an error."""


class Release:
    """A folder with `<DatasetName>_preprocessed.jsonl` files. Raises `InputError` if it has none."""

    def __init__(self, root: Path) -> None:
        self.root = root
        folders = [root / place for place in PLACES if (root / place).is_dir()]
        found = sorted(path for folder in folders for path in folder.glob(f"*{ENDING}"))
        self.records: dict[str, Path] = {}
        """Dataset name -> its record file."""
        for path in found:
            name = path.name.removesuffix(ENDING)
            if name in self.records:
                raise InputError(f"{path} and {self.records[name]}: which of the two?", "move one of them away")
            self.records[name] = path
        if not found:
            raise InputError(
                f"{root} has no <DatasetName>{ENDING}",
                f"name the folder of an official release or of an export; known are {', '.join(DATASETS.values())}",
            )
        self._folders = folders
        self.zips = sorted(path for folder in folders for path in folder.glob("*.zip"))
        self._members: dict[str, tuple[zipfile.ZipFile, zipfile.ZipInfo]] | None = None
        self._refused: dict[str, str] = {}

    def has(self, path: str) -> bool:
        """Whether there is a picture of this name; `path` is relative and has no `..`."""
        return self._file(path) is not None or path in self._archived()

    def picture(self, path: str) -> bytes:
        """A picture's bytes. Raises `Rejected`: `missing_picture`, `unreadable_picture`, `refused_member` of a zip,
        `broken_archive`."""
        if file := self._file(path):
            try:
                return file.read_bytes()
            except OSError as error:
                raise Rejected("unreadable_picture", f"{path}: {error}") from error
        if path not in self._archived():
            raise Rejected("missing_picture", path)
        archive, member = self._archived()[path]
        if why := self._refused.get(path) or members.unfit(member):
            raise Rejected("refused_member", f"{path} in {archive.filename}: {why}")
        try:
            return archive.read(member)
        except members.UNREADABLE as error:
            raise Rejected("broken_archive", f"{path} in {archive.filename}: {error}") from error

    def _file(self, path: str) -> Path | None:
        if max(map(len, path.encode().split(b"/"))) > NAME_BYTES:
            return None
        return next((folder / path for folder in self._folders if (folder / path).is_file()), None)

    def _archived(self) -> dict[str, tuple[zipfile.ZipFile, zipfile.ZipInfo]]:
        """Members of all zips by the path that records name: whatever stands before the dataset's name goes, and where
        that name is missing the zip's own name stands for it."""
        if self._members is None:
            self._members = {}
            for path in self.zips:
                archive = members.open_zip(path)
                infos = members.of_zip(archive)
                refused = members.refused(infos)
                for member in infos:
                    parts = member.filename.split("/")
                    known = [place for place, part in enumerate(parts) if part in DATASETS.values()]
                    inner = "/".join(parts[known[0] :] if known else [path.stem, *parts])
                    self._members.setdefault(inner, (archive, member))
                    if why := refused.get(member.filename):
                        self._refused[inner] = why
        return self._members

    def close(self) -> None:
        """Close the zips."""
        for archive, _ in (self._members or {}).values():
            archive.close()
        self._members = None
