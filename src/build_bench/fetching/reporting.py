"""What is there, what isn't, and what to do about it: for a person, for a program, and as an error."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from build_bench.errors import BuildBenchError, InputError, NetworkError
from build_bench.fetching import licences, wanted
from build_bench.fetching.partial import Part
from build_bench.fetching.progress import in_words
from build_bench.fetching.running import Outcome, Problem
from build_bench.fetching.states import FileState, SourceState
from build_bench.fetching.wanted import ByHand, RemoteFile
from build_bench.raw_sources.quickdraw_files import SAMPLE
from build_bench.store import Work

_SHOWN = 3
"""Files of a source that are named one by one."""


def as_json(source: SourceState, work: Work) -> dict[str, Any]:
    """A source for a program."""
    about = wanted.source(source.name)
    return {
        "title": about.title,
        "state": source.state,
        "bytes": _size(source),
        "license": about.license,
        "license_url": about.license_url,
        "conditions": about.conditions,
        "how": _how(source.name),
        "videos": source.videos and dict(zip(("there", "wanted"), source.videos, strict=True)),
        "folder": str(work.raw / source.name),
        "files": [_file_as_json(state) for state in source.files],
        "by_hand": wanted.steps(source.name, source.by_hand, work.raw / source.name),
    }


def _file_as_json(state: FileState) -> dict[str, Any]:
    file, facts = state.file, {"path": state.file.path, "state": state.state, "note": state.note, "there": state.there}
    if isinstance(file, ByHand):
        return facts
    checksum = {"sha256": file.sha256} if file.sha256 else {"md5": file.md5} if file.md5 else {}
    return {**facts, "urls": [*file.shown], "bytes": file.bytes, **checksum, "certainty": file.certainty}


def table(sources: Sequence[SourceState], work: Work) -> Iterator[str]:
    """The sources for a person: source, size, how, state; below each its licence, and where a person puts files."""
    rows = [("source", "size", "how", "state")]
    for source in sources:
        size = in_words(_size(source)) if _size(source) else "not known"
        size += " + videos" * bool(wanted.source(source.name).videos)
        rows.append((source.name, size, _how(source.name), f"{source.state}{_part_there(source)}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    head, *others = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    yield head
    for source, row in zip(sources, others, strict=True):
        about = wanted.source(source.name)
        yield row
        yield from _below(f"licence: {about.license}")
        if about.by_hand:
            names = ", ".join(file.path for file in about.by_hand)
            yield from _below(f"by hand, into {work.raw / source.name}: {names}")


def _part_there(source: SourceState) -> str:
    """How much of a source is there, if not all of it is."""
    there = sum(not state.lacking for state in source.files)
    drawn = f", {sampled} of them drawn from" if (sampled := _sampled(source)) else ""
    if len(source.files) > 1 and (drawn or there < len(source.files)):
        return f", {there} of {len(source.files)} files{drawn}"
    if source.videos and source.videos[0] < source.videos[1]:
        return f", {source.videos[0]} of {source.videos[1]} videos"
    return ""


def _sampled(source: SourceState) -> int:
    """Of how many files only some lines are there, drawn by ranges."""
    return sum(state.note.startswith(f"as {SAMPLE}/") for state in source.files)


def _below(text: str) -> list[str]:
    """What belongs to a row, for a terminal of 80 columns. A path or an address stays in one piece."""
    return textwrap.wrap(
        text, 80, initial_indent="    ", subsequent_indent="      ", break_long_words=False, break_on_hyphens=False
    )


def lines(sources: Sequence[SourceState], work: Work) -> Iterator[str]:
    """The table, and what there is to say of single files."""
    yield from table(sources, work)
    for source in sources:
        bad = [state for state in source.files if state.note and state.state in ("bad", "partial")]
        yield from (f"{work.raw / source.name / state.file.path} {state.note}" for state in bad)
        if _sampled(source):
            yield f"without {work.raw / source.name / SAMPLE}, build-bench fetch {source.name} gets the whole files"


def unfinished(sources: Sequence[SourceState], outcome: Outcome, work: Work) -> BuildBenchError | None:
    """The error for what isn't there after a run: a sentence, and then every address and step. None if all is there."""
    said = [*_problems(outcome.problems)]
    by_hand = [source for source in sources if source.by_hand]
    said += [
        f"{source.name}: {', '.join(file.path for file in source.by_hand)} must be got by hand" for source in by_hand
    ]
    if not said:
        return None
    hint = [line for source in sources for line in what_to_do(source, work)]
    hint += _if_changed([problem for problem in outcome.problems if problem.changed], work)
    hint += _if_spoilt([problem for problem in outcome.problems if problem.here and not problem.changed], work)
    if any(not (problem.changed or problem.here) for problem in outcome.problems):
        hint.append(
            "run the same command again: what came is kept, and gone on with; so is what you put there yourself"
        )
        return NetworkError("; ".join(said), "\n".join(hint))
    return InputError("; ".join(said), "\n".join(hint))


def what_to_do(source: SourceState, work: Work) -> Iterator[str]:
    """Where the missing files of a source are, and the steps that a person must take, with the licence."""
    folder = work.raw / source.name
    missing = source.to_download
    for state in missing[:_SHOWN]:
        assert isinstance(state.file, RemoteFile)
        yield f"{' or '.join(state.file.shown)} -> {folder / state.file.path}"
    if len(missing) > _SHOWN:
        yield f"    and {len(missing) - _SHOWN} more of {source.name}, {in_words(_size(source))} in all"
    yield from wanted.steps(source.name, source.by_hand, folder)
    if source.by_hand:  # nobody is asked for what no program sends
        yield from licences.shown(source.name)


def _if_changed(problems: Sequence[Problem], work: Work) -> Iterator[str]:
    """What to do about files that differ from the manifest; those that are here are named."""
    if problems:
        yield "if the authors changed a file: --accept-new takes it as it is now, and keeps its checksum"
    targets = [work.raw / problem.source / problem.path for problem in problems]
    here = [path for target in targets for path in (target, Part(target).path) if path.is_file()]
    if here:
        more = f", and {len(here) - _SHOWN} more" if len(here) > _SHOWN else ""
        yield f"if they didn't: remove {', '.join(map(str, here[:_SHOWN]))}{more}, to download it anew"


def _if_spoilt(problems: Sequence[Problem], work: Work) -> Iterator[str]:
    """What to do about files that are none of the source's, whoever put them there."""
    targets = [work.raw / problem.source / problem.path for problem in problems]
    if here := [str(path) for path in targets if path.is_file()]:
        yield f"remove {', '.join(here)}, and run the same command again"


def _problems(problems: Sequence[Problem]) -> Iterator[str]:
    """A sentence for each reason, however many files have it."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for problem in sorted(problems, key=lambda problem: (problem.source, problem.path)):
        grouped.setdefault((problem.source, problem.why), []).append(problem.path)
    for (source, why), paths in grouped.items():
        which = paths[0] if len(paths) == 1 else f"{len(paths)} files ({paths[0]} ...)"
        yield f"{source}: {which}: {why}"


def _size(source: SourceState) -> int:
    return sum(state.file.size for state in source.files if isinstance(state.file, RemoteFile))


def _how(name: str) -> str:
    about = wanted.source(name)
    parts = ["download"] * bool(about.files or about.per_word) + ["by hand"] * bool(about.by_hand)
    return ", ".join([*parts, *filter(None, [about.videos])])
