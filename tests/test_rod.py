"""ROD: how it is walked, how it lies on disk, and what is wrong with it."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import tarfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

from build_bench import config, prompting, raw_sources, stages, standing, store
from build_bench.builders.rod import HOLES, RodBuilder, RodSettings
from build_bench.demo.rod import Member
from build_bench.episode import Episode
from build_bench.errors import InputError
from build_bench.executors.local import Local
from build_bench.raw_sources import rod_occluders, rod_spool
from build_bench.raw_sources.rod import NAME, Rod, classes
from build_bench.records import Draft, Plan, Rejection
from build_bench.schema import plan_row
from build_bench.store import Work
from tests.fakes import rod as fake

HOLE = "banana/natural_bluebl_greenr-banana"
WHOLE = "banana/natural_bluebl_brownc-banana"
Outcomes = dict[str, Draft | Rejection]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("drawn") / "rod"
    fake.write(root)
    return root


@pytest.fixture
def root(drawn: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(drawn, tmp_path / "raw" / "rod"))


def outcomes(root: Path, seed: int = 0) -> Outcomes:
    builder = RodBuilder(RodSettings(), seed)
    raw = builder.open(root, root.parent.parent / "scratch")
    found = {(o.source.key if isinstance(o, Draft) else o.source_key): o for o in builder.plan(raw)}
    assert len(found) == raw.census.candidates
    return found


def rejected(root: Path) -> dict[str, tuple[str, str]]:
    return {key: (o.reason, o.detail) for key, o in outcomes(root).items() if isinstance(o, Rejection)}


def plan(root: Path, key: str) -> Plan:
    draft = outcomes(root)[key]
    assert isinstance(draft, Draft)
    return prompting.word(draft, prompting.load_pool("rod"), "rod", 0)


def built(root: Path, workers: int = 1) -> tuple[Work, dict[str, Any]]:
    work = Work(root.parent.parent / "work", root.parent)
    settings = config.read(["rod"])
    stages.build(work, settings, ["rod"], Local(workers))
    return work, standing.status(work, settings, ["rod"])["scenarios"]["rod"]


def frames(work: Work) -> dict[str, list[bytes]]:
    rows = [row for path in sorted(work.frames("rod").glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    return {row["id"]: [frame["bytes"] for frame in row["frames"]] for row in rows}


def walk(plan: Plan, *ways: str) -> list[str]:
    """The frames that are shown when the occluder is moved `ways` ("left", "right")."""
    row = plan_row(plan)
    episode = Episode(row)
    shown = [row["frames"][episode.view.frame]]
    for way in ways:
        action = f"move_occluder_{way}"
        episode.choose(next(i for i, option in enumerate(row["options"]) if option["action"] == action))
        if episode.done:
            return shown
        shown.append(row["frames"][episode.view.frame])
    return shown


def steps(names: list[str]) -> list[int]:
    return [int(name.rsplit("-s", 1)[1].split(".")[0]) for name in names]


# how it is walked (paper A.1; the published evaluator)


def test_it_starts_behind_the_occluder_and_is_circular_both_ways(root: Path) -> None:
    sample = plan(root, WHOLE)
    assert steps(walk(sample, *["left"] * 20)) == [7, 6, 5, 4, 3, 2, 1, 0, 13, 12, 11, 10, 9, 8]
    assert steps(walk(sample, *["right"] * 20)) == [7, 8, 9, 10, 11, 12, 13, 0, 1, 2, 3, 4, 5, 6]
    assert sample.frames[sample.reference.frame] == "natural_bluebl_brownc-banana-s0.jpg"


def test_what_is_seen_in_place_of_the_missing_step_depends_on_the_side_one_comes_from(root: Path) -> None:
    sample = plan(root, HOLE)
    assert len(sample.frames) == 13
    assert len(sample.states) == 15
    assert steps(walk(sample, "left", "left", "left")) == [7, 5, 5, 4]
    assert steps(walk(sample, "left", "right", "left")) == [7, 5, 7, 5]
    assert steps(walk(sample, "left", "left", "right", "right")) == [7, 5, 5, 7, 7]
    assert steps(walk(sample, "left", "left", "right", "left", "left")) == [7, 5, 5, 7, 5, 4]
    assert steps(walk(sample, *["right"] * 20)) == [7, 8, 9, 10, 11, 12, 13, 0, 1, 2, 3, 4, 5, 7]


def test_the_missing_step_is_not_looked_at_where_someone_has_put_it_back(root: Path) -> None:
    name = "rod_1/banana/natural_bluebl_greenr-banana-s6.jpg"
    before = plan(root, HOLE)
    fake.repack(root / "rod_1.tar.gz", lambda members: [*members, (name, b"whatever")])
    assert plan(root, HOLE) == before


def test_a_right_category_at_the_first_turn_is_wrong(root: Path) -> None:
    row = plan_row(plan(root, WHOLE))
    episode = Episode(row)
    answer = episode.choices.index("Banana.")
    episode.choose(answer)
    assert (episode.done, episode.correct) == (True, False)
    episode = Episode(row)
    episode.choose(next(i for i, option in enumerate(row["options"]) if option["kind"] == "proactive"))
    episode.choose(answer)
    assert (episode.done, episode.correct) == (True, True)


def test_texts_are_those_that_the_evaluator_knows(root: Path) -> None:
    sample = plan(root, WHOLE)
    assert {o.text for o in sample.options if o.kind == "proactive"} == {
        "Move the blue blocks to the left.",
        "Move the blue blocks to the right.",
    }
    assert sample.reference_question == "What type of object is in the image?"
    assert sample.hint == "Hint: moving the occluding object might reveal what is behind it."
    assert sample.max_turns == 14
    assert "blue blocks" in sample.question
    assert sample.open_proactive == ("Move the blocks", "Move the camera")


def test_cowboy_hat_is_one_answer_however_it_is_spelled(root: Path) -> None:
    for spelling in ("cowboy hat", "cowboy-hat", "cowboyhat", "Cowboy_Hat"):
        copy = root.parent.parent / spelling / "raw" / "rod"
        shutil.copytree(root, copy)
        fake.repack(copy / "rod_0.tar.gz", lambda ms, to=spelling: [(n.replace("cowboy_hat", to), d) for n, d in ms])
        found = [o for o in outcomes(copy).values() if isinstance(o, Draft) and o.answer == "cowboy hat"]
        assert [o.source.key for o in found] == [f"cowboy hat/natural_redbl_greenc-{spelling}"]


def test_wrong_categories_are_drawn_from_all_16_classes_whatever_is_there(root: Path) -> None:
    assert len(classes()) == 16
    drafts = [o for seed in range(30) for o in outcomes(root, seed).values() if isinstance(o, Draft)]
    drawn_of = {name for draft in drafts for name in draft.distractors}
    assert drawn_of == set(classes())
    assert all(draft.answer not in draft.distractors for draft in drafts)


# how it lies on disk


def loose(name: str) -> str:
    return name.split("/", 1)[1]


@pytest.mark.parametrize(
    "folder",
    [
        lambda name: name,
        lambda name: f"Realistic-Occlusion-Dataset/{name}",
        lambda name: f"{name.split('/')[0]}/{name}",
        loose,
    ],
    ids=["parts", "below", "twice", "loose"],
)
def test_unpacked_gives_the_same_samples_and_frames(root: Path, folder: Callable[[str], str]) -> None:
    other = root.parent.parent / "other" / "raw" / "rod"
    fake.unpack(root, other, folder)
    (packed, facts), (unpacked, others) = built(root), built(other)
    assert frames(packed) == frames(unpacked)
    # the link, which nobody unpacks, is a candidate of the archive alone
    assert {k: others[k] for k in ("built", "frames")} == {k: facts[k] for k in ("built", "frames")}
    assert others["rejected_by_reason"] == {"missing_steps": 1, "truncated_picture": 1}


@pytest.mark.parametrize("end", ["tar", "tgz"])
def test_archives_of_other_endings_and_without_gzip_give_the_same(root: Path, end: str) -> None:
    expected = frames(built(root)[0])
    other = root.parent.parent / "other" / "raw" / "rod"
    other.mkdir(parents=True)
    for path in root.glob("*.tar.gz"):
        data = fake.plain(path) if end == "tar" else path.read_bytes()
        (other / path.name.replace("tar.gz", end)).write_bytes(data)
    work, _ = built(other)
    assert frames(work) == expected


def test_members_without_the_archives_own_folder_are_found(root: Path) -> None:
    before = {key for key, o in outcomes(root).items() if isinstance(o, Draft)}
    for path in root.glob("*.tar.gz"):
        fake.repack(path, lambda members: [(f"./{loose(name)}", data) for name, data in members])
    assert {key for key, o in outcomes(root).items() if isinstance(o, Draft)} == before


def test_a_folder_comes_before_the_archive_of_its_name(root: Path) -> None:
    target = root / "rod_1" / "banana"
    target.mkdir(parents=True)
    for name, data in fake.contents(root / "rod_1.tar.gz"):
        if "brownc-banana" in name:
            (target / Path(name).name).write_bytes(data or b"")
    raw = Rod(root, root.parent / "scratch")
    entries = [entry.key for entry in raw.entries()]
    assert WHOLE in entries
    assert HOLE not in entries
    assert "rod_1.tar.gz was not read, as rod_1/ lies beside it" in raw.gaps


def test_half_of_the_source_is_built_and_the_other_half_named(root: Path) -> None:
    (root / "rod_0.tar.gz").unlink()
    _, facts = built(root)
    assert facts["built"] == 7
    assert facts["gaps"][0] == "rod_0 is not here"
    assert "hammer" in facts["gaps"][1]


def test_what_systems_leave_in_folders_is_passed_over(root: Path) -> None:
    before = outcomes(root)
    junk: list[Member] = [("rod_1/banana/._natural_bluebl_brownc-banana-s3.jpg", b"x"), ("rod_1/.DS_Store", b"x")]
    fake.repack(root / "rod_1.tar.gz", lambda members: [*junk, *members])
    assert outcomes(root).keys() == before.keys()


# archives are read once, and in order


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The archives that were read from front to end, in order."""
    read: list[str] = []
    real = rod_spool.Spool._read

    def spied(self: rod_spool.Spool) -> rod_spool.Index:
        read.append(self.archive.name)
        return real(self)

    monkeypatch.setattr(rod_spool.Spool, "_read", spied)
    yield read  # noqa: PT022


