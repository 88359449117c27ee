"""Tars made of the 12 real validation pictures, in the real layout; and the real tables of labels.

No ImageNet-C picture is public: the corruptions are our own (demo/imagenet_c_corruptions.py) or, where it is there,
those of the package imagecorruptions, which has the published ones.
"""

from __future__ import annotations

import importlib
import io
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from build_bench import prompting
from build_bench.builders.imagenet_c import ImageNetCBuilder, ImageNetCSettings
from build_bench.demo.imagenet_c import pack
from build_bench.demo.imagenet_c_corruptions import corrupted
from build_bench.errors import InputError
from build_bench.raw_sources.imagenet_c_labels import BY_WNID, DEVKIT, KERAS, check, ground_truth
from build_bench.raw_sources.imagenet_c_names import GROUPS, stem
from build_bench.records import Draft
from tests.fakes.imagenet_c import content

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples"
LABELS = SAMPLES / "imagenet_c" / "labels"

pytestmark = pytest.mark.skipif(not LABELS.is_dir(), reason="the real samples lie outside the repository: not here")

Corrupt = Callable[[Image.Image, str, int, int], bytes]
GROUP = {corruption: group for group, found in GROUPS.items() for corruption in found}


def cropped(picture: Image.Image) -> Image.Image:
    """A clean picture as ImageNet-C starts from it: shorter side 256, the 224 x 224 in the middle."""
    scale = 256 / min(picture.size)
    grown = picture.convert("RGB").resize(
        (round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BILINEAR
    )
    left, top = (grown.width - 224) // 2, (grown.height - 224) // 2
    return grown.crop((left, top, left + 224, top + 224))


def by_package(picture: Image.Image, corruption: str, severity: int, seed: int) -> bytes:
    package: Any = importlib.import_module("imagecorruptions")
    np.random.seed(seed)  # what the package draws from
    pixels = package.corrupt(np.asarray(picture), corruption_name=corruption, severity=severity)
    file = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(file, "JPEG", quality=85, optimize=True)
    return file.getvalue()


def members(corrupt: Corrupt) -> Iterator[tuple[str, str, bytes]]:
    """Every picture under all eight corruptions at all severities, in the class that the devkit gives it."""
    truth = ground_truth(LABELS / "ILSVRC2012_validation_ground_truth.txt")
    assert truth
    for path in sorted((SAMPLES / "imagenet_val").glob("*.JPEG")):
        number = int(path.stem[-8:])
        clean = cropped(Image.open(path))
        for corruption in ImageNetCSettings().corruptions().values():
            for severity in range(1, 6):
                name = f"{corruption}/{severity}/{truth[number - 1]}/{stem(number)}.JPEG"
                yield GROUP[corruption], name, corrupt(clean, corruption, severity, number)


def build(root: Path, corrupt: Corrupt) -> list[Draft]:
    """Plan and render all of it: no rejection, and the bytes are the tars'."""
    pack(root / "imagenet_c", members(corrupt))
    every = dict(file for path in (root / "imagenet_c").glob("*.tar") for file in content(path))
    for path in LABELS.iterdir():
        (root / "imagenet_c" / path.name).write_bytes(path.read_bytes())
    builder = ImageNetCBuilder(ImageNetCSettings(), 0)
    raw = builder.open(root / "imagenet_c", root / "scratch")
    drafts = [one for one in builder.plan(raw) if isinstance(one, Draft)]
    assert raw.census.candidates == len(drafts) == 12
    assert raw.gaps == ()
    pool = prompting.load_pool("imagenet_c")
    for draft in drafts:
        frames = list(builder.render(prompting.word(draft, pool, "imagenet_c", 0), raw))
        corruption = draft.frames[0].split("-")[1]
        assert frames == [every[f"{corruption}/{s}/{draft.source.key}.JPEG"] for s in (5, 4, 3, 2, 1)]
        assert len(set(frames)) == 5
    return drafts


def test_real_pictures_under_our_own_corruptions_are_built(tmp_path: Path) -> None:
    drafts = build(tmp_path, corrupted)
    assert Counter(draft.answer for draft in drafts) == Counter(
        ["alp", "axolotl", "cradle", "bakery", "Angora", "recreational vehicle", "sea lion", "half track", "scabbard",
         "sturgeon", "cab", "hamper"]
    )  # fmt: skip


def test_real_pictures_under_the_published_corruptions_are_built(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's own
        pytest.importorskip("imagecorruptions", reason="imagecorruptions-imaug is not installed")
        assert len(build(tmp_path, by_package)) == 12


def test_the_real_tables_are_recognised_in_their_three_orders() -> None:
    assert check(LABELS / "LOC_synset_mapping.txt") == BY_WNID
    assert check(LABELS / "imagenet_class_index.json") == KERAS
    assert check(LABELS / "map_clsloc.txt") == DEVKIT


def test_the_ground_truth_gives_each_picture_its_class() -> None:
    truth = ground_truth(LABELS / "ILSVRC2012_validation_ground_truth.txt")
    assert truth
    assert {number: truth[number - 1] for number in (2, 5, 33, 60)} == {
        2: "n09193705", 5: "n03125729", 33: "n02077923", 60: "n03482405"
    }  # fmt: skip
    assert set(Counter(truth).values()) == {50}


def test_the_edited_table_that_circulates_is_refused() -> None:
    path = SAMPLES / "imagenet_c" / "bad" / "imagenet_class_index.edited.json"
    with pytest.raises(InputError, match="key '0': n01440764 is called 'gon', expected 'tench'"):
        check(path)
