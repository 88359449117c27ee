"""The dataset card: what a stranger reads, and the YAML by which `datasets` finds the files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from string import Template
from textwrap import shorten
from typing import Any

import yaml

from build_bench import manifests, schema

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


def render(manifest: dict[str, Any]) -> str:
    """README.md of a manifest."""
    scenarios = manifest["scenarios"]
    return Template(manifests.text("card.md")).substitute(
        yaml=yaml.safe_dump(
            _front_matter(scenarios, NAMES[manifest.get("adopted", "")]),
            sort_keys=False,
            allow_unicode=True,
            width=1000,
        ),
        name=NAMES[manifest.get("adopted", "")],
        scenarios="".join(_section(name) for name in scenarios),
        repository=REPOSITORY,
        example=next(iter(scenarios)),
        counts=_counts(scenarios),
        origin=ORIGINS[manifest.get("adopted", "")],
        split_note=_split_note(manifest),
        made=_made(manifest),
        licences=_licences(scenarios),
        limits=_limits(scenarios),
    )


def _split_note(manifest: dict[str, Any]) -> str:
    splits = [facts["splits"] for facts in manifest["scenarios"].values()]
    if not any("filtered" in rows for rows in splits):
        return NO_LIST if manifest.get("adopted") else NO_SPLIT
    kept = sum(rows.get("filtered", 0) for rows in splits)
    note = f"Split `filtered` holds {kept:,} of them: {manifest['filtered_by'] or 'those that a list of ids keeps'}."
    return f"{note}\n\n{_filter_note(manifest)}" if manifest["models"] else note


def _filter_note(manifest: dict[str, Any]) -> str:
    """Who was asked, and what it came to beside the paper's filter."""
    asked = manifest["models"]
    named = ", ".join(f"`{name}`" + " (a baseline)" * facts["baseline"] for name, facts in asked.items())
    lines = [f"Asked were {len(asked)} models: {named}."]
    if all(facts["baseline"] for facts in asked.values()):
        lines.append(
            "Baselines look at no picture: what they get right by luck says nothing about how hard a sample is."
        )
    if manifest["allowed_missing"]:
        lines.append("Not all of them answered every sample; `manifest.json` says how many are missing where.")
    paper = _paper()
    rows = []
    for name, facts in manifest["scenarios"].items():
        accuracy = [facts["first_turn"][key] for key in ("first_turn_accuracy", "kept_first_turn_accuracy")]
        rows.append(
            [f"`{name}`", f"{facts['splits']['unfiltered']:,}", f"{facts['splits']['filtered']:,}"]
            + ["-" if share is None else f"{share:.1%}" for share in accuracy]
            + [paper(name, side) for side in ("before", "after")]
        )
    head = ["scenario", "`unfiltered`", "`filtered`", "right at the first turn", "of those kept"]
    return " ".join(lines) + "\n\n" + _table([*head, "in the paper, before", "after"], rows)


def _front_matter(scenarios: dict[str, Any], name: str) -> dict[str, Any]:
    total = sum(facts["built"] for facts in scenarios.values())
    chosen = {"all": scenarios, **{name: {name: facts} for name, facts in scenarios.items()}}
    configs: list[dict[str, Any]] = [
        {"config_name": name, "data_files": _data_files(part)} for name, part in chosen.items()
    ]
    configs[0]["default"] = True
    return {
        "pretty_name": name,
        "license": "other",
        "license_name": "per-source",
        "license_link": "#licences",
        "language": ["en"],
        "task_categories": ["visual-question-answering", "image-text-to-text"],
        "tags": ["benchmark", "multimodal", "proactiveness", "multi-turn", "arxiv:2603.19466"],
        "size_categories": [_size_category(total)],
        "configs": configs,
        "dataset_info": [_info(name, part) for name, part in chosen.items()],
    }