def test_each_archive_is_read_once_from_plan_to_frames(root: Path, readings: list[str]) -> None:
    work, _ = built(root)
    assert readings == ["rod_0.tar.gz", "rod_1.tar.gz"]
    left = sorted(path.name.split("-")[0] + path.suffix for path in work.scratch("rod").iterdir())
    assert left == ["rod_0.tar.gz.json", "rod_1.tar.gz.json"]
    built(root)
    standing.status(work, config.read(["rod"]), ["rod"])
    assert len(readings) == 2


def test_planning_again_reads_no_archive(root: Path, readings: list[str]) -> None:
    work, _ = built(root)
    work.plans("rod").unlink()
    built(root)
    assert len(readings) == 2


def test_frames_that_are_missing_read_it_once_again(root: Path, readings: list[str]) -> None:
    work, _ = built(root)
    expected = frames(work)
    shutil.rmtree(work.frames("rod"))
    built(root, workers=2)
    assert readings == ["rod_0.tar.gz", "rod_1.tar.gz"] * 2
    assert frames(work) == expected


def test_a_run_killed_while_reading_leaves_nothing_half_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(path: Path, data: bytes) -> None:
        if path.name.startswith("rod_1"):
            raise KeyboardInterrupt
        write(path, data)

    write = store.write_bytes
    monkeypatch.setattr(store, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        built(root)
    monkeypatch.undo()
    scratch = root.parent.parent / "work" / ".build-bench" / "rod"
    assert not list(scratch.glob("*.partial"))
    assert built(root)[1]["built"] == 11
    assert not list(scratch.glob("*.bytes"))


def test_an_archive_that_changed_replaces_what_was_laid_out_of_it(root: Path) -> None:
    outcomes(root)
    scratch = root.parent.parent / "scratch"
    before = {path.name for path in scratch.iterdir()}
    fake.remove(root, WHOLE)
    assert WHOLE not in outcomes(root)
    assert len({path.name for path in scratch.iterdir()} - before) == 4
    assert len(list(scratch.iterdir())) == len(before)


def test_archives_of_one_name_in_two_folders_keep_out_of_each_others_way(root: Path) -> None:
    (root / "part").mkdir()
    (root / "rod_1.tar.gz").rename(root / "part" / "rod_0.tar.gz")
    assert built(root)[1]["built"] == 11


def test_memory_does_not_grow_with_the_archive(root: Path, tmp_path: Path) -> None:
    fake.repack(root / "rod_1.tar.gz", lambda members: [*members, ("rod_1/x/large.jpg", bytes(40 << 20))])
    spool = rod_spool.Spool(root / "rod_1.tar.gz", root, tmp_path / "scratch")
    tracemalloc.start()
    try:
        assert max(member.size for member in spool.index.members) == 40 << 20
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_no_room_to_lay_an_archive_out_is_said_in_a_sentence(root: Path, tmp_path: Path) -> None:
    (tmp_path / "scratch").write_text("a file where the folder should go")
    with pytest.raises(InputError, match=r"rod_0\.tar\.gz can't be laid out in .*scratch"):
        outcomes(root)


def test_laid_out_bytes_that_were_damaged_are_not_published(root: Path) -> None:
    spool = rod_spool.Spool(root / "rod_1.tar.gz", root, root.parent / "scratch")
    member = spool.index.members[3]
    (path,) = (root.parent / "scratch").glob("*.bytes")
    data = bytearray(path.read_bytes())
    data[member.offset + 100] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=f"damaged at {member.name}"):
        spool.read(member.name, member.size, member.crc)
    with pytest.raises(InputError, match="is not what it was when this was planned"):
        spool.read(member.name, member.size, member.crc ^ 1)


