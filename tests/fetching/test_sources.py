"""All files of some sources: what is there, what is asked first, what is said in the end."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import filelock
import msgspec
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from build_bench import builders, cli, config, demo, planning
from build_bench.errors import BuildBenchError, InputError, NetworkError, UsageError
from build_bench.fetching import licences, running, sources, states, video_failures, videos, wanted
from build_bench.fetching.asking import Patience
from build_bench.fetching.running import Options
from build_bench.fetching.states import Memory
from build_bench.fetching.wanted import RemoteFile, SourceManifest
from build_bench.fingerprints import Checksums
from build_bench.raw_sources.imagenet_c_names import GROUPS
from build_bench.store import Work
from tests.fakes import changeit

from . import server
from .server import Content, Site
from .test_sampling import rows

ZIP = b"PK\x03\x04"
FILES = {"val2014.zip": ZIP + b"pictures" * 9000, "annotations_trainval2014.zip": ZIP + b"annotations" * 500}
TRAIN = {"train2014.zip": ZIP + b"other pictures" * 9000}
FAST = Patience(connect=5, read=5, attempts=2, sleep=lambda seconds: None)
Change = Callable[[str, SourceManifest], SourceManifest]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "work", tmp_path / "work" / "raw")


@pytest.fixture(autouse=True)
def local(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """COCO and QuickDraw as they are, but small, and on this machine."""
    known = wanted.source

    def here(name: str) -> SourceManifest:
        about = known(name)
        if name == "coco":
            files = [
                msgspec.structs.replace(
                    file,
                    urls=(f"{site.url}/{file.path}",),
                    bytes=len((FILES | TRAIN)[file.path]),
                    md5=hashlib.md5((FILES | TRAIN)[file.path]).hexdigest(),
                )
                for file in about.files
            ]
            return msgspec.structs.replace(about, files=tuple(files))
        if about.per_word:
            pattern = msgspec.structs.replace(
                about.per_word, url=f"{site.url}/full/{{kind}}/{{word}}.ndjson", about={"simplified": 345_000}
            )
            return msgspec.structs.replace(about, per_word=pattern)
        return about

    monkeypatch.setattr(wanted, "source", here)
    monkeypatch.setattr(running, "Patience", lambda: FAST)
    site.files |= {f"/{name}": Content(data) for name, data in (FILES | TRAIN).items()}


def fetch(work: Work, *names: str, **options: Any) -> running.Outcome:
    chosen = config.read([*names])
    return sources.fetch(work, chosen, names, Options(**{"accepted": names, "patience": FAST, **options}))


def state(work: Work, name: str) -> str:
    return sources.look(work, config.read([name]), [name])[0].state


def run(work: Work, *arguments: str, stdin: str | None = None) -> Result:
    """The command, as `main` runs it."""
    runner = CliRunner()
    return runner.invoke(cli.group, [*arguments, "--work", str(work.root)], input=stdin, standalone_mode=False)


def test_all_files_of_a_source_come_and_a_second_run_asks_for_none(work: Work, site: Site) -> None:
    assert state(work, "coco") == states.MISSING
    outcome = fetch(work, "coco")
    assert outcome.problems == []
    assert outcome.received == sum(map(len, FILES.values()))
    assert {path.name: path.read_bytes() for path in (work.raw / "coco").iterdir()} == FILES
    assert state(work, "coco") == states.PRESENT
    asked = len(site.asked)
    assert fetch(work, "coco").received == 0
    assert len(site.asked) == asked


def test_pictures_to_train_on_come_only_where_they_are_asked_for(work: Work, site: Site) -> None:
    accept = ("--accept-license", "coco")
    done = run(work, "fetch", "coco", "--split", "train", *accept, "--json")
    assert done.exception is None
    there = {path.name: path.read_bytes() for path in (work.raw / "coco").iterdir()}
    assert there == {**TRAIN, "annotations_trainval2014.zip": FILES["annotations_trainval2014.zip"]}
    assert state(work, "coco") == states.PARTIAL
    asked = len(site.asked)
    assert run(work, "fetch", "coco", "--json").exception is None  # the licence is accepted for both
    assert {path.name: path.read_bytes() for path in (work.raw / "coco").iterdir()} == FILES | TRAIN
    assert [path for _, path, *_ in site.asked[asked:] if "train2014" in path] == []
    assert state(work, "coco") == states.PRESENT


def test_a_build_need_not_compute_checksums_again(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch(work, "coco")
    monkeypatch.setattr("build_bench.store.sha256", lambda path: pytest.fail(f"{path} was read again"))
    path = work.raw / "coco" / "val2014.zip"
    assert Checksums(work).source(path, path.parent)["sha256"] == hashlib.sha256(FILES["val2014.zip"]).hexdigest()


def test_what_is_given_to_other_machines_is_known_by_the_time_that_they_see(work: Work) -> None:
    @dataclass(frozen=True)
    class Given:
        def bring(self, *paths: Path) -> None: ...

        def give(self, *paths: Path) -> None:
            for path in paths:
                os.utime(path, (1, 1))

    fetch(replace(work, shared=Given()), "coco")
    assert {path.stat().st_mtime for path in (work.raw / "coco").iterdir()} == {1}
    assert state(work, "coco") == states.PRESENT
    path = work.raw / "coco" / "val2014.zip"
    os.utime(path, (2, 2))
    assert state(work, "coco") == states.UNVERIFIED


def test_what_is_there_is_checked_once(work: Work, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    (work.raw / "coco").mkdir(parents=True)
    for name, data in FILES.items():
        (work.raw / "coco" / name).write_bytes(data)
    assert state(work, "coco") == states.UNVERIFIED
    fetch(work, "coco")
    assert state(work, "coco") == states.PRESENT
    monkeypatch.setattr(running, "digested", lambda path: pytest.fail("it was read again"))
    fetch(work, "coco")
    assert site.asked == []


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (ZIP + b"xictures" * 9000, "has md5"),
        (ZIP + b"pictures" * 9001, "has 72,012 bytes"),
        (server.LOGIN.ljust(len(FILES["val2014.zip"])), "a web page, 'Sign in"),
    ],
)
def test_a_wrong_file_is_named_and_left_where_it_is(work: Work, data: bytes, sentence: str, site: Site) -> None:
    path = work.raw / "coco" / "val2014.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    outcome = fetch(work, "coco")
    (problem,) = outcome.problems
    assert sentence in problem.why
    assert path.read_bytes() == data
    assert (path.parent / "annotations_trainval2014.zip").exists(), "the others come all the same"


def test_a_page_that_lies_there_is_no_new_version(work: Work) -> None:
    path = work.raw / "coco" / "val2014.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(server.LOGIN)
    result = run(work, "fetch", "coco", "--accept-license", "coco", "--accept-new")
    assert isinstance(result.exception, SystemExit)
    assert "is a web page, 'Sign in: Accounts'" in result.stderr
    assert f"remove {path}, and run the same command again" in result.stderr
    assert "--accept-new" not in result.stderr
    assert path.read_bytes() == server.LOGIN
    assert state(work, "coco") == states.BAD


def test_what_was_found_wrong_is_known_to_be(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    path = work.raw / "coco" / "val2014.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(FILES["val2014.zip"][:-1] + b"x")
    first = run(work, "fetch", "coco", "--accept-license", "coco").stderr
    assert state(work, "coco") == states.BAD
    monkeypatch.setattr(running, "digested", lambda path: pytest.fail("it was read again"))
    for said in (first, run(work, "fetch", "coco").stderr):
        assert re.search(r"has md5 \w{32}, \w{32} expected", said)
        assert f"remove {path}, to download it anew" in said
    path.unlink()
    assert fetch(work, "coco").problems == []


def test_a_changed_file_is_taken_on_demand_and_known_from_then_on(work: Work, site: Site) -> None:
    other = ZIP + b"Pictures" * 9000
    site.files["/val2014.zip"] = Content(other)
    result = run(work, "fetch", "coco", "--accept-license", "coco")
    assert f"if they didn't: remove {work.raw / 'coco' / 'val2014.zip.part'}, to download it anew" in result.stderr
    result = run(work, "fetch", "coco", "--accept-new")
    assert "coco/val2014.zip: 72 kB, accepted as new: it has md5" in result.stderr
    assert state(work, "coco") == states.PRESENT
    path = work.raw / "coco" / "val2014.zip"
    known = Memory(work.raw).of(path)
    assert known
    assert (known.digests["sha256"], "expected" in known.instead_of) == (hashlib.sha256(other).hexdigest(), True)
    path.unlink()
    assert fetch(work, "coco").problems == [], "it is the accepted one that is expected now"
    assert path.read_bytes() == other


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("rod", "rod_0/banana/a-s0.jpg rod_1/cup/b-s0.jpg"),
        ("rod", "Realistic-Occlusion-Dataset/rod_0/banana/a-s0.jpg rod_1.tgz"),
        ("vsod", "OcclusionDataSet-MM20/Data/test/a/0.JPEG OcclusionDataSet-MM20/Annotations/test/a/0.xml answers.csv"),
        ("vsod", "mm20.zip answers.csv"),
        ("mvp_n", "data/test_list/test_0000_100.pkl classes.csv"),
        ("mvp_n", "data/data/test_list/test_0000_100.pkl classes.csv"),
        ("mvp_n", "test_list/test_0000_100.pkl classes.csv"),
        ("imagenet_c", " ".join(f"ImageNet-C/{group}/{name}/1/n0/x" for group in GROUPS for name in GROUPS[group])),
        ("imagenet_c", " ".join(f"{name}/1/n0/x" for names in GROUPS.values() for name in names)),
        ("imagenet_c", " ".join(f"ImageNet-C/{group}.tar" for group in GROUPS)),
        ("changeit", "annotations/apple/2gQYivaDXW0.fps1.csv categories.csv"),
        ("changeit", "ChangeIt-f93cd98/annotations/apple/2gQYivaDXW0.fps1.csv"),
        ("coco", "val2014/COCO_val2014_000000000042.jpg annotations/instances_val2014.json"),
        ("coco", "images/val2014/a.jpg instances_val2014.json"),
        ("coco", "images/a.jpg annotations_trainval2014/annotations/instances_val2014.json"),
        ("coco", "images/val2014.zip annotations/annotations_trainval2014.zip"),
    ],
)  # fmt: skip
def test_what_a_reader_can_open_is_not_fetched(name: str, there: str, work: Work) -> None:
    for path in there.split():
        (work.raw / name / path).parent.mkdir(parents=True, exist_ok=True)
        (work.raw / name / path).write_bytes(_looks(path))
    chosen = config.read([name])
    chosen.builder(name).open(work.raw / name, work.scratch(name))
    (found,) = sources.look(work, chosen, [name])
    assert [(state.file.path, state.state) for state in found.files if state.state != states.UNVERIFIED] == []


def _looks(path: str) -> bytes:
    """Enough of a file for a reader to open its source."""
    if not path.endswith(".zip"):
        return b"video,question_kind,answer\n" if path.endswith("answers.csv") else b"x"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("annotations/instances_val2014.json", "{}")
        archive.writestr("Data/test/a/0.JPEG", b"x")
    return buffer.getvalue()


def test_words_under_other_names_are_there(work: Work) -> None:
    folder = work.raw / "quickdraw"
    (folder / "downloads").mkdir(parents=True)
    (folder / "downloads" / "full_simplified_hot air balloon.ndjson").write_bytes(b"{}\n")
    (found,) = sources.look(work, config.read(["quickdraw"]), ["quickdraw"])
    there = [state.file.path for state in found.files if not state.lacking]
    assert there == ["full/simplified/hot air balloon.ndjson"]


def test_drawings_come_by_ranges(work: Work, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["cat", "hot air balloon"]
    known = wanted.files("quickdraw")
    these = tuple(file for file in known if Path(file.path).stem in words)
    monkeypatch.setattr(wanted, "files", lambda name, kind, split: these)
    site.files |= {f"/full/simplified/{word}.ndjson": Content(b"".join(rows(word))) for word in words}
    outcome = fetch(work, "quickdraw", sample=True)
    assert outcome.problems == []
    assert outcome.received > 0
    (found,) = sources.look(work, config.read(["quickdraw"]), ["quickdraw"])
    assert {state.note for state in found.files} == {f"as sample/{word}.ndjson" for word in words}
    kept = json.loads((work.raw / "quickdraw" / "sample" / "sample.json").read_text())
    assert {word: facts["usable"] for word, facts in kept["words"].items()} == dict.fromkeys(words, 10)
    asked = len(site.asked)
    fetch(work, "quickdraw", sample=True)
    assert len(site.asked) == asked
    listed = run(work, "fetch", "quickdraw", "--list").stdout
    assert "unverified, 2 of 2 files, 2 of them drawn from" in listed
    assert f"without {work.raw / 'quickdraw' / 'sample'}, build-bench fetch quickdraw gets the whole files" in listed
    stamp = planning.plan(work, config.read(["quickdraw"]), "quickdraw")
    assert (stamp.planned, stamp.facts) == (20, {"draw": {"smallest_hashes": 0, "ranges": 2}})
    assert "2 of 2 words are samples drawn by ranges" in " ".join(stamp.gaps)
    assert "sample/sample.json" in {source["path"] for source in stamp.sources}


def test_a_server_that_cannot_be_sampled_is_answered_with_the_whole(work: Work, site: Site) -> None:
    for file in wanted.files("quickdraw"):
        site.files[f"/{file.path}"] = Content(b"{}\n", ranges=False)
    with pytest.raises(InputError) as error:
        fetch(work, "quickdraw", sample=True)
    assert "without --sample, gets them whole" in error.value.hint


# Licences


def test_nothing_is_sent_before_the_licence_is_accepted(work: Work, site: Site) -> None:
    with pytest.raises(UsageError) as error:
        fetch(work, "coco", accepted=())
    assert "coco" in error.value.message
    assert "CC-BY-4.0" in error.value.hint
    assert "--accept-license coco" in error.value.hint
    assert site.asked == []


def test_what_can_be_had_without_that_licence_is_named(work: Work) -> None:
    with pytest.raises(UsageError) as error:
        fetch(work, "coco", "mvp_n", "rod", accepted=("rod",))
    assert error.value.hint.endswith("\nif not: build-bench fetch mvp_n rod")


def test_who_waits_while_much_is_read_is_told(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LONG", 70_000)
    (work.raw / "coco").mkdir(parents=True)
    (work.raw / "coco" / "val2014.zip").write_bytes(FILES["val2014.zip"])
    said = run(work, "fetch", "coco", "--accept-license", "coco").stderr
    assert "coco/val2014.zip: reading the 72 kB that are here" in said
    assert "annotations_trainval2014.zip: reading" not in said


def test_a_licence_is_asked_for_once_unless_its_text_changes(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    assert licences.lacking(work, ["coco", "rod"], []) == ["coco", "rod"]
    assert licences.lacking(work, ["coco", "rod"], ["coco"]) == ["rod"]
    assert licences.lacking(work, ["coco", "rod"], []) == ["rod"]
    known = wanted.source
    monkeypatch.setattr(wanted, "source", lambda name: msgspec.structs.replace(known(name), license="another"))
    assert licences.lacking(work, ["coco", "rod"], []) == ["coco", "rod"]


def test_the_configuration_can_accept(work: Work, tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text('[licenses]\naccepted = ["all"]\n')
    chosen = config.read(["coco"], file)
    assert sources.fetch(work, chosen, ["coco"], Options(patience=FAST)).problems == []


@pytest.mark.parametrize("text", ['[licenses]\naccepted = "coco"', "[licenses]\naccept = []", "licenses = 1"])
def test_a_wrong_table_of_licences_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "bench.toml").write_text(text)
    with pytest.raises(UsageError):
        config.read(["coco"], tmp_path / "bench.toml")


def test_an_unknown_source_is_answered_with_the_nearest(work: Work) -> None:
    with pytest.raises(UsageError) as error:
        fetch(work, "coco", accepted=["cocoa"])
    assert "did you mean 'coco'" in error.value.hint


def test_a_person_at_a_terminal_is_asked(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter([False, True])
    monkeypatch.setattr("click.confirm", lambda *_, **__: next(answers))
    assert licences.ask(work, ["coco", "rod"]) == ["coco"]
    assert licences.lacking(work, ["coco", "rod"], []) == ["coco"]


# What stops a run


def test_offline_everything_missing_is_said_with_addresses_and_steps(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = wanted.files
    away = "http://127.0.0.1:1/val2014.zip"
    monkeypatch.setattr(
        wanted,
        "files",
        lambda name, kind="", split="test": tuple(
            msgspec.structs.replace(file, urls=(away,)) for file in known(name, kind, split)
        ),
    )
    result = run(work, "fetch", "coco", "mvp_n", "--accept-license", "coco")
    assert isinstance(result.exception, SystemExit)
    assert result.exception.code == NetworkError.exit_code
    said = result.stderr
    assert "can't be reached" in said
    assert f"{away} -> {work.raw / 'coco' / 'val2014.zip'}" in said
    assert "mvp_n 1. open https://drive.google.com" in said
    assert str(work.raw / "mvp_n" / "data.zip") in said


def test_two_fetches_at_once_are_one_too_many(work: Work) -> None:
    (work.raw / ".fetch").mkdir(parents=True)
    with (
        filelock.FileLock(work.raw / ".fetch" / "lock"),
        pytest.raises(BuildBenchError, match="another build-bench fetch"),
    ):
        fetch(work, "coco")


def test_a_folder_that_is_only_read_is_named_before_anything_is_sent(work: Work, site: Site) -> None:
    (work.raw / ".fetch" / "lock").mkdir(parents=True)
    with pytest.raises(InputError, match=r"\.fetch can't be made or written") as error:
        fetch(work, "coco")
    assert "--no-fetch" in error.value.hint
    assert site.asked == []


def test_a_source_whose_folder_is_a_file_is_named(work: Work) -> None:
    work.raw.mkdir(parents=True)
    (work.raw / "coco").write_bytes(b"")
    with pytest.raises(InputError, match=r"coco/.*\.zip can't be written"):
        fetch(work, "coco")


def test_videos_that_the_network_kept_away_are_no_success(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    changeit.annotate(work.raw / "changeit", "apple", "aaaaaaaaaaa", [0, 1])
    lost = videos.Missing("apple", "aaaaaaaaaaa", video_failures.NETWORK, "timed out", "today")
    monkeypatch.setattr(videos, "fetch_videos", lambda *_: videos.VideoReport(1, missing=[lost]))
    result = run(work, "fetch", "changeit", "--accept-license", "changeit")
    assert isinstance(result.exception, SystemExit)
    assert result.exception.code == NetworkError.exit_code
    assert "the network failed for 1 video" in result.stderr


def test_a_full_disk_is_said_before_anything_is_sent(work: Work, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("usage", (), {"free": 1000})())
    with pytest.raises(InputError, match=r"77.5 kB are still to come, and .* has room for 1 kB"):
        fetch(work, "coco")
    assert site.asked == []


def test_bytes_that_are_there_need_no_room(work: Work, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.faults["/val2014.zip"] = [server.cut(72_000), *[server.says(503)] * 2]
    fetch(work, "coco")
    assert "val2014.zip is incomplete: 72,000 of 72,004 bytes" in run(work, "fetch", "coco", "--list").stdout
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("usage", (), {"free": 100})())
    assert fetch(work, "coco").problems == []


def test_a_demo_is_not_mixed_with_sources(work: Work) -> None:
    demo.draw(work.raw, [])
    with pytest.raises(UsageError, match="drawn by the demo"):
        fetch(work, "coco")
    assert isinstance(run(work, "fetch", "--list").exception, UsageError), "nor are its files called incomplete"


SCRIPT = """
    import sys
    from build_bench import cli, manifests
    url, size = sys.argv.pop(1), int(sys.argv.pop(1))
    known = manifests.table
    def table(name):
        facts = dict(known(name))
        if name == "sources/rod.toml":
            facts["files"] = [dict(facts["files"][0], urls=[url], bytes=size)]
        return facts
    manifests.table = table
    cli.main()
