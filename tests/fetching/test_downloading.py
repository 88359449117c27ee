"""One file: whatever the server does, it is the right file in the end, or a sentence says why not."""

from __future__ import annotations

import hashlib
import io
import random
import time
from contextlib import suppress
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_bench.fetching import asking
from build_bench.fetching.downloading import Failed

from . import server
from .fetcher import DATA, OTHER, PATH, Fetcher
from .server import Content, Fault


def test_a_file_comes_and_only_then_has_its_name(fetch: Fetcher) -> None:
    whole = fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.left == ["big.zip"]
    assert (whole.size, whole.basis) == (len(DATA), "md5 (first-hand)")
    assert whole.digests["sha256"] == hashlib.sha256(DATA).hexdigest()
    assert sum(fetch.tally) == len(DATA)


@pytest.mark.parametrize(
    "faults",
    [
        [server.cut(100_000)],
        [server.cut(0)],
        [server.hangs_up],
        [server.says(429, Retry_After="7")],
        [server.says(503)],
        [server.says(500), server.cut(5)],
        [server.cut(100_000), server.shifted],
        [server.cut(100_000), server.says(416, Content_Range="bytes */5")],
    ],
    ids=lambda faults: "-".join(getattr(fault, "__qualname__", "").split(".")[0] for fault in faults),
)
def test_what_passes_is_waited_for(fetch: Fetcher, faults: list[Fault]) -> None:
    fetch.site.faults[PATH] = faults
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.slept, "it asked again at once"
    assert sum(fetch.tally) == len(DATA)


@pytest.mark.parametrize("as_date", [False, True])
def test_a_server_that_names_a_time_is_asked_then(fetch: Fetcher, as_date: bool) -> None:
    value = formatdate(time.time() + 500, usegmt=True) if as_date else "500"
    fetch.site.faults[PATH] = [server.says(429, Retry_After=value)]
    fetch()
    assert fetch.slept == [pytest.approx(500, abs=60)]


def test_one_that_asks_for_an_hour_is_not_waited_for(fetch: Fetcher) -> None:
    fetch.site.faults[PATH] = [server.says(503, Retry_After="3600")]
    assert "come back in 3,600 seconds" in str(fetch.fails())
    assert fetch.slept == []


@pytest.mark.parametrize("seed", range(10))
def test_interrupted_at_ten_points_no_byte_is_sent_twice(fetch: Fetcher, seed: int) -> None:
    points = sorted(random.Random(seed).sample(range(len(DATA)), 10))
    lengths = [end - start for start, end in zip([0, *points], points, strict=False)]
    fetch.site.faults[PATH] = [server.cut(length) for length in lengths]
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.site.requests(PATH) == 11
    assert fetch.site.sent_bytes(PATH) == len(DATA)
    assert sum(fetch.tally) == len(DATA)


def test_a_run_goes_on_where_the_last_one_ended(fetch: Fetcher) -> None:
    fetch.site.faults[PATH] = [server.cut(120_000), *[server.says(503)] * 3]
    assert "busy" in str(fetch.fails())
    assert fetch.left == ["big.zip.part", "big.zip.part.json"]
    fetch.tally.clear()
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.site.sent_bytes(PATH) == len(DATA)
    assert sum(fetch.tally) == len(DATA) - 120_000


def test_what_came_whole_before_a_kill_is_not_asked_for_again(fetch: Fetcher) -> None:
    fetch.site.faults[PATH] = [server.cut(120_000), *[server.says(503)] * 3]
    fetch.fails()
    (fetch.folder / "big.zip.part").write_bytes(DATA)
    before = len(fetch.site.asked)
    fetch()
    assert len(fetch.site.asked) == before
    assert (fetch.folder / "big.zip").read_bytes() == DATA


def test_a_part_of_unknown_origin_is_not_gone_on_with(fetch: Fetcher) -> None:
    (fetch.folder / "big.zip.part").write_bytes(OTHER[:1000])
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA


def test_a_part_that_nobody_asked_for_is_the_beginning(fetch: Fetcher) -> None:
    def partial(handler: server.Handler, content: Content) -> None:
        size = len(content.data)
        handler.status(206, content.data, Content_Range=f"bytes 0-{size - 1}/{size}")

    (fetch.folder / "big.zip.part").write_bytes(OTHER[:1000])
    fetch.site.faults[PATH] = [partial]
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA


def test_a_server_without_ranges_sends_all_again(fetch: Fetcher) -> None:
    fetch.site.files[PATH] = Content(DATA, ranges=False)
    fetch.site.faults[PATH] = [server.cut(100_000)]
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.site.sent_bytes(PATH) == len(DATA) + 100_000
    assert sum(fetch.tally) == len(DATA)


