"""What `preview` writes: only what is missing, only into its own folder, the same bytes, and texts that stay texts."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms, PngImagePlugin

from build_bench import cli, prompting, store
from build_bench.errors import InputError, UsageError
from build_bench.gallery import folder, study
from build_bench.gallery.dataset import Dataset
from build_bench.gallery.pictures import SIDE, for_browsers
from build_bench.gallery.writing import Request, write
from build_bench.imaging import decode
from build_bench.records import Option, Plan
from build_bench.store import Work
from tests import trees
from tests.gallery.conftest import Window, command

HOSTILE = "</script><img src=x onerror=alert(1)>&amp;\u2028'\"<b>"


def written(out: Path) -> dict[str, bytes]:
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def data(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8").removeprefix("put(...").removesuffix(");\n"))[1]


def texts(out: Path) -> dict[str, dict[str, Any]]:
    """id -> what the sample's page has."""
    return {row["id"]: row for path in out.glob("data/rows/*.js") for row in data(path)}


def test_a_dataset_without_a_work_folder_is_shown_and_says_so(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "gallery"
    report = json.loads(command("preview", "--workers", "1", "--dataset", str(tree), "--out", str(out), "--json"))
    assert report["samples"] == len(trees.some_plans())
    assert data(out / "data" / "overview.js")["models"] == []
    rows = texts(out)
    assert rows.keys() == {plan.id for plan in trees.some_plans()}
    assert all(row["said"] == [] for row in rows.values())
    assert {row["why"].split(":")[0] for row in rows.values()} == {"kept", "dropped"}
    assert not (tmp_path / "work").exists()


def test_what_the_models_said_and_why_is_that_of_the_audit(demo: Work, gallery: Path) -> None:
    rows, models = texts(gallery), [name for name, _ in data(gallery / "data" / "overview.js")["models"]]
    some = [next(name for name in rows if name.startswith(f"{scenario}-")) for scenario in ("rod", "coco", "changeit")]
    arguments = [word for name in some for word in ("--sample", name)]
    audit = json.loads(command("audit", "--work", str(demo.root), "--json", *arguments))["samples"]
    for name in some:
        said = {models[number]: (verdict, answer) for number, verdict, answer, _ in rows[name]["said"]}
        assert said == {model: (one["verdict"], one["answer"]) for model, one in audit[name]["answers"].items()}
        assert rows[name]["why"] == audit[name]["why"]


def test_the_demo_is_called_a_demo_as_on_its_card(gallery: Path) -> None:
    assert data(gallery / "data/overview.js")["name"] == "build-bench demo, all pictures drawn"


def test_an_answer_to_what_was_shown_formerly_is_marked_stale(demo: Work, tmp_path: Path) -> None:
    work = Work(tmp_path / "work", demo.raw)
    shutil.copytree(demo.root, work.root, ignore=shutil.ignore_patterns("raw", "reports", "quickdraw*", "vsod*"))
    sample = next(name for name in texts(demo.reports / "gallery") if name.startswith("coco-"))
    table = tmp_path / "old.jsonl"
    table.write_text(json.dumps({"model": "old", "id": sample, "answer": "A", "input_digest": "0" * 12}))
    command("predict", "--import", str(table), "--work", str(work.root))
    report = write(Dataset(work.dataset, ["coco"]), work, tmp_path / "out", Request())
    assert report["samples"] == 14
    rows, overview = texts(tmp_path / "out"), data(tmp_path / "out" / "data" / "overview.js")
    old = [name for name, _ in overview["models"]].index("old")
    assert [said[1:3] for said in rows[sample]["said"] if said[0] == old] == [["stale", "A"]]
    notes = overview["scenarios"][0]["notes"]
    assert any("old" in note for note in notes), "the keep list is older than these predictions"


def test_running_again_makes_only_what_is_missing_and_ends_in_the_same_bytes(tree: Path, tmp_path: Path) -> None:
    out, request = tmp_path / "out", Request(each=2)
    write(Dataset(tree), None, out, request)
    first = written(out)
    pictures = sorted((out / "pictures").iterdir())
    shutil.rmtree(pictures[0])
    shutil.copytree(pictures[1], pictures[1].with_name("rod-000000000000.12.making"))  # of a killed run
    (pictures[2] / "pictures.json").write_text("[{")
    facts = json.loads((pictures[4] / "pictures.json").read_text())
    (pictures[4] / "pictures.json").write_text(json.dumps(facts[1:]))
    next(pictures[3].glob("*-0.*")).unlink()
    times = {path: path.stat().st_mtime_ns for path in (pictures[1], *pictures[5:])}
    write(Dataset(tree), None, out, request)
    assert written(out) == first
    assert {path: path.stat().st_mtime_ns for path in times} == times
    write(Dataset(tree), None, tmp_path / "elsewhere", dataclasses.replace(request, workers=2))
    assert written(tmp_path / "elsewhere") == first, "whatever the place and the number of workers"


def test_no_file_names_a_place_of_this_machine(gallery: Path) -> None:
    for name, found in written(gallery).items():
        assert str(gallery.parents[1]).encode() not in found, name


def test_samples_that_are_named_are_shown_alone_with_their_originals(demo: Work, tmp_path: Path) -> None:
    names = [next(n for n in texts(demo.reports / "gallery") if n.startswith(s)) for s in ("coco-", "rod-")]
    arguments = [word for name in names for word in ("--sample", name)]
    out = tmp_path / "out"
    command("preview", "--workers", "1", "--work", str(demo.root), "--full", "--out", str(out), *arguments)
    rows = texts(out)
    assert rows.keys() == set(names)
    originals = {
        row["id"]: [frame["bytes"] for frame in row["frames"]]
        for part in Dataset(demo.dataset).slices(names)[0]
        for row in part.rows(["id", "frames"])
    }
    for folder_ in (out / "pictures").iterdir():
        (name,) = [n for n in names if folder_.name.startswith(n.split("-")[0])]
        assert [(folder_ / file).read_bytes() for file in rows[name]["files"]] == originals[name]


def test_what_is_no_longer_shown_is_removed_and_links_are_not_followed(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(Dataset(tree), None, out, Request(each=1))
    aside = tmp_path / "aside"
    aside.mkdir()
    (aside / "mine").write_text("stays")
    (out / "pictures" / "link").symlink_to(aside)
    write(Dataset(tree, ["coco"]), None, out, Request(each=1))
    assert {path.name.split("-")[0] for path in (out / "pictures").iterdir()} == {"coco"}
    assert {path.name.split("-")[0] for path in (out / "data" / "rows").iterdir()} == {"coco"}
    assert (aside / "mine").exists()


def test_a_sample_that_was_rejected_is_answered_with_its_reason(demo: Work, tmp_path: Path) -> None:
    work = Work(tmp_path / "work", demo.raw)
    lines = [{"source_key": "a/B 7", "stage": "render", "reason": "no_frames", "detail": "empty"}]
    store.write_bytes(work.rejected("coco"), b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    name = f"coco-{prompting.slug('a/B 7')}"
    with pytest.raises(UsageError, match=f"{name} is not in the dataset: .* stage render, no_frames: empty"):
        write(Dataset(demo.dataset), work, tmp_path / "out", Request(samples=(name,)))


def spoiled(tree: Path, tmp_path: Path, spoil: Callable[[Path], None]) -> Path:
    copied = tmp_path / "copied"
    shutil.copytree(tree, copied)
    spoil(copied)
    return copied


def _picture(copied: Path) -> None:
    path = next(copied.glob("data/coco/*/kept-*.parquet"))
    found = path.read_bytes()
    start = found.index(b"\xff\xd8\xff")
    path.write_bytes(found[: start + 4] + b"\0" * 40 + found[start + 44 :])


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda copied: (copied / "manifest.json").unlink(), "there is no dataset"),
        (lambda copied: (copied / "manifest.json").write_text("{"), "is broken"),
        (lambda copied: next(copied.glob("data/rod/*/kept*")).unlink(), "doesn't hold the"),
        (lambda copied: next(copied.glob("data/rod/*/kept*")).write_bytes(b"PAR1"), "can't be read"),
        (_picture, "a picture of coco-"),
    ],
)
def test_a_damaged_dataset_is_named_and_leaves_nothing_half_written(
    spoil: Callable[[Path], None], sentence: str, tree: Path, tmp_path: Path
) -> None:
    copied = spoiled(tree, tmp_path, spoil)
    with pytest.raises(InputError, match=sentence):
        write(Dataset(copied), None, tmp_path / "out", Request())
    assert not list((tmp_path).rglob("*.making"))
    assert not (tmp_path / "out" / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["cocoa"], 2, "did you mean 'coco'"),
        (["--sample", "coco-"], 2, "did you mean 'coco-"),
        (["--sample", "coco-zzz"], 2, "ids are spelled like 'coco-"),
        (["--playable", "0"], 2, "neither a number from 1 nor 'all'"),
        (["--dataset", "nowhere"], 3, "there is no dataset in nowhere"),
    ],
)
def test_a_mistake_is_answered_with_what_to_do(arguments: list[str], code: int, sentence: str, demo: Work) -> None:
    done = CliRunner().invoke(cli.group, ["preview", "--work", str(demo.root), *arguments])
    error: Any = done.exception
    assert getattr(error, "exit_code", done.exit_code) == code
    assert sentence in f"{getattr(error, 'message', '')} {getattr(error, 'hint', '')} {done.output}"


