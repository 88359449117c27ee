"""What two machines change at one address: each sees the other's, nothing is lost, and no change is passed over."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from threading import Event

import fsspec
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_bench import cli, mirror, transfers
from build_bench.errors import BuildBenchError, InputError, NetworkError, UsageError
from build_bench.mirror import Here, Mirror
from build_bench.object_store import ObjectStore, Tell, There


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"memory://{tmp_path.name}/bench"


def two(url: str, folder: Path) -> tuple[Mirror, Mirror]:
    """The same address on two machines."""
    return Mirror(url, folder / "one"), Mirror(url, folder / "two")


def write(mirror: Mirror, name: str, text: str) -> None:
    path = mirror.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def files(mirror: Mirror) -> dict[str, str]:
    found = (path for path in mirror.folder.rglob("*") if path.is_file() and ".build-bench" not in path.parts)
    return {path.relative_to(mirror.folder).as_posix(): path.read_text() for path in found}


def test_what_one_machine_gives_another_brings_with_the_same_times(url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    for name in ("plans/coco.parquet", "raw/coco/val2014.zip", "empty"):
        write(one, name, name if "/" in name else "")
    one.give(one.folder)
    two_.bring(two_.folder)
    assert files(two_) == files(one)
    for name in files(one):
        assert (one.folder / name).stat().st_mtime_ns == (two_.folder / name).stat().st_mtime_ns


def test_a_source_that_was_copied_to_two_machines_has_the_same_time_on_both(url: str, tmp_path: Path) -> None:
    """Whoever copies what is large by hand doesn't plan again on every machine. So does who puts it there again."""
    one, two_ = two(url, tmp_path)

    def times() -> set[int]:
        return {(machine.folder / "raw/a").stat().st_mtime_ns for machine in (one, two_)}

    for at, machine in enumerate((one, two_)):
        write(machine, "raw/a", "a")
        os.utime(machine.folder / "raw/a", (at, at))
    one.give(one.folder), two_.bring(two_.folder)
    assert len(times()) == 1
    write(one, "raw/b", "b"), write(two_, "raw/b", "b")
    one.give(one.folder), two_.give(two_.folder)
    assert (one.folder / "raw/b").stat().st_mtime_ns == (two_.folder / "raw/b").stat().st_mtime_ns


