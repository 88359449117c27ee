"""The routes that change something: repositories, commits, tags, branches, pull requests."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from urllib.parse import unquote

from .messages import Answer, Refusal, Request
from .repository import LARGE, MAIN, Blob, Commit, Repository

if TYPE_CHECKING:
    from .server import Hub

_LARGE_FROM = 10 << 20


def whoami(hub: Hub, request: Request) -> Answer:
    user = hub.user(request)
    if user is None:
        raise Refusal(401, "Invalid credentials in Authorization header")
    role = "write" if hub.may_write(request) else "read"
    return Answer.of(
        {
            "type": "user",
            "id": "0",
            "name": user,
            "fullname": user,
            "email": f"{user}@example.org",
            "isPro": False,
            "orgs": [],
            "auth": {"type": "access_token", "accessToken": {"displayName": "tests", "role": role}},
        }
    )


def _named(hub: Hub, request: Request) -> str:
    asked = request.json()
    if asked.get("type") != "dataset":
        raise Refusal(400, "this server has datasets only")
    return f"{asked.get('organization') or hub.user(request)}/{asked['name']}"


def create_repo(hub: Hub, request: Request) -> Answer:
    hub.writer(request)
    name = _named(hub, request)
    told = {"url": f"{hub.endpoint}/datasets/{name}", "name": name, "id": "0"}
    if name in hub.repositories:
        message = "You already created this dataset repo"
        return Answer.of({**told, "error": message}, 409, {"X-Error-Message": message})
    hub.repositories[name] = Repository(name, private=request.json().get("visibility") == "private")
    return Answer.of(told)


def delete_repo(hub: Hub, request: Request) -> Answer:
    name = _named(hub, request)
    hub.writable(request, name)
    del hub.repositories[name]
    return Answer()


def settings(hub: Hub, request: Request, repo: str) -> Answer:
    repository = hub.writable(request, repo)
    if visibility := request.json().get("visibility"):
        repository.private = visibility == "private"
    return Answer.of({"private": repository.private})


def validate_yaml(hub: Hub, request: Request) -> Answer:
    """The header must be closed; what is in it isn't looked at, this server being free of dependencies."""
    lines = request.json()["content"].splitlines()
    if lines[:1] == ["---"] and "---" not in lines[1:]:
        return Answer.of({"errors": [{"message": "the YAML header isn't closed"}], "warnings": []}, 400)
    return Answer.of({"errors": [], "warnings": []})


def preupload(hub: Hub, request: Request, repo: str, revision: str) -> Answer:
    files = hub.writable(request, repo).at(unquote(revision)).files
    rules = request.json().get("gitIgnore") or (files[".gitignore"].data if ".gitignore" in files else b"").decode()
    told = []
    for asked in request.json()["files"]:
        large = (
            asked["path"].endswith(LARGE)
            or asked["size"] >= _LARGE_FROM
            or b"\0" in base64.b64decode(asked.get("sample", ""))
        )
        item = {"path": asked["path"], "uploadMode": "lfs" if large else "regular"}
        item["shouldIgnore"] = _ignored(asked["path"], rules)
        if asked["path"] in files:
            item["oid"] = files[asked["path"]].etag
        told.append(item)
    return Answer.of({"files": told})


def _ignored(path: str, rules: str) -> bool:
    """Whether a .gitignore names it: by its path, or by its name or a folder's. Nothing negated."""
    names = [path, *path.split("/")]
    return any(fnmatchcase(name, rule.strip("/ ")) for rule in rules.splitlines() if rule.strip() for name in names)


def commit(hub: Hub, request: Request, repo: str, revision: str) -> Answer:
    repository = hub.writable(request, repo)
    header, *operations = [json.loads(line) for line in request.body.splitlines()]
    branch, told = unquote(revision), header["value"]
    head, parent = repository.at(branch), told.get("parentCommit")
    author = hub.user(request) or ""
    as_pull = request.query.get("create_pr") == "1"
    if as_pull and parent:
        head = repository.at(parent)
    elif parent and parent != head.oid:
        raise Refusal(412, "A commit has happened since. Please refresh and try again.")
    elif not as_pull and branch not in repository.branches:
        raise Refusal(400, f"{branch} is no branch")
    files = _applied(hub, head.files, operations)
    made = Commit.on(head, told["summary"], told.get("description", ""), author, files)
    page = f"{hub.endpoint}/datasets/{repo}"
    answer = {"success": True, "commitOid": made.oid, "commitUrl": f"{page}/commit/{made.oid}", "hookOutput": ""}
    if as_pull:
        discussion = repository.discuss(made.title, author, branch, head)
        branch, answer["pullRequestUrl"] = discussion.branch, f"{page}/discussions/{discussion.num}"
    repository.add(branch, made)
    return Answer.of(answer)