def test_a_new_time_alone_renders_nothing_again(root: Path) -> None:
    work, _ = built(root)
    times = {path: path.stat().st_mtime_ns for path in work.frames("rod").iterdir()}
    for path in root.iterdir():
        os.utime(path, ns=(1, 1))
    built(root)
    assert {path: path.stat().st_mtime_ns for path in work.frames("rod").iterdir()} == times


def test_the_source_is_left_as_it_was(root: Path) -> None:
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in root.iterdir()}
    built(root)
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in root.iterdir()} == before


# what is published of a picture


def test_frames_have_the_pictures_own_scans_and_no_position(root: Path) -> None:
    published = frames(built(root)[0])["rod-banana-natural-bluebl-brownc-banana"]
    source = [data for name, data in fake.contents(root / "rod_1.tar.gz") if "bluebl_brownc-banana" in name and data]
    assert len(published) == len(source) == 14
    for ours, theirs in zip(published, source, strict=True):
        first, second = (Image.open(io.BytesIO(data)) for data in (ours, theirs))
        assert first.tobytes() == second.tobytes()
        assert second.getexif().get_ifd(0x8825)
        assert not first.getexif()
        assert b"Exif" not in ours
        assert ours[ours.index(b"\xff\xda") :] == theirs[theirs.index(b"\xff\xda") :]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[: len(data) * 6 // 10], "truncated_picture"),
        (lambda data: b"", "not_a_picture"),
        (lambda data: b"<!DOCTYPE html><title>404</title>", "not_a_picture"),
        (lambda data: encoded(data, "PNG"), "not_a_jpeg"),
        (lambda data: encoded(data, "JPEG", "CMYK"), "colour_mode"),
    ],
    ids=["cut", "empty", "html", "png", "cmyk"],
)
def test_a_picture_that_is_none_rejects_its_sequence_by_name(
    root: Path, change: Callable[[bytes], bytes], reason: str
) -> None:
    name = "rod_1/banana/natural_bluebl_brownc-banana-s4.jpg"
    replaced = lambda members: [(n, change(d) if n == name and d is not None else d) for n, d in members]  # noqa: E731
    fake.repack(root / "rod_1.tar.gz", replaced)
    work, facts = built(root)
    assert facts["built"] == 10
    (why,) = [r for r in store.read_rejections(work.rejected("rod")) if r.source_key == WHOLE]
    assert (why.stage, why.reason) == ("render", reason)
    assert why.detail.startswith(f"rod_1.tar.gz:{name}: ")


