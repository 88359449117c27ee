"""Trees to publish, and what must be true of a repository whatever happened on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from build_bench import publishing
from build_bench.hub import Repository
from build_bench.publishing import Wanted

from .server import Hub

REPO = "lab/bench"


def push(folder: Path, repository: Repository, release: str = "", **wanted: bool) -> dict[str, Any]:
    return publishing.push(folder, repository, Wanted(release, **wanted))


def seen(hub: Hub, revision: str = "main", repo: str = REPO) -> str:
    """The release that a reader finds, which must be whole and all that the card names."""
    manifest = json.loads(hub.read(repo, revision, "manifest.json"))
    for name, facts in manifest["files"].items():
        assert len(hub.read(repo, revision, name)) == facts["bytes"], name
    card = hub.read(repo, revision, "README.md").decode()
    assert all(facts["digest"] in card for facts in manifest["scenarios"].values())
    assert f"## {manifest['release']}" in hub.read(repo, revision, "CHANGELOG.md").decode()
    return str(manifest["release"])


def check_end(hub: Hub, repo: str = REPO, releases: tuple[str, ...] = ("v1.0.0", "v1.1.0")) -> None:
    """Each release is one commit with its tag, nothing superseded is left, no commit is there twice."""
    titles = [commit.title for commit in hub.commits(repo)]
    assert [title for title in titles if title.startswith("Release")] == [f"Release {name}" for name in releases[::-1]]
    for release in releases:
        assert seen(hub, release, repo) == release
    assert seen(hub, repo=repo) == releases[-1]
    listed = json.loads(hub.read(repo, "main", "manifest.json"))["files"]
    ours = {name for name in hub.files(repo) if name.startswith(("data/", "assets/"))}
    assert ours == {name for name in listed if "/" in name}
