"""The dataset card: the page that a stranger reads. A function of what manifest.json says, and of nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from string import Template
from textwrap import shorten
from typing import Any

from build_bench import builders, manifests
from build_bench.card_metadata import front_matter

REPOSITORY = "path/or/repository"
"""Stands for the dataset where the card can't know its address."""

NO_SPLIT = "No model has been run on it yet, so there is no split `filtered`: it comes with the first predictions."
NO_LIST = "No list of ids was given, so there is no split `filtered`."

NAMES = {"": "ProactiveBench, rebuilt", "proactivebench": "ProactiveBench, as released"}
_PAPER = (
    "*ProactiveBench: Benchmarking\nProactiveness in Multimodal Large Language Models* "
    "([arXiv:2603.19466](https://arxiv.org/abs/2603.19466))"
)
ORIGINS = {
    "": f"""Rebuilt from the original sources by `build-bench` after {_PAPER}. The samples are drawn anew
and the questions worded anew: scores on it are not those of the published release.""",
    "proactivebench": f"""The records and pictures of a release in the layout of `proactivebench` 0.1.1, taken over by
`build-bench`: its questions, options and categories to the letter, and the rules of its evaluator as states.
{_PAPER}.""",
}
"""By the layout that the samples were adopted from; empty: they were built."""

Facts = Mapping[str, Any]


def render(manifest: Facts) -> str:
    """README.md of a manifest."""
    scenarios = {name: manifest["scenarios"][name] for name in _in_order(manifest["scenarios"])}
    origin = manifest.get("adopted", "")
    example = next(iter(scenarios))
    return Template(manifests.text("card.md")).substitute(
        yaml=front_matter(scenarios, NAMES[origin], manifest.get("repository") or ""),
        name=NAMES[origin],
        origin=ORIGINS[origin],
        release=_release(manifest),
        scenarios="\n".join(_section(name) for name in scenarios),
        left_out=_left_out(manifest),
        load=_load(manifest, example, "filtered" if scenarios[example]["splits"].get("filtered") else "unfiltered"),
        counts=_counts(manifest, scenarios),
        split_note=_split_note(manifest, scenarios),
        candidates="\n".join(_candidates(name, facts) for name, facts in scenarios.items()),
        made="\n".join(_made(manifest, scenarios)),
        licences="\n".join(_licence(name) for name in _in_order({**scenarios, **manifest.get("left_out", {})})),
        limits="\n".join(_limits(manifest, scenarios)),
        version=f",\n  version = {{{manifest['release']}}}" if manifest["release"] else "",
    )