def encoded(data: bytes, kind: str, mode: str = "RGB") -> bytes:
    buffer = io.BytesIO()
    Image.open(io.BytesIO(data)).convert(mode).save(buffer, kind)
    return buffer.getvalue()


# what is wrong with names and archives


def renamed(root: Path, old: str, new: str, *, once: bool = True) -> None:
    """Rename one member, or all that fit."""

    def change(members: list[Member]) -> list[Member]:
        hits = [name for name, _ in members if old in name][: 1 if once else None]
        return [(name.replace(old, new) if name in hits else name, data) for name, data in members]

    fake.repack(root / "rod_1.tar.gz", change)


def test_the_demo_rejects_what_is_wrong_in_it(root: Path) -> None:
    assert rejected(root) == {
        "hammer/natural_bluebl_brownr-hammer": ("missing_steps", "no step 9"),
        "vase/natural_redbl_whitec-vase": (
            "refused_member",
            "rod_1.tar.gz:rod_1/vase/natural_redbl_whitec-vase-s0.jpg: it is a link or a device, not a file",
        ),
    }


BANANA = "natural_bluebl_brownc-banana"


@pytest.mark.parametrize(
    ("old", "new", "reason", "detail"),
    [
        ("-s3.jpg", f"rod_1/banana/{BANANA}-s14.jpg", "missing_steps", "no step 3"),
        ("-s3.jpg", f"rod_1/banana/{BANANA}-s04.jpg", "duplicate_step", "step 4 is both"),
        ("-s3.jpg", f"../{BANANA}-s3.jpg", "refused_member", "leads out"),
        ("-s3.jpg", f"/etc/{BANANA}-s3.jpg", "refused_member", "leads out"),
        ("-s3.jpg", f"rod_1/vase/{BANANA}-s3.jpg", "class_mismatch", "lies among those of vase"),
    ],
)
def test_a_sequence_with_a_wrong_member_is_rejected_by_name(
    root: Path, old: str, new: str, reason: str, detail: str
) -> None:
    renamed(root, f"rod_1/banana/{BANANA}{old}", new)
    found = rejected(root)[WHOLE]
    assert found[0] == reason
    assert detail in found[1]


