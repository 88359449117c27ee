"""`push`: what it publishes, what it refuses, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from build_bench.errors import BuildBenchError, InputError, UsageError
from build_bench.hub import Repository
from tests import trees

from .conftest import both_storages
from .faults import COMMIT, PREUPLOAD
from .published import REPO, check_end, push, seen
from .server import Hub

LFS = pytest.mark.parametrize("storage", ["lfs"], indirect=True)


@both_storages
def test_a_release_is_one_commit_and_one_tag(hub: Hub, repository: Repository, old: Path, new: Path) -> None:
    report = push(old, repository, "v1.0.0")
    assert hub.tags(REPO) == {"v1.0.0": report["revision"]}
    assert hub.commits(REPO)[0].oid == report["revision"]
    assert hub.count(COMMIT) == 1
    push(new, repository)
    check_end(hub)


@both_storages
def test_pushing_again_changes_nothing(hub: Hub, repository: Repository, old: Path) -> None:
    first = push(old, repository, "v1.0.0")
    hub.forget()
    for release in ("v1.0.0", ""):
        again = push(old, repository, release)
        assert (again["there"], again["uploaded_bytes"], again["revision"]) == (True, 0, first["revision"])
    assert hub.count("POST *") == 0


@LFS
def test_a_release_that_is_published_is_never_moved(hub: Hub, repository: Repository, old: Path, new: Path) -> None:
    push(old, repository, "v1.0.0")
    tags = hub.tags(REPO)
    with pytest.raises(UsageError, match=r"v1\.0\.0 is released already, with other content"):
        push(new, repository, "v1.0.0")
    assert hub.tags(REPO) == tags
    push(new, repository, "v1.1.0")
    assert push(old, repository, "v1.0.0")["revision"] == tags["v1.0.0"]
    check_end(hub)


@LFS
def test_a_number_too_low_for_the_change_is_refused(hub: Hub, repository: Repository, new: Path, other: Path) -> None:
    push(new, repository, "v1.0.0")
    with pytest.raises(UsageError, match=r"v1\.1\.0 is too low after v1\.0\.0: 2 rows of coco removed") as error:
        push(other, repository, "v1.1.0")
    assert "v2.0.0" in error.value.hint
    assert push(other, repository)["release"] == "v2.0.0"


@LFS
def test_what_is_damaged_linked_or_not_listed_is_not_uploaded(
    hub: Hub, repository: Repository, old: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("hf_secret")
    (old / "link.txt").symlink_to(tmp_path / "secret")
    for stray in (".hidden", "Thumbs.db", "data/quickdraw/more.parquet", "ünïcode.txt"):
        (old / stray).write_text("stray")
    listed = json.loads((old / "manifest.json").read_text())["files"]
    push(old, repository, "v1.0.0")
    assert {*hub.files(REPO)} - {".gitattributes"} == {*listed, "manifest.json", "CHANGELOG.md"}
    table = next(old.glob("data/*/*/*.parquet"))
    data = table.read_bytes()
    table.write_bytes(data[:-1] + b"x")
    with pytest.raises(InputError, match="sha256"):
        push(old, repository, "v2.0.0")
    table.unlink()
    (tmp_path / "elsewhere.parquet").write_bytes(data)
    table.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(InputError, match="is a link"):
        push(old, repository, "v2.0.0")
    assert hub.tags(REPO).keys() == {"v1.0.0"}


@LFS
@pytest.mark.parametrize(
    "name", ["../up.txt", "/etc/passwd", "data/ü/0123456789ab/kept-00000.parquet", "a\nb", ".git/x"]
)
def test_a_manifest_that_lists_odd_names_is_refused(hub: Hub, repository: Repository, old: Path, name: str) -> None:
    manifest = json.loads((old / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": 0, "sha256": ""}
    (old / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="lists"):
        push(old, repository, "v1.0.0")
    assert not hub.repositories


@LFS
def test_a_repository_of_another_program_is_left_alone(hub: Hub, repository: Repository, old: Path) -> None:
    hub.create(REPO)
    hub.commit_as_someone_else(REPO, {"README.md": b"made on the web", "train.csv": b"1,2"})
    with pytest.raises(InputError, match=r"lab/bench holds what build-bench didn't publish: train\.csv"):
        push(old, repository, "v1.0.0")
    hub.commit_as_someone_else(REPO, {"train.csv": None})
    push(old, repository, "v1.0.0")
    assert seen(hub) == "v1.0.0"


@LFS
def test_a_file_that_the_repository_ignores_is_named(hub: Hub, repository: Repository, old: Path, new: Path) -> None:
    push(old, repository, "v1.0.0")
    hub.commit_as_someone_else(REPO, {".gitignore": b"*.parquet"})
    with pytest.raises(BuildBenchError, match=r"doesn't take data/.*\.parquet") as error:
        push(new, repository, "v1.1.0")
    assert ".gitignore" in error.value.hint


@LFS
def test_a_dry_run_says_what_it_would_do_and_does_nothing(
    hub: Hub, repository: Repository, old: Path, new: Path
) -> None:
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    report = push(old, repository, dry_run=True)
    assert (report["release"], report["revision"]) == ("v1.0.0", None)
    assert sum(report["uploads"].values()) == report["uploaded_bytes"] > 0
    assert not hub.repositories
    assert {path: path.read_bytes() for path in old.rglob("*") if path.is_file()} == before
    push(old, repository)
    report = push(new, repository, dry_run=True)
    assert report["release"] == "v1.1.0"
    assert report["removals"]
    assert all(name.startswith("data/coco/") for name in report["removals"])
    assert seen(hub) == "v1.0.0"


@LFS
def test_a_pull_request_is_opened_and_tagged_once_merged(
    hub: Hub, repository: Repository, old: Path, new: Path
) -> None:
    push(old, repository, "v1.0.0")
    report = push(new, repository, "v1.1.0", create_pr=True)
    assert push(new, repository, "v1.1.0", create_pr=True) == report
    assert report["pull_request"].endswith("/discussions/1")
    assert seen(hub) == "v1.0.0"
    assert seen(hub, "refs/pr/1") == "v1.1.0"
    proposed = {name: hub.read(REPO, "refs/pr/1", name) for name in hub.files(REPO, "refs/pr/1")}
    gone = {name: None for name in hub.files(REPO) if name not in proposed}
    hub.commit_as_someone_else(REPO, {**proposed, **gone})
    push(new, repository, "v1.1.0")
    assert seen(hub, "v1.1.0") == "v1.1.0"


@LFS
@pytest.mark.parametrize("release", ["1.0", "v1", "v0.0.0"])
def test_what_is_wrong_is_said_before_a_repository_is_made(
    hub: Hub, repository: Repository, old: Path, release: str
) -> None:
    with pytest.raises(UsageError, match="is no release"):
        push(old, repository, release)
    with pytest.raises(UsageError, match="to propose anything to"):
        push(old, repository, create_pr=True)
    assert not hub.repositories


@LFS
def test_a_push_says_why_the_number_rises_and_what_terms_forbid(
    hub: Hub, repository: Repository, new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert push(new, repository, dry_run=True)["creates"] == "public"
    push(new, repository)
    assert capsys.readouterr().err == ""
    every = trees.lay_out(tmp_path / "every", trees.some_plans())
    report = push(every, repository, dry_run=True)
    assert "scenario rod added" in report["reasons"]
    assert report["since"] == "v1.0.0"
    told = capsys.readouterr().err
    assert "changeit, imagenet_c, rod: their terms forbid" in told
    assert "assemble --without changeit" in told


@LFS
@pytest.mark.parametrize("place", ["the empty repository", "the release before"])
def test_a_tag_on_something_else_is_no_release(
    hub: Hub, repository: Repository, old: Path, new: Path, place: str
) -> None:
    push(old, repository, "v1.0.0")
    hub.repositories[REPO].tags["v1.1.0"] = hub.commits(REPO)[0 if place == "the release before" else -1].oid
    with pytest.raises(UsageError, match=r"the tag v1\.1\.0 of lab/bench is on (v1\.0\.0|no release)"):
        push(new, repository, "v1.1.0")
    assert seen(hub) == "v1.0.0"
    assert json.loads((new / "manifest.json").read_text())["release"] is None


@LFS
def test_a_file_that_changes_while_it_is_uploaded_is_not_published(
    hub: Hub, repository: Repository, old: Path, new: Path
) -> None:
    push(old, repository, "v1.0.0")
    table = next(path for path in new.glob("data/coco/*/*.parquet"))
    hub.before(PREUPLOAD, lambda: table.write_bytes(table.read_bytes()[::-1]))
    with pytest.raises(InputError, match="changed while it was uploaded"):
        push(new, repository, "v1.1.0")
    assert seen(hub) == "v1.0.0"


@LFS
def test_what_others_made_of_the_manifest_there_is_a_sentence(hub: Hub, repository: Repository, old: Path) -> None:
    push(old, repository, "v1.0.0")
    for broken in (b"[" * 5000, b"\xff", b'{"release": "../../up"}', b"{}"):
        hub.commit_as_someone_else(REPO, {"manifest.json": broken})
        with pytest.raises(InputError, match=r"manifest\.json of lab/bench"):
            push(old, repository, "v1.1.0")


@LFS
def test_a_tree_that_somebody_uploaded_by_hand_gets_a_number(hub: Hub, repository: Repository, old: Path) -> None:
    hub.create(REPO)
    files = {path.relative_to(old).as_posix(): path.read_bytes() for path in old.rglob("*") if path.is_file()}
    hub.commit_as_someone_else(REPO, files)
    assert push(old, repository)["release"] == "v1.0.0"
    assert seen(hub, "v1.0.0") == "v1.0.0"


@LFS
def test_private_is_for_a_new_repository_only(hub: Hub, repository: Repository, old: Path) -> None:
    push(old, repository, private=True)
    assert hub.repositories[REPO].private
    push(old, repository, private=True)
    hub.repositories[REPO].private = False
    with pytest.raises(UsageError, match="there already, and not private"):
        push(old, repository, private=True)


@both_storages
def test_an_unchanged_scenario_costs_no_bytes(hub: Hub, repository: Repository, old: Path, new: Path) -> None:
    push(old, repository)
    hub.forget()
    report = push(new, repository)
    listed = json.loads((new / "manifest.json").read_text())["files"]
    coco = sum(facts["bytes"] for name, facts in listed.items() if name.startswith(("data/coco/", "assets/coco")))
    texts = sum((new / name).stat().st_size for name in ("README.md", "CHANGELOG.md", "manifest.json"))
    assert report["uploaded_bytes"] <= coco + texts
    assert hub.uploaded_bytes < coco + 10_000
