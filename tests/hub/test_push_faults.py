"""`push` against a Hub that fails in every way it can: readers of `main` see the old release or the new one, whole."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from build_bench import hub as client
from build_bench import push_steps
from build_bench.errors import InputError, NetworkError
from build_bench.hub import Repository

from .conftest import both_storages
from .faults import COMMIT, PREUPLOAD, TAG
from .published import REPO, check_end, push, seen
from .server import Hub

LFS = pytest.mark.parametrize("storage", ["lfs"], indirect=True)


@LFS
@pytest.mark.parametrize("applied", [False, True])
def test_a_push_that_dies_at_any_write_is_finished_by_the_next(
    hub: Hub, laid: Mapping[str, Path], fresh: Callable[[Path], Path], applied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dying at a read is dying before the write after it. With small commits, there are several."""
    monkeypatch.setattr(client, "ATTEMPTS", 2)
    monkeypatch.setattr(push_steps, "COMMIT_FILES", 3)

    def new_to(repo: str) -> None:
        hub.repositories[repo] = copy.deepcopy(hub.repositories[REPO])
        hub.lfs.files = {**stored}
        hub.forget()
        push(fresh(laid["new"]), Repository(repo, lambda _: None), "v1.1.0")

    push(fresh(laid["old"]), Repository(REPO), "v1.0.0")
    stored = {**hub.lfs.files}
    new_to("lab/whole")
    writes = [at for at, request in enumerate(hub.requests, 1) if request.method not in ("GET", "HEAD")]
    assert len(writes) > 6
    left = []
    for at in writes:
        repo = f"lab/bench-{at}"
        hub.die_at(at, applied=applied)
        with pytest.raises(NetworkError):
            new_to(repo)
        hub.revive()
        left.append(seen(hub, repo=repo))
        push(fresh(laid["new"]), Repository(repo), "v1.1.0")
        check_end(hub, repo)
    assert left == sorted(left)
    assert {*left} == {"v1.0.0", "v1.1.0"}


FAULTS: dict[str, Callable[[Hub], object]] = {
    "another commit under way": lambda hub: hub.fail(COMMIT, 409),
    "a head that is said to have moved": lambda hub: hub.fail(COMMIT, 412),
    "too many requests": lambda hub: hub.fail(COMMIT, 429, headers={"Retry-After": "37"}),
    "an error": lambda hub: hub.fail(COMMIT, 500),
    "two errors": lambda hub: hub.fail(COMMIT, 503, times=2),
    "an error after the commit was applied": lambda hub: hub.fail(COMMIT, 500, applied=True),
    "a time-out after the commit was applied": lambda hub: hub.fail(COMMIT, 504, applied=True),
    "a connection that drops": lambda hub: hub.drop(COMMIT),
    "an answer that is lost": lambda hub: hub.drop(COMMIT, applied=True),
    "no tag": lambda hub: hub.fail(TAG, 503),
    "a tag's answer that is lost": lambda hub: hub.drop(TAG, applied=True),
    "no upload": lambda hub: hub.fail(PREUPLOAD, 503),
    "no tree": lambda hub: hub.fail("GET */tree/*", 502),
    "no refs": lambda hub: hub.drop("GET */refs"),
}


@both_storages
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_got_over_without_a_second_commit(
    hub: Hub, repository: Repository, old: Path, new: Path, fault: str
) -> None:
    push(old, repository, "v1.0.0")
    FAULTS[fault](hub)
    push(new, repository, "v1.1.0")
    check_end(hub)


@LFS
@pytest.mark.parametrize(
    ("headers", "seconds"), [({"Retry-After": "37"}, 37), ({"RateLimit": '"api";r=0;t=54'}, 55), ({}, None)]
)
def test_a_push_waits_as_long_as_the_hub_asks(
    hub: Hub, repository: Repository, old: Path, slept: list[float], headers: dict[str, str], seconds: int | None
) -> None:
    hub.fail(COMMIT, 429, headers=headers)
    push(old, repository, "v1.0.0")
    assert slept == [seconds] if seconds else 0 < slept[0] < 2


@LFS
def test_a_hub_that_stays_down_is_an_error_that_says_to_run_again(
    hub: Hub, repository: Repository, old: Path, slept: list[float]
) -> None:
    push(old, repository, "v1.0.0")
    hub.fail("GET */datasets/*", 503, times=None)
    with pytest.raises(NetworkError, match="503") as error:
        push(old, repository)
    assert "run the same command again" in error.value.hint
    assert 0 < sum(slept) < 100