def test_a_step_too_many_is_named(root: Path) -> None:
    extra: Member = ("rod_1/banana/natural_bluebl_brownc-banana-s14.jpg", b"x")
    fake.repack(root / "rod_1.tar.gz", lambda members: [*members, extra])
    assert rejected(root)[WHOLE] == ("unexpected_steps", "step 14, expected 0 to 13")


def test_another_hole_is_not_the_known_one(root: Path) -> None:
    renamed(root, "greenr-banana-s8.jpg", "greenr-banana-s8.txt")
    assert HOLES == {"natural_bluebl_greenr-banana": 6}
    assert rejected(root)[HOLE] == ("missing_steps", "no step 8")


def test_a_member_that_is_there_twice_is_named(root: Path) -> None:
    name = "rod_1/banana/natural_bluebl_brownc-banana-s3.jpg"
    fake.repack(root / "rod_1.tar.gz", lambda members: [*members, (name, b"another")])
    assert rejected(root)[WHOLE] == ("duplicate_step", f"step 3 is both rod_1.tar.gz:{name} and rod_1.tar.gz:{name}")


def test_names_that_differ_in_case_alone_are_both_rejected(root: Path) -> None:
    renamed(root, "natural_redbl_brownr-plate", "natural_redbl_BROWNR-plate")
    found = rejected(root)
    for one, other in (("brownr", "BROWNR"), ("BROWNR", "brownr")):
        assert found[f"plate/natural_redbl_{one}-plate"] == (
            "colliding_names",
            f"differs from plate/natural_redbl_{other}-plate in spelling alone",
        )


