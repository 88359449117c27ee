"""The numbers in manifests/sources/ are those of the shared format pages."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from build_bench import builders
from build_bench.fetching import wanted

FORMATS = Path(__file__).parents[3] / "shared" / "formats"
ARCHIVES = Path(__file__).parents[3] / "shared" / "samples" / "quickdraw" / "archive_manifest.csv"

pytestmark = pytest.mark.skipif(not FORMATS.is_dir(), reason="shared/formats isn't here")


def page(name: str) -> str:
    return (FORMATS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", builders.SCENARIOS)
def test_sizes_and_checksums_stand_on_the_line_that_names_the_file(name: str) -> None:
    for file in wanted.source(name).files:
        lines = [line for line in re.split(r"\n|; ", page(name)) if Path(file.path).name in line]
        said = [str(fact) for fact in (f"{file.bytes:,}" if file.bytes else "", file.md5, file.sha256) if fact]
        assert said == [] or any(all(fact in line for fact in said) for line in lines), (file.path, said)


@pytest.mark.parametrize(("name", "mark"), [("coco", "[2nd"), ("imagenet_c", "[2nd]"), ("rod", "[SEEN]")])
def test_what_is_known_second_hand_is_marked_so(name: str, mark: str) -> None:
    for file in wanted.source(name).files:
        assert file.certainty == ("second-hand" if mark.startswith("[2nd") else "first-hand")
    assert mark in page(name)


@pytest.mark.parametrize("name", builders.SCENARIOS)
def test_addresses_are_those_of_the_page(name: str) -> None:
    about = wanted.source(name)
    hosts = {"images.cocodataset.org", "s3.amazonaws.com/images.cocodataset.org", "zenodo.org", "github.com/soCzech"}
    for file in about.files:
        first = file.urls[0]
        assert wanted.HUB in first or any(host in first and host in page(name) for host in hosts)
    for identifier in re.findall(r"uc\?id=([\w-]+)", " ".join(about.steps)):
        assert identifier in page(name)
    for repository in re.findall(r"github\.com/([\w-]+/[\w-]+)", about.homepage):
        assert repository in page(name)


def test_quickdraws_files_are_those_of_its_bucket() -> None:
    pattern = wanted.source("quickdraw").per_word
    assert pattern
    with ARCHIVES.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["config"] == "raw"]
    assert pattern.about["raw"] == sum(int(row["num_bytes"]) for row in rows)
    addresses = {file.urls[0].replace("%20", " ") for file in wanted.files("quickdraw", "raw")}
    assert addresses == {row["url"] for row in rows}
