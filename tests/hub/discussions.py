"""The routes of discussions and pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .messages import Answer, Refusal, Request
from .repository import MAIN, Commit, Discussion, Repository

if TYPE_CHECKING:
    from .server import Hub

_AT = r"/api/datasets/(?P<repo>[^/]+/[^/]+)/discussions"


def discuss(hub: Hub, request: Request, repo: str) -> Answer:
    repository, asked = hub.readable(request, repo), request.json()
    title, user = asked["title"], hub.user(request) or ""
    if asked["pullRequest"]:
        discussion = repository.discuss(title, user, MAIN, repository.at(MAIN))
    else:
        discussion = repository.discuss(title, user)
    return Answer.of({"num": discussion.num, "pullRequest": asked["pullRequest"]})


def _discussion(repository: Repository, num: str) -> Discussion:
    if not 0 < int(num) <= len(repository.discussions):
        raise Refusal(404, "no such discussion")
    return repository.discussions[int(num) - 1]


def _told(discussion: Discussion, repo: str) -> dict:
    return {
        "num": discussion.num,
        "title": discussion.title,
        "status": discussion.status,
        "author": {"name": discussion.author},
        "createdAt": discussion.created,
        "repo": {"name": repo, "type": "dataset"},
        "isPullRequest": discussion.base is not None,
    }


def list_discussions(hub: Hub, request: Request, repo: str) -> Answer:
    all_of_them = hub.readable(request, repo).discussions
    told = [_told(discussion, repo) for discussion in all_of_them] if request.query.get("p", "0") == "0" else []
    return Answer.of({"discussions": told, "start": 0, "count": len(all_of_them)})


def show_discussion(hub: Hub, request: Request, repo: str, num: str) -> Answer:
    discussion = _discussion(hub.readable(request, repo), num)
    changes = {"base": f"refs/heads/{discussion.base}", "mergeCommitId": discussion.merged}
    return Answer.of({**_told(discussion, repo), "events": [], "changes": changes, "filesWithConflicts": False})


def merge(hub: Hub, request: Request, repo: str, num: str) -> Answer:
    """A pull request becomes one commit on its base, with the files that it changed."""
    repository = hub.writable(request, repo)
    discussion = _discussion(repository, num)
    if discussion.base is None or discussion.status != "open":
        raise Refusal(409, "this can't be merged")
    head, base = repository.at(discussion.branch), repository.at(discussion.base)
    start = repository.commits[discussion.start].files
    touched = {path for path in {*start, *head.files} if start.get(path) != head.files.get(path)}
    kept = {path: blob for path, blob in base.files.items() if path not in touched}
    files = kept | {path: head.files[path] for path in touched if path in head.files}
    made = Commit.on(base, head.title, head.message, hub.user(request) or "", files)
    repository.add(discussion.base, made)
    discussion.status, discussion.merged = "merged", made.oid
    return Answer.of({})


ROUTES = [
    ("POST", _AT, discuss),
    ("GET", _AT, list_discussions),
    ("GET", _AT + r"/(?P<num>\d+)", show_discussion),
    ("POST", _AT + r"/(?P<num>\d+)/merge", merge),
]
