"""A Hub of its own for each test, and clients that know of no other."""

from __future__ import annotations

import os
import shutil
import time
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from build_bench.hub import Repository
from tests import trees

from .published import REPO
from .server import Hub, serving


def client_env(hub: Hub, home: Path, *, xet: bool = True, token: str | None = None) -> dict[str, str]:
    """The environment of a client that has `home` for its caches: a machine of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "BUILD_BENCH_"))}
    return kept | {
        "HF_ENDPOINT": hub.endpoint,
        "HF_TOKEN": hub.token if token is None else token,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "0" if xet else "1",
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",
        "HF_XET_CLIENT_RETRY_BASE_DELAY": "10ms",
        "HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "2",
        "HF_XET_TELEMETRY_ENABLED": "0",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def pytest_itemcollected(item: pytest.Item) -> None:
    """huggingface_hub 2.4 sends large files in a way that its HTTP library calls outdated."""
    item.add_marker(pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning"))


@pytest.fixture(params=["xet"])
def storage(request: pytest.FixtureRequest) -> str:
    """Where clients bring large files: `xet`, or `lfs` for those that parametrise it."""
    return str(request.param)


_sessions: list[Any] = []
"""Of hf_xet, one a test, so that none knows what another uploaded. They stay: a run once hung where one ended."""

both_storages = pytest.mark.parametrize("storage", ["xet", "lfs"], indirect=True)


@pytest.fixture
def waits() -> list[float]:
    """Seconds that the client would have waited before trying again."""
    return []


@pytest.fixture
def hub(
    _alone: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    storage: str,
    waits: list[float],
) -> Iterator[Hub]:
    """A fresh server. Clients in this process, and in those that it starts, talk to it with its token."""
    from huggingface_hub import HfFileSystem, close_session

    home, with_xet = tmp_path_factory.mktemp("client"), storage == "xet"
    with serving() as server:
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        for name, value in client_env(server, home, xet=with_xet).items():
            monkeypatch.setenv(name, value)
        _point_clients(monkeypatch, server.endpoint, home, xet=with_xet)
        _count_waits(monkeypatch, waits)
        try:
            yield server
        finally:
            server.revive()
            close_session()
            HfFileSystem.clear_instance_cache()
    assert not server.errors, server.errors[0]


def _point_clients(monkeypatch: pytest.MonkeyPatch, endpoint: str, home: Path, *, xet: bool) -> None:
    """What the clients read from the environment when they are imported, set again."""
    import datasets.config
    from huggingface_hub import constants, hf_api
    from huggingface_hub.utils import _xet

    for name, value in {
        "ENDPOINT": endpoint,
        "HUGGINGFACE_CO_URL_TEMPLATE": endpoint + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HUB_OFFLINE": False,
        "HF_HUB_DISABLE_TELEMETRY": True,
        "HF_HUB_DISABLE_XET": not xet,
        "HF_HOME": str(home),
        "HF_HUB_CACHE": str(home / "hub"),
        "HF_ASSETS_CACHE": str(home / "assets"),
        "HF_XET_CACHE": str(home / "xet"),
        "HF_TOKEN_PATH": str(home / "token"),
        "HF_STORED_TOKENS_PATH": str(home / "stored_tokens"),
        "AGENT_HARNESSES_PATH": str(home / ".agent_harnesses.json"),
    }.items():
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setattr(hf_api.api, "endpoint", endpoint)
    _sessions.append(_xet.XetSessionHolder())
    monkeypatch.setattr(_xet, "_GLOBAL_XET_HOLDER", _sessions[-1])
    monkeypatch.setattr(_xet, "XET_CONNECTION_INFO_CACHE", {})
    for name, value in {
        "HF_ENDPOINT": endpoint,
        "HUB_DATASETS_URL": endpoint + "/datasets/{repo_id}/resolve/{revision}/{path}",
        "HF_HUB_OFFLINE": False,
        "HF_UPDATE_DOWNLOAD_COUNTS": False,
        "HF_CACHE_HOME": str(home),
        "HF_DATASETS_CACHE": home / "datasets",
        "HF_MODULES_CACHE": home / "modules",
        "DOWNLOADED_DATASETS_PATH": home / "datasets" / "downloads",
        "EXTRACTED_DATASETS_PATH": home / "datasets" / "downloads" / "extracted",
    }.items():
        monkeypatch.setattr(datasets.config, name, value)


def _count_waits(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    """The client notes its waits and goes on."""
    from huggingface_hub import file_download
    from huggingface_hub.utils import _http

    clock: Any = types.SimpleNamespace(**{**vars(time), "sleep": waits.append})
    monkeypatch.setattr(_http, "time", clock)
    monkeypatch.setattr(file_download, "time", clock)


# Repositories to publish to, and trees to publish


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def repository(hub: Hub, slept: list[float]) -> Repository:
    return Repository(REPO, slept.append)


@pytest.fixture(scope="session")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Three trees: `new` has a row more than `old`, `other` has one less."""
    plans = [plan for plan in trees.some_plans() if plan.scenario in ("quickdraw", "coco")]
    root = tmp_path_factory.mktemp("laid")
    chosen = {"old": plans[:-1], "new": plans, "other": plans[:-2]}
    return {name: trees.lay_out(root / name, these) for name, these in chosen.items()}


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[Path], Path]:
    """A copy of a tree: a push writes into it."""
    return lambda tree: Path(shutil.copytree(tree, tmp_path / f"{tree.name}-{len([*tmp_path.iterdir()])}"))


@pytest.fixture
def old(laid: Mapping[str, Path], fresh: Callable[[Path], Path]) -> Path:
    return fresh(laid["old"])


@pytest.fixture
def new(laid: Mapping[str, Path], fresh: Callable[[Path], Path]) -> Path:
    return fresh(laid["new"])


@pytest.fixture
def other(laid: Mapping[str, Path], fresh: Callable[[Path], Path]) -> Path:
    return fresh(laid["other"])