def test_a_server_without_ranges_that_breaks_off_ever_again_is_left(fetch: Fetcher) -> None:
    fetch.site.files[PATH] = Content(DATA, ranges=False)
    fetch.site.faults[PATH] = [server.cut(100_000 + number % 2 * 50_000) for number in range(50)]
    assert "broke off: " in str(fetch.fails())
    assert fetch.site.requests(PATH) < 10, "what came before doesn't come nearer to the end"


def test_what_a_disk_takes_in_two_halves_is_whole(fetch: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    write = io.FileIO.write

    class Halves(io.FileIO):
        def write(self, data: Any, /) -> int:
            return write(self, data[: len(data) // 2 + 1])

    known = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, mode, **how: Halves(path, mode) if mode == "ab" else known(path, mode, **how)
    )
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA


def test_a_file_that_changed_between_two_parts_begins_anew(fetch: Fetcher) -> None:
    def changes(handler: server.Handler, content: Content) -> None:
        handler.give(Content(OTHER), cut=100_000)

    fetch.site.faults[PATH] = [changes]
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.site.sent[PATH] == [(0, 100_000), (0, len(DATA))], "If-Range makes the server send all"


@pytest.mark.parametrize("known", [True, False])
def test_without_an_etag_only_a_checksum_allows_to_go_on(fetch: Fetcher, known: bool) -> None:
    fetch.site.files[PATH] = Content(DATA, etag=None)
    fetch.site.faults[PATH] = [server.cut(100_000)]
    fetch(fetch.wanted() if known else fetch.wanted(md5=""))
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.site.sent_bytes(PATH) == len(DATA) + (0 if known else 100_000)


def test_parts_of_two_versions_are_found_out_by_the_checksum(fetch: Fetcher) -> None:
    fetch.site.files[PATH] = Content(DATA, etag=None)
    fetch.site.faults[PATH] = [lambda handler, _: handler.give(Content(OTHER, etag=None), cut=100_000)]
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA


def test_a_stalled_connection_is_left_and_gone_on_from(fetch: Fetcher) -> None:
    fetch.patience = replace(fetch.patience, read=0.2)
    fetch.site.faults[PATH] = [server.stalls(1000), server.stalls(1000)]
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.site.sent_bytes(PATH) == len(DATA)


def test_a_drip_is_left_and_gone_on_from(fetch: Fetcher) -> None:
    ticks = iter(range(0, 100_000, 1000))
    fetch.patience = replace(fetch.patience, read=5, slowest=1 << 20, clock=lambda: float(next(ticks)))
    fetch.site.files[PATH] = Content(DATA[:4000])
    wanted = fetch.wanted(bytes=4000, md5=hashlib.md5(DATA[:4000]).hexdigest())
    fetch.site.faults[PATH] = [server.stalls(1000)]
    fetch(wanted)
    assert (fetch.folder / "big.zip").read_bytes() == DATA[:4000]
    assert fetch.site.sent_bytes(PATH) == 4000


def test_a_body_without_a_length_is_taken_where_its_end_is_marked(fetch: Fetcher) -> None:
    fetch.site.faults[PATH] = [server.chunked]
    assert fetch(fetch.wanted(md5="", bytes=None)).size == len(DATA)


# What no waiting helps against


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (server.says(403), "refuses access; it may want a login, or have a quota (HTTP 403)"),
        (server.says(401), "wants a login (HTTP 401)"),
        (server.says(404), "has no such file (HTTP 404)"),
        (server.says(410), "no longer has this file (HTTP 410)"),
        (server.says(200, server.LOGIN, Content_Type="text/html; charset=utf-8"), "a web page, 'Sign in: Accounts',"),
        (server.says(200, server.LOGIN), "a web page, 'Sign in: Accounts',"),
        (server.says(200, b"PK" + b"x" * 8), "has 10 bytes, 300,004 expected"),
        (server.says(200, b"<?xml version='1.0'?><Error/>"), 'sent no .zip: it begins with b"<?xml'),
        (server.says(200, b""), "sent nothing"),
        (server.says(200, b"x" * 300_004, Content_Encoding="gzip"), "packed (Content-Encoding: 'gzip')"),
        (server.says(429, Retry_After="9" * 400), "come back in more than a year (HTTP 429)"),
        (server.endless, "sends more than 300,004 bytes"),
        (server.says(200, b"PK" + b"x" * 300_002), "expected"),
        (server.says(200, b"x" * 300_004), "no .zip: it begins with b'xxx"),
        (server.sends_on("ftp://127.0.0.1/big.zip"), "sends on to ftp://127.0.0.1, which is not followed"),
        (server.sends_on("file:///etc/passwd"), "sends on to file://, which is not followed"),
        (server.sends_on(PATH), "in a circle"),
        *((server.sends_on(url), "no address") for url in ("http://[::1", "http://h:port/", "http://h:99999/")),
    ],
)
def test_the_next_mirror_is_asked_and_without_one_a_sentence_says_why(
    fetch: Fetcher, fault: Fault, sentence: str, tmp_path: Path
) -> None:
    fetch.site.faults[PATH] = [fault] * 20
    assert sentence in str(fetch.fails())
    fetch.site.files["/mirror.zip"] = Content(DATA)
    if "big.zip.part.json" in fetch.left:  # a file that differs waits for --accept-new
        return
    assert fetch.left == []
    fetch(fetch.wanted(fetch.site.url + PATH, fetch.site.url + "/mirror.zip"))
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.slept == []