def _in_order(names: Iterable[str]) -> list[str]:
    """In the registry's order, whatever order a manifest was read in."""
    places = {name: place for place, name in enumerate(builders.SCENARIOS)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


def _release(manifest: Facts) -> str:
    if not manifest["release"]:
        return ""
    return (
        f"**Release {manifest['release']}.** [CHANGELOG.md](CHANGELOG.md) tells what changed, row by row;\n"
        "[manifest.json](manifest.json) has every file's checksum, and all that it was made of.\n\n"
    )


def _section(scenario: str) -> str:
    about = manifests.source(scenario)
    picture = f"![Samples of {scenario}, a line each, from hopeless to clear](assets/{scenario}.jpg)"
    return f"### {about['heading']} (`{scenario}`)\n\n{about['sequence']}\n\n{picture}\n"


def _left_out(manifest: Facts) -> str:
    """Scenarios that belong to the benchmark and are not published."""
    found = manifest.get("left_out", {})
    if not found:
        return ""
    lines = ["", "## Not in this repository", ""]
    lines += [
        "These scenarios belong to the benchmark; the licence of their source keeps their pictures out of here.",
        "",
    ]
    lines += ["Whoever has the source builds them:", ""]
    for name in _in_order(found):
        about = manifests.source(name)
        changed = {
            key: value
            for key, value in sorted(found[name]["settings"].items())
            if builders.defaults(name).get(key) != value
        }
        command = " ".join(
            [f"build-bench all --scenario {name}", *([f"--seed {manifest['seed']}"] if manifest["seed"] else [])]
            + [f"--set {name}.{key}={value}" for key, value in changed.items()]
        )
        lines.append(f"- **{about['heading']}** (`{name}`), from [{about['title']}]({about['homepage']}): `{command}`.")
        lines.append(f"  It needs {about['expected']} in `work/raw/{name}/`.")
    return "\n".join([*lines, ""])


def _load(manifest: Facts, example: str, split: str) -> str:
    arguments = [f'"{manifest.get("repository") or REPOSITORY}"', f'"{example}"', f'split="{split}"']
    if manifest["release"]:
        arguments.append(f'revision="{manifest["release"]}"')
    return f"samples = load_dataset({', '.join(arguments)})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column is text, the others are numbers."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---", *["---:"] * (len(head) - 1)], *rows])


def _paper() -> Callable[[str, str], str]:
    """The paper's count of a scenario before or after its filter; a dash for one that isn't in it."""
    counts = manifests.table("expected.toml")
    return lambda name, side: f"{counts[name][side]:,}" if name in counts else "-"


def _counts(manifest: Facts, scenarios: Mapping[str, Facts]) -> str:
    paper = _paper()
    shares = {
        "right at first sight": "first_turn_accuracy",
        "right at first sight, of `filtered`": "kept_first_turn_accuracy",
    }
    asked = shares if manifest["models"] else {}
    rows = [
        [f"`{name}`", *(f"{facts['splits'][split]:,}" if split in facts["splits"] else "-" for split in _SPLITS)]
        + [paper(name, side) for side in ("before", "after")]
        + [_share(facts["first_turn"][key]) for key in asked.values()]
        for name, facts in scenarios.items()
    ]
    head = ["scenario", "`unfiltered`", "`filtered`", "paper, before its filter", "paper, after", *asked]
    return _table(head, rows)


_SPLITS = ("unfiltered", "filtered")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _split_note(manifest: Facts, scenarios: Mapping[str, Facts]) -> str:
    splits = [facts["splits"] for facts in scenarios.values()]
    if not any("filtered" in rows for rows in splits):
        return NO_LIST if manifest.get("adopted") else NO_SPLIT
    kept = sum(rows.get("filtered", 0) for rows in splits)
    which = manifest["filtered_by"] or "those that a list of ids keeps"
    note = f"Split `filtered` holds {kept:,} of them: {which}."
    return f"{note}\n\n{_asked(manifest)}" if manifest["models"] else note


def _asked(manifest: Facts) -> str:
    """Which models were."""
    models = manifest["models"]
    named = ", ".join(f"`{name}`" + " (a baseline)" * facts["baseline"] for name, facts in sorted(models.items()))
    lines = [f"Asked were {len(models)} models: {named}."]
    if all(facts["baseline"] for facts in models.values()):
        lines.append(
            "Baselines look at no picture: what they get right by luck says nothing about how hard a sample is."
        )
    if manifest["allowed_missing"]:
        lines.append("Not all of them answered every sample; `manifest.json` says how many are missing where.")
    return " ".join(lines)


def _candidates(name: str, facts: Facts) -> str:
    reasons = ", ".join(f"{r.replace('_', ' ')} ({n:,})" for r, n in sorted(facts["rejected_by_reason"].items()))
    left = f". Left out: {reasons}" if reasons else ""
    return f"- `{name}`: {facts['built']:,} of {facts['candidates']:,} candidates, {facts['frames']:,} frames{left}."


def _made(manifest: Facts, scenarios: Mapping[str, Facts]) -> Iterator[str]:
    yield f"- Code: {', '.join(f'{name} {version}' for name, version in sorted(manifest['code'].items()))}."
    if manifest["seed"] is not None:
        yield f"- Seed: {manifest['seed']}. Every random choice follows from it and from the sample's own source key."
    if manifest.get("rule"):
        models = sum(not facts["baseline"] for facts in manifest["models"].values())
        yield (
            f"- Filter: rule `{manifest['rule']}`, threshold {manifest['threshold']:g}, {models} models and "
            f"{len(manifest['models']) - models} baselines."
        )
    for name, facts in scenarios.items():
        values = {**facts["settings"], **{key: v for key, v in facts["facts"].items() if key not in facts["settings"]}}
        shown = ", ".join(f"{key} = {_value(value)}" for key, value in sorted(values.items()) if value != "")
        yield f"- `{name}`: {shown}."
    if manifest["release"] and not manifest.get("adopted"):
        yield ""
        again = f"build-bench all --from-release {manifest['release']}"
        yield f"Whoever has the same sources and predictions gets the same bytes: `{again}`."


def _value(value: Any) -> str:
    return ", ".join(f"{key}: {part}" for key, part in sorted(value.items())) if isinstance(value, dict) else str(value)


def _licence(name: str) -> str:
    about = manifests.source(name)
    source = f"[{about['title']}]({about['homepage']})"
    licence = f"[{about['license']}]({about['license_url']})"
    return (
        f"- **`{name}`**: {source}. Licence: {licence}.\n  {about['conditions']}\n"
        f"  **Not allowed:** {about['not_allowed']}"
    )


def _limits(manifest: Facts, scenarios: Mapping[str, Facts]) -> Iterator[str]:
    yield "- Right answers are the sources' labels: their mistakes are in here too."
    yield "- What is hard to see was not judged by people: some samples can be answered at once, others hardly."
    yield "- Help costs nothing but a turn, and is always granted as asked. People tire, and misunderstand."
    yield "- Questions are made from templates, in English."
    yield "- Models may have seen the sources, above all MS-COCO and ImageNet, in training."
    if manifest["models"] and all(facts["baseline"] for facts in manifest["models"].values()):
        yield "- The split `filtered` was decided by baselines alone: nothing says that it is harder."
    for name, facts in scenarios.items():
        for gap in facts["gaps"]:
            yield f"- `{name}` was built from a part of its source: {shorten(gap, 200)}"
