"""Whoever fetches a source says once that its licence is accepted: on the command line, in the configuration, or when
asked. An answer is kept in the work folder; a licence whose text changed is asked for again."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from build_bench import builders, store
from build_bench.errors import unknown
from build_bench.fetching import keeping, wanted
from build_bench.store import Work

ALL = "all"


def given(names: Sequence[str]) -> frozenset[str]:
    """The sources whose licences are accepted by `names`. Raises `UsageError` for one that isn't known."""
    for name in names:
        if name not in (*builders.SCENARIOS, ALL):
            raise unknown("source", name, [*builders.SCENARIOS, ALL])
    return frozenset(builders.SCENARIOS if ALL in names else names)


def lacking(work: Work, names: Sequence[str], accepted: Sequence[str]) -> list[str]:
    """Which of `names` have a licence that isn't accepted yet; what is newly accepted is kept."""
    kept, now = _read(work), given(accepted)
    open_ = [name for name in names if name not in kept or kept[name].digest != _digest(name)]
    if new := [name for name in open_ if name in now]:
        _write(work, new)
    return [name for name in open_ if name not in now]


def ask(work: Work, names: Sequence[str]) -> list[str]:
    """Ask the person at the terminal, source by source; returns which are declined. Without a terminal: all."""
    if not (sys.stdin and sys.stdin.isatty()):
        return [*names]
    _let_interrupt()
    declined = []
    for name in names:
        click.echo("\n".join(shown(name)), err=True)
        if click.confirm(f"Do you accept this for {name}?", default=False, err=True):
            _write(work, [name])
        else:
            declined.append(name)
    return declined


def _let_interrupt() -> None:
    """Make Ctrl-C end a question at once. polars asks the system to go on with a read that a signal interrupted."""
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


def shown(name: str) -> Iterator[str]:
    """What a person agrees to."""
    about = wanted.source(name)
    yield f"{name}: {about.title}, {about.license}"
    yield f"    {about.license_url}"
    yield f"    {about.conditions}"
    yield f"    Not allowed: {about.not_allowed}"


def _digest(name: str) -> str:
    about = wanted.source(name)
    return store.digest_of([about.license, about.conditions, about.not_allowed])


def _path(work: Work) -> Path:
    return Work(work.test or work.root, work.raw).own / "licenses.json"


class _Accepted(msgspec.Struct):
    license: str
    accepted: str
    digest: str


def _read(work: Work) -> dict[str, _Accepted]:
    try:
        return msgspec.json.decode(_path(work).read_bytes(), type=dict[str, _Accepted])
    except (FileNotFoundError, msgspec.DecodeError):  # what is lost is asked for again
        return {}


def _write(work: Work, names: Sequence[str]) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    new = {name: _Accepted(wanted.source(name).license, now, _digest(name)) for name in names}
    keeping.write(_path(work), store.to_json({**_read(work), **new}))
