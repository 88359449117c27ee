"""The routes that read: what a repository has, and the bytes of its files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, unquote

from .messages import Answer, Refusal, Request
from .repository import MAIN, Blob, Commit, folders, tree_oid

if TYPE_CHECKING:
    from .server import Hub


def info(hub: Hub, request: Request, repo: str, revision: str = MAIN) -> Answer:
    repository = hub.readable(request, repo)
    commit = repository.at(unquote(revision))
    return Answer.of(
        {
            "_id": "0",
            "id": repo,
            "author": repo.split("/")[0],
            "sha": commit.oid,
            "lastModified": commit.date,
            "createdAt": repository.commits[next(iter(repository.commits))].date,
            "private": repository.private,
            "gated": False,
            "disabled": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "siblings": [{"rfilename": path} for path in sorted(commit.files)],
        }
    )


def _entry(hub: Hub, path: str, blob: Blob) -> dict:
    entry: dict = {"type": "file", "oid": blob.oid, "size": blob.size, "path": path}
    if blob.sha256:
        entry["lfs"] = {"oid": blob.sha256, "size": blob.size, "pointerSize": blob.pointer_size}
        if xet := hub.xet.hash_of(blob.sha256):
            entry["xetHash"] = xet
    return entry


def _folder(commit: Commit, path: str) -> dict:
    return {"type": "directory", "oid": tree_oid(commit.files, path), "size": 0, "path": path}


def _page(hub: Hub, request: Request, items: Sequence[dict]) -> Answer:
    """The page that the query's cursor names, with a link to the one that follows."""
    start = int(request.query.get("cursor", 0))
    end = start + hub.page_size
    headers = {}
    if end < len(items):
        headers["Link"] = f'<{hub.endpoint}{request.path}?{_without_cursor(request)}cursor={end}>; rel="next"'
    return Answer.of(items[start:end], headers=headers)


def _without_cursor(request: Request) -> str:
    return "".join(f"{name}={quote(value)}&" for name, value in request.query.items() if name != "cursor")


def tree(hub: Hub, request: Request, repo: str, revision: str, folder: str = "") -> Answer:
    commit = hub.readable(request, repo).at(unquote(revision))
    folder = unquote(folder)
    prefix = f"{folder}/" if folder else ""
    known = folders(commit.files)
    if folder and folder not in known:
        raise Refusal(404, f"{folder} does not exist on {unquote(revision)}", "EntryNotFound")
    recursive = request.query.get("recursive", "").lower() in ("1", "true")
    entries = [_folder(commit, path) for path in known] + [_entry(hub, *item) for item in commit.files.items()]
    shown = [
        entry
        for entry in entries
        if entry["path"].startswith(prefix) and (recursive or "/" not in entry["path"].removeprefix(prefix))
    ]
    return _page(hub, request, sorted(shown, key=lambda entry: entry["path"]))


def paths_info(hub: Hub, request: Request, repo: str, revision: str) -> Answer:
    commit = hub.readable(request, repo).at(unquote(revision))
    if request.headers.get("Content-Type", "").startswith("application/json"):
        asked = request.json()["paths"]
    else:
        asked = parse_qs(request.body.decode()).get("paths", [])
    files = [_entry(hub, path, commit.files[path]) for path in asked if path in commit.files]
    return Answer.of(files + [_folder(commit, path) for path in asked if path in folders(commit.files)])


def commits(hub: Hub, request: Request, repo: str, revision: str) -> Answer:
    history = hub.readable(request, repo).history(unquote(revision))
    told = [
        {
            "id": commit.oid,
            "title": commit.title,
            "message": commit.message,
            "date": commit.date,
            "authors": [{"user": commit.author}],
        }
        for commit in history
    ]
    return _page(hub, request, told)


def refs(hub: Hub, request: Request, repo: str) -> Answer:
    repository = hub.readable(request, repo)
    heads = {name: oid for name, oid in repository.branches.items() if not name.startswith("refs/pr/")}
    pulls = {name: oid for name, oid in repository.branches.items() if name not in heads}

    def told(names: dict[str, str], prefix: str) -> list[dict[str, str]]:
        return [{"name": name, "ref": prefix + name, "targetCommit": oid} for name, oid in names.items()]

    found = {"branches": told(heads, "refs/heads/"), "converts": [], "tags": told(repository.tags, "refs/tags/")}
    return Answer.of({**found, "pullRequests": told(pulls, "")})


def resolve(hub: Hub, request: Request, repo: str, revision: str, path: str) -> Answer:
    """A file's bytes; for a large file where they are, at another host, as clients expect."""
    commit = hub.readable(request, repo).at(unquote(revision))
    path = unquote(path)
    blob = commit.files.get(path)
    if blob is None:
        raise Refusal(404, f"{path} does not exist on {unquote(revision)}", "EntryNotFound")
    headers = {"X-Repo-Commit": commit.oid, "ETag": f'"{blob.oid}"'}
    if blob.data is not None:
        return Answer.content(request, blob.data, headers)
    headers |= {"X-Linked-Etag": f'"{blob.sha256}"', "X-Linked-Size": str(blob.size)}
    xet = hub.xet.hash_of(blob.sha256 or "")
    if xet:
        refresh = f"{hub.endpoint}/api/datasets/{repo}/xet-read-token/{commit.oid}"
        headers |= {"X-Xet-Hash": xet, "Link": f'<{refresh}>; rel="xet-auth"'}
    headers["Location"] = f"{hub.storage}/xet/{xet}" if xet else f"{hub.storage}/lfs/{blob.sha256}"
    return Answer(302, headers=headers)


def _repo(rest: str) -> str:
    return r"/api/datasets/(?P<repo>[^/]+/[^/]+)" + rest


ROUTES = [
    ("GET", _repo(""), info),
    ("GET", _repo("/revision/(?P<revision>[^/]+)"), info),
    ("GET", _repo("/tree/(?P<revision>[^/]+)"), tree),
    ("GET", _repo("/tree/(?P<revision>[^/]+)/(?P<folder>.+)"), tree),
    ("POST", _repo("/paths-info/(?P<revision>[^/]+)"), paths_info),
    ("GET", _repo("/commits/(?P<revision>[^/]+)"), commits),
    ("GET", _repo("/refs"), refs),
    ("GET", r"/datasets/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)", resolve),
]
