from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .fetcher import DATA, PATH, Fetcher
from .server import Content, Site, serving


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as running:
        yield running


@pytest.fixture
def fetch(site: Site, tmp_path: Path) -> Fetcher:
    site.files[PATH] = Content(DATA)
    folder = tmp_path / "source"
    folder.mkdir()
    return Fetcher(site, folder)