def test_a_source_that_was_put_there_again_has_its_new_time_on_all_machines(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = two(url, tmp_path)
    write(one, "raw/a", "a")
    one.give(one.folder)
    listed = ObjectStore.files
    monkeypatch.setattr(
        ObjectStore,
        "files",
        lambda store, scope: {name: found._replace(seconds=5) for name, found in listed(store, scope).items()},
    )
    monkeypatch.delattr(ObjectStore, "get")  # its digest is the same: nothing is downloaded
    one.bring(one.folder)
    assert (one.folder / "raw/a").stat().st_mtime == 5
    monkeypatch.delattr(ObjectStore, "put")
    one.give(one.folder)


def test_folders_of_sources_have_the_same_times_on_all_machines(url: str, tmp_path: Path) -> None:
    """A source is known by them: where they differed, every machine would plan again."""
    one, two_ = two(url, tmp_path)
    write(one, "raw/mvp_n/data/test/0001/a.png", "a"), write(one, "raw/mvp_n/data/test/0001/b.png", "b")

    def times(mirror: Mirror) -> dict[str, int]:
        found = [path for path in (mirror.folder / "raw").rglob("*") if path.is_dir()]
        return {path.relative_to(mirror.folder).as_posix(): path.stat().st_mtime_ns for path in found}

    one.give(one.folder / "raw")
    two_.bring(two_.folder)
    before = times(one)
    assert times(two_) == before != {}
    (two_.folder / "raw/mvp_n/data/test/0001/b.png").rename(two_.folder / "raw/mvp_n/data/test/0001/c.png")
    two_.give(two_.folder)
    one.bring(one.folder)
    assert times(one) == times(two_)
    assert {name for name, time in times(one).items() if time != before[name]} == {"raw/mvp_n/data/test/0001"}


def test_what_is_removed_on_one_machine_goes_on_the_other(url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    write(one, "frames/a", "a"), write(one, "frames/b", "b")
    one.give(one.folder)
    two_.bring(two_.folder)
    (two_.folder / "frames/a").unlink()
    two_.give(two_.folder)
    one.bring(one.folder)
    assert files(one) == {"frames/b": "b"}


def test_who_only_looked_brings_nothing_back_that_was_removed_meanwhile(url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    write(one, "frames/a", "a"), write(one, "frames/b", "b")
    one.give(one.folder)
    with two_.opened():
        (one.folder / "frames/a").unlink()
        one.give(one.folder)
    assert [*ObjectStore(url).files(".")] == ["frames/b"]


def test_a_download_that_breaks_off_is_tried_again(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two_ = two(url, tmp_path)
    write(one, "a", "a")
    one.give(one.folder)
    store, asked = type(fsspec.filesystem("memory")), []
    whole = store.get_file

    def broken(*arguments: object, **rest: object) -> object:
        asked.append(arguments)
        if len(asked) < 3:
            raise ConnectionResetError
        return whole(*arguments, **rest)

    monkeypatch.setattr(store, "get_file", broken)
    two_.bring(two_.folder)
    assert files(two_) == {"a": "a"}


@pytest.mark.parametrize("name", ["a//b", "x/../../b"])
def test_a_name_that_leads_out_of_the_folder_is_refused(name: str, url: str, tmp_path: Path) -> None:
    fs, root = fsspec.core.url_to_fs(url)
    fs.makedirs(root)
    fs.store[f"{root}/{name}"] = fs.open(f"{root}/good", "wb")
    with pytest.raises(InputError, match="no file here can be called so"):
        two(url, tmp_path)[0].bring(tmp_path / "one")


def test_a_mirror_that_lost_files_takes_them_back(url: str, tmp_path: Path) -> None:
    """Only what a command removes goes: who empties a disk loses nothing."""
    one, _ = two(url, tmp_path)
    write(one, "a", "a")
    one.give(one.folder)
    (one.folder / "a").unlink()
    one.bring(one.folder)
    assert files(one) == {"a": "a"}


def test_what_a_killed_run_left_is_kept_and_given_by_the_next(url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    write(one, "predictions/model/coco.parquet", "old")
    one.give(one.folder)
    write(one, "predictions/model/coco.parquet", "an answer that was paid for")
    write(one, ".build-bench/predict/model/coco.jsonl", "another")
    with one.opened():
        pass
    two_.bring(two_.folder)
    assert files(two_) == {"predictions/model/coco.parquet": "an answer that was paid for"}
    assert (two_.folder / ".build-bench/predict/model/coco.jsonl").read_text() == "another"


def test_a_file_that_changed_on_both_sides_is_named_and_neither_is_lost(url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    write(one, "a", "first")
    one.give(one.folder)
    two_.bring(two_.folder)
    write(one, "a", "mine"), write(two_, "a", "theirs"), write(two_, "b", "new")
    one.give(one.folder)
    with pytest.raises(BuildBenchError, match=r"a: changed in memory://.* and in .*two since they were the same"):
        two_.bring(two_.folder)
    with pytest.raises(BuildBenchError, match="a: changed in"):
        two_.give(two_.folder)
    one.bring(one.folder)
    assert files(one) == {"a": "mine", "b": "new"}
    assert files(two_) == {"a": "theirs", "b": "new"}
    (two_.folder / "a").unlink()
    two_.bring(two_.folder)
    assert files(two_) == {"a": "mine", "b": "new"}


@pytest.mark.parametrize(
    "name",
    [
        "plans/coco.parquet",
        "train/frames/coco/shard-00000.parquet",
        ".build-bench/x/y",
        "annotate/vsod/answers.html",
        "annotate/vsod/sheets/test-0001.jpg",
        "raw/.fetch/files.json",
    ],
)
def test_what_a_stage_makes_again_is_never_in_the_way(name: str, url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    write(one, name, "mine"), write(two_, name, "theirs")
    one.give(one.folder)
    two_.bring(two_.folder)
    assert (two_.folder / name).read_text() == "mine"
    write(one, name, "mine again"), write(two_, name, "theirs again")
    one.give(one.folder), two_.give(two_.folder), one.bring(one.folder)
    assert (one.folder / name).read_text() == "theirs again"


@pytest.mark.parametrize(
    "name",
    [
        "predictions/m/coco.parquet",
        "train/.build-bench/predict/m/x.jsonl",
        "raw/vsod/answers.csv",
        "annotate/vsod/answers.csv",
    ],
)
def test_what_nobody_can_make_again_is_never_overwritten(name: str, url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    write(one, name, "mine"), write(two_, name, "theirs")
    one.give(one.folder)
    for move in (two_.bring, two_.give):
        with pytest.raises(BuildBenchError, match="changed in"):
            move(two_.folder)
    assert (two_.folder / name).read_text() == "theirs"


def test_what_both_machines_made_alike_is_no_conflict(url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    write(one, "shard", "same"), write(two_, "shard", "same")
    one.give(one.folder), two_.give(two_.folder), one.bring(one.folder)
    assert files(one) == files(two_) == {"shard": "same"}


def test_locks_jobs_and_half_written_files_stay_where_they_are(url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    stays = ["a.0123456789ab.partial", "dataset/staging.partial/x", ".build-bench/lock", "reports/gallery/.lock"]
    stays += ["raw/coco/val2014.zip.part", "raw/coco/val2014.zip.part.json", "raw/changeit/downloads/.incoming/a/x.mp4"]
    stays += [".build-bench/jobs/render-coco/x.slurm", "train/.build-bench/jobs/x", ".build-bench/pull/x"]
    for name in [*stays, "plans/partial.parquet", "raw/locked"]:
        write(one, name, "x")
    one.give(one.folder)
    two_.bring(two_.folder)
    assert files(two_) == {"plans/partial.parquet": "x", "raw/locked": "x"}


def test_only_what_is_asked_for_moves(url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    for name in ("plans/coco.parquet", "plans/coco.parquet2", "raw/coco/x", "raw/coco2/x", "frames/coco/x"):
        write(one, name, name)
    one.give(one.folder)
    two_.bring(two_.folder / "plans/coco.parquet", two_.folder / "raw/coco", tmp_path / "elsewhere")
    assert [*files(two_)] == ["plans/coco.parquet", "raw/coco/x"]
    (two_.folder / "raw/coco/x").unlink()
    write(two_, "frames/coco/y", "y"), write(two_, "plans/mvp_n.parquet", "y")
    two_.give(two_.folder / "frames")
    one.bring(one.folder)
    assert {"raw/coco/x", "frames/coco/y"} < files(one).keys()
    assert "plans/mvp_n.parquet" not in files(one)


def test_links_are_not_followed(url: str, tmp_path: Path) -> None:
    one, _ = two(url, tmp_path)
    write(one, "a", "a")
    (one.folder / "link").symlink_to(tmp_path)
    (one.folder / "file").symlink_to(one.folder / "a")
    one.give(one.folder)
    assert [*ObjectStore(url).files(".")] == ["a"]


def test_what_lies_behind_a_link_is_left_alone_on_both_sides(url: str, tmp_path: Path) -> None:
    """Who has a source on another disk, and a link to it: it isn't overwritten, and nobody else loses theirs."""
    one, two_ = two(url, tmp_path)
    write(one, "raw/coco/a", "a"), write(one, "raw/coco/b", "b"), write(one, "raw/rod", "rod")
    one.give(one.folder)
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "a").write_text("on another disk")
    dated = disk.stat().st_mtime_ns
    (two_.folder / "raw").mkdir(parents=True)
    (two_.folder / "raw/coco").symlink_to(disk)
    (two_.folder / "raw/rod").symlink_to(disk / "a")
    for _ in range(2):
        with two_.opened():
            pass
    two_.give(two_.folder / "raw/coco/a", two_.folder / "raw/coco")
    assert disk.stat().st_mtime_ns == dated
    assert [path.name for path in disk.iterdir()] == ["a"]
    assert (disk / "a").read_text() == (two_.folder / "raw/rod").read_text() == "on another disk"
    one.bring(one.folder)
    assert files(one) == {"raw/coco/a": "a", "raw/coco/b": "b", "raw/rod": "rod"}


def test_a_folder_that_another_machine_emptied_goes(url: str, tmp_path: Path) -> None:
    """An unpacked source that was replaced by its archive: an empty folder would be taken for it."""
    one, two_ = two(url, tmp_path)
    write(one, "raw/rod/rod_0/cup/a.jpg", "a")
    one.give(one.folder)
    two_.bring(two_.folder)
    shutil.rmtree(one.folder / "raw/rod/rod_0")
    write(one, "raw/rod/rod_0.tar.gz", "a")
    one.give(one.folder)
    two_.bring(two_.folder)
    assert [path.name for path in (two_.folder / "raw/rod").iterdir()] == ["rod_0.tar.gz"]


def test_a_download_that_breaks_off_leaves_what_was_there(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two_ = two(url, tmp_path)
    write(one, "a", "old"), write(one, "b", "b")
    one.give(one.folder)
    two_.bring(two_.folder)
    write(one, "a", "a new one")
    one.give(one.folder)
    whole = ObjectStore.get
    monkeypatch.setattr(ObjectStore, "get", lambda _self, _name, to, _tell: to.write_text("a n"))
    with pytest.raises(NetworkError, match="/a came in part"):
        two_.bring(two_.folder)
    assert files(two_) == {"a": "old", "b": "b"}
    monkeypatch.setattr(ObjectStore, "get", whole)
    two_.bring(two_.folder)
    assert files(two_) == {"a": "a new one", "b": "b"}


def test_what_somebody_saves_during_an_upload_is_given_by_the_next(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two_ = two(url, tmp_path)
    write(one, "raw/vsod/answers.csv", "first")
    whole = ObjectStore.put

    def put(store: ObjectStore, path: Path, name: str, tell: Tell) -> There:
        there = whole(store, path, name, tell)
        path.write_text("saved meanwhile")
        return there

    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "put", put)
        one.give(one.folder)
    one.bring(one.folder), one.give(one.folder), two_.bring(two_.folder)
    assert files(one) == files(two_) == {"raw/vsod/answers.csv": "saved meanwhile"}


@pytest.mark.parametrize("brought_before", [True, False])
def test_what_somebody_saves_during_a_download_is_not_lost(
    brought_before: bool, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two_ = two(url, tmp_path)
    write(one, "raw/vsod/answers.csv", "first")
    one.give(one.folder)
    if brought_before:
        two_.bring(two_.folder)
    write(one, "raw/vsod/answers.csv", "of the other machine")
    one.give(one.folder)
    whole = ObjectStore.get

    def get(store: ObjectStore, name: str, to: Path, tell: Tell) -> None:
        write(two_, name, "saved meanwhile")
        whole(store, name, to, tell)

    monkeypatch.setattr(ObjectStore, "get", get)
    with pytest.raises(BuildBenchError, match="changed in"):
        two_.bring(two_.folder)
    assert files(two_) == {"raw/vsod/answers.csv": "saved meanwhile"}


def test_half_a_download_on_one_machine_changes_no_folders_time(url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)
    for name in ("a", "b.part", "b.part.json", ".incoming/c"):
        write(one, f"raw/mvp_n/{name}", name)
    one.give(one.folder), two_.bring(two_.folder)
    assert files(two_) == {"raw/mvp_n/a": "a"}
    times = [(mirror.folder / "raw/mvp_n").stat().st_mtime_ns for mirror in (one, two_)]
    assert times[0] == times[1]


def test_a_name_that_no_store_takes_is_said_in_a_sentence(url: str, tmp_path: Path) -> None:
    one, _ = two(url, tmp_path)
    write(one, "raw/coco/\udcff.jpg", "x")
    with pytest.raises(InputError, match=r"raw/coco/\\xff.jpg: the name isn't UTF-8"):
        one.give(one.folder)


def test_what_another_command_removes_meanwhile_is_passed_over(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two commands on one machine have one mirror: one lists the files that the other replaces."""
    one, _ = two(url, tmp_path)
    write(one, "a", "a"), write(one, "b", "b"), write(one, "c", "c")
    whole = ObjectStore.put

    def put(store: ObjectStore, path: Path, name: str, tell: Tell) -> There:
        if name == "a":
            path.unlink()
        return whole(store, path, name, tell)

    def listed(path: Path) -> Here:
        if path.name == "b":
            path.unlink()
        return here(path)

    here = mirror.here_of
    monkeypatch.setattr(ObjectStore, "put", put)
    monkeypatch.setattr(mirror, "here_of", listed)
    one.give(one.folder)
    assert [*ObjectStore(url).files(".")] == ["c"]


def test_what_has_come_is_known_while_the_rest_comes(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is killed then needn't download it again to see that it is the same."""
    one, two_ = two(url, tmp_path)
    for name in "abc":
        write(one, name, name)
    one.give(one.folder)
    whole, came = ObjectStore.get, Event()
    known: list[set[str]] = []

    def get(store: ObjectStore, name: str, to: Path, tell: Tell) -> None:
        if name == "a":  # the first takes longest, and breaks off
            came.wait(10)
            raise NetworkError("gone")
        if name == "c":
            known.append({*two_._known()})
        whole(store, name, to, tell)
        if name == "c":
            came.set()

    monkeypatch.setattr(transfers, "AT_ONCE", 2)
    monkeypatch.setattr(transfers, "OFTEN", 0)
    monkeypatch.setattr(ObjectStore, "get", get)
    with pytest.raises(NetworkError):
        two_.bring(two_.folder)
    assert known == [{"b"}]
    assert {"b", "c"} == two_._known().keys()


@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit(1)])  # --strict and checks end by the latter
def test_what_failed_is_given_as_far_as_it_came(error: type[Exception] | SystemExit, url: str, tmp_path: Path) -> None:
    one, two_ = two(url, tmp_path)

    def fail() -> None:
        with one.opened():
            write(one, "frames/a", "a")
            raise error

    with pytest.raises((ZeroDivisionError, SystemExit)):
        fail()
    two_.bring(two_.folder)
    assert files(two_) == {"frames/a": "a"}


def test_an_address_that_nothing_reads_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="--work ftpx://host/bench: Protocol not known"):
        Mirror.of("ftpx://host/bench")
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda _url: (_ for _ in ()).throw(ImportError("Install s3fs")))
    with pytest.raises(UsageError, match="Install s3fs"):
        Mirror.of("s3://bucket/bench")
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda _url: (_ for _ in ()).throw(EOFError("no such key")))
    with pytest.raises(NetworkError, match="sftp://host/bench: no such key"):  # it connects at once
        Mirror.of("sftp://host/bench")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("local:///{}", "local:///{}"),  # of which the third slash is the path's, as in hdfs:///NAME
        ("memory://bench//{}/", "memory://bench/{}"),
        ("memory:/bench/{}", "memory://bench/{}"),
    ],
)
def test_an_address_is_taken_as_it_is_typed(
    typed: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILD_BENCH_CACHE", str(tmp_path / "cache"))
    name = str(tmp_path / "bench").lstrip("/")
    done = CliRunner().invoke(cli.group, ["status", "--work", typed.format(name)])
    assert f"{meant.format(name)} is worked on in" in done.stderr


def test_an_address_with_nothing_at_it_is_said_to_be_empty(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be another that is meant, as with a folder that isn't there."""
    monkeypatch.setenv("BUILD_BENCH_CACHE", str(tmp_path))
    assert "nothing is in" in CliRunner().invoke(cli.group, ["status", "--work", url]).stdout
    found = Mirror.of(url)
    write(found, "raw/vsod/answers.csv", "")
    found.give(found.folder)
    assert "nothing is in" not in CliRunner().invoke(cli.group, ["status", "--work", url]).stdout


def test_a_password_in_an_address_is_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BUILD_BENCH_CACHE", str(tmp_path))
    opened = Mirror.of("memory://anna:geheim@host/bench")
    with opened.opened():
        write(opened, "a", "a")
    assert "memory://anna@host/bench is worked on in" in capsys.readouterr().err
    assert "geheim" not in str(opened.folder)
    assert Mirror.of("memory://anna:other@host/bench").folder == opened.folder
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda _url: (_ for _ in ()).throw(EOFError("no such key")))
    with pytest.raises(NetworkError, match="sftp://anna@host/bench: no such key"):
        Mirror.of("sftp://anna:geheim@host/bench")


def test_addresses_that_are_written_alike_have_folders_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILD_BENCH_CACHE", "/fast/disk")
    folders = {Mirror.of(url).folder for url in ("memory://a/b", "memory://a-b", "memory://a/b/", "memory://a%20b/é")}
    assert len(folders) == 3
    assert all(folder.parent == Path("/fast/disk") for folder in folders)


CHANGE = st.tuples(st.sampled_from(["one", "two"]), st.sampled_from("abc"), st.sampled_from([None, "x", "y", "longer"]))


@given(st.lists(CHANGE, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_who_works_in_turns_sees_one_folder(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, str, str | None]]
) -> None:
    """Machines that open the address one after the other: what they see is what one folder would hold."""
    folder = tmp_path_factory.mktemp("turns")
    mirrors = {name: Mirror(f"memory://{folder.name}/bench", folder / name) for name in ("one", "two")}
    expected: dict[str, str] = {}
    for at, (who, name, text) in enumerate(changes):
        mirror = mirrors[who]
        with mirror.opened():
            assert files(mirror) == expected
            if text is None:
                (mirror.folder / name).unlink(missing_ok=True)
                expected.pop(name, None)
            else:
                write(mirror, name, text)
                os.utime(mirror.folder / name, (at, at))  # a clock of its own
                expected[name] = text
    for mirror in mirrors.values():
        mirror.bring(mirror.folder)
        assert files(mirror) == expected
