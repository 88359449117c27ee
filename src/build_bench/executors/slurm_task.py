"""What a job of the array does on its node."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from build_bench import errors, store
from build_bench.errors import BuildBenchError
from build_bench.executors import jobs


class _Failure(msgspec.Struct):
    kind: str
    message: str
    hint: str


class Task:
    """The tasks `numbers`, each by its place. What it comes to is read in files: nothing comes back from a job."""

    def __init__(self, do: Callable[[int], object], numbers: Sequence[int], folder: Path) -> None:
        self._do, self._numbers, self._folder = do, numbers, folder

    def __call__(self, _data: object, rank: int, _ranks: int) -> None:
        """A task fails alone: others of the same job go on."""
        number = self._numbers[rank]
        began, failed = _paths(self._folder, number)
        store.write_bytes(began, socket.gethostname().encode())
        try:
            self._do(number)
        except Exception as error:
            why = jobs.problem(error)
            failure = _Failure(type(why).__name__, f"{why.message} (on {socket.gethostname()})", why.hint)
            store.write_bytes(failed, msgspec.json.encode(failure))

    @staticmethod
    def began(folder: Path, number: int) -> bool:
        """Whether a node took it up."""
        return _paths(folder, number)[0].exists()

    @staticmethod
    def failure(folder: Path, number: int) -> BuildBenchError | None:
        """Why it failed; None if it didn't, or isn't over."""
        try:
            failure = msgspec.json.decode(_paths(folder, number)[1].read_bytes(), type=_Failure)
        except FileNotFoundError:
            return None
        kind = getattr(jobs if failure.kind == jobs.EverywhereError.__name__ else errors, failure.kind, BuildBenchError)
        return kind(failure.message, failure.hint)


def _paths(folder: Path, number: int) -> tuple[Path, Path]:
    """Of the marks that it began, and that it failed."""
    return folder / "began" / f"{number:05d}", folder / "failed" / f"{number:05d}.json"