def _applied(hub: Hub, before: Mapping[str, Blob], operations: list[dict]) -> dict[str, Blob]:
    """The files after a commit's operations. Raises `Refusal` for one that can't be."""
    files = dict(before)
    for operation in operations:
        value = operation["value"]
        path = value["path"]
        match operation["key"]:
            case "file":
                files[path] = Blob.regular(base64.b64decode(value["content"]))
            case "lfsFile":
                files[path] = hub.large(value["oid"])
            case "deletedFile" if path in files:
                del files[path]
            case "deletedFolder" if inside := [name for name in files if name.startswith(path.rstrip("/") + "/")]:
                for name in inside:
                    del files[name]
            case "deletedFile" | "deletedFolder":
                raise Refusal(404, f"A file with this name doesn't exist: {path}", "EntryNotFound")
            case key:
                raise Refusal(400, f"unknown operation {key}")
    return files


def create_tag(hub: Hub, request: Request, repo: str, revision: str) -> Answer:
    repository = hub.writable(request, repo)
    target, name = repository.at(unquote(revision)).oid, request.json()["tag"]
    if name in repository.tags:
        raise Refusal(409, f"Tag reference exists already: refs/tags/{name}")
    repository.tags[name] = target
    return Answer()


def delete_tag(hub: Hub, request: Request, repo: str, name: str) -> Answer:
    if hub.writable(request, repo).tags.pop(unquote(name), None) is None:
        raise Refusal(404, "no such tag", "RevisionNotFound")
    return Answer()


def create_branch(hub: Hub, request: Request, repo: str, name: str) -> Answer:
    repository, name = hub.writable(request, repo), unquote(name)
    if name in repository.branches:
        raise Refusal(409, f"Reference already exists: refs/heads/{name}")
    start = (request.json() if request.body else {}).get("startingPoint", MAIN)
    repository.branches[name] = repository.at(start).oid
    return Answer()


def delete_branch(hub: Hub, request: Request, repo: str, name: str) -> Answer:
    repository, name = hub.writable(request, repo), unquote(name)
    if name == MAIN:
        raise Refusal(403, "main can't be deleted")
    if repository.branches.pop(name, None) is None:
        raise Refusal(404, "no such branch", "RevisionNotFound")
    return Answer()


def squash(hub: Hub, request: Request, repo: str, name: str) -> Answer:
    repository, name = hub.writable(request, repo), unquote(name)
    head = repository.at(name)
    title = request.json().get("message") or "Super-squash branch"
    repository.add(name, Commit.on(None, title, "", hub.user(request) or "", head.files))
    return Answer()


def _repo(rest: str) -> str:
    return r"/api/datasets/(?P<repo>[^/]+/[^/]+)" + rest


ROUTES = [
    ("GET", r"/api/whoami-v2", whoami),
    ("POST", r"/api/repos/create", create_repo),
    ("DELETE", r"/api/repos/delete", delete_repo),
    ("POST", r"/api/validate-yaml", validate_yaml),
    ("PUT", _repo("/settings"), settings),
    ("POST", _repo("/preupload/(?P<revision>[^/]+)"), preupload),
    ("POST", _repo("/commit/(?P<revision>[^/]+)"), commit),
    ("POST", _repo("/tag/(?P<revision>[^/]+)"), create_tag),
    ("DELETE", _repo("/tag/(?P<name>[^/]+)"), delete_tag),
    ("POST", _repo("/branch/(?P<name>[^/]+)"), create_branch),
    ("DELETE", _repo("/branch/(?P<name>[^/]+)"), delete_branch),
    ("POST", _repo("/super-squash/(?P<name>[^/]+)"), squash),
]
