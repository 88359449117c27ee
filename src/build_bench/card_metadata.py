"""The card's YAML: by it `datasets` finds the files, and the Hub lists and shows the dataset."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import yaml

from build_bench import schema

Scenarios = Mapping[str, Mapping[str, Any]]


def front_matter(scenarios: Scenarios, name: str, repository: str, *, drawn: bool, purpose: str = "benchmark") -> str:
    """The YAML between the card's dashes. `name`: the dataset's; `repository`: ORG/NAME, or empty; `drawn`: a demo.

    `purpose`: a tag.

    The features stand once for each configuration: that is where `datasets` and the viewer look for them.
    """
    total = sum(facts["built"] for facts in scenarios.values())
    chosen = {"all": scenarios, **{name: {name: facts} for name, facts in scenarios.items()}}
    configs: list[dict[str, Any]] = [
        {"config_name": name, "data_files": _data_files(part)} for name, part in chosen.items()
    ]
    configs[0]["default"] = True
    fields = {
        "pretty_name": name,
        "license": "other",
        "license_name": "per-source",
        # The Hub takes an address or the name of a file; without a repository there is no address.
        "license_link": f"https://huggingface.co/datasets/{repository}#licences" if repository else "README.md",
        "language": ["en"],
        "annotations_creators": ["machine-generated"] if drawn else _annotators(scenarios),
        "source_datasets": ["original"]
        if drawn
        else [f"extended|other-{name.replace('_', '-')}" for name in scenarios],
        "task_categories": ["visual-question-answering", "image-text-to-text"],
        "tags": [
            *(["demo"] if drawn else []),
            purpose,
            "multimodal",
            "proactiveness",
            "multi-turn" if purpose == "benchmark" else "single-turn",
            "arxiv:2603.19466",
        ],
        "size_categories": [_size_category(total)],
        "configs": configs,
        "dataset_info": [_info(name, part) for name, part in chosen.items()],
    }
    return str(yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=1000))


def _annotators(scenarios: Scenarios) -> list[str]:
    """Where right answers come from: the sources' labels, but VSOD's from a table that people write."""
    found = ["found"] if set(scenarios) - {"vsod"} else []
    return [*found, "expert-generated"] if "vsod" in scenarios else found


def _data_files(scenarios: Scenarios) -> list[dict[str, Any]]:
    """Each scenario's own folder is named, so that no pattern reaches another's files or an older release's. Both
    splits name the kept files; what is empty can't be loaded, so it isn't named."""
    paths: dict[str, list[str]] = {"filtered": [], "unfiltered": [], "train": []}
    for name, facts in scenarios.items():
        rows = facts["splits"]
        if "train" in rows:
            paths["train"].append(f"data/{name}/{facts['digest']}/kept-*.parquet")
            continue
        kept = rows.get("filtered", rows["unfiltered"])
        folder = f"data/{name}/{facts['digest']}"
        if kept:
            paths["unfiltered"].append(f"{folder}/kept-*.parquet")
        if kept and "filtered" in rows:
            paths["filtered"].append(f"{folder}/kept-*.parquet")
        if kept < rows["unfiltered"]:
            paths["unfiltered"].append(f"{folder}/dropped-*.parquet")
    return [{"split": split, "path": found} for split, found in paths.items() if found]


def _info(config: str, scenarios: Scenarios) -> dict[str, Any]:
    """Features and split sizes: with them the viewer shows pictures, and mixed versions fail on loading."""
    from datasets import DatasetInfo, SplitDict, SplitInfo
    from datasets.info import DatasetInfosDict

    splits = SplitDict()
    for split in ("filtered", "unfiltered", "train"):
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
