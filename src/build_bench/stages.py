"""The stages in the order of the pipeline."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from build_bench import (
    listing,
    locks,
    models,
    planning,
    predicting,
    predicting_in_parts,
    rebuilding,
    release,
    releases,
    rendering,
    standing,
    store,
    tree,
)
from build_bench.builders import TRAIN
from build_bench.config import Config
from build_bench.errors import InputError
from build_bench.executors import notice
from build_bench.executors.jobs import Engine
from build_bench.filters import audit as auditing
from build_bench.filters import audit_page as page_of
from build_bench.filters import (
    audit_tables,
    filtering,
    first_turn,
    importing,
    inputs,
    keep_list,
    one_sample,
    predictions,
    sweep,
)
from build_bench.locks import Lock
from build_bench.models import baselines
from build_bench.store import Work

if TYPE_CHECKING:
    from build_bench.publishing import Wanted

BASELINES = tuple(f"{keep_list.BASELINE}{name}" for name in baselines.BASELINES)
PLAN, RENDER = "plan", "render"


def check(work: Work, config: Config, scenarios: Sequence[str]) -> None:
    """Raise what would stop the build later (absent sources, a missing extra) before any work is done.

    All absent sources are named at once: nobody wants to learn of the next one after the download of the first.
    """
    absent: dict[str, InputError] = {}
    for scenario in scenarios:
        builder = config.builder(scenario)
        try:
            builder.open(work.raw / scenario, work.scratch(scenario))
        except InputError as error:
            absent[scenario] = error
    if absent:
        there = " ".join(f"--scenario {name}" for name in scenarios if name not in absent)
        leave = f"\nor build what is there: {there}" if there else ""
        raise InputError(
            "; ".join(error.message for error in absent.values()),
            "\n".join(error.hint for error in absent.values()) + leave,
        )
    for scenario in scenarios:
        config.builder(scenario).check(work.root)


def build(work: Work, config: Config, scenarios: Sequence[str], engine: Engine, only: str = "") -> None:
    """Plan and render scenarios. Raises `InputError` if only to be rendered is what nobody planned."""
    work.give(work.raw)  # before sources are looked at, as it sets their times
    check(work, config, scenarios)
    with work.locked():
        for scenario in scenarios:
            if only != RENDER:
                planning.plan(work, config, scenario)
            elif not planning.read_stamp(work, scenario):
                raise InputError(
                    f"{scenario}: {work.plans(scenario)} is missing or damaged, so there is nothing to render",
                    f"run build-bench build {scenario}{work.chosen} without --only: it plans first",
                )
            if only != PLAN:
                rendering.render(work, config, scenario, engine)


def assemble(
    work: Work, config: Config, scenarios: Sequence[str], *, unfiltered: bool = False, left_out: Sequence[str] = ()
) -> dict[str, Any]:
    """Lay out dataset/, with a split `filtered` if there are keep lists, unless `unfiltered`; returns the manifest.

    `left_out`: scenarios that the card names as not published.
    """
    for scenario in scenarios:
        if why := [found for found in standing.why_stale(work, config, scenario) if found.startswith(PLAN)]:
            notice(
                f"{scenario} is laid out as it was planned; {why[0]}. "
                f"build-bench build {scenario}{work.chosen} plans it again"
            )
    with work.locked():
        keep = {} if unfiltered or config.split == TRAIN else filtering.fresh(work, scenarios)
        return release.assemble(work, config, scenarios, keep, left_out)


def seal(work: Work, manifest: Mapping[str, Any], version: str, beside: Path | None) -> dict[str, Any]:
    """Make dataset/ the release `version`, after the newest that the work folder knows; returns the manifest.

    Its lock goes to the folder `beside` too. Raises `UsageError`, and changes nothing, if the number doesn't fit.
    """
    with work.locked():
        sealed, texts = releases.sealed(manifest, version, *locks.previous(work, version))
        if beside:
            locks.check_beside(beside, sealed)
        tree.write_texts(work.dataset, sealed, texts)
        locks.keep(work, sealed, texts[tree.CHANGELOG].decode(), beside)
    return sealed


def check_rebuild(work: Work, config: Config, lock: Lock) -> list[str]:
    """Raise, before anything is built, what keeps a release from coming out the same; returns which versions of code
    differ."""
    check(work, config, [*lock.scenarios])
    with work.locked():
        rebuilding.check_sources(work, config, lock)
    rebuilding.check_predictions(work, lock)
    return rebuilding.other_code(lock)


def rebuild(work: Work, config: Config, lock: Lock, changelog: str) -> list[str]:
    """Filter and lay out as the release was; returns what differs from it."""
    with work.locked():
        if lock.rule:
            rebuilding.filter_(work, lock)
    names = [name for name in config.settings if name in lock.scenarios]
    manifest = assemble(work, config, names, unfiltered=not lock.rule, left_out=[*lock.left_out])
    with work.locked():
        return rebuilding.finish(work, lock, manifest, changelog)


def predict_baselines(work: Work, scenarios: Sequence[str], seed: int, names: Iterable[str] = BASELINES) -> None:
    """Let the baselines answer: they look at nothing, and stand for models where there is none."""
    chosen = [name for name in names if name.startswith(keep_list.BASELINE)]
    predict(work, chosen, scenarios, models.Options(seed))


def audit_page(work: Work, scenarios: Sequence[str]) -> Path:
    """An audit of what the samples were filtered by; returns its page, in reports/."""
    page = work.reports / "audit.html"
    ids = [name for shown in filtering.read_inputs(work, scenarios).values() for name in shown.table["id"].head(1)]
    choice = filtering.former(work, scenarios) or filtering.Choice(first_turn.rule())
    audit(work, scenarios, choice, sweep.thresholds(auditing.DEFAULT_RANGE), ids, page)
    return page


def filter_again(work: Work, scenarios: Sequence[str]) -> str:
    """Filter as before, or by the rule's own threshold if there are predictions; returns in a line why it couldn't."""
    with work.locked():
        return filtering.again(work, scenarios)[1]


def not_counted(work: Work, counted: Iterable[str]) -> list[str]:
    """Who is in the cache beside those that were counted."""
    return [name for name in predictions.models(work) if name not in counted]


def filter_(work: Work, scenarios: Sequence[str], choice: filtering.Choice) -> dict[str, Any]:
    """Apply the first-turn rule to the cached predictions; returns what each keep list came to."""
    with work.locked():
        return filtering.filter_(work, scenarios, choice)


def import_predictions(work: Work, file: Path, scenarios: Sequence[str], *, replace: bool = False) -> dict[str, Any]:
    """Take others' answers into the cache; returns how many of which model, and what was odd about them."""
    with work.locked():
        return importing.import_file(work, file, filtering.read_inputs(work, scenarios), replace=replace)