def test_a_page_that_claims_to_be_the_rest_is_not_added(fetch: Fetcher) -> None:
    fetch.site.faults[PATH] = [
        server.cut(100_000),
        server.says(200, server.LOGIN, Content_Type="text/html"),
    ]
    assert "web page" in str(fetch.fails())
    fetch()
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.site.sent_bytes(PATH) == len(DATA), "the first part was kept"


def test_a_mirror_goes_on_with_what_another_sent(fetch: Fetcher) -> None:
    fetch.site.faults[PATH] = [server.cut(100_000), server.says(404)]
    fetch.site.files["/mirror.zip"] = Content(DATA, etag='"other"')
    fetch(fetch.wanted(fetch.site.url + PATH, fetch.site.elsewhere + "/mirror.zip"))
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert fetch.site.sent["/mirror.zip"] == [(100_000, len(DATA))]


def test_a_changed_file_is_said_with_both_checksums_and_taken_on_demand(fetch: Fetcher) -> None:
    fetch.site.files[PATH] = Content(OTHER)
    failed = fetch.fails()
    old, new = hashlib.md5(DATA).hexdigest(), hashlib.md5(OTHER).hexdigest()
    assert failed.changed
    assert f"has md5 {new}, {old} expected" in str(failed)
    assert f"has md5 {new}, {old} expected" in str(fetch.fails())
    whole = fetch(accept_new=True)
    assert (fetch.folder / "big.zip").read_bytes() == OTHER
    assert new in whole.instead_of
    assert fetch.site.sent_bytes(PATH) == len(OTHER), "it waited in its part"


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (server.says(200, b"<?xml version='1.0'?><Error/>"), "sent no .zip"),
        (server.says(200, b""), "sent nothing"),
        (server.says(200, DATA, Content_Encoding="br"), "packed"),
        (server.endless, "sends more than 100,000 bytes"),
    ],
)
def test_what_no_author_meant_is_not_offered_as_new(fetch: Fetcher, fault: Fault, sentence: str) -> None:
    fetch.site.faults[PATH] = [fault] * 2
    small = fetch.wanted(bytes=1000)
    assert not fetch.fails(small).changed
    assert sentence in str(fetch.fails(small, accept_new=True))
    assert fetch.left == []


def test_a_file_of_another_size_is_not_even_begun(fetch: Fetcher) -> None:
    fetch.site.files[PATH] = Content(OTHER + b"more")
    assert fetch.fails().changed
    assert fetch.left == []
    fetch(accept_new=True)
    assert (fetch.folder / "big.zip").read_bytes() == OTHER + b"more"


def test_a_checksum_known_second_hand_is_called_so(fetch: Fetcher) -> None:
    fetch.site.files[PATH] = Content(OTHER)
    assert "second-hand only" in str(fetch.fails(fetch.wanted(certainty="second-hand")))


@pytest.mark.parametrize(
    "headers",
    [
        {"x-goog-hash": "crc32c=AAAAAA==, md5=1B2M2Y8AsgTpgAmy7PhCfg=="},
        {"X-Linked-Etag": f'"{"0" * 64}"'},
    ],
)
def test_what_arrives_damaged_is_found_out_by_the_servers_own_checksum(fetch: Fetcher, headers: dict[str, str]) -> None:
    fetch.site.files[PATH] = Content(DATA, headers=headers)
    assert "sent bytes that don't have the" in str(fetch.fails(fetch.wanted(md5="")))
    assert fetch.left == []


