"""What can go wrong, seen by the person who must act.

    BuildBenchError              exit 1   a check failed
    ├── UsageError               exit 2   the command line or the configuration is wrong
    ├── InputError               exit 3   an input is missing or broken
    └── NetworkError             exit 4   the network or the Hub failed; safe to run again

    Rejected                     never leaves a stage: one candidate can't be used, the rest goes on

The message is one sentence: what, where, what was expected. `hint` says what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BuildBenchError(Exception):
    """A check failed."""

    exit_code = 1
    code = "failed"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, str]:
        """As `--json` shows it (contract section 9)."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


class UsageError(BuildBenchError):
    """The command line or the configuration is wrong."""

    exit_code = 2
    code = "usage"


class InputError(BuildBenchError):
    """An input is missing or broken."""

    exit_code = 3
    code = "input"


class NetworkError(BuildBenchError):
    """The network or the Hub failed; running again is safe."""

    exit_code = 4
    code = "network"


class Rejected(Exception):  # noqa: N818 - not an error of the program: one candidate is left out
    """One candidate can't be used. `reason` is a snake_case word that reports count by."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


def unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that isn't one of `known`: it names the nearest, and all of them."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return UsageError(f"there is no {what} {name!r}", f"{meant}known: {', '.join(known)}")


def shown(name: str) -> str:
    """A file's name that can be written down, also if it isn't UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
