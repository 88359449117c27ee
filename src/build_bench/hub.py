"""One dataset repository on the Hugging Face Hub: the only module that knows its client.

Every call is tried again where that is safe; a commit is not: the caller reads the head again and decides. Errors are
raised without the client's, in which a token could stand.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    LocalTokenNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import disable_progress_bars, validate_repo_id  # type: ignore[attr-defined]

from build_bench.errors import BuildBenchError, InputError, NetworkError, UsageError
from build_bench.executors import notice

MAIN = "main"
ATTEMPTS = 6
"""Of one request; the waits between them add up to about a minute, unless the Hub names its own."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 300.0
_REFUSED = {409, 412, 429}
_TRY_AGAIN = {*_REFUSED, 408, 500, 502, 503, 504}
"""409: another commit is under way. 412: the head isn't what the commit was prepared against. (formats/hub.md)"""
_LOST: tuple[type[Exception], ...] = (
    HfHubHTTPError.__bases__[0],
    ConnectionError,
    TimeoutError,
    RuntimeError,
    LocalEntryNotFoundError,
)
"""What the client raises when a connection fails: the first is the base class of its HTTP library's errors, which
differs between versions; hf_xet raises RuntimeError; a download says that it found no local copy."""
_LONGEST_TEXT = 300
"""Characters of a client's error: some come with their own backtrace."""
_SENDABLE = re.compile(r"[!-~]*")
_LOG_IN = "log in with `hf auth login`, or set HF_TOKEN to a token that may write there"
_EXHAUSTED = re.compile(r";\s*r=0;\s*t=(\d+)")

T = TypeVar("T")


class AbsentError(InputError):
    """There is no such repository, revision or file; or this token may not see it."""


class NotNow(Exception):  # noqa: N818 - the caller looks at the head and goes on
    """A commit or a tag was refused for now, or its answer was lost: it may have been applied or not."""

    def __init__(self, why: str, wait: float | None, *, lost: bool) -> None:
        super().__init__(why)
        self.wait = wait
        """Seconds that the Hub asked to wait; None if it named none."""
        self.lost = lost
        """Whether it may have been applied."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as the Hub lists it."""

    size: int
    blob: str
    """The git blob's id."""
    sha256: str | None
    """Of its bytes, where they lie in large file storage."""

    def holds(self, content: Path | bytes, size: int, sha256: str) -> bool:
        """Whether it has the bytes of `content`, of which size and checksum are known."""
        if size != self.size or self.sha256:
            return (size, sha256) == (self.size, self.sha256)
        data = content if isinstance(content, bytes) else content.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest() == self.blob