def encoded(image: Image.Image, kind: str, **more: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **more)
    return buffer.getvalue()


NOISE = Image.effect_noise((1200, 900), 90).convert("RGB")
TURNS = [NOISE.resize((60, 50)), NOISE.resize((60, 50)).rotate(90)]
CLEAR = Image.merge("RGBA", [*NOISE.resize((60, 50)).split(), Image.effect_noise((60, 50), 90)])
TURNED = Image.Exif()
TURNED[0x0112] = 6
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
GAMMA = PngImagePlugin.PngInfo()
GAMMA.add(b"gAMA", (100_000).to_bytes(4, "big"))


@pytest.mark.parametrize(
    ("data", "side", "ending", "copied"),
    [
        (encoded(NOISE, "JPEG"), SIDE, "jpg", False),
        (encoded(NOISE, "JPEG"), None, "jpg", True),
        (encoded(NOISE.resize((60, 50)), "PNG"), SIDE, "png", True),
        (encoded(Image.new("RGB", (1200, 900)), "PNG"), SIDE, "png", True),  # a drawing is small as it is
        (encoded(NOISE, "JPEG", exif=TURNED), None, "png", False),  # browsers would turn it, models see it unturned
        (encoded(NOISE.resize((60, 50)).convert("CMYK"), "JPEG"), SIDE, "png", False),
        (encoded(NOISE.resize((60, 50)), "TIFF"), SIDE, "png", False),
        (encoded(NOISE.resize((8000, 20)), "PNG"), SIDE, "png", True),  # of which a line would be left
        (encoded(TURNS[0], "GIF", save_all=True, append_images=TURNS[1:]), SIDE, "png", False),
        (encoded(TURNS[0], "PNG", save_all=True, append_images=TURNS[1:]), SIDE, "png", False),
        (encoded(TURNS[0], "WEBP", save_all=True, append_images=TURNS[1:], lossless=True), SIDE, "png", False),
        (encoded(CLEAR, "PNG"), SIDE, "png", False),  # models see what alpha hides
        (encoded(CLEAR.resize((1200, 900)), "PNG"), SIDE, "jpg", False),
        (encoded(NOISE.resize((60, 50)).quantize(8), "GIF", transparency=0), SIDE, "png", False),
        (encoded(NOISE, "JPEG", icc_profile=PROFILE), None, "jpg", False),  # browsers would show other colours
        (encoded(NOISE, "JPEG", icc_profile=PROFILE), SIDE, "jpg", False),
        (encoded(NOISE.resize((60, 50)), "PNG", icc_profile=PROFILE), SIDE, "png", False),
        (encoded(NOISE.resize((60, 50)), "PNG", pnginfo=GAMMA), SIDE, "png", False),
        (encoded(NOISE.resize((60, 50)), "WEBP", icc_profile=PROFILE), SIDE, "png", False),
    ],
)
def test_a_frame_is_copied_if_browsers_show_it_as_models_see_it(
    data: bytes, side: int | None, ending: str, copied: bool
) -> None:
    kind, shown, size = for_browsers(data, side)
    assert kind == ending
    assert size == Image.open(io.BytesIO(data)).size
    assert (shown == data) == copied
    assert not {"icc_profile", "gamma"} & Image.open(io.BytesIO(shown)).info.keys()
    if side and not copied and max(size) > side:
        assert len(shown) < len(data)
        assert max(Image.open(io.BytesIO(shown)).size) == side
    else:
        assert decode(shown).tobytes() == decode(data).tobytes()


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6))
def test_no_text_ends_a_script_or_is_taken_for_markup(value: Any) -> None:
    text = folder.script("name", value).decode()
    assert not set(text) & set("<>&\u2028\u2029")
    assert text.count("\n") == 1
    assert json.loads(text.removeprefix("put(...").removesuffix(");\n")) == ["name", value]