"""


def test_what_came_before_an_interruption_is_kept(work: Work, site: Site) -> None:
    data = b"\x1f\x8b" + bytes(200_000)
    site.files["/rod.gz"] = Content(data)
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), f"{site.url}/rod.gz", str(len(data)), "fetch", "rod",
               "--accept-license", "rod", "--work", str(work.root)]  # fmt: skip
    children: list[subprocess.Popen[str]] = []

    def interrupts(handler: server.Handler, content: Content) -> None:
        handler.send_response(200)
        handler.send_header("ETag", content.tag or "")
        handler.send_header("Content-Length", str(len(content.data)))
        handler.end_headers()
        handler.send(content, 0, 150_000)
        part = work.raw / "rod" / "rod_0.tar.gz.part"
        while not part.exists() or part.stat().st_size < 150_000:
            assert children[0].poll() is None
            site.released.wait(0.02)
        os.kill(children[0].pid, signal.SIGINT)
        site.released.wait(30)

    site.faults["/rod.gz"] = [interrupts]
    children.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
    with children[0]:
        said = children[0].communicate(timeout=60)[1]
    assert children[0].returncode == 130, said
    assert "Traceback" not in said
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (work.raw / "rod" / "rod_0.tar.gz").read_bytes() == data
    assert site.sent["/rod.gz"] == [(0, 150_000), (150_000, len(data))]


# The command, and `all`


def test_the_list_names_source_size_licence_way_and_state(work: Work) -> None:
    result = run(work, "fetch", "--list")
    assert result.exception is None
    head, *lines = result.stdout.splitlines()
    assert head.split() == ["source", "size", "how", "state"]
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [*builders.SCENARIOS]
    assert sum(line.startswith("    licence: ") for line in lines) == len(builders.SCENARIOS)
    assert max(len(line) for line in lines if str(work.root) not in line) <= 80
    assert f"by hand, into {work.raw / 'mvp_n'}: data.zip, classes.csv" in " ".join(result.stdout.split())
    assert not work.root.exists(), "a list changes nothing"


def test_the_list_counts_annotated_videos(work: Work) -> None:
    changeit.annotate(work.raw / "changeit", "apple", "aaaaaaaaaaa", [0, 1])
    result = run(work, "fetch", "changeit", "--list")
    assert "partial, 0 of 1 videos" in result.stdout
    assert "1 MB + videos" in result.stdout
    listed = json.loads(run(work, "fetch", "changeit", "--list", "--json").stdout)["sources"]["changeit"]
    assert (listed["state"], listed["videos"]) == ("partial", {"there": 0, "wanted": 1})
    video = work.raw / "changeit" / "downloads" / "apple" / "aaaaaaaaaaa.mp4"
    video.parent.mkdir(parents=True)
    video.write_bytes(b"x")
    assert "unverified" in run(work, "fetch", "changeit", "--list").stdout


@pytest.mark.parametrize("there", [0, 1, 40_000])
def test_a_half_got_by_hand_is_incomplete_and_not_bad(work: Work, site: Site, there: int) -> None:
    path = work.raw / "coco" / "val2014.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(FILES["val2014.zip"][:there])
    listed = run(work, "fetch", "coco", "--list").stdout
    assert "partial, 0 of 2 files" in listed
    assert f"val2014.zip is incomplete: {there:,} of 72,004 bytes" in listed
    assert fetch(work, "coco").problems == []
    assert path.read_bytes() == FILES["val2014.zip"]
    assert site.sent["/val2014.zip"] == [(there, 72_004)]


def test_the_list_for_a_program(work: Work) -> None:
    fetch(work, "coco")
    result = run(work, "fetch", "coco", "--list", "--json")
    coco = json.loads(result.stdout)["sources"]["coco"]
    assert coco["state"] == "present"
    assert [file["state"] for file in coco["files"]] == ["present"] * 2
    assert coco["files"][0]["certainty"] == "second-hand"


def test_what_a_person_must_do_is_numbered_and_not_a_success(work: Work) -> None:
    result = run(work, "fetch", "mvp_n")
    assert isinstance(result.exception, SystemExit)
    assert result.exception.code == InputError.exit_code
    assert "mvp_n 2. write" in result.stderr
    assert "Not allowed: Commercial use." in result.stderr


def test_a_quota_notice_saved_by_hand_is_recognised(work: Work) -> None:
    (work.raw / "mvp_n").mkdir(parents=True)
    (work.raw / "mvp_n" / "data.zip").write_bytes(b"<html><head><title>Google Drive - Quota exceeded</title>")
    result = run(work, "fetch", "mvp_n")
    assert "a web page, 'Google Drive - Quota exceeded'" in result.stderr


COCO = ("all", "--scenario", "coco", "--accept-license", "coco", "--set", "coco.negatives=supercategory")


def test_all_fetches_what_is_missing(work: Work) -> None:
    result = run(work, *COCO)
    assert {path.name for path in (work.raw / "coco").iterdir()} == {*FILES}
    assert isinstance(result.exception, BuildBenchError), "those few bytes are no archive"


def test_all_says_at_once_what_it_cannot_get(work: Work, site: Site) -> None:
    result = run(work, *COCO, "--scenario", "rod", "--scenario", "mvp_n")
    assert isinstance(result.exception, InputError)
    for name in ("coco", "rod", "mvp_n"):
        assert str(work.raw / name) in result.exception.message
    assert "build-bench fetch rod" in result.exception.hint
    assert "rod: not fetched, nobody accepted its licence" in result.stderr
    assert site.asked == [], "what stops the build later is no reason to download before"


def test_all_without_fetching_asks_no_server(work: Work, site: Site) -> None:
    result = run(work, "all", "--scenario", "coco", "--no-fetch", "--accept-license", "coco")
    assert isinstance(result.exception, InputError)
    assert site.asked == []


# Names


@pytest.mark.parametrize("name", builders.SCENARIOS)
def test_a_step_that_a_shell_takes_makes_the_folder_it_writes_to(name: str) -> None:
    for step in wanted.source(name).steps:
        for command in re.findall(r"(?:curl|gsutil)[^;]*", step):
            assert "--create-dirs" in command or "mkdir -p {folder}" in step.partition("gsutil")[0]


@given(path=st.one_of(
    st.text(max_size=20),
    st.lists(st.sampled_from(["..", ".", "", "a", "/", "\\", "C:", "link", "\0", "full"]), max_size=5).map("/".join),
))  # fmt: skip
def test_no_name_leads_out_of_the_sources_folder(path: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.getbasetemp()
    folder = base / "names" / "source"
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / "link").symlink_to(base)
    try:
        target = wanted.place(folder, path)
    except InputError:
        return
    except (OSError, ValueError, UnicodeError):
        pytest.fail(f"{path!r} is no InputError")
    assert target.parent.resolve().is_relative_to(folder.resolve())
    assert target.resolve() != folder.resolve()


@pytest.mark.parametrize("name", builders.SCENARIOS)
def test_every_manifest_names_a_licence_and_files_below_its_folder(name: str, tmp_path: Path) -> None:
    about = wanted.source(name)
    assert about.license
    assert about.license_url.startswith("https://")
    assert about.conditions
    assert wanted.files(name) or about.by_hand
    for file in (*wanted.files(name), *about.by_hand):
        assert wanted.place(tmp_path, file.path).is_relative_to(tmp_path)
        if isinstance(file, RemoteFile):
            assert all(url.startswith(("https://", "http://")) for url in file.addresses)
            assert not (file.md5 or file.sha256) or file.certainty != "none"
        else:
            assert 1 <= file.step <= len(about.steps)