class Repository:
    """A dataset repository, named `ORG/NAME`. `sleep` waits; tests count instead.

    Methods raise `NetworkError` if the Hub can't be reached, `InputError` if it refuses the token.
    """

    def __init__(self, name: str, sleep: Callable[[float], None] = time.sleep) -> None:
        try:
            validate_repo_id(name)
            if "/" not in name:
                raise HFValidationError
        except HFValidationError:
            raise UsageError(f"{name!r} is no repository's name", "expected ORG/NAME, as in my-lab/my-bench") from None
        if not _SENDABLE.fullmatch(get_token() or ""):
            raise InputError("the Hub's token holds what no token has: a space, or a letter beyond ASCII", _LOG_IN)
        self.name = name
        self._api = HfApi(library_name="build-bench")
        self._sleep = sleep
        if not sys.stderr.isatty():
            disable_progress_bars()

    @property
    def url(self) -> str:
        """Its page."""
        shown = urlsplit(self._api.endpoint)
        return f"{shown.scheme}://{shown.netloc.rpartition('@')[2]}{shown.path}/datasets/{self.name}"

    def check_login(self) -> None:
        """Raise `InputError` if there is no token, or one that the Hub doesn't know."""
        if not get_token():
            raise InputError(f"there is no token for {self.name}", _LOG_IN)
        self._ask(self._api.whoami)

    def head(self, revision: str = MAIN) -> str | None:
        """The commit that a branch, a tag or a commit's name stands for; None if there is none."""
        try:
            return self._ask(lambda: self._api.dataset_info(self.name, revision=revision)).sha
        except AbsentError:
            return None

    def existing_head(self) -> str:
        """The newest commit of `main`. Raises `InputError` if there is no such repository."""
        head = self.head()
        if head is None:
            raise self._absent()
        return head

    def is_private(self) -> bool:
        """Whether others can't see it."""
        return bool(self._ask(lambda: self._api.dataset_info(self.name)).private)

    def create(self, private: bool) -> None:
        """Make it, empty."""
        self._ask(lambda: self._api.create_repo(self.name, repo_type="dataset", private=private or None, exist_ok=True))

    def files(self, revision: str) -> dict[str, RemoteFile]:
        """All files of a commit, by path."""
        entries = self._ask(lambda: [*self._api.list_repo_tree(self.name, recursive=True, revision=revision,
                                                              repo_type="dataset")])  # fmt: skip
        return {
            entry.path: RemoteFile(entry.size, entry.blob_id, entry.lfs.sha256 if entry.lfs else None)
            for entry in entries
            if isinstance(entry, RepoFile)
        }

    def tags(self) -> dict[str, str]:
        """The commit of each tag."""
        refs = self._ask(lambda: self._api.list_repo_refs(self.name, repo_type="dataset"))
        return {tag.name: tag.target_commit for tag in refs.tags}

    def commits(self, revision: str) -> Iterator[tuple[str, str]]:
        """Id and title of a commit and those before it, the newest first."""
        found = self._ask(lambda: self._api.list_repo_commits(self.name, revision=revision, repo_type="dataset"))
        return ((commit.commit_id, commit.title) for commit in found)

    def read(self, revision: str, path: str) -> bytes:
        """A small file that a commit has."""
        with tempfile.TemporaryDirectory() as folder:
            found = self._ask(
                lambda: self._api.hf_hub_download(
                    self.name, path, revision=revision, repo_type="dataset", local_dir=folder
                )
            )
            return Path(found).read_bytes()

    def download(self, revision: str, paths: Sequence[str], folder: Path) -> None:
        """Put files of a commit into a folder; what is there in part is gone on with."""
        self._ask(
            lambda: self._api.snapshot_download(
                self.name, revision=revision, repo_type="dataset", local_dir=folder, allow_patterns=[*paths]
            )
        )

    def upload(self, files: Mapping[str, Path | bytes]) -> list[CommitOperationAdd]:
        """Bring the bytes of files to the Hub's storage; a commit makes them visible.

        What is there already isn't sent: this can be called again after it failed.
        """
        additions = [CommitOperationAdd(name, content) for name, content in sorted(files.items())]
        self._ask(lambda: self._api.preupload_lfs_files(self.name, additions, repo_type="dataset", free_memory=False))
        return additions

    def commit(self, additions: Iterable[CommitOperationAdd], deletions: Iterable[str], title: str, parent: str) -> str:
        """Commit on `main`, if its head is `parent`; returns the commit's id. Folders to delete end in a slash.

        Raises `NotNow` where the head must be looked at again.
        """
        return str(self._send(additions, deletions, title, parent, create_pr=False).oid)

    def propose(
        self, additions: Iterable[CommitOperationAdd], deletions: Iterable[str], title: str, parent: str
    ) -> str:
        """Open a pull request with one commit; returns its address. Raises `NotNow`."""
        return str(self._send(additions, deletions, title, parent, create_pr=True).pr_url)

    def proposals(self) -> dict[str, str]:
        """The addresses of the open pull requests, by title."""
        found = self._ask(
            lambda: [
                *self._api.get_repo_discussions(
                    self.name, repo_type="dataset", discussion_type="pull_request", discussion_status="open"
                )
            ]
        )
        return {one.title: f"{self.url}/discussions/{one.num}" for one in found}

    def _send(
        self, additions: Iterable[CommitOperationAdd], deletions: Iterable[str], title: str, parent: str, *,
        create_pr: bool,
    ) -> Any:  # fmt: skip
        removed = [CommitOperationDelete(path) for path in deletions]
        with self._once():
            return self._api.create_commit(
                self.name,
                [*additions, *removed],
                commit_message=title,
                repo_type="dataset",
                revision=MAIN,
                parent_commit=parent,
                create_pr=create_pr,
            )

    def tag(self, name: str, commit: str) -> None:
        """Give a commit a name. Raises `NotNow` where it must be looked at again."""
        with self._once():
            self._api.create_tag(self.name, tag=name, revision=commit, repo_type="dataset")

    def pause(self, failures: int, why: NotNow) -> None:
        """Wait before going on after so many failures in a row: as long as the Hub asks, else longer each time.

        Raises `NetworkError` after too many.
        """
        if failures == ATTEMPTS:
            raise NetworkError(f"{self.name}: {why}", "run the same command again: what is done isn't done again")
        longer = min(_FIRST_WAIT * 2 ** (failures - 1), 30.0) * random.uniform(0.8, 1.2)
        seconds = longer if why.wait is None else min(why.wait, _LONGEST_WAIT)
        notice(f"{why}; trying again in {seconds:.0f} s")
        self._sleep(seconds)

    def _ask(self, call: Callable[[], T]) -> T:
        """`call()`, which changes nothing or can be done twice, until it succeeds."""
        failures = 0
        while True:
            try:
                with self._once():
                    return call()
            except NotNow as why:
                failures += 1
                self.pause(failures, why)

    @contextmanager
    def _once(self) -> Iterator[None]:
        """One request: its failures as ours."""
        try:
            yield
        except (GatedRepoError, LocalTokenNotFoundError) as error:
            raise self._forbidden(error) from None
        except (RepositoryNotFoundError, RevisionNotFoundError, RemoteEntryNotFoundError):
            raise self._absent() from None
        except OfflineModeIsEnabled:
            raise InputError("the Hub can't be asked: HF_HUB_OFFLINE is set", "unset it and run again") from None
        except HfHubHTTPError as error:
            status = error.response.status_code
            if status in (401, 403):
                raise self._forbidden(error) from None
            if status not in _TRY_AGAIN:
                raise BuildBenchError(f"the Hub refuses {self.name}: {self._clean(error)}") from None
            why = f"the Hub answers {status}: {self._clean(error)}"
            raise NotNow(why, _wait_asked(error), lost=status not in _REFUSED) from None
        except ValueError as error:
            raise BuildBenchError(f"the Hub's client refuses {self.name}: {self._clean(error)}") from None
        except _LOST as error:
            raise NotNow(
                f"the connection to {self._api.endpoint} fails: {self._clean(error)}", None, lost=True
            ) from None

    def _absent(self) -> AbsentError:
        return AbsentError(f"there is no {self.url}, or this token may not see it", "check the name, or HF_TOKEN")

    def _forbidden(self, error: Exception) -> InputError:
        return InputError(f"the Hub doesn't let this token at {self.name}: {self._clean(error)}", _LOG_IN)

    def _clean(self, error: Exception) -> str:
        """What an error says, on one line and without the token."""
        text = " ".join(str(error).split()) or type(error).__name__
        if token := get_token():
            text = text.replace(token, "<token>")
        text = text.partition(" For more information check:")[0]
        return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} ..."


def _wait_asked(error: HfHubHTTPError) -> float | None:
    """Seconds that an answer asks to wait: `Retry-After`, or the reset of an exhausted `RateLimit`."""
    headers = error.response.headers
    if (seconds := headers.get("retry-after", "").strip()).isdigit():
        return float(seconds)
    limit = _EXHAUSTED.search(headers.get("ratelimit", ""))
    return float(limit[1]) + 1 if limit else None
