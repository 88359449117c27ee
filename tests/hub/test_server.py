"""The test server, as the real clients see it: what they bring is what they read back, with either storage."""

from __future__ import annotations

import io
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import CommitInfo, CommitOperationAdd, CommitOperationDelete, HfApi, constants
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from .conftest import both_storages
from .faults import COMMIT, LFS_PUT, XORB
from .server import Hub

REPO = "lab/bench"
lfs_only = pytest.mark.parametrize("storage", ["lfs"], indirect=True)


@pytest.fixture
def api(hub: Hub) -> HfApi:
    """A client, and a repository to work in."""
    client = HfApi()
    client.create_repo(REPO, repo_type="dataset")
    return client


def put(api: HfApi, files: Mapping[str, bytes | None], **options: Any) -> CommitInfo:
    """A commit that writes files (None: deletes)."""
    operations = [
        CommitOperationDelete(path) if data is None else CommitOperationAdd(path, data) for path, data in files.items()
    ]
    return api.create_commit(REPO, operations, commit_message="a change", repo_type="dataset", **options)


def table(rows: int, prompt: str) -> pa.Table:
    pictures = random.Random(7)
    columns = {
        "id": list(range(rows)),
        "prompt": [f"{prompt} {row}" for row in range(rows)],
        "picture": [pictures.randbytes(4000) for _ in range(rows)],
    }
    return pa.table(columns)


def parquet(rows: int, prompt: str = "What is this?") -> bytes:
    stream = io.BytesIO()
    pq.write_table(table(rows, prompt), stream, use_content_defined_chunking=True)
    return stream.getvalue()


@both_storages
def test_what_a_commit_writes_is_read_back_and_what_it_deletes_is_gone(hub: Hub, api: HfApi, storage: str) -> None:
    put(api, {"README.md": b"# A card\n", "a/1.parquet": b"one" * 999, "a/2.parquet": b"two", "b/x.txt": b"x"})
    put(api, {"a/2.parquet": None, "b/": None, "a/1.parquet": b"other" * 999})
    expected = {"README.md": b"# A card\n", "a/1.parquet": b"other" * 999}
    assert hub.files(REPO).keys() == {*expected, ".gitattributes"}
    for path, data in expected.items():
        assert Path(api.hf_hub_download(REPO, path, repo_type="dataset")).read_bytes() == data
        assert hub.read(REPO, "main", path) == data
    assert bool(hub.xet.xorbs) == (storage == "xet")
    assert [commit.title for commit in hub.commits(REPO)] == ["a change", "a change", "initial commit"]


def test_deleting_what_is_not_there_is_refused(hub: Hub, api: HfApi) -> None:
    with pytest.raises(EntryNotFoundError, match="doesn't exist"):
        put(api, {"a.txt": b"a", "b.txt": None})
    assert "a.txt" not in hub.files(REPO)


@both_storages
def test_what_the_repository_ignores_is_left_out(hub: Hub, api: HfApi) -> None:
    put(api, {".gitignore": b"*.parquet\nnotes/\n"})
    put(api, {"a/x.parquet": b"1", "notes/y.txt": b"2", "z.txt": b"3"})
    assert hub.files(REPO).keys() == {".gitattributes", ".gitignore", "z.txt"}
    assert hub.uploaded_bytes == 0


@lfs_only
def test_a_large_file_arrives_in_parts(hub: Hub, api: HfApi) -> None:
    hub.lfs.part_size = 1000
    put(api, {"a.parquet": bytes(2500)})
    assert hub.count(LFS_PUT) == 3
    assert hub.read(REPO, "main", "a.parquet") == bytes(2500)


@both_storages
def test_a_file_whose_bytes_never_came_is_not_committed(hub: Hub, api: HfApi) -> None:
    missing = CommitOperationAdd("a.parquet", b"bytes")
    missing._upload_mode, missing._is_uploaded = "lfs", True
    with pytest.raises(HfHubHTTPError, match="does not exist"):
        api.create_commit(REPO, [missing], commit_message="no bytes", repo_type="dataset")


def test_a_commit_on_a_parent_that_is_not_the_head_changes_nothing(hub: Hub, api: HfApi) -> None:
    first = put(api, {"a.txt": b"1"})
    second = put(api, {"a.txt": b"2"}, parent_commit=first.oid)
    with pytest.raises(HfHubHTTPError, match="412"):
        put(api, {"a.txt": b"3"}, parent_commit=first.oid)
    assert hub.commits(REPO)[0].oid == second.oid


