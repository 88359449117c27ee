"""How ImageNet's classes are called here, and which are never put beside each other.

The first synonym of `LOC_synset_mapping.txt` names a class, with spaces; manifests/annotations/imagenet_c_names.csv
names those that would clash or read badly. Why so: docs/decisions/imagenet-c-names.md.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from build_bench import manifests
from build_bench.draws import Draw
from build_bench.raw_sources.imagenet_c_labels import classes


@cache
def names() -> Mapping[str, str]:
    """The name of each of the 1000 classes, by wnid."""
    found = {wnid: one.synonyms[0] for wnid, one in classes().items()}
    for row in _rows("imagenet_c_names.csv"):
        found[row["wnid"]] = row["name"]
    return found


@cache
def alike() -> Mapping[str, frozenset[str]]:
    """Classes whose pictures could as well be called by the other's name: a wrong answer must be wrong."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in _rows("imagenet_c_alike.csv"):
        found[row["one"]].add(row["other"])
        found[row["other"]].add(row["one"])
    return {wnid: frozenset(others) for wnid, others in found.items()}


def wrong(wnid: str, draw: Draw) -> tuple[str, str, str]:
    """The names of three other classes, drawn from all 1000, whatever part is here (paper A.4 names no rule)."""
    taken = {wnid}
    found = []
    for other in draw.sample("wrong categories", list(names()), 16):
        if other not in taken and not taken & alike().get(other, frozenset()):
            taken.add(other)
            found.append(names()[other])
    first, second, third = found[:3]
    return first, second, third


def _rows(name: str) -> csv.DictReader[str]:
    return csv.DictReader(io.StringIO(manifests.text(f"annotations/{name}")))
