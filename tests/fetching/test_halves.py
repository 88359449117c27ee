"""A file that a person began to download, with curl say: it lies there under its own name, and isn't whole."""

from __future__ import annotations

import hashlib

import pytest

from build_bench.fetching.downloading import Failed

from . import server
from .fetcher import DATA, OTHER, PATH, Fetcher
from .server import Content


def test_a_half_that_lies_there_is_gone_on_with(fetch: Fetcher) -> None:
    (fetch.folder / "big.zip").write_bytes(DATA[:120_000])
    assert fetch().basis == "md5 (first-hand)"
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.left == ["big.zip"]
    assert fetch.site.sent[PATH] == [(120_000, len(DATA))]


def test_a_half_keeps_its_name_until_a_server_goes_on_with_it(fetch: Fetcher) -> None:
    (fetch.folder / "big.zip").write_bytes(DATA[:120_000])
    with pytest.raises(Failed):
        fetch(fetch.wanted("http://127.0.0.1:1/big.zip"))
    assert fetch.left == ["big.zip"]
    fetch.site.faults[PATH] = [server.cut(50_000), *[server.says(503)] * 3]
    with pytest.raises(Failed):
        fetch()
    assert fetch.left == ["big.zip.part", "big.zip.part.json"]
    fetch()
    assert fetch.site.sent_bytes(PATH) == len(DATA) - 120_000


@pytest.mark.parametrize("declares", [True, False])
def test_a_half_of_a_file_without_a_checksum_needs_that_of_its_server(fetch: Fetcher, declares: bool) -> None:
    linked = {"X-Linked-Etag": f'"{hashlib.sha256(DATA).hexdigest()}"'} if declares else {}
    fetch.site.files[PATH] = Content(DATA, headers=linked)
    (fetch.folder / "big.zip").write_bytes(DATA[:120_000])
    fetch(fetch.wanted(md5=""))
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.left == ["big.zip"]
    assert fetch.site.sent[PATH][-1] == ((120_000 if declares else 0), len(DATA))


def test_a_half_of_another_file_is_found_out_by_the_checksum(fetch: Fetcher) -> None:
    (fetch.folder / "big.zip").write_bytes(OTHER[:120_000])
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.left == ["big.zip"]


@pytest.mark.parametrize("accept_new", [True, False])
def test_a_whole_file_that_the_manifest_has_longer_is_not_lost(fetch: Fetcher, accept_new: bool) -> None:
    (fetch.folder / "big.zip").write_bytes(DATA)
    file = fetch.wanted(bytes=len(DATA) + 1, certainty="second-hand")
    if accept_new:
        assert "has 300,004 bytes" in fetch(file, accept_new=True).instead_of
    else:
        with pytest.raises(Failed, match="has 300,004 bytes, 300,005 expected") as failed:
            fetch(file)
        assert failed.value.changed
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.site.sent_bytes(PATH) == 0
