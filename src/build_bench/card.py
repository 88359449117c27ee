"""The dataset card: what a stranger reads, and the YAML by which `datasets` finds the files."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from string import Template
from textwrap import shorten
from typing import Any

import yaml

from build_bench import manifests, schema

REPOSITORY = "path/or/repository"
"""Stands for the dataset where the card can't know its address."""


NO_SPLIT = "No model has been run on it yet, so there is no split `filtered`: it comes with the first predictions."


def render(manifest: dict[str, Any]) -> str:
    """README.md of a manifest."""
    scenarios = manifest["scenarios"]
    return Template(manifests.text("card.md")).substitute(
        yaml=yaml.safe_dump(_front_matter(scenarios), sort_keys=False, allow_unicode=True, width=1000),
        scenarios="".join(_section(name) for name in scenarios),
        repository=REPOSITORY,
        example=next(iter(scenarios)),
        counts=_counts(scenarios),
        split_note=NO_SPLIT,
        made=_made(manifest),
        licences=_licences(scenarios),
        limits=_limits(scenarios),
    )


def _front_matter(scenarios: dict[str, Any]) -> dict[str, Any]:
    total = sum(facts["built"] for facts in scenarios.values())
    chosen = {"all": scenarios, **{name: {name: facts} for name, facts in scenarios.items()}}
    configs: list[dict[str, Any]] = [
        {"config_name": name, "data_files": _data_files(part)} for name, part in chosen.items()
    ]
    configs[0]["default"] = True
    return {
        "pretty_name": "ProactiveBench, rebuilt",
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
    """Each scenario's own folder is named, so that no pattern reaches another's files or an older release's."""
    paths = [f"data/{name}/{facts['digest']}/kept-*.parquet" for name, facts in scenarios.items()]
    return [{"split": "unfiltered", "path": paths}]


def _info(config: str, scenarios: dict[str, Any]) -> dict[str, Any]:
    """Features and split sizes: with them the viewer shows pictures, and mixed versions fail on loading."""
    from datasets import DatasetInfo, SplitDict, SplitInfo
    from datasets.info import DatasetInfosDict

    rows = sum(facts["splits"]["unfiltered"] for facts in scenarios.values())
    size = sum(facts["bytes"] for facts in scenarios.values())
    splits = SplitDict({"unfiltered": SplitInfo("unfiltered", num_bytes=size, num_examples=rows)})
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


def _counts(scenarios: dict[str, Any]) -> str:
    paper = manifests.table("expected.toml")
    return _table(
        ["scenario", "samples", "frames", "candidates", "left out", "in the paper, before its filter"],
        (
            [
                f"`{name}`",
                f"{facts['built']:,}",
                f"{facts['frames']:,}",
                f"{facts['candidates']:,}",
                ", ".join(f"{count:,} {reason}" for reason, count in facts["rejected_by_reason"].items()) or "none",
                f"{paper[name]['before']:,}",
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
    intro = f"Seed {manifest['seed']}; {code}. `manifest.json` has every setting, source checksum and file."
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
