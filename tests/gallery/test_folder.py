"""Where `preview` writes: into a folder of its own, one run at a time, and what was there is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from build_bench import cli, store
from build_bench.errors import BuildBenchError, UsageError
from build_bench.gallery import folder
from build_bench.gallery.dataset import Dataset
from build_bench.gallery.writing import Request, write
from build_bench.store import Work
from tests import trees
from tests.gallery.conftest import command
from tests.gallery.test_writing import written


@pytest.mark.parametrize("there", ["file", "others", "study"])
def test_a_folder_that_isnt_the_gallerys_is_left_alone(there: str, tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if there == "file":
        out.write_text("mine")
    elif there == "others":
        store.write_bytes(out / "mine", b"mine")
    else:
        with folder.claimed(out, "study"):
            pass
    before = written(tmp_path)
    with pytest.raises(UsageError, match=r"another kind|was not made by preview"):
        write(Dataset(tree), None, out, Request(each=1))
    assert written(tmp_path) == before


def test_two_previews_into_one_folder_do_not_meet(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with folder.claimed(out, "gallery"), pytest.raises(BuildBenchError, match="another preview is writing"):
        write(Dataset(tree), None, out, Request(each=1))
    assert write(Dataset(tree), None, out, Request(each=1))["samples"]


def test_a_gallery_that_held_more_is_named(tree: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    ask = ("preview", "--workers", "1", "--dataset", str(tree), "--out", out)
    assert "take the place" not in command(*ask, "--playable", "all")
    assert "take the place" not in command(*ask, "--playable", "all")
    count = len(trees.some_plans())
    assert f"They take the place of {count} samples of rod, " in (said := command(*ask, "coco"))
    assert f", {count} of them to play." in said
    assert "samples of coco, " in command(*ask, "rod")


@pytest.mark.parametrize("inside", ["dataset", "dataset/gallery", "keep", "plans/pages", "raw", ".build-bench/x"])
def test_pages_are_not_written_among_what_a_stage_made(inside: str, demo: Work) -> None:
    out = demo.root / inside
    before = out.exists()
    done = CliRunner().invoke(cli.group, ["preview", "--work", str(demo.root), "--out", str(out)])
    assert isinstance(done.exception, UsageError)
    assert "which holds no pages" in done.exception.message
    assert out.exists() == before


def test_an_out_that_cannot_be_written_is_named_with_a_reason(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for out, sentence in (("file/sub", "Not a directory"), ("link", "leads nowhere"), ("link/sub", "be written")):
        with pytest.raises(UsageError, match=sentence):
            write(Dataset(tree), None, tmp_path / out, Request(each=1))
