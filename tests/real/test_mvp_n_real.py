"""The groups that ship with the package are those of the authors' configuration."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from build_bench import manifests
from build_bench.builders.mvp_n_names import GROUPS
from build_bench.raw_sources.mvp_n import CLASSES

SAMPLE = Path(__file__).parents[2].parent / "shared" / "samples" / "mvp_n" / "classes_and_groups.json"


@pytest.mark.skipif(not SAMPLE.is_file(), reason="the shared samples are not beside this checkout")
def test_groups_are_those_of_the_authors() -> None:
    theirs = json.loads(SAMPLE.read_text())
    ours: dict[str, list[str]] = {}
    for row in csv.DictReader(io.StringIO(manifests.text(GROUPS))):
        ours.setdefault(row["group"], []).append(row["class"])
    assert list(ours.values()) == theirs["groups"]
    assert list(CLASSES) == theirs["classes"]
