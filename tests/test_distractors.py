"""Wrong categories: near, distinct, and the same on every machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from build_bench import distractors
from build_bench.builders.coco_negatives import Negatives
from build_bench.distractors import Encoder
from build_bench.draws import Draw
from build_bench.errors import InputError, UsageError
from build_bench.prompting import normalised
from build_bench.raw_sources.coco_annotations import Category

GROUPS = {"cat": "animal", "dog": "animal", "cow": "animal", "hot dog": "food", "cake": "food", "bus": "vehicle"}
CATEGORIES = {7 * i: Category(7 * i, name, group) for i, (name, group) in enumerate(GROUPS.items(), 1)}
TABLE = "category,neighbour_1,neighbour_2,neighbour_3\n" + "".join(
    ",".join([name, *[other for other in GROUPS if other != name][:3]]) + "\n" for name in GROUPS
)
ENCODER = Encoder("ViT-B-32-quickgelu", "openai", "a photo of a {}")


def test_the_nearest_are_taken_in_order_and_none_reads_like_another() -> None:
    ranked = ["Hot Dog", "cat", "HOTDOG", "cake", "c a t", "bus"]
    assert distractors.nearest("hot dog", ranked, normalised) == ("cat", "cake", "bus")


def test_too_few_neighbours_are_an_error_that_names_the_category() -> None:
    with pytest.raises(InputError, match="'cat' has 2 others"):
        distractors.nearest("cat", ["cat", "dog", "bus"], normalised)


def test_the_same_supercategory_comes_first_then_the_rest() -> None:
    order = distractors.same_group_first("cat", GROUPS, Draw(0, "coco", "1"))
    assert set(order[:2]) == {"dog", "cow"}
    assert set(order) == set(GROUPS) - {"cat"}


def test_supercategories_are_drawn_per_sample() -> None:
    chooser = Negatives("supercategory", ENCODER)
    chooser.prepare(CATEGORIES)
    assert len({chooser.three("cat", Draw(0, "coco", str(key))) for key in range(30)}) > 3
    assert chooser.three("cat", Draw(0, "coco", "1")) == chooser.three("cat", Draw(0, "coco", "1"))


def test_a_table_decides_and_its_checksum_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("# made by hand\n" + TABLE)
    chooser = Negatives(str(path), ENCODER)
    chooser.check(tmp_path)
    chooser.prepare(CATEGORIES)
    assert chooser.three("bus", Draw(0, "coco", "1")) == ("cat", "dog", "cow")
    facts = chooser.facts()
    assert facts["negatives"] == "mine.csv"
    assert len(facts["table_sha256"]) == 64


def test_a_changed_table_makes_plans_stale(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(TABLE)
    before = Negatives(str(path), ENCODER).beside()
    assert before == Negatives(str(path), ENCODER).beside()
    path.write_text(TABLE.replace("bus,cat,dog", "bus,dog,cat"))
    assert Negatives(str(path), ENCODER).beside() != before
    assert Negatives("supercategory", ENCODER).beside() == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cat,dog,cow,bus\n", "no header"),
        (TABLE.replace("bus,cat", "tram,cat"), "no row for 'bus'"),
        (TABLE.replace("bus,cat", "bus,catt"), "neighbour 'catt'"),
        (TABLE + "cat,dog,cow,bus\n", r":8: category 'cat' stands there twice"),
    ],
)
def test_a_wrong_table_is_refused_by_line_or_name(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        Negatives(str(path), ENCODER).prepare(CATEGORIES)


def test_a_table_that_is_not_there_stops_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        Negatives(str(tmp_path / "none.csv"), ENCODER).check(tmp_path)


def test_without_the_encoder_one_is_told_what_to_do_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distractors, "text_encoder_installed", lambda: False)
    with pytest.raises(UsageError, match="open_clip") as caught:
        Negatives("clip", ENCODER).check(tmp_path)
    assert "build-bench[clip]" in caught.value.hint
    assert "coco.negatives=supercategory" in caught.value.hint


def kept(work: Path, encoder: Encoder = ENCODER) -> Path:
    ranking = {name: [other for other in GROUPS if other != name] for name in GROUPS}
    path = work / "plans" / "coco.neighbours.csv"
    path.parent.mkdir()
    path.write_text(distractors.format_table(ranking, encoder))
    return path


def test_a_kept_table_needs_no_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distractors, "text_encoder_installed", lambda: False)
    path = kept(tmp_path)
    chooser = Negatives("clip", ENCODER)
    chooser.check(tmp_path)
    chooser.prepare(CATEGORIES)
    assert chooser.three("hot dog", Draw(0, "coco", "1")) == ("cat", "dog", "cow")
    facts = chooser.facts()
    assert facts["clip_model"] == "ViT-B-32-quickgelu"
    assert facts["clip_weights"] == "openai"
    assert distractors.read_table(path)["cat"] == ["dog", "cow", "hot dog", "cake", "bus"]


@pytest.mark.parametrize(
    "other",
    [
        Encoder("ViT-L-14", "openai", "a photo of a {}"),
        Encoder("ViT-B-32-quickgelu", "laion2b", "a photo of a {}"),
        Encoder("ViT-B-32-quickgelu", "openai", "{}"),
    ],
)
def test_a_table_of_another_encoder_is_not_reused(
    other: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distractors, "text_encoder_installed", lambda: False)
    kept(tmp_path)
    with pytest.raises(UsageError):
        Negatives("clip", other).check(tmp_path)


def test_other_weights_in_the_same_file_are_noticed_and_absent_ones_taken_at_their_name(tmp_path: Path) -> None:
    weights = tmp_path / "weights.pt"
    weights.write_bytes(b"one")
    encoder = Encoder("ViT-B-32", str(weights), "a photo of a {}")
    path = kept(tmp_path, encoder)
    assert str(tmp_path) not in path.read_text()
    assert distractors.made_by(path, encoder)
    weights.write_bytes(b"two")
    assert not distractors.made_by(path, encoder)
    weights.unlink()
    assert distractors.made_by(path, encoder)


def test_neighbours_of_a_real_text_encoder_are_kept_and_read_back(tmp_path: Path) -> None:
    open_clip = pytest.importorskip("open_clip")
    torch = pytest.importorskip("torch")
    tower = {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16}
    text = {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1}
    model_cfg = {"embed_dim": 16, "vision_cfg": tower, "text_cfg": text}
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": model_cfg, "preprocess_cfg": {}}))
    torch.manual_seed(0)
    torch.save(open_clip.CLIP(16, tower, text).state_dict(), folder / "open_clip_pytorch_model.bin")
    encoder = Encoder(f"local-dir:{folder}", "", "a photo of a {}")
    first, again = (distractors.rank_by_text(sorted(GROUPS), encoder) for _ in range(2))
    assert first == again
    assert all(sorted([name, *others]) == sorted(GROUPS) for name, others in first.items())

    chooser = Negatives("clip", encoder)
    chooser.check(tmp_path)
    chooser.prepare(CATEGORIES)
    path = tmp_path / "plans" / "coco.neighbours.csv"
    assert distractors.read_table(path) == first
    assert len(chooser.facts()["clip_sha256"]) == 64
    assert chooser.three("cat", Draw(0, "coco", "1")) == tuple(first["cat"][:3])

    with pytest.raises(InputError, match="can't load"):
        distractors.rank_by_text(["cat"], Encoder("ViT-B-32", str(tmp_path / "none.pt"), "{}"))