def test_a_name_in_a_header_is_no_name_of_a_file(fetch: Fetcher) -> None:
    evil = {"Content-Disposition": 'attachment; filename="../../evil.zip"'}
    fetch.site.files[PATH] = Content(DATA, headers=evil)
    fetch()
    assert fetch.left == ["big.zip"]
    assert [path.name for path in fetch.folder.parent.rglob("*evil*")] == []


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(headers=st.dictionaries(
    st.sampled_from([
        "Content-Disposition", "Content-Location", "Content-Type", "ETag", "Last-Modified", "Link", "Set-Cookie",
        "X-Linked-Etag", "X-Repo-Commit", "X-Goog-Hash", "Retry-After",
    ]),
    st.one_of(
        st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=40),
        st.lists(st.sampled_from(["../", "/etc/x", 'filename="', "\\", "big.zip", "%2e%2f", ";", '"'])).map("".join),
    ),
))  # fmt: skip
def test_no_header_names_a_place_to_write_to(fetch: Fetcher, headers: dict[str, str]) -> None:
    fetch.site.files[PATH] = Content(DATA, headers=headers, etag=None)
    fetch.site.faults[PATH] = [server.cut(1000)]
    with suppress(Failed):
        fetch()
    assert {*fetch.left} <= {"big.zip", "big.zip.part", "big.zip.part.json"}
    assert [path.name for path in fetch.folder.parent.iterdir()] == [fetch.folder.name]
    for path in fetch.folder.iterdir():
        path.unlink()


@pytest.mark.parametrize("name", ["big.zip", "big.zip.part", "big.zip.part.json"])
def test_nothing_is_written_behind_a_link(fetch: Fetcher, name: str) -> None:
    outside = fetch.folder.parent / "outside"
    outside.write_bytes(b"mine")
    (fetch.folder / name).symlink_to(outside)
    fetch.site.faults[PATH] = [server.cut(1000)]
    fetch()
    assert outside.read_bytes() == b"mine"
    assert (fetch.folder / "big.zip").read_bytes() == DATA
    assert not (fetch.folder / "big.zip").is_symlink()


TOKEN = "hf_SecretThatStaysHere"


def test_the_token_goes_to_the_hub_alone(fetch: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", fetch.site.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    fetch.site.faults["/resolve/big.zip"] = [server.sends_on(f"{fetch.site.elsewhere}{PATH}")]
    fetch(fetch.wanted("{hub}/resolve/big.zip"))
    tokens = {path: headers.get("Authorization") for path, headers in fetch.site.asked}
    assert tokens == {"/resolve/big.zip": f"Bearer {TOKEN}", PATH: None}


@pytest.mark.parametrize("token", [TOKEN, f"{TOKEN}\nX-Other: 1", f"{TOKEN}é"])
def test_no_error_shows_the_token(fetch: Fetcher, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", fetch.site.url)
    monkeypatch.setenv("HF_TOKEN", token)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    fetch.site.faults["/resolve/big.zip"] = [server.says(401, token.encode())] * 9
    assert TOKEN not in str(fetch.fails(fetch.wanted("{hub}/resolve/big.zip")))


def test_the_hubs_redirect_names_the_checksum(fetch: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", fetch.site.url)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    named = f'"{hashlib.sha256(DATA).hexdigest()}"'
    fetch.site.faults["/r/big.zip"] = [server.sends_on(fetch.site.elsewhere + PATH, X_Linked_Etag=named)] * 2
    assert fetch(fetch.wanted("{hub}/r/big.zip", md5="")).basis == "sha256 as its server says"


def test_the_hub_is_not_asked_where_it_is_switched_off(fetch: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", fetch.site.url)
    assert "HF_HUB_OFFLINE is set" in str(fetch.fails(fetch.wanted("{hub}/big.zip")))
    assert fetch.site.asked == []


def test_a_host_that_is_not_there_is_said_at_once(fetch: Fetcher) -> None:
    failed = fetch.fails(fetch.wanted("http://127.0.0.1:1/big.zip"))
    assert "can't be reached" in str(failed)
    assert fetch.slept == []


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:port/big.zip", "big.zip", "http://127.0.0.1:99999/"])
def test_an_address_that_is_none_is_passed_over(fetch: Fetcher, url: str) -> None:
    assert "is no address" in str(fetch.fails(fetch.wanted(url)))
    fetch(fetch.wanted(url, fetch.site.url + PATH))
    assert (fetch.folder / "big.zip").read_bytes() == DATA


def test_https_is_not_left_for_http() -> None:
    with pytest.raises(asking.Refused, match="not followed"):
        asking._followed("https://a.example/x", "http://a.example/x")
