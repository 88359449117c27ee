"""What is damaged in the work folder is made again, and nothing that isn't ours is touched."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from build_bench import config, stages
from build_bench.demo import SETTINGS
from build_bench.errors import InputError
from build_bench.executors.local import Local
from build_bench.store import Work, sha256
from tests.fakes import fake


def run(work: Work) -> dict[str, str]:
    settings = config.read(["coco"], None, SETTINGS)
    stages.build(work, settings, ["coco"], Local(1))
    stages.assemble(work, settings, ["coco"])
    return {str(path.relative_to(work.dataset)): sha256(path) for path in work.dataset.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Work, dict[str, str]]:
    root = tmp_path_factory.mktemp("repair")
    fake("coco").write(root / "raw" / "coco")
    work = Work(root / "work", root / "raw")
    return work, run(work)


@pytest.fixture
def work(whole: tuple[Work, dict[str, str]], tmp_path: Path) -> Work:
    return Work(Path(shutil.copytree(whole[0].root, tmp_path / "work")), whole[0].raw)


@pytest.mark.parametrize("content", [None, b"", b"garbage"])
@pytest.mark.parametrize(
    "name",
    [
        "plans/coco.parquet",
        "rejected/coco.jsonl",
        "frames/coco/shard-00000.parquet",
        ".build-bench/assembled.json",
        ".build-bench/checksums.json",
        "dataset/manifest.json",
        "dataset/assets/coco.jpg",
    ],
)
def test_a_file_that_is_lost_or_damaged_is_made_again(
    name: str, content: bytes | None, work: Work, whole: tuple[Work, dict[str, str]]
) -> None:
    path = work.root / name
    assert path.exists()
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    assert run(work) == whole[1]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def test_a_dataset_file_damaged_at_the_same_size_is_written_again(
    work: Work, whole: tuple[Work, dict[str, str]]
) -> None:
    (path,) = work.dataset.glob("data/coco/*/*.parquet")
    flip(path)
    assert run(work) == whole[1]


def test_a_shard_with_a_flipped_byte_is_never_published(work: Work, whole: tuple[Work, dict[str, str]]) -> None:
    shutil.rmtree(work.dataset)
    shard = work.shard("coco", 0)
    flip(shard)
    with pytest.raises(InputError, match="is damaged"):
        run(work)
    shard.unlink()
    assert run(work) == whole[1]


def test_what_is_not_ours_stays(work: Work, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "0123456789ab"
    elsewhere.mkdir(parents=True)
    folder = work.dataset / "sketch.partial"
    folder.mkdir()
    mine = [
        elsewhere / "precious.parquet",
        work.dataset / "notes.txt",
        work.root / "plans" / "draft.partial",
        folder / "x",
    ]
    for path in mine:
        path.write_bytes(b"mine")
    (work.dataset / "data" / "linked").symlink_to(elsewhere.parent)
    run(work)
    assert all(path.read_bytes() == b"mine" for path in mine)
