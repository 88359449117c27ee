"""Each fault of the test server does what it says, to the real clients."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from huggingface_hub import CommitInfo, HfApi
from huggingface_hub.errors import HfHubHTTPError

from .conftest import both_storages, client_env
from .faults import COMMIT, LFS_PUT, PREUPLOAD, SHARD, TAG, XORB
from .server import Hub

REPO = "lab/bench"


@pytest.fixture
def api(hub: Hub) -> HfApi:
    hub.create(REPO)
    return HfApi()


def put(api: HfApi, data: bytes, path: str = "a.txt", parent: str | None = None) -> CommitInfo:
    return api.upload_file(
        path_or_fileobj=data, path_in_repo=path, repo_id=REPO, repo_type="dataset", parent_commit=parent
    )


@contextmanager
def no_answer() -> Iterator[None]:
    """The client's HTTP library, whichever it is, finds the connection closed."""
    with pytest.raises(HfHubHTTPError.__bases__[0], match="without sending a response") as lost:
        yield
    assert not isinstance(lost.value, HfHubHTTPError)


@pytest.mark.parametrize("status", [409, 412, 429, 500, 503])
@pytest.mark.parametrize("applied", [False, True])
def test_an_error_on_the_second_commit(hub: Hub, api: HfApi, status: int, applied: bool) -> None:
    hub.fail(COMMIT, status, skip=1, applied=applied)
    put(api, b"1")
    with pytest.raises(HfHubHTTPError) as refused:
        put(api, b"2")
    assert refused.value.response.status_code == status
    assert hub.read(REPO, "main", "a.txt") == (b"2" if applied else b"1")
    put(api, b"3")
    assert hub.read(REPO, "main", "a.txt") == b"3"


@pytest.mark.parametrize(
    ("headers", "waited"),
    [({"Retry-After": "7"}, 8), ({"RateLimit": '"api";r=0;t=40', "RateLimit-Policy": '"fixed window";"api";q=1'}, 41)],
)
def test_a_limit_says_how_long_to_wait(
    hub: Hub, api: HfApi, waits: list[float], headers: dict[str, str], waited: float
) -> None:
    hub.fail(PREUPLOAD, 429, times=2, headers=headers)
    put(api, b"1")
    assert waits == [waited, waited]
    assert [entry.status for entry in hub.requests if "preupload" in entry.path] == [429, 429, 200]


@pytest.mark.parametrize("applied", [False, True])
def test_a_lost_answer_is_to_a_commit_that_was_made_or_not(hub: Hub, api: HfApi, applied: bool) -> None:
    hub.drop(COMMIT, applied=applied)
    with no_answer():
        put(api, b"1")
    assert ("a.txt" in hub.files(REPO)) == applied
    assert hub.requests[-1].status is None


def test_someone_else_commits_just_before(hub: Hub, api: HfApi) -> None:
    hub.before(COMMIT, lambda: hub.commit_as_someone_else(REPO, {"b.parquet": b"theirs", "a.txt": None}), skip=1)
    first = put(api, b"1")
    with pytest.raises(HfHubHTTPError, match="412"):
        put(api, b"2", parent=first.oid)
    assert hub.files(REPO).keys() == {".gitattributes", "b.parquet"}
    found = api.hf_hub_download(REPO, "b.parquet", repo_type="dataset")
    assert Path(found).read_bytes() == hub.read(REPO, "main", "b.parquet") == b"theirs"


@both_storages
@pytest.mark.parametrize("applied", [False, True])
def test_from_its_death_on_the_server_does_nothing(hub: Hub, api: HfApi, storage: str, applied: bool) -> None:
    uploads = XORB if storage == "xet" else LFS_PUT
    put(api, b"first", "a.parquet")
    requests = [entry.path for entry in hub.requests]
    dying = next(at for at, path in enumerate(requests, 1) if "/commit/" in path)
    hub.forget()
    hub.die_at(dying, applied=applied)
    with no_answer():
        put(api, b"second", "a.parquet")
    with no_answer():
        api.dataset_info(REPO)
    assert hub.count(uploads) == 1
    assert [entry.status is None for entry in hub.requests] == [False] * (dying - 1) + [True, True]
    assert hub.read(REPO, "main", "a.parquet") == (b"second" if applied else b"first")
    hub.revive()
    hub.forget()
    put(api, b"second", "a.parquet")
    assert hub.uploaded_bytes == 0 or storage == "xet"
    assert len(hub.commits(REPO)) == 3


def test_a_slow_commit_is_seen_only_when_it_ends(hub: Hub, api: HfApi) -> None:
    put(api, b"1")
    go = threading.Event()
    arrived = hub.slow(COMMIT, go)
    pushing = threading.Thread(target=put, args=(api, b"2"))
    pushing.start()
    assert arrived.wait(30)
    assert Path(api.hf_hub_download(REPO, "a.txt", repo_type="dataset")).read_bytes() == b"1"
    go.set()
    pushing.join()
    assert hub.read(REPO, "main", "a.txt") == b"2"


@pytest.mark.parametrize("match", [XORB, SHARD])
def test_xet_storage_that_fails_once_is_asked_again(hub: Hub, api: HfApi, match: str) -> None:
    hub.fail(match, 503)
    put(api, b"1" * 1000, "a.parquet")
    assert hub.count(match) == 2
    assert hub.read(REPO, "main", "a.parquet") == b"1" * 1000


@pytest.mark.parametrize("match", [XORB, SHARD])
def test_xet_storage_that_fails_for_good_ends_the_push(hub: Hub, api: HfApi, match: str) -> None:
    hub.fail(match, 503, times=None)
    with pytest.raises(Exception, match="503"):
        put(api, b"1" * 1000, "a.parquet")
    assert hub.count(COMMIT) == 0


def test_half_a_request_has_no_effect(hub: Hub, api: HfApi) -> None:
    head = f"POST /api/datasets/{REPO}/commit/main HTTP/1.1\r\nAuthorization: Bearer {hub.token}\r\n"
    body = b'{"key": "header", "value": {"summary": "half"}}\n'
    host, port = hub.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as half:
        half.sendall(f"{head}Content-Length: {len(body) + 1}\r\n\r\n".encode() + body)
        half.shutdown(socket.SHUT_WR)
        assert half.recv(1) == b""
    assert len(hub.commits(REPO)) == 1


_PUSH = f"""
from huggingface_hub import HfApi
HfApi().upload_file(path_or_fileobj=b"2", path_in_repo="a.txt", repo_id={REPO!r}, repo_type="dataset")
HfApi().create_tag({REPO!r}, tag="v2", repo_type="dataset")
"""


@pytest.mark.parametrize("applied", [False, True])
def test_a_client_is_killed_at_a_request(hub: Hub, api: HfApi, tmp_path: Path, applied: bool) -> None:
    put(api, b"1")
    clients: list[subprocess.Popen[bytes]] = []
    kill: Callable[[], object] = lambda: clients[0].kill() or clients[0].wait()  # noqa: E731
    hub.forget()
    hub.on_request(2, kill, applied=applied)
    clients.append(subprocess.Popen([sys.executable, "-c", _PUSH], env=client_env(hub, tmp_path)))
    assert clients[0].wait() == -signal.SIGKILL
    hub.settle()
    assert hub.count(TAG) == 0
    assert hub.count(PREUPLOAD) + hub.count(COMMIT) == len(hub.requests) == 2
    assert hub.read(REPO, "main", "a.txt") == b"2"