def audit(
    work: Work, scenarios: Sequence[str], choice: filtering.Choice, at: Sequence[Fraction],
    samples: Sequence[str] = (), page: Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What any threshold would keep; writes JSON and CSV to reports/, and `page`. Returns the report.

    With `samples` it has their explanations too, in `samples`. Raises `UsageError` for one that isn't there.
    """
    with work.locked():
        shown = filtering.read_inputs(work, scenarios)
        asked = keep_list.chosen_models(work, choice.models, choice.left_out)
        beside = keep_list.uncounted(work, asked, choice.left_out)
        report = auditing.audit(work, asked, shown, choice.rule, at, beside)
        found = [one_sample.explain(work, name, asked, shown, choice.rule, beside) for name in samples]
        report["samples"] = {explained["id"]: explained for explained in found}
        store.write_bytes(work.reports / "audit.json", store.to_json(report))
        audit_tables.write_csv(work.reports, report)
        if page:
            turns = [
                one_sample.first_turn_of(work, one["scenario"], one["id"]) if "prompt" in one else None for one in found
            ]
            store.write_bytes(page, page_of.render(report, list(zip(found, turns, strict=True))).encode())
    return report


def explain(
    work: Work, scenarios: Sequence[str], choice: filtering.Choice, samples: Sequence[str]
) -> list[dict[str, Any]]:
    """Why each of `samples` is in or out. Reads only."""
    shown = filtering.read_inputs(work, scenarios, save=False)
    asked = keep_list.chosen_models(work, choice.models, choice.left_out) if predictions.models(work) else []
    beside = keep_list.uncounted(work, asked, choice.left_out)
    return [one_sample.explain(work, name, asked, shown, choice.rule, beside) for name in samples]


def predict(
    work: Work,
    names: Sequence[str],
    scenarios: Sequence[str],
    options: models.Options,
    *,
    limit: int | None = None,
    refresh: bool = False,
    cluster: tuple[Engine, int | None] | None = None,
) -> dict[str, Any]:
    """Ask models (KIND:NAME) for the first turns they haven't answered; returns what came of it, model by model.

    Holds no lock of the work folder: building goes on while models think. `cluster`: an engine and a number of parts.
    """
    for name in names:
        models.cache_name(name)  # a misspelled one is no surprise after hours of another
    request = predicting.Request(scenarios, options, limit, refresh)
    asked = dict.fromkeys(names)
    if cluster:
        return {"models": [predicting_in_parts.predict(work, name, request, *cluster) for name in asked]}
    return {"models": [predicting.predict(work, name, request) for name in asked]}


def push(work: Work, repo: str, wanted: Wanted, beside: Path | None) -> dict[str, Any]:
    """Publish dataset/ and keep the release, its lock in the folder `beside` too; returns what came of it.

    Nothing else runs in the work folder meanwhile: a file that changes while it is uploaded would spoil the release.
    """
    from build_bench import publishing
    from build_bench.hub import Repository

    manifest = listing.read(work.dataset)
    _warn_of_newer(work, manifest)
    with work.locked():
        check = functools.partial(locks.check_beside, beside) if beside else lambda _: None
        report = publishing.push(work.dataset, Repository(repo), wanted, check)
        if not (wanted.dry_run or wanted.create_pr):
            _keep(work, beside)
    return report


def pull(work: Work, repo: str, release: str) -> dict[str, Any]:
    """Download a release into dataset/ and keep it; returns what came of it."""
    from build_bench import pulling
    from build_bench.hub import Repository

    with work.locked():
        report = pulling.pull(Repository(repo), release, work.dataset, work.own / "pull")
        _keep(work, None)
    return report


def _warn_of_newer(work: Work, manifest: Mapping[str, Any]) -> None:
    """Say which scenarios were built or filtered otherwise since the tree was laid out."""
    for name, why in standing.outdated(work, manifest, inputs.built(work, manifest["scenarios"])).items():
        notice(f"{work.dataset}: {name} was {why}; build-bench assemble takes that in")


def _keep(work: Work, beside: Path | None) -> None:
    """Keep what lies in dataset/ as a release, if it is one."""
    manifest, log = listing.read(work.dataset), work.dataset / tree.CHANGELOG
    if manifest["release"] and log.exists():
        locks.keep(work, manifest, log.read_text(encoding="utf-8", errors="replace"), beside)