@LFS
def test_a_foreign_commit_to_other_files_stays_and_is_built_upon(
    hub: Hub, repository: Repository, old: Path, new: Path
) -> None:
    push(old, repository, "v1.0.0")
    hub.before(COMMIT, lambda: hub.commit_as_someone_else(REPO, {"notes/mine.txt": b"mine", "eval.yaml": b"x: 1"}))
    push(new, repository, "v1.1.0")
    check_end(hub)
    assert hub.read(REPO, "v1.1.0", "notes/mine.txt") == b"mine"


@LFS
def test_a_commit_on_top_of_a_release_whose_answer_was_lost_is_not_tagged(
    hub: Hub, repository: Repository, old: Path, new: Path
) -> None:
    push(old, repository, "v1.0.0")
    hub.drop(COMMIT, applied=True)
    hub.before("GET */datasets/lab/bench/revision/*", lambda: hub.commits(REPO)[0].title == "Release v1.1.0"
               and hub.commit_as_someone_else(REPO, {"notes.txt": b"on top"}), times=None)  # fmt: skip
    push(new, repository, "v1.1.0")
    assert "notes.txt" in hub.files(REPO)
    assert "notes.txt" not in hub.files(REPO, "v1.1.0")
    check_end(hub)


@LFS
def test_a_card_that_somebody_edits_meanwhile_is_not_overwritten(
    hub: Hub, repository: Repository, old: Path, new: Path
) -> None:
    push(old, repository, "v1.0.0")
    hub.before(COMMIT, lambda: hub.commit_as_someone_else(REPO, {"README.md": b"---\n---\nmine"}))
    with pytest.raises(NetworkError, match=r"somebody else published to lab/bench meanwhile: README\.md"):
        push(new, repository, "v1.1.0")
    assert hub.read(REPO, "main", "README.md").endswith(b"mine")
    push(new, repository, "v1.1.0")
    check_end(hub)


@LFS
def test_a_card_edited_between_the_commit_and_the_tag_keeps_the_edit(
    hub: Hub, repository: Repository, old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(old, repository, "v1.0.0")
    monkeypatch.setattr(client, "ATTEMPTS", 1)
    hub.drop(TAG)
    with pytest.raises(NetworkError):
        push(new, repository, "v1.1.0")
    hub.commit_as_someone_else(REPO, {"README.md": b"---\n---\nmine"})
    push(new, repository, "v1.1.0")
    assert hub.read(REPO, "main", "README.md").endswith(b"mine")
    assert [commit.title for commit in hub.commits(REPO)].count("Release v1.1.0") == 1
    assert seen(hub, "v1.1.0") == "v1.1.0"


@LFS
def test_a_release_that_got_no_tag_gets_it_from_the_next(
    hub: Hub, repository: Repository, old: Path, new: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(old, repository, "v1.0.0")
    monkeypatch.setattr(client, "ATTEMPTS", 1)
    hub.drop(TAG)
    with pytest.raises(NetworkError):
        push(new, repository, "v1.1.0")
    push(other, repository, "v2.0.0")
    check_end(hub, releases=("v1.0.0", "v1.1.0", "v2.0.0"))


@LFS
def test_a_repository_that_goes_away_meanwhile_is_a_sentence(
    hub: Hub, repository: Repository, old: Path, new: Path
) -> None:
    push(old, repository, "v1.0.0")
    hub.before(COMMIT, lambda: hub.repositories.clear())
    with pytest.raises(InputError, match="there is no http"):
        push(new, repository, "v1.1.0")


@LFS
@pytest.mark.parametrize("files", [1, 50])
def test_of_two_pushes_at_once_one_wins_and_the_other_says_so(
    hub: Hub, repository: Repository, laid: Mapping[str, Path], old: Path, new: Path, other: Path, files: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(push_steps, "COMMIT_FILES", files)
    push(old, repository, "v1.0.0")
    hub.before(COMMIT, lambda: push(new, Repository(REPO), "v1.1.0"), skip=0 if files > 1 else 1)
    with pytest.raises(NetworkError, match="somebody else published"):
        push(other, repository, "v2.0.0")
    check_end(hub)
    push(other, repository, "v2.0.0")
    check_end(hub, releases=("v1.0.0", "v1.1.0", "v2.0.0"))


@LFS
def test_two_pushes_of_the_same_release_at_once_both_end_well(
    hub: Hub, repository: Repository, laid: Mapping[str, Path], old: Path, new: Path, fresh: Callable[[Path], Path]
) -> None:
    push(old, repository, "v1.0.0")
    twin = fresh(laid["new"])
    hub.before(COMMIT, lambda: push(twin, Repository(REPO), "v1.1.0"))
    push(new, repository, "v1.1.0")
    check_end(hub)
