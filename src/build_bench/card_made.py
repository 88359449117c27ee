"""The card's numbers: how many samples, what filtered them, how they were made, and how to make them again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from build_bench import builders, manifests

Facts = Mapping[str, Any]

NO_SPLIT = "No model has been run on it yet, so there is no split `filtered`: it comes with the first predictions."
NO_LIST = "No list of ids was given, so there is no split `filtered`."
SPLITS = ("unfiltered", "filtered", "train")


def in_order(names: Iterable[str]) -> list[str]:
    """Scenarios in the registry's order, whatever order a manifest was read in."""
    places = {name: place for place, name in enumerate(builders.SCENARIOS)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


def changed(scenario: str, settings: Facts) -> dict[str, Any]:
    """The settings that differ from the defaults, of either split."""
    defaults = _defaults(scenario)
    return {key: value for key, value in sorted(settings.items()) if defaults.get(key) != value}


def _defaults(scenario: str) -> dict[str, Any]:
    """Those of the training split have the test's among them."""
    return builders.defaults(scenario, builders.TRAIN if scenario in builders.TRAINING else builders.TEST)


def totals(scenarios: Mapping[str, Facts]) -> dict[str, int]:
    """Samples in each split that there is, of all scenarios."""
    splits = [facts["splits"] for facts in scenarios.values()]
    return {name: sum(rows.get(name, 0) for rows in splits) for name in SPLITS if any(name in rows for rows in splits)}


def counts(manifest: Facts, scenarios: Mapping[str, Facts]) -> str:
    """The table of samples by scenario: narrow, for it must fit a phone."""
    splits = [*totals(scenarios)]
    head = ["scenario", *(f"`{split}`" for split in splits)]
    rows = [[f"`{name}`", *map(_number, map(facts["splits"].get, splits))] for name, facts in scenarios.items()]
    columns: list[tuple[str, list[str]]] = []
    if not manifest.get("drawn") and not manifest.get("split"):
        columns.append(("paper", [_in_paper(name) for name in scenarios]))
    if manifest["models"]:
        columns += _shares([facts["first_turn"] for facts in scenarios.values()])
    for name, cells in columns:
        head.append(name)
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)
    table = _table(head, rows)
    return (
        table
        if manifest.get("drawn") or manifest.get("split")
        else f"{table}\n\n(paper: its counts before / after its filter.)"
    )


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _in_paper(scenario: str) -> str:
    """The paper's counts of a scenario before and after its filter; a dash for one that isn't in it."""
    known = manifests.table("expected.toml").get(scenario)
    return f"{known['before']:,} / {known['after']:,}" if known else "-"


def _shares(first_turn: Sequence[Facts]) -> Iterator[tuple[str, list[str]]]:
    """First answers that were right. Of `filtered` only where one was: few models leave none below the line but 0."""
    keys = {"right at first sight": "first_turn_accuracy", "of `filtered`": "kept_first_turn_accuracy"}
    for name, key in keys.items():
        values = [facts[key] for facts in first_turn]
        if key == "first_turn_accuracy" or any(values):
            yield name, ["-" if value is None else f"{value:.1%}" for value in values]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column is text, the others are numbers."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---", *["---:"] * (len(head) - 1)], *rows])


def split_note(manifest: Facts, scenarios: Mapping[str, Facts]) -> str:
    """What the split `filtered` holds, and which models decided it."""
    kept = totals(scenarios).get("filtered")
    if kept is None:
        return NO_LIST if manifest.get("adopted") else NO_SPLIT
    note = f"Split `filtered` holds {kept:,} of them: {_kept_by(manifest)}."
    return f"{note}\n\n{_asked(manifest)}" if manifest["models"] else note


def _kept_by(manifest: Facts) -> str:
    if not manifest.get("rule"):
        return str(manifest["filtered_by"] or "those that a list of ids keeps")
    percent = f"{100 * manifest['threshold']:.3g}"
    return (
        f"those that fewer than {percent} % of the models got right at first sight. That is the rule "
        f"`{manifest['rule']}`, named by what it looks at (the first turn), its line in percent and its version"
    )