def test_a_pull_request_leaves_main_alone_until_it_is_merged(hub: Hub, api: HfApi) -> None:
    made = put(api, {"a.txt": b"1"}, create_pr=True)
    assert made.pr_url == f"{hub.endpoint}/datasets/{REPO}/discussions/1"
    assert "a.txt" not in hub.files(REPO)
    assert hub.read(REPO, "refs/pr/1", "a.txt") == b"1"
    put(api, {"b.txt": b"2"}, revision="refs/pr/1")
    foreign = hub.commit_as_someone_else(REPO, {"c.txt": b"3"})
    api.merge_pull_request(REPO, 1, repo_type="dataset")
    assert hub.files(REPO).keys() == {".gitattributes", "a.txt", "b.txt", "c.txt"}
    assert hub.commits(REPO)[1].oid == foreign
    details = api.get_discussion_details(REPO, 1, repo_type="dataset")
    assert (details.status, details.merge_commit_oid) == ("merged", hub.commits(REPO)[0].oid)
    assert [found.num for found in api.get_repo_discussions(REPO, repo_type="dataset")] == [1]


def test_a_tag_stays_where_it_is(hub: Hub, api: HfApi) -> None:
    first = put(api, {"a.txt": b"1"})
    api.create_tag(REPO, tag="v1.0.0", repo_type="dataset")
    put(api, {"a.txt": b"2"})
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_tag(REPO, tag="v1.0.0", repo_type="dataset")
    with pytest.raises(RevisionNotFoundError):
        api.create_tag(REPO, tag="v2", revision="0" * 40, repo_type="dataset")
    assert hub.tags(REPO) == {"v1.0.0": first.oid}
    refs = api.list_repo_refs(REPO, repo_type="dataset", include_pull_requests=True)
    assert [(tag.name, tag.target_commit) for tag in refs.tags] == [("v1.0.0", first.oid)]
    assert Path(api.hf_hub_download(REPO, "a.txt", revision="v1.0.0", repo_type="dataset")).read_bytes() == b"1"
    api.delete_tag(REPO, tag="v1.0.0", repo_type="dataset")
    assert not hub.tags(REPO)


def test_branches_grow_apart_and_a_squashed_one_has_one_commit(hub: Hub, api: HfApi) -> None:
    put(api, {"a.txt": b"1"})
    api.create_branch(REPO, branch="work", repo_type="dataset")
    put(api, {"a.txt": b"2"}, revision="work")
    assert (hub.read(REPO, "main", "a.txt"), hub.read(REPO, "work", "a.txt")) == (b"1", b"2")
    api.super_squash_history(REPO, branch="work", repo_type="dataset")
    assert len(api.list_repo_commits(REPO, revision="work", repo_type="dataset")) == 1
    assert hub.read(REPO, "work", "a.txt") == b"2"
    api.delete_branch(REPO, branch="work", repo_type="dataset")
    with pytest.raises(RevisionNotFoundError):
        api.list_repo_commits(REPO, revision="work", repo_type="dataset")


def test_long_lists_come_in_pages(hub: Hub, api: HfApi) -> None:
    hub.page_size = 3
    put(api, {f"a/b/{number}.txt": b"x" for number in range(8)})
    put(api, {"c.txt": b"x"})
    put(api, {"d.txt": b"x"})
    hub.forget()
    listed = [entry.path for entry in api.list_repo_tree(REPO, recursive=True, repo_type="dataset")]
    assert listed == [".gitattributes", "a", "a/b", *(f"a/b/{number}.txt" for number in range(8)), "c.txt", "d.txt"]
    assert hub.count("GET */tree/*") == 5
    assert [entry.path for entry in api.list_repo_tree(REPO, "a", repo_type="dataset")] == ["a/b"]
    assert len(api.list_repo_commits(REPO, repo_type="dataset")) == 4


@both_storages
def test_paths_are_described_as_in_the_tree(hub: Hub, api: HfApi) -> None:
    put(api, {"a/x.parquet": b"12345", "y.txt": b"1"})
    found = api.get_paths_info(REPO, ["a/x.parquet", "y.txt", "a", "none"], repo_type="dataset")
    assert {entry.path: getattr(entry, "size", None) for entry in found} == {"a/x.parquet": 5, "y.txt": 1, "a": None}
    tree = {entry.path: entry for entry in api.list_repo_tree(REPO, recursive=True, repo_type="dataset")}
    assert all(entry == tree[entry.path] for entry in found)
    assert api.dataset_info(REPO).siblings is not None


def test_others_neither_see_a_private_repository_nor_write(hub: Hub, api: HfApi) -> None:
    put(api, {"a.txt": b"1"})
    reader, stranger, liar = HfApi(token=hub.reader_token), HfApi(token=False), HfApi(token="hf_wrong")
    assert stranger.dataset_info(REPO).id == REPO
    api.update_repo_settings(REPO, private=True, repo_type="dataset")
    assert reader.dataset_info(REPO).private
    with pytest.raises(RepositoryNotFoundError):
        stranger.dataset_info(REPO)
    with pytest.raises(HfHubHTTPError, match="Invalid user token"):
        liar.whoami()
    with pytest.raises(HfHubHTTPError, match="403"):
        put(reader, {"a.txt": b"2"})
    assert (api.whoami()["name"], reader.whoami()["name"]) == ("tester", "reader")


def test_a_repository_is_made_once_and_gone_once_deleted(hub: Hub, api: HfApi) -> None:
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_repo(REPO, repo_type="dataset")
    assert api.create_repo(REPO, repo_type="dataset", exist_ok=True).repo_id == REPO
    api.delete_repo(REPO, repo_type="dataset")
    with pytest.raises(RepositoryNotFoundError):
        api.dataset_info(REPO)


