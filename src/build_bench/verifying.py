"""`verify`: does a dataset tree hold what its manifest says, and can every sample of it be played?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from build_bench import disjoint, listing, verifying_manifest, verifying_rows
from build_bench.errors import Rejected
from build_bench.executors import Progress
from build_bench.imaging import decode
from build_bench.tree import DROPPED, KEPT, MANIFEST, is_kept
from build_bench.verifying_manifest import Manifest, Problem, Scenario
from build_bench.verifying_rows import Expected, Side


def verify(folder: Path, test: Path | None = None) -> tuple[int, list[Problem]]:
    """Check a tree: returns the number of files listed and all problems. Raises `InputError` if it has no manifest.

    `test`: a tree with which a training split must share no item, if it is there.
    """
    read = listing.read(folder)
    manifest = verifying_manifest.typed(read, folder / MANIFEST)
    problems = [*_file_problems(folder, manifest)]
    problems += verifying_manifest.problems(folder, manifest, {problem.path for problem in problems})
    problems += _row_problems(folder, manifest, {problem.path for problem in problems})
    if test and (test / MANIFEST).is_file():
        for scenario, ids in disjoint.shared_ids(read, listing.read(test)).items():
            problems.append(Problem(MANIFEST, f"{scenario}: {len(ids)} items are in {test} too, {ids[0]} is the first"))
    return len(manifest.files), problems


def _file_problems(folder: Path, manifest: Manifest) -> Iterator[Problem]:
    for name, file in manifest.files.items():
        if problem := listing.damage(folder, name, {"bytes": file.bytes, "sha256": file.sha256}):
            yield Problem(name, problem)
        elif name.startswith("assets/"):
            try:
                decode((folder / name).read_bytes())
            except Rejected as why:
                yield Problem(name, str(why))
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() and name not in manifest.files:
            yield Problem(name, "is a link: it will not be published")
        elif not path.is_dir() and name not in manifest.files and name != MANIFEST:
            yield Problem(name, "is not in the manifest: it will not be published")


def _row_problems(folder: Path, manifest: Manifest, damaged: set[str]) -> Iterator[Problem]:
    """`damaged`: files that have been named; they aren't read again, and their scenarios' sums aren't compared."""
    rule = verifying_manifest.rule(manifest)
    tables = {scenario: [*manifest.tables(scenario)] for scenario in manifest.scenarios}
    seen: set[str] = set()
    with Progress("verify", sum(map(len, tables.values())), "files") as progress:
        for scenario, paths in tables.items():
            facts = manifest.scenarios[scenario]
            sides = {True: Side(), False: Side()}
            whole = True
            for path in paths:
                kept = is_kept(path)
                digests = facts.rows.get(KEPT if kept else DROPPED, {})
                expected = Expected(
                    scenario, kept, digests, len(manifest.models), rule if facts.filtered else None, manifest.split
                )
                if path in damaged:
                    whole = False
                else:
                    for found in verifying_rows.problems(folder / path, expected, sides[kept]):
                        yield Problem(path, found)
                progress.add(1)
            if whole:
                for found in _scenario_problems(facts, sides[True], sides[False]):
                    yield Problem(MANIFEST, f"{scenario}: {found}")
            ids = {*sides[True].ids, *sides[False].ids}
            if twice := seen & ids:
                yield Problem(MANIFEST, f"{scenario}: ids of another scenario: {sorted(twice)[:3]}")
            seen |= ids


def _scenario_problems(facts: Scenario, kept: Side, dropped: Side) -> Iterator[str]:
    """What the manifest says otherwise of a scenario's rows."""
    ids = kept.ids + dropped.ids
    if {*kept.ids} != {*facts.rows.get(KEPT, ())} or {*dropped.ids} != {*facts.rows.get(DROPPED, ())}:
        yield "the rows listed are not those of its files"
    if any(side.ids != sorted(side.ids) for side in (kept, dropped)) or len({*ids}) != len(ids):
        yield "ids are not unique and sorted"
    if (frames := kept.frames + dropped.frames) != facts.frames:
        yield f"{frames} frames, {facts.frames} expected"
    if facts.ambiguous is not None and (sides := kept.ambiguous + dropped.ambiguous) != facts.ambiguous:
        yield f"{sides} rows are ambiguous, {facts.ambiguous} expected"
    if facts.first_turn:
        answers, correct = kept.answers + dropped.answers, kept.correct + dropped.correct
        found = [
            right / asked if asked else None for right, asked in ((correct, answers), (kept.correct, kept.answers))
        ]
        listed = [facts.first_turn.first_turn_accuracy, facts.first_turn.kept_first_turn_accuracy]
        if found != listed:
            yield f"right at the first turn were {found} of all and of the kept, {listed} expected"