def _data_files(scenarios: dict[str, Any]) -> list[dict[str, Any]]:
    """Each scenario's own folder is named, so that no pattern reaches another's files or an older release's. Both
    splits name the kept files; what is empty can't be loaded, so it isn't named."""
    paths: dict[str, list[str]] = {"filtered": [], "unfiltered": []}
    for name, facts in scenarios.items():
        rows = facts["splits"]
        kept = rows.get("filtered", rows["unfiltered"])
        folder = f"data/{name}/{facts['digest']}"
        if kept:
            paths["unfiltered"].append(f"{folder}/kept-*.parquet")
        if kept and "filtered" in rows:
            paths["filtered"].append(f"{folder}/kept-*.parquet")
        if kept < rows["unfiltered"]:
            paths["unfiltered"].append(f"{folder}/dropped-*.parquet")
    return [{"split": split, "path": found} for split, found in paths.items() if found]


def _info(config: str, scenarios: dict[str, Any]) -> dict[str, Any]:
    """Features and split sizes: with them the viewer shows pictures, and mixed versions fail on loading."""
    from datasets import DatasetInfo, SplitDict, SplitInfo
    from datasets.info import DatasetInfosDict

    splits = SplitDict()
    for split in ("filtered", "unfiltered"):
        parts = [facts for facts in scenarios.values() if facts["splits"].get(split)]
        rows, size = (sum(facts[name][split] for facts in parts) for name in ("splits", "split_bytes"))
        if parts:
            splits[split] = SplitInfo(split, num_bytes=size, num_examples=rows)
    size = sum(facts["bytes"] for facts in scenarios.values())
    info = DatasetInfo(features=schema.features(), splits=splits, download_size=size, dataset_size=size)
    card: dict[str, Any] = {}
    DatasetInfosDict({config: info}).to_dataset_card_data(card)
    return copy.deepcopy(card["dataset_info"])


def _size_category(rows: int) -> str:
    bounds = [(1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")]
    return next((name for bound, name in bounds if rows < bound), "1M<n<10M")


def _section(scenario: str) -> str:
    about = manifests.source(scenario)
    picture = f"![{about['heading']}: {about['sequence']}](assets/{scenario}.jpg)"
    return f"## {about['heading']} (`{scenario}`)\n\n{about['sequence']}\n\n{picture}\n\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def _paper() -> Callable[[str, str], str]:
    """The paper's count of a scenario before or after its filter; a dash for one that isn't in it."""
    counts = manifests.table("expected.toml")
    return lambda name, side: f"{counts[name][side]:,}" if name in counts else "-"


def _counts(scenarios: dict[str, Any]) -> str:
    paper = _paper()
    return _table(
        ["scenario", "samples", "frames", "candidates", "left out", "in the paper, before its filter"],
        (
            [
                f"`{name}`",
                f"{facts['built']:,}",
                f"{facts['frames']:,}",
                f"{facts['candidates']:,}",
                ", ".join(f"{count:,} {reason}" for reason, count in facts["rejected_by_reason"].items()) or "none",
                paper(name, "before"),
            ]
            for name, facts in scenarios.items()
        ),
    )


def _made(manifest: dict[str, Any]) -> str:
    code = ", ".join(f"{name} {version}" for name, version in manifest["code"].items())
    settings = _table(
        ["scenario", "settings", "made with"],
        (
            [f"`{name}`"]
            + [", ".join(f"{k} = {v}" for k, v in facts[kind].items() if v != "") for kind in ("settings", "facts")]
            for name, facts in manifest["scenarios"].items()
        ),
    )
    seed = "" if manifest["seed"] is None else f"Seed {manifest['seed']}; "
    intro = f"{seed}{code}. `manifest.json` has every setting, source checksum and file."
    return f"{intro}\n\n{settings}"


def _licences(scenarios: dict[str, Any]) -> str:
    about = {name: manifests.source(name) for name in scenarios}
    return _table(
        ["scenario", "source", "licence", "conditions"],
        (
            [f"`{n}`", f"[{a['title']}]({a['homepage']})", f"[{a['license']}]({a['license_url']})", a["conditions"]]
            for n, a in about.items()
        ),
    )


def _limits(scenarios: dict[str, Any]) -> str:
    gaps = [(name, gap) for name, facts in scenarios.items() for gap in facts["gaps"]]
    return "\n".join(
        [
            "- What is hard to see was not judged by people: some samples can be answered at once, others hardly.",
            "- Models may have seen the sources, above all MS-COCO, in training.",
            *(f"- `{name}` was built from a part of its source: {shorten(gap, 200)}" for name, gap in gaps),
        ]
    )