def test_a_class_that_rod_does_not_have_is_named(root: Path) -> None:
    renamed(root, "laptop", "tablet", once=False)
    assert rejected(root)["tablet/natural_bluebl_greenc-tablet"] == ("unknown_class", "'tablet' is none of ROD's 16")


def test_a_picture_whose_name_says_nothing_is_named(root: Path) -> None:
    fake.repack(root / "rod_1.tar.gz", lambda members: [*members, ("rod_1/banana/IMG_0042.JPG", b"x")])
    assert rejected(root)["rod_1.tar.gz:rod_1/banana/IMG_0042.JPG"][0] == "unreadable_name"


def test_a_member_larger_than_any_picture_is_not_laid_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_sources, "LARGEST", 100)
    assert {reason for reason, _ in rejected(root).values()} == {"refused_member"}
    assert sum(path.stat().st_size for path in (root.parent.parent / "scratch").glob("*.bytes")) == 0


@pytest.mark.parametrize("end", [".tar.gz", ".tar"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.999])
def test_a_cut_archive_is_an_error_that_names_it(root: Path, share: float, end: str) -> None:
    path = root / "rod_1.tar.gz"
    data = path.read_bytes() if end == ".tar.gz" else fake.plain(path).rstrip(b"\0")
    path.unlink()
    path.with_name(f"rod_1{end}").write_bytes(data[: int(len(data) * share)])
    with pytest.raises(InputError) as broken:
        outcomes(root)
    assert broken.value.message.startswith(f"{root / f'rod_1{end}'}: cut off or damaged: ")
    assert "fetch it again" in broken.value.hint


def test_an_archive_cut_at_a_members_border_is_an_error_too(root: Path) -> None:
    path = root / "rod_1.tar.gz"
    path.write_bytes(fake.cut_at_a_member(path, 40))
    with pytest.raises(InputError, match="it ends without an end mark, so members may be missing"):
        outcomes(root)
    with tarfile.open(path) as tar:
        assert len(tar.getmembers()) == 40  # as tarfile has it, all is well


def test_a_damaged_header_is_an_error_and_not_the_end(root: Path) -> None:
    path = root / "rod_1.tar.gz"
    tar = bytearray(fake.plain(path))
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        at = opened.getmembers()[20].offset
    tar[at + 3] ^= 1
    path.write_bytes(gzip.compress(bytes(tar), 1))
    with pytest.raises(InputError, match=f"bad checksum at byte {at}"):
        outcomes(root)


def test_a_damaged_gzip_is_found_by_its_checksum_after_the_last_member(root: Path) -> None:
    path = root / "rod_1.tar.gz"
    data = bytearray(path.read_bytes())
    data[-8] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="CRC check failed"):
        outcomes(root)


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"<!DOCTYPE html>", "fetch it again"),
        (b"", "fetch it again"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    ],
)
def test_what_is_no_archive_is_named(root: Path, data: bytes, hint: str) -> None:
    (root / "rod_1.tar.gz").write_bytes(data)
    with pytest.raises(InputError, match=r"rod_1\.tar\.gz: no tar\.gz, it begins with") as broken:
        outcomes(root)
    assert hint in broken.value.hint