def _asked(manifest: Facts) -> str:
    models = manifest["models"]
    named = ", ".join(f"`{name}`" + " (a baseline)" * facts["baseline"] for name, facts in sorted(models.items()))
    lines = [f"Asked were {len(models)} models: {named}."]
    if only_baselines(manifest):
        lines.append(
            "Baselines look at no picture: what they get right by luck says nothing about how hard a sample is."
        )
    if manifest["allowed_missing"]:
        lines.append("Not all of them answered every sample; `manifest.json` says how many are missing where.")
    return " ".join(lines)


def only_baselines(manifest: Facts) -> bool:
    """Whether models were asked, and none of them looked at a picture."""
    return bool(manifest["models"]) and all(facts["baseline"] for facts in manifest["models"].values())


def candidates(name: str, facts: Facts) -> str:
    """A scenario's candidates, and why some are not in it."""
    reasons = ", ".join(f"{r.replace('_', ' ')} ({n:,})" for r, n in sorted(facts["rejected_by_reason"].items()))
    left = f". Left out: {reasons}" if reasons else ""
    return f"- `{name}`: {facts['built']:,} of {facts['candidates']:,} candidates, {facts['frames']:,} frames{left}."


def made(manifest: Facts, scenarios: Mapping[str, Facts]) -> Iterator[str]:
    """How the samples were made, a line for each scenario."""
    yield f"- Code: {', '.join(f'{name} {version}' for name, version in sorted(manifest['code'].items()))}."
    if manifest["seed"] is not None:
        yield f"- Seed: {manifest['seed']}. Every random choice follows from it and from the sample's own source key."
    for name, facts in scenarios.items():
        words = f"The records of `{facts['facts']['records']}`." if manifest.get("adopted") else _made_of(name, facts)
        yield f"- `{name}`: {words}"
    yield ""
    yield "[manifest.json](manifest.json) has every setting, and the checksums of what it was made of."


def _made_of(scenario: str, facts: Facts) -> str:
    """The source's `made`, filled in. `said`: words for a setting's values, `*` for any other."""
    about = manifests.source(scenario)
    values = {**_defaults(scenario), **facts["settings"], **facts["facts"]}
    words = dict(values)
    for key, said in about.get("said", {}).items():
        words[key] = said.get(str(values[key]), said["*"]).format(**values)
    otherwise = ", ".join(f"`{key} = {value}`" for key, value in changed(scenario, facts["settings"]).items())
    made_of = str(about["train_made" if "train" in facts["splits"] else "made"]).format(**words)
    return f"{made_of} Set otherwise than by default: {otherwise}." if otherwise else made_of


def again(manifest: Facts) -> str:
    """How a stranger gets the release with its manifest and builds it; empty for a tree that is no built release."""
    if not manifest["release"] or manifest.get("adopted"):
        return ""
    release, demo = manifest["release"], "--demo " * bool(manifest.get("drawn"))
    demo += f"--split {manifest['split']} " if "split" in manifest else ""
    lines = [
        "", "## How to build it again", "",
        f"`build-bench {manifest['code']['build-bench']}` makes the same bytes of the same sources:", "",
        "```bash",
        f"build-bench pull --repo {manifest.get('repository') or 'ORG/NAME'} --release {release}",
        f"build-bench all {demo}--from-release pulled/dataset/manifest.json",
        "```", "",
        "The first command downloads the release, its manifest included, to `pulled/`, and checks every file. The",
        "second gets the sources, compares their checksums, builds, and names whatever comes out otherwise.",
        *_answers(manifest),
    ]  # fmt: skip
    return "\n".join([*lines, ""])


def _answers(manifest: Facts) -> Iterator[str]:
    """What building again needs of the models."""
    others = sorted(name for name, facts in manifest["models"].items() if not facts["baseline"])
    if only_baselines(manifest):
        yield "The baselines that decided `filtered` answer again by themselves."
    if others:
        yield ""
        yield f"The answers of {', '.join(f'`{name}`' for name in others)} decided `filtered`, and are not part of a"
        yield "release: without them the build stops and names them. Get the folder `predictions/` from whoever"
        yield "published this, and put it into `work/`. A model that is asked anew may answer otherwise: `filtered` is"
        yield "then another, `unfiltered` the same."
