"""A download of one file from the server on this machine. For the tests."""

from __future__ import annotations

import hashlib
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from build_bench.fetching.asking import Asker, Patience
from build_bench.fetching.downloading import Downloader, Failed, Whole
from build_bench.fetching.wanted import RemoteFile

from .server import Site

DATA = b"PK\x03\x04" + random.Random(0).randbytes(300_000)
OTHER = b"PK\x03\x04" + random.Random(1).randbytes(300_000)
PATH = "/big.zip"


class Fetcher:
    """Downloads to one folder; waits are counted, not waited."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.slept: list[float] = []
        self.tally: list[int] = []
        self.patience = Patience(connect=5, read=5, attempts=3, sleep=self.slept.append)

    def wanted(self, *urls: str, **changes: Any) -> RemoteFile:
        facts: dict[str, Any] = {"bytes": len(DATA), "md5": hashlib.md5(DATA).hexdigest(), "certainty": "first-hand"}
        return RemoteFile(path="big.zip", urls=urls or (self.site.url + PATH,), **{**facts, **changes})

    def __call__(self, file: RemoteFile | None = None, *, accept_new: bool = False) -> Whole:
        asker = Asker(self.patience, 1)
        try:
            downloader = Downloader(asker, self.patience, threading.Event(), accept_new=accept_new)
            return downloader.fetch(file or self.wanted(), self.folder / "big.zip", self.tally.append)
        finally:
            asker.close()

    def fails(self, file: RemoteFile | None = None, **how: Any) -> Failed:
        with pytest.raises(Failed) as failed:
            self(file, **how)
        assert not (self.folder / "big.zip").exists()
        return failed.value

    @property
    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())
