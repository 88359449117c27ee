"""`all --from-release`: a release built again from its lock, byte for byte, or which input differs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

from build_bench import __version__, locks, release, store, tree
from build_bench.config import LIMIT, Config
from build_bench.errors import InputError, UsageError
from build_bench.executors import Progress
from build_bench.filters import filtering, first_turn, predictions
from build_bench.filters.filtering import Choice
from build_bench.filters.keep_list import BASELINE
from build_bench.fingerprints import Checksums
from build_bench.locks import Lock
from build_bench.store import Work


def base(lock: Lock) -> dict[str, Any]:
    """Seed and settings of a release, as a configuration has them."""
    left_out = {name: facts.get("settings", {}) for name, facts in lock.left_out.items()}
    return {"seed": lock.seed, **left_out, **{name: facts.settings for name, facts in lock.scenarios.items()}}


def check_options(lock: Lock, config: Config) -> None:
    """Raise `UsageError` naming what the user set otherwise than the release has it."""
    wrong = [f"seed = {config.seed}, not {lock.seed}"] if config.seed != lock.seed else []
    for scenario, facts in lock.scenarios.items():
        chosen = config.public(scenario)
        wrong += [
            f"{scenario}.{key} = {chosen[key]!r}, not {value!r}"
            for key, value in {LIMIT: None, **facts.settings}.items()
            if chosen.get(key, value) != value
        ]
    if wrong:
        raise UsageError(
            f"{lock.release} was built otherwise: {', '.join(wrong)}", "its lock has every setting: leave them out"
        )


def check_sources(work: Work, config: Config, lock: Lock) -> None:
    """Raise `InputError` naming every source file that isn't as it was. Checksums are computed once and kept."""
    checksums = Checksums(work)
    wrong: list[str] = []
    for scenario, facts in lock.scenarios.items():
        raw = config.builder(scenario).open(work.raw / scenario, work.scratch(scenario))
        found: dict[str, dict[str, Any]] = {}
        with Progress(f"check {scenario}", len(raw.files), "files") as progress:
            for file in raw.files:
                entry = checksums.source(file, raw.root)
                found[entry["path"]] = entry
                progress.add(1)
        expected = {str(entry["path"]): entry for entry in facts.sources}
        wrong += [
            f"{scenario}/{path}: expected {_facts(expected.get(path))}, found {_facts(found.get(path))}"
            for path in sorted({**expected, **found})
            if expected.get(path) != found.get(path)
        ]
    checksums.save()
    if wrong:
        raise InputError(_listed(f"the sources are not those of {lock.release}", wrong), "fetch them as they were then")


def _facts(entry: Mapping[str, Any] | None) -> str:
    """A source file in words."""
    return ", ".join(f"{key} {value}" for key, value in entry.items() if key != "path") if entry else "no such file"


def check_predictions(work: Work, lock: Lock) -> None:
    """Raise `InputError` naming the models whose answers aren't here: better before a build than after it.

    Baselines answer anew, the same.
    """
    missing: dict[str, list[str]] = {}
    for model, facts in lock.models.items():
        if not model.startswith(BASELINE):
            for scenario, digest in facts.predictions.items():
                if digest and not predictions.path_of(work, model, scenario).exists():
                    missing.setdefault(model, []).append(scenario)
    wrong = [f"{model}: {', '.join(scenarios)}" for model, scenarios in missing.items()]
    if wrong:
        raise InputError(_listed(f"predictions of {lock.release} are missing", wrong), "predict or import them first")


def other_code(lock: Lock) -> list[str]:
    """The versions that differ from those of the release. Its bytes may come out the same."""
    now = {"build-bench": __version__, **{name: metadata.version(name) for name in release.LIBRARIES}}
    names = dict.fromkeys([*lock.code, *now])
    return [
        f"{name} {now.get(name, 'none')}, not {lock.code.get(name, 'none')}"
        for name in names
        if now.get(name) != lock.code.get(name)
    ]


def filter_(work: Work, lock: Lock) -> None:
    """Decide the keep lists as the release did. Raises `InputError` naming predictions that aren't what they were."""
    choice = Choice(first_turn.named(lock.rule), tuple(lock.models), bool(lock.allowed_missing))
    filtering.filter_(work, [*lock.scenarios], choice)
    wrong = [
        f"{scenario} by {model}"
        for scenario, kept in filtering.read(work, [*lock.scenarios]).items()
        for model, digest in kept.stamp.models.items()
        if digest != lock.models[model].predictions.get(scenario, "")
    ]
    if wrong:
        raise InputError(
            _listed(f"the predictions are not those of {lock.release}", wrong), "import those that it was filtered by"
        )


def finish(work: Work, lock: Lock, manifest: Mapping[str, Any], changelog: str) -> list[str]:
    """Give the tree the release's number and changelog; returns what differs from it, and keeps it if nothing does."""
    named = {**manifest, "release": lock.release, "repository": lock.repository}
    sealed, texts = tree.with_texts(named, changelog)
    wrong = [*_differences(lock, sealed)]
    if not wrong:
        tree.write_texts(work.dataset, sealed, texts)
        locks.keep(work, sealed, changelog)
    return wrong


def _differences(lock: Lock, manifest: Mapping[str, Any]) -> Iterator[str]:
    for scenario, facts in lock.scenarios.items():
        if (digest := manifest["scenarios"][scenario]["digest"]) != facts.digest:
            yield f"data/{scenario}: digest {digest}, expected {facts.digest}"
    for path in sorted({**lock.files, **manifest["files"]}):
        if not path.startswith("data/") and lock.files.get(path) != manifest["files"].get(path):
            yield path
    if hashlib.sha256(store.to_json(manifest)).hexdigest() != lock.manifest_sha256:
        yield tree.MANIFEST


def _listed(what: str, items: list[str]) -> str:
    listed = "\n    ".join(items)
    return f"{what}:\n    {listed}"