def hostile(plan: Plan) -> Plan:
    """The same sample from a source that means harm."""
    return dataclasses.replace(
        plan,
        id=f"{plan.scenario}-{HOSTILE}",
        question=HOSTILE,
        context=f"{HOSTILE} context",
        hint=HOSTILE,
        options=tuple(Option(f"{HOSTILE} {at}", o.kind, o.action) for at, o in enumerate(plan.options)),
        categories=tuple(f"{HOSTILE} {name}" for name in plan.categories),
        answer=f"{HOSTILE} {plan.answer}",
        source=dataclasses.replace(plan.source, url="javascript:alert(1)", key=HOSTILE, license=HOSTILE),
    )


def test_hostile_texts_are_shown_as_they_are(window: Callable[..., Window], tmp_path: Path) -> None:
    plan = hostile(next(plan for plan in trees.some_plans() if plan.scenario == "coco"))
    tree = trees.lay_out(tmp_path / "dataset", [plan])
    write(Dataset(tree), None, tmp_path / "gallery", Request())
    study.write(study.drawn(Dataset(tree), 1, 0), Work(tmp_path / "work", tmp_path), tmp_path / "study", 0)
    shown = window(tmp_path / "gallery")
    for address in ("", "#list", f"#sample/{folder_address(plan.id)}", f"#sample/{folder_address(plan.id)}?look=1"):
        page = shown.open(address)
        page.on("dialog", lambda dialog: shown.troubles.append(dialog.message))
        if "sample" in address:
            assert HOSTILE.replace("\u2028", "") in page.locator(".question").inner_text().replace("\u2028", "")
        assert (
            page.evaluate("document.querySelectorAll('[onerror], main b, main script, [href^=javascript]').length") == 0
        )
    studied = window(tmp_path / "study").open()
    assert studied.evaluate("document.querySelectorAll('[onerror], main b, main script').length") == 0
    assert studied.locator(".choices button").count() >= 5


def folder_address(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
