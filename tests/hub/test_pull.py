"""`pull`: a release whole and checked, whatever came in between; and what readers get with `datasets` alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from build_bench import hub as client
from build_bench import publishing, pulling, verifying
from build_bench.errors import BuildBenchError, InputError, NetworkError
from build_bench.hub import Repository
from build_bench.publishing import Wanted
from tests import trees

from .conftest import both_storages, client_env
from .faults import RESOLVE
from .server import Hub

REPO = "lab/bench"
LFS = pytest.mark.parametrize("storage", ["lfs"], indirect=True)


@pytest.fixture(scope="session")
def plans() -> list[Any]:
    return trees.some_plans()


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory, plans: list[Any]) -> Path:
    """All seven scenarios, some rows of each dropped."""
    keep = {plan.id: at % 3 != 0 for at, plan in enumerate(plans)}
    return trees.lay_out(tmp_path_factory.mktemp("tree"), plans, keep)


@pytest.fixture
def released(hub: Hub, tree: Path, tmp_path: Path) -> Path:
    """A tree that is v1.0.0 on the Hub."""
    folder = Path(shutil.copytree(tree, tmp_path / "released"))
    publishing.push(folder, Repository(REPO), Wanted("v1.0.0"))
    hub.forget()
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def pull(folder: Path, release: str = "") -> dict[str, Any]:
    return pulling.pull(Repository(REPO, lambda _: None), release, folder, folder.with_name("staging"))


@both_storages
def test_what_is_pulled_is_what_was_pushed(hub: Hub, released: Path, tmp_path: Path) -> None:
    report = pull(tmp_path / "pulled")
    assert files(tmp_path / "pulled") == files(released)
    assert verifying.verify(tmp_path / "pulled")[1] == []
    listed = json.loads((released / "manifest.json").read_text())["files"]
    assert report == {
        "repo": REPO, "release": "v1.0.0", "revision": hub.tags(REPO)["v1.0.0"], "files": len(listed),
        "downloaded_bytes": sum(facts["bytes"] for facts in listed.values()),
    }  # fmt: skip


@LFS
def test_pulling_again_downloads_nothing_but_what_is_damaged(hub: Hub, released: Path, tmp_path: Path) -> None:
    pull(tmp_path / "pulled")
    assert pull(tmp_path / "pulled")["downloaded_bytes"] == 0
    table = next((tmp_path / "pulled").glob("data/*/*/*.parquet"))
    whole = table.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + b"x", b""):
        table.write_bytes(damaged)
        assert pull(tmp_path / "pulled")["downloaded_bytes"] == len(whole)
        assert table.read_bytes() == whole


@LFS
def test_an_interrupted_pull_goes_on(hub: Hub, released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ATTEMPTS", 1)
    hub.drop("GET /lfs/*", skip=5, times=None)
    with pytest.raises(NetworkError):
        pull(tmp_path / "pulled")
    assert not (tmp_path / "pulled" / "manifest.json").exists()
    assert not [*(tmp_path / "pulled").rglob("*.parquet")]
    hub.revive()
    report = pull(tmp_path / "pulled")
    assert 0 < report["downloaded_bytes"] < sum(len(data) for data in files(released).values())
    assert files(tmp_path / "pulled") == files(released)


@LFS
def test_a_newer_release_replaces_what_it_supersedes(
    hub: Hub, released: Path, plans: list[Any], tmp_path: Path
) -> None:
    pull(tmp_path / "pulled")
    old = files(tmp_path / "pulled")
    (tmp_path / "pulled" / "notes.txt").write_text("mine")
    newer = trees.lay_out(tmp_path / "newer", plans)
    publishing.push(newer, Repository(REPO), Wanted())
    assert pull(tmp_path / "pulled")["release"] == "v2.0.0"
    assert files(tmp_path / "pulled") == {**files(newer), "notes.txt": b"mine"}
    assert pull(tmp_path / "pulled", "v1.0.0")["release"] == "v1.0.0"
    assert files(tmp_path / "pulled") == {**old, "notes.txt": b"mine"}


@LFS
def test_a_release_whose_files_arent_what_it_says_is_refused(hub: Hub, released: Path, tmp_path: Path) -> None:
    name = next(name for name in hub.files(REPO) if name.endswith(".parquet"))
    hub.commit_as_someone_else(REPO, {name: b"other"})
    with pytest.raises(BuildBenchError, match=f"{name} of {REPO} has 5 bytes"):
        pull(tmp_path / "pulled", "main")
    assert not (tmp_path / "pulled" / "manifest.json").exists()


@LFS
def test_an_interrupted_pull_leaves_the_release_before_whole(
    hub: Hub, released: Path, plans: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull(tmp_path / "pulled")
    before = files(tmp_path / "pulled")
    newer = trees.lay_out(tmp_path / "newer", plans)
    publishing.push(newer, Repository(REPO), Wanted())
    monkeypatch.setattr(client, "ATTEMPTS", 1)
    hub.drop("GET /lfs/*", skip=2, times=None)
    with pytest.raises(NetworkError):
        pull(tmp_path / "pulled")
    assert files(tmp_path / "pulled") == before
    hub.revive()
    pull(tmp_path / "pulled")
    assert files(tmp_path / "pulled") == files(newer)


@LFS
def test_nothing_of_others_is_removed_and_no_link_is_followed(hub: Hub, released: Path, tmp_path: Path) -> None:
    pulled, elsewhere = tmp_path / "pulled", tmp_path / "elsewhere"
    (pulled / ".cache" / "mine").mkdir(parents=True)
    elsewhere.mkdir()
    (pulled / "data").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is a folder, or behind a link"):
        pull(pulled)
    assert not [*elsewhere.iterdir()]
    (pulled / "data").unlink()
    (pulled / "README.md").mkdir()
    with pytest.raises(InputError, match=r"README\.md is a folder"):
        pull(pulled)
    (pulled / "README.md").rmdir()
    pull(pulled)
    assert (pulled / ".cache" / "mine").is_dir()


@LFS
@pytest.mark.parametrize("release", ["../../../up", "/tmp/up", "v1", "", "x" * 300, "a\0b"])
def test_a_release_that_calls_itself_oddly_is_refused(hub: Hub, released: Path, tmp_path: Path, release: str) -> None:
    manifest = json.loads(hub.read(REPO, "main", "manifest.json"))
    hub.commit_as_someone_else(REPO, {"manifest.json": json.dumps({**manifest, "release": release}).encode()})
    before = files(tmp_path)
    with pytest.raises(InputError, match="calls itself"):
        pull(tmp_path / "pulled", "main")
    assert files(tmp_path) == before


@LFS
def test_a_tag_on_another_release_is_not_taken_for_it(hub: Hub, released: Path, tmp_path: Path) -> None:
    hub.repositories[REPO].tags["v1.1.0"] = hub.tags(REPO)["v1.0.0"]
    with pytest.raises(InputError, match=r"the tag v1\.1\.0 of lab/bench is on v1\.0\.0"):
        pull(tmp_path / "pulled", "v1.1.0")


@LFS
@pytest.mark.parametrize("name", ["../up.parquet", "/tmp/absolute.parquet", "data/../../up", "manifest.json", "a\\b"])
def test_a_manifest_cant_lead_out_of_the_folder(hub: Hub, released: Path, tmp_path: Path, name: str) -> None:
    manifest = json.loads(hub.read(REPO, "main", "manifest.json"))
    manifest["files"][name] = {"bytes": 5, "sha256": "0" * 64}
    hub.commit_as_someone_else(REPO, {"manifest.json": json.dumps(manifest).encode(), "data/up": b"12345"})
    before = files(tmp_path)
    with pytest.raises(InputError, match="lists"):
        pull(tmp_path / "pulled", "main")
    assert files(tmp_path) == before


@LFS
@pytest.mark.parametrize(
    ("release", "message"),
    [("v9.0.0", "has no v9.0.0"), ("main", "no manifest.json"), ("0" * 40, "has no 0{40}")],
)
def test_what_isnt_there_is_named(hub: Hub, released: Path, tmp_path: Path, release: str, message: str) -> None:
    hub.commit_as_someone_else(REPO, {"manifest.json": None})
    with pytest.raises(InputError, match=message) as error:
        pull(tmp_path / "pulled", release)
    assert "v1.0.0" in error.value.hint or release == "main"


@LFS
def test_a_repository_that_isnt_there_or_has_no_release_is_named(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no http"):
        pull(tmp_path / "pulled")
    hub.create(REPO)
    with pytest.raises(InputError, match="lab/bench has no release"):
        pull(tmp_path / "pulled")


@LFS
def test_a_fault_in_a_download_is_got_over(hub: Hub, released: Path, tmp_path: Path) -> None:
    for fault in (503, 429):
        hub.fail(RESOLVE, fault, headers={"Retry-After": "1"})
    hub.drop("GET /lfs/*", skip=3)
    pull(tmp_path / "pulled")
    assert files(tmp_path / "pulled") == files(released)


READ = """
import json, sys
sys.modules["build_bench"] = None  # nothing of ours
from datasets import load_dataset

