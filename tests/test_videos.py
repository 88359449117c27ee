"""ChangeIt's videos, fetched with the real yt-dlp from a server on this machine; what doesn't come is told apart."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from build_bench.errors import InputError
from build_bench.fetching import video_failures, videos
from build_bench.fetching.video_failures import kind_of
from build_bench.fetching.videos import VideoOptions, VideoReport, fetch_videos
from build_bench.raw_sources.changeit import ChangeIt
from tests.fakes import changeit as fake
from tests.video_server import Videos, serving

pytest.importorskip("yt_dlp", reason="the extra `videos` isn't installed")

APPLE, DASH, TWIN = "aaaaaaaaaaa", "-bbbbbbbbbb", "ccccccccccc"


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return fake.film(tmp_path_factory.mktemp("film") / "film.mp4", range(300)).read_bytes()


@pytest.fixture
def served(film: bytes) -> Iterator[Videos]:
    with serving(Videos(film)) as videos:
        yield videos


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "changeit"
    for category, video in (("apple", APPLE), ("apple", DASH), ("milk", TWIN), ("boil_milk", TWIN)):
        fake.annotate(root, category, video, [0, 1, 2, 3])
    return root


Fetch = Callable[..., VideoReport]


@pytest.fixture
def fetch(root: Path, served: Videos) -> Fetch:
    def run(**options: Any) -> VideoReport:
        return fetch_videos(root, VideoOptions(**{"address": served.address, "pause": 0.0} | options), lambda _: None)

    return run


def rows(root: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (root / "downloads" / videos.UNAVAILABLE).read_text().splitlines()]


def reasons(root: Path) -> dict[str, str]:
    return {row["video"]: row["reason"] for row in rows(root)}


def files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in (root / "downloads").rglob("*") if path.is_file())


def test_each_annotated_video_comes_once_and_the_reader_finds_it(root: Path, fetch: Fetch, film: bytes) -> None:
    report = fetch(jobs=2)
    assert (report.wanted, report.there, report.fetched, report.missing, report.stopped) == (3, 0, 3, [], "")
    reader = ChangeIt(root)
    found = [reader.find(annotated.category, annotated.video) for annotated in reader.videos()]
    assert [path.read_bytes() for path in found if path] == [film] * 4
    assert files(root) == [
        f"downloads/apple/{DASH}.mp4",
        f"downloads/apple/{APPLE}.mp4",
        f"downloads/boil_milk/{TWIN}.mp4",
    ]


def test_what_is_there_is_not_asked_for(fetch: Fetch, served: Videos) -> None:
    fetch()
    served.asked.clear()
    report = fetch()
    assert (report.there, report.fetched, served.asked) == (3, 0, [])


@pytest.mark.parametrize(
    ("status", "reason"), [(404, "dead"), (410, "dead"), (403, "blocked"), (503, "network"), (451, "region_blocked")]
)
def test_a_status_is_recorded_with_the_date_and_the_others_come(
    status: int, reason: str, root: Path, fetch: Fetch, served: Videos
) -> None:
    served.status[APPLE] = status
    report = fetch()
    assert (report.fetched, report.by_reason) == (2, {reason: 1})
    (row,) = rows(root)
    assert (row["category"], row["video"], row["reason"]) == ("apple", APPLE, reason)
    assert f"HTTP Error {status}" in row["detail"]
    assert row["tried"].endswith("+00:00")


def test_a_second_run_tries_what_may_have_changed_and_the_dead_only_when_asked_to(
    root: Path, fetch: Fetch, served: Videos
) -> None:
    served.status |= {APPLE: 404, DASH: 403}
    fetch()
    served.status.clear()
    served.asked.clear()
    report = fetch()
    assert (report.fetched, report.passed_over, reasons(root)) == (1, 1, {APPLE: "dead"})
    assert APPLE not in dict(served.asked)
    assert fetch(retry_dead=True).fetched == 1
    assert rows(root) == []


def test_a_service_that_limits_is_not_asked_on_and_its_time_is_told(root: Path, fetch: Fetch, served: Videos) -> None:
    served.status |= dict.fromkeys((APPLE, DASH, TWIN), 429)
    served.headers["Retry-After"] = "7200"
    report = fetch()
    assert {video for video, _ in served.asked} == {DASH}  # the first by name
    assert reasons(root) == {DASH: "rate_limited"}
    assert report.stopped.startswith("the service asks for a pause: go on after ")
    served.status.clear()
    assert fetch().fetched == 3


@pytest.mark.parametrize(("after", "seconds"), [("120", 120), ("", 3600), ("soon", 3600), ("9" * 30, 86_400)])
def test_when_to_go_on_is_what_the_service_says_or_an_hour(after: str, seconds: int) -> None:
    now = video_failures.utc_now()
    assert (video_failures._until(after, now) - now).total_seconds() == seconds


def test_a_download_that_breaks_off_is_resumed_where_it_ended(root: Path, fetch: Fetch, served: Videos) -> None:
    half = len(served.data) // 2
    served.cut[APPLE] = half
    assert (fetch().fetched, reasons(root)) == (2, {APPLE: "network"})
    (part,) = [name for name in files(root) if name.endswith(".part")]
    kept = (root / part).stat().st_size
    assert half - 1024 < kept <= half, "with requests installed yt-dlp drops what came of its last block"
    assert ChangeIt(root).find("apple", APPLE) is None
    served.cut.clear()
    served.asked.clear()
    assert fetch().fetched == 1
    assert served.asked[-1] == (APPLE, kept)
    assert not [name for name in files(root) if name.endswith(".part")]


@pytest.mark.parametrize(
    ("page", "detail"),
    [
        (("text/html", b"<html><title>Sorry</title>Too busy</html>"), "Unsupported URL"),
        (("video/mp4", b"<html><title>Sorry</title>Too busy</html>"), "not_a_video"),
        (("video/mp4", b"\0" * 5000), "not_a_video"),
    ],
)  # fmt: skip
def test_what_is_no_video_gets_no_name(
    page: tuple[str, bytes], detail: str, root: Path, fetch: Fetch, served: Videos
) -> None:
    served.pages[APPLE] = page
    assert (fetch().fetched, reasons(root)) == (2, {APPLE: "not_a_video"})
    assert detail in rows(root)[0]["detail"]
    assert not [name for name in files(root) if APPLE in name]
    served.pages.clear()
    assert fetch().fetched == 1


def test_without_a_network_the_run_ends_after_a_few(root: Path, fetch: Fetch) -> None:
    for number in range(9):
        fake.annotate(root, "zebra", f"zzzzzzzzzz{number}", [1])
    report = fetch(address="http://127.0.0.1:9/{id}.mp4")
    assert report.by_reason == {"network": videos.OFFLINE}
    assert "in a row" in report.stopped


def test_a_full_disk_is_no_fault_of_the_videos(root: Path, fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("yt_dlp.downloader.http.HttpFD.real_download", full)
    with pytest.raises(InputError, match="No space left"):
        fetch()
    assert not (root / "downloads" / videos.UNAVAILABLE).exists()


def test_a_spoilt_line_of_the_record_costs_nothing(root: Path, fetch: Fetch, served: Videos) -> None:
    served.status[APPLE] = 404
    fetch()
    path = root / "downloads" / videos.UNAVAILABLE
    path.write_bytes(b"\xff{\n" + path.read_bytes()[:-20])
    assert fetch().passed_over == 0


def test_without_the_extra_it_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError) as absent:
        fetch_videos(root, VideoOptions(), lambda _: None)
    assert "3 videos that are not here" in absent.value.message
    assert "build-bench[videos]" in absent.value.hint


def test_the_extra_is_not_needed_where_all_videos_are(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    for category, video in (("apple", APPLE), ("apple", DASH), ("milk", TWIN)):
        (root / "downloads" / category).mkdir(parents=True, exist_ok=True)
        (root / "downloads" / category / f"{video}.mp4").write_bytes(b"x")
    report = fetch_videos(root, VideoOptions(), lambda _: None)
    assert (report.there, report.wanted) == (3, 3)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Private video. Sign in if you've been granted access to this video. Use --cookies-from-browser", "private"),
        ("Video unavailable. This video is private", "private"),
        ("Video unavailable. This video has been removed by the uploader", "dead"),
        ("This video has been removed for violating YouTube's Community Guidelines", "dead"),
        ("This video has been removed for violating YouTube's policy on hate speech.", "dead"),
        ("This video does not exist.", "dead"),
        ("Video unavailable. This video is no longer available because the YouTube account associated with this video"
         " has been terminated.", "dead"),
        ("Video unavailable. This video is no longer available due to a copyright claim by Somebody", "dead"),
        ("Video unavailable. This video is no longer available because the uploader has closed their YouTube account.",
         "dead"),
        ("Sign in to confirm your age. This video may be inappropriate for some users.", "age_restricted"),
        ("Video unavailable. This video contains content from SME, who has blocked it in your country on copyright"
         " grounds", "region_blocked"),
        ("The uploader has not made this video available in your country", "region_blocked"),
        ("Join this channel to get access to members-only content like this video, and other exclusive perks.",
         "members_only"),
        ("This video is available to this channel's members on level: Gold! Join this channel to get access",
         "members_only"),
        ("This video requires payment to watch.", "members_only"),
        ("Premieres in 15 hours", "not_yet"),
        ("This live event will begin in a few moments.", "not_yet"),
        ("We're processing this video. Check back later.", "not_yet"),
        ("Sign in to confirm you\N{RIGHT SINGLE QUOTATION MARK}re not a bot. Use --cookies-from-browser or --cookies",
         "rate_limited"),
        ("Video unavailable. This content isn't available, try again later. The current session has been rate-limited"
         " by YouTube for up to an hour.", "rate_limited"),
        ("Video unavailable. YouTube is requiring a captcha challenge before playback", "rate_limited"),
        ("Video unavailable", "blocked"),
        ("Video unavailable. This content isn\N{RIGHT SINGLE QUOTATION MARK}t available.", "blocked"),
        ("This video is not available", "blocked"),
        ("Requested format is not available. Use --list-formats for a list of available formats", "not_a_video"),
        ("Unable to download API page: The read operation timed out", "network"),
        ("Unable to download webpage: [Errno -3] Temporary failure in name resolution", "network"),
        ("Cannot identify player", "other"),
    ],
)  # fmt: skip
def test_youtubes_reasons_are_told_apart(text: str, kind: str) -> None:
    assert kind_of(video_failures.line(f"ERROR: [youtube] {APPLE}: {text}")) == kind


def test_a_reason_is_one_plain_line() -> None:
    text = "\x1b[0;31mERROR:\x1b[0m [youtube] x: Cannot\n identify; please report this issue on  https://x"
    assert video_failures.line(text).endswith("[youtube] x: Cannot identify")
    assert "\x1b" not in video_failures.line(text)
