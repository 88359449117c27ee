"""All that is missing of some sources. Whatever stops it, running it again goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import filelock

from build_bench import demo, stages
from build_bench.config import Config
from build_bench.errors import BuildBenchError, InputError, NetworkError, UsageError
from build_bench.executors import notice
from build_bench.fetching import licences, reporting, states, surroundings, wanted
from build_bench.fetching.running import Options, Outcome, Run
from build_bench.fetching.states import Memory, SourceState
from build_bench.store import Work


def look(work: Work, config: Config, names: Sequence[str]) -> list[SourceState]:
    """What is there of sources. Reads only."""
    memory = Memory(work.raw)
    return [states.look(work, config, name, memory) for name in names]


def check_folder(work: Work) -> None:
    """Raises `UsageError` for what the demo drew: none of it is a source's file."""
    if demo.is_drawn(work.raw):
        raise UsageError(f"{work.raw} was drawn by the demo", "name another folder with --work or --raw")


def fetch(work: Work, config: Config, names: Sequence[str], options: Options) -> Outcome:
    """Get what is missing of the sources `names`, and check what was never checked.

    Raises `UsageError` if a licence isn't accepted or the environment can't be used, `InputError` if the disk hasn't
    the room: before anything is sent.
    """
    check_folder(work)
    if options.sample and states.kind(config) == "raw":
        raise UsageError("quickdraw.source=raw can't be sampled: --sample draws from simplified files", "leave one out")
    surroundings.check()
    check_licences(work, config, names, options)
    with _locked(work):
        run = Run(work, config, options)
        try:
            return run.all(look(work, config, names))
        finally:
            run.close()


def check_licences(work: Work, config: Config, names: Sequence[str], options: Options) -> None:
    """Ask for the licences of what is to be downloaded. Raises `UsageError` for those that aren't accepted."""
    licences.given(options.accepted)
    asked = [one.name for one in look(work, config, names) if one.to_download or wanted.source(one.name).videos]
    lacking = licences.lacking(work, asked, [*config.accepted_licenses, *options.accepted])
    if declined := licences.ask(work, lacking):
        shown = "\n".join(line for name in declined for line in licences.shown(name))
        flags = " ".join(f"--accept-license {name}" for name in declined)
        others = " ".join(name for name in names if name not in declined)
        without = f"\nif not: build-bench fetch {others}" if others else ""
        raise UsageError(
            f"nobody accepted the licence of {', '.join(declined)}",
            f"{shown}\nif you do: {flags}   (or [licenses] accepted = [...] in the configuration){without}",
        )


def fetch_missing(work: Work, config: Config, names: Sequence[str], options: Options) -> None:
    """Before a build: get what is missing of sources whose licences are accepted. What can't be had is said.

    A source that is there in part is then built as far as it goes. Raises `InputError` if one is absent altogether,
    `NetworkError` if the network is why: all that are, at once, with the ways to get them.
    """
    if demo.is_drawn(work.raw):
        return
    closed = licences.lacking(work, names, [*config.accepted_licenses, *options.accepted])
    wanting = [
        one.name
        for one in look(work, config, names)
        if one.to_download or (wanted.source(one.name).videos and one.name not in closed)
    ]
    declined = licences.ask(work, [name for name in wanting if name in closed])
    for name in declined:
        notice(f"{name}: not fetched, nobody accepted its licence: --accept-license {name}, or --no-fetch")
    failed = None
    fetched = [name for name in wanting if name not in declined]
    _check_others(work, config, names, fetched)
    if fetched:
        outcome = fetch(work, config, fetched, options)
        failed = reporting.unfinished(look(work, config, fetched), outcome, work)
    if failed:
        notice(failed.message)
    try:
        stages.check(work, config, names)
    except InputError as absent:
        if isinstance(failed, NetworkError):
            raise NetworkError(f"{failed.message}; {absent.message}", absent.hint) from absent
        raise


def _check_others(work: Work, config: Config, names: Sequence[str], fetched: Sequence[str]) -> None:
    """Raise what would stop the build after the download: then all that is missing is said, and nothing sent."""
    try:
        stages.check(work, config, [name for name in names if name not in fetched])
    except InputError:
        stages.check(work, config, names)
        raise
    for name in fetched:
        config.builder(name).check(work.root)


@contextmanager
def _locked(work: Work) -> Iterator[None]:
    own = work.raw / states.OWN
    lock = filelock.FileLock(own / "lock", timeout=0)
    try:
        own.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except filelock.Timeout:
        raise BuildBenchError(
            f"another build-bench fetch is working in {work.raw}", "wait for it, or name another folder with --raw"
        ) from None
    except OSError as error:
        raise InputError(
            f"{own} can't be made or written: {error.strerror or error}",
            "name another folder with --raw (a link may lead nowhere); to build what is there: --no-fetch",
        ) from error
    try:
        yield
    finally:
        lock.release()