@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_long_and_foreign_names_are_read_in_every_tar_format(tmp_path: Path, kind: int) -> None:
    names = ["a/b.jpg"] if kind == tarfile.USTAR_FORMAT else ["f" * 90 + "/" + "g" * 150 + ".jpg", "naïve/ü.jpg"]
    names += ["p" * 80 + "/" + "q" * 60 + ".jpg"]
    path = tmp_path / "rod_0.tar.gz"
    with tarfile.open(path, "w:gz", format=kind) as tar:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 700
            tar.addfile(info, io.BytesIO(name.encode()[:5] * 140))
    spool = rod_spool.Spool(path, tmp_path, tmp_path / "scratch")
    assert [member.name for member in spool.index.members] == names
    for member in spool.index.members:
        assert spool.read(member.name, member.size, member.crc) == member.name.encode()[:5] * 140


# occluders in words


def test_an_unknown_occluder_code_stops_the_build_and_says_what_to_write_where(root: Path) -> None:
    renamed(root, "bluebl_brownr-vase", "greenca_brownr-vase", once=False)
    renamed(root, "redbl_whitel-baseball", "yellowbo_whitel-baseball", once=False)
    with pytest.raises(InputError) as unknown:
        built(root)
    assert "greenca (as in vase/natural_greenca_brownr-vase)" in unknown.value.message
    assert "yellowbo" in unknown.value.message
    assert str(root / "occluders.csv") in unknown.value.hint
    assert unknown.value.exit_code == 3


def test_a_table_beside_the_source_overrides_ours_row_by_row(root: Path) -> None:
    (root / "occluders.csv").write_text("code,phrase\r\nredbl,red cardboard\r\n", encoding="utf-8-sig")
    assert {o.text for o in plan(root, "plate/natural_redbl_brownr-plate").options if o.action} == {
        "Move the red cardboard to the left.",
        "Move the red cardboard to the right.",
    }
    assert "blue blocks" in plan(root, WHOLE).question


def test_a_changed_table_plans_again(root: Path) -> None:
    work, _ = built(root)
    (root / "occluders.csv").write_text("code,phrase\nredbl,red cardboard\n")
    stale = standing.status(work, config.read(["rod"]), ["rod"])["scenarios"]["rod"]["stale"]
    assert stale == ["plan: the source changed"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bluebl,blue blocks\n", "the first line must be code,phrase"),
        ("code,phrase\nbluebl\n", "csv:2: a code and a phrase expected"),
        ("code,phrase\n\nbluebl,\n", "csv:3: a code and a phrase expected"),
        ("code,phrase\nbluebl,blue, wooden blocks\n", "csv:2: a code and a phrase expected"),
        ('code,phrase\nbluebl,"blue, wooden blocks"\n', "csv:2: 'blue, wooden blocks' can't be put into an option"),
        ("code,phrase\nbluebl,{blocks}\n", "csv:2: '{blocks}' can't be put into an option"),
        ("code,phrase\nbluebl,thing to the left\n", "csv:2: 'thing to the left' can't be put into an option"),
        ("code,phrase\nbluebl,blocks\nbluebl,cubes\n", "csv:3: bluebl is both 'blocks' and 'cubes'"),
    ],
)
def test_a_bad_row_of_the_table_is_named(root: Path, text: str, problem: str) -> None:
    path = root / "occluders.csv"
    path.write_text(text)
    with pytest.raises(InputError) as bad:
        rod_occluders.occluders(path)
    assert bad.value.message.startswith(str(path))
    assert problem in bad.value.message


def test_a_table_that_is_not_utf8_is_named(root: Path) -> None:
    (root / "occluders.csv").write_bytes("code,phrase\nx,bl\xf6cke\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"occluders\.csv: can.t be read"):
        outcomes(root)


def test_recipes_name_no_folder_of_this_machine(root: Path) -> None:
    sample = plan(root, WHOLE)
    assert str(root.parent) not in json.dumps(plan_row(sample))
    assert NAME.fullmatch(sample.frames[0])