def rows(name, split, streaming):
    loaded = load_dataset("lab/bench", name, split=split, revision="v1.0.0", streaming=streaming)
    return [*loaded.decode(False)] if streaming else loaded.data.table.to_pylist()

def told(row):
    return {**row, "frames": [[frame["path"], frame["bytes"].hex()] for frame in row["frames"]]}

for name, split, streaming in json.load(sys.stdin):
    print(json.dumps([told(row) for row in rows(name, split, streaming)]))
"""


@both_storages
def test_whoever_has_datasets_alone_reads_a_release_by_its_tag(
    hub: Hub, released: Path, tmp_path: Path, storage: str
) -> None:
    kept, every = _rows(released, "kept"), _rows(released, "*")
    names = ["all", *sorted({row["scenario"] for row in every})]
    wanted = [(name, split, False) for name in names for split in ("filtered", "unfiltered")]
    wanted += [("all", "filtered", True), ("rod", "unfiltered", True)]
    environment = client_env(hub, tmp_path / "reader", xet=storage == "xet", token="")
    done = subprocess.run(
        [sys.executable, "-c", READ], input=json.dumps(wanted), env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for (name, split, _), line in zip(wanted, done.stdout.splitlines(), strict=True):
        expected = [row for row in (kept if split == "filtered" else every) if name in ("all", row["scenario"])]
        assert sorted(json.loads(line), key=itemgetter("id")) == expected


def _rows(folder: Path, files: str) -> list[dict[str, Any]]:
    rows = [row for path in folder.glob(f"data/*/*/{files}-*.parquet") for row in pq.read_table(path).to_pylist()]
    shown = [{**r, "frames": [[frame["path"], frame["bytes"].hex()] for frame in r["frames"]]} for r in rows]
    return sorted(shown, key=itemgetter("id"))