@both_storages
def test_a_second_snapshot_asks_only_for_the_commit(hub: Hub, api: HfApi) -> None:
    put(api, {"a/x.parquet": b"12345", "y.txt": b"1"})
    api.create_tag(REPO, tag="v1", repo_type="dataset")
    folder = Path(api.snapshot_download(REPO, revision="v1", repo_type="dataset"))
    assert (folder / "a/x.parquet").read_bytes() == b"12345"
    hub.forget()
    assert api.snapshot_download(REPO, revision="v1", repo_type="dataset") == str(folder)
    assert [entry.path for entry in hub.requests] == [f"/api/datasets/{REPO}/revision/v1"]


@both_storages
def test_a_download_that_was_cut_goes_on_where_it_ended(
    hub: Hub, api: HfApi, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)
    data = random.Random(3).randbytes(300_000)
    put(api, {"x.parquet": data})
    place = "GET /xorb/*" if storage == "xet" else "GET /lfs/*"
    hub.cut(place, 100_000)
    assert Path(api.hf_hub_download(REPO, "x.parquet", repo_type="dataset")).read_bytes() == data
    assert hub.count(place) >= 2
    if storage == "lfs":
        assert [entry.status for entry in hub.requests if entry.path.startswith("/lfs/")] == [200, 200, 206]


@both_storages
def test_parts_of_a_file_are_read_without_the_rest(hub: Hub, api: HfApi) -> None:
    from huggingface_hub import HfFileSystem

    data = random.Random(4).randbytes(400_000)
    put(api, {"x.parquet": data})
    with HfFileSystem().open(f"datasets/{REPO}/x.parquet", block_size=1000) as file:
        file.seek(200_000)
        assert file.read(5000) == data[200_000:205_000]
        file.seek(-10, io.SEEK_END)
        assert file.read() == data[-10:]


@both_storages
@pytest.mark.parametrize("streaming", [False, True])
def test_load_dataset_reads_the_rows_of_a_tag(hub: Hub, api: HfApi, streaming: bool) -> None:
    from datasets import load_dataset

    card = b"---\nconfigs:\n- config_name: rod\n  data_files: [{split: filtered, path: rod/filtered/*.parquet}]\n---\n"
    put(api, {"README.md": card, "rod/filtered/0.parquet": parquet(5)})
    api.create_tag(REPO, tag="v1", repo_type="dataset")
    put(api, {"rod/filtered/0.parquet": parquet(3, "Another?")})
    rows = load_dataset(REPO, "rod", split="filtered", revision="v1", streaming=streaming)
    assert list(rows) == table(5, "What is this?").to_pylist()


def test_push_to_hub_and_back(hub: Hub, api: HfApi) -> None:
    from datasets import Dataset, load_dataset

    Dataset(table(4, "What?")).push_to_hub(REPO, "coco", split="filtered")
    assert load_dataset(REPO, "coco", split="filtered")[:] == table(4, "What?").to_pydict()


@both_storages
def test_what_is_there_already_is_not_uploaded_again(hub: Hub, api: HfApi, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(50))
    (tmp_path / "b.txt").write_bytes(b"text")
    first = api.upload_folder(repo_id=REPO, folder_path=tmp_path, repo_type="dataset")
    assert hub.uploaded_bytes > 50 * 4000
    hub.forget()
    again = api.upload_folder(repo_id=REPO, folder_path=tmp_path, repo_type="dataset")
    assert again.oid == first.oid == hub.commits(REPO)[0].oid
    assert hub.count(COMMIT) == 0
    put(api, {"elsewhere.parquet": parquet(50)})
    assert hub.count(XORB) == hub.count(LFS_PUT) == 0


def test_a_changed_column_costs_only_that_column(hub: Hub, api: HfApi) -> None:
    put(api, {"a.parquet": parquet(900)})
    whole = hub.uploaded_bytes
    hub.forget()
    put(api, {"a.parquet": parquet(900, "Now what?")})
    assert 0 < hub.uploaded_bytes < whole / 5
    assert hub.read(REPO, "main", "a.parquet") == parquet(900, "Now what?")


@pytest.mark.parametrize("policy", ["none", "lz4", "bg4-lz4"])
def test_packed_chunks_are_unpacked(hub: Hub, api: HfApi, monkeypatch: pytest.MonkeyPatch, policy: str) -> None:
    monkeypatch.setenv("HF_XET_XORB_COMPRESSION_POLICY", policy)
    data = b"".join(b"row %d, " % number + bytes(number % 50) for number in range(30_001)) + b"end"
    put(api, {"a.parquet": data})
    schemes = {chunk.scheme for xorb in hub.xet.xorbs.values() for chunk in xorb.chunks}
    assert schemes == {["none", "lz4", "bg4-lz4"].index(policy)}
    assert hub.read(REPO, "main", "a.parquet") == data
