"""`doctor` says what is here and what a build still needs, never what is secret, and never fails by what it finds."""

from __future__ import annotations

import json
import os
import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from build_bench import config, doctor, doctor_machine
from build_bench.builders import SCENARIOS
from build_bench.demo import SETTINGS, draw
from build_bench.doctor_command import doctor as command
from build_bench.fetching import states
from build_bench.store import Work
from tests.fakes import changeit, vsod

TOKEN = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz"


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "work", tmp_path / "work" / "raw")


def photos(root: Path) -> None:
    """As much of COCO as tells a reader that it is there."""
    (root / "val2014").mkdir(parents=True)
    (root / "annotations").mkdir()
    (root / "annotations" / "instances_val2014.json").write_text("{}")


def examined(work: Work, *names: str, changes: tuple[str, ...] = ()) -> dict[str, Any]:
    names = names or tuple(SCENARIOS)
    return doctor.report(work, config.read(names, None, changes), names, offline=True, ask_torch=False)


def test_nothing_here_is_no_defect_and_says_what_to_type(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10**12))
    answer = examined(work)
    assert answer["ok"]
    assert {source["state"] for source in answer["sources"].values()} == {"absent"}
    assert f"build-bench fetch {' '.join(SCENARIOS)} --work {work.root}" in answer["next"]
    assert answer["network"] is None
    assert not work.root.exists()  # looking makes nothing


def test_what_a_scenario_still_needs_is_named_with_what_to_do(work: Work) -> None:
    vsod.clip(work.raw / "vsod", "test_0001", [None, 0.5])
    changeit.annotate(work.raw / "changeit", "apple", "aaaaaaaaaaa", [0, 1])
    photos(work.raw / "coco")
    (work.raw / "mvp_n" / "data" / "test").mkdir(parents=True)
    sources = examined(work, "vsod", "mvp_n", "changeit", "coco")["sources"]
    assert {name: source["state"] for name, source in sources.items()} == dict.fromkeys(sources, "partly")
    for name, need, step in (
        ("vsod", "answers.csv is missing", "build-bench annotate vsod"),
        ("mvp_n", "classes have a name", "classes.csv"),
        ("changeit", "1 of 1 annotated videos are not here", ""),
        ("coco", "needs the package open_clip", "build-bench[clip]"),
    ):
        assert any(need in said for said in sources[name]["needs"])
        assert step in " ".join(sources[name]["steps"])


def test_a_fetch_for_which_there_is_no_room_names_a_folder_for_it(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=56e9))
    (command,) = [step for step in examined(work)["next"] if step.startswith("build-bench fetch")]
    assert f"--work {work.root} --raw FOLDER   (" in command
    assert f"GB are still to come, {work.raw} has room for 56.0 GB" in command


def test_a_folder_of_sources_that_was_named_is_named_again(work: Work, tmp_path: Path) -> None:
    photos(tmp_path / "elsewhere" / "coco")
    here = Work(work.root, tmp_path / "elsewhere")
    steps = examined(here, "coco", "rod")["next"]
    assert [step for step in steps if not step.endswith(f"--work {work.root} --raw {here.raw}")] == [
        step for step in steps if step.startswith("coco: ")
    ]


def test_a_file_that_is_half_there_is_said_to_be(work: Work) -> None:
    (work.raw / "rod").mkdir(parents=True)
    (work.raw / "rod" / "rod_0.tar.gz").write_bytes(b"\x1f\x8b" + bytes(1000))
    answer = examined(work, "rod")
    assert (
        f"{work.raw / 'rod' / 'rod_0.tar.gz'} is incomplete: 1,002 of 1,350,865,094 bytes"
        in (answer["sources"]["rod"]["needs"])
    )
    assert answer["ok"]


def test_what_is_here_in_part_and_cannot_be_opened_is_not_what_to_build_next(work: Work) -> None:
    for name in ("rod", "mvp_n"):
        (work.raw / name).mkdir(parents=True)
    (work.raw / "rod" / "rod_0.tar.gz").write_bytes(b"\x1f\x8b" + bytes(1000))
    (work.raw / "mvp_n" / "classes.csv").write_text("class,name\n")
    photos(work.raw / "coco")
    steps = examined(work, "rod", "mvp_n", "coco", changes=("coco.negatives=supercategory",))["next"]
    assert steps[-1] == f"build-bench all --no-fetch --scenario coco --work {work.root}"
    assert [step for step in steps if step.startswith("mvp_n: ") and "drive.google.com" in step]
    assert not [step for step in steps if step.startswith("rod: ")], "fetch, which comes first, gets all of it"


def test_a_folder_that_cannot_be_looked_into_is_part_of_the_report(work: Work, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = examined(Work(work.root, tmp_path / "file" / "raw"), "coco")
    assert {source["state"] for source in answer["sources"].values()} == {"absent"}


def test_a_file_of_the_wrong_bytes_comes_with_what_to_do(work: Work) -> None:
    path = work.raw / "imagenet_c" / "noise.tar"
    path.parent.mkdir(parents=True)
    path.write_bytes(bytes(2000))
    steps = examined(work, "imagenet_c")["next"]
    assert f"imagenet_c: remove {path}, then build-bench fetch imagenet_c" in steps


def test_a_long_list_is_cut_for_a_person_and_whole_for_a_program(work: Work) -> None:
    answer = examined(work, "coco")
    answer["sources"]["coco"]["needs"] = ["word, " * 400]
    assert max(map(len, doctor.lines(answer))) < 400


def test_a_half_of_a_source_is_partly_there(work: Work) -> None:
    photos(work.raw / "coco")
    (work.raw / "coco" / "annotations" / "instances_val2014.json").unlink()
    source = examined(work, "coco")["sources"]["coco"]
    assert source["state"] == "partly"
    assert "no annotations_trainval2014.zip" in " ".join(source["needs"])


def test_all_that_the_demo_draws_can_be_built(work: Work) -> None:
    draw(work.raw, ["quickdraw"])
    changes = tuple(change for change in SETTINGS if change.startswith("quickdraw"))
    answer = examined(work, "quickdraw", changes=changes)
    assert answer["sources"]["quickdraw"]["state"] == "there"
    assert answer["next"] == [f"build-bench all --no-fetch --work {work.root}"]


def test_a_page_saved_as_an_archive_is_broken(work: Work) -> None:
    (work.raw / "mvp_n").mkdir(parents=True)
    (work.raw / "mvp_n" / "data.zip").write_bytes(b"<!DOCTYPE html><html>Too many users have viewed this file")
    answer = examined(work, "mvp_n")
    assert not answer["ok"]
    assert "data.zip" in answer["broken"][0]
    assert answer["next"][0].startswith("mend what is broken")


def test_a_disk_too_small_for_what_is_here_is_broken(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    photos(work.raw / "coco")
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    answer = examined(work, "coco")
    assert "0.0 GB are free" in answer["broken"][0]


def test_a_library_that_is_too_old_or_absent_is_broken(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["numpy>=99", "nothing-of-that-name>=1", 'also-none>=2; extra == "odd"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _: wanted)
    answer = examined(work, "rod")
    assert [text.partition(",")[0].split()[0] for text in answer["broken"]] == ["numpy", "nothing-of-that-name"]
    assert answer["extras"]["odd"] == {"for": "also-none", "installed": False, "lacks": ["also-none"]}
    assert "  [odd] lacks also-none (pip install 'build-bench[odd]'): also-none" in doctor.lines(answer)


@pytest.mark.parametrize(
    ("version", "bounds", "fits"),
    [
        ("2.0", ">=2.0", True), ("2", ">=2.0.0", True), ("2.10", ">=2.9", True), ("1.9.9", ">=2", False),
        ("14.0.0rc1", ">=14", True), ("3.0+cpu", ">=3", True), ("5", "", True), ("20250101", ">=2025.1", True),
    ],
)  # fmt: skip
def test_versions_are_compared_as_numbers(version: str, bounds: str, fits: bool) -> None:
    assert doctor_machine._fits(version, bounds) is fits


def test_every_extra_has_words_for_what_it_is_for() -> None:
    declared = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert set(declared["optional-dependencies"]) <= set(doctor_machine.EXTRAS)


@pytest.mark.parametrize("how", ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "file"])
def test_a_token_is_said_to_be_there_and_never_shown(
    how: str, work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    assert examined(work, "rod")["hub"]["token"] == ""
    if how == "file":
        (tmp_path / "hf").mkdir()
        (tmp_path / "hf" / "token").write_text(TOKEN)
    else:
        monkeypatch.setenv(how, TOKEN)
    monkeypatch.setenv("HF_ENDPOINT", f"https://user:{TOKEN}@hub.example:8443/path?token={TOKEN}")
    answer = examined(work, "rod")
    assert answer["hub"] == {"endpoint": "https://hub.example:8443", "token": answer["hub"]["token"]}
    assert answer["hub"]["token"]
    assert TOKEN not in json.dumps(answer) + "\n".join(doctor.lines(answer))


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def test_hosts_are_asked_at_once_and_what_came_is_said(listening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    addresses = [
        f"http://127.0.0.1:{listening}/a",
        f"http://127.0.0.1:{listening}/b",
        f"http://127.0.0.1:{port}",
        "odd",
    ]
    found = doctor_machine.reachable([*addresses, "http://[::1", "http://127.0.0.1:99999999/"])
    assert found[f"http://127.0.0.1:{listening}"] == "answers"
    assert "refused" in found[f"http://127.0.0.1:{port}"]
    assert len(found) == 2
    monkeypatch.setenv("http_proxy", f"http://user:secret@127.0.0.1:{listening}")
    proxied = doctor_machine.reachable(["http://elsewhere.invalid/"])
    assert proxied == {"http://elsewhere.invalid": f"its proxy answers (http://127.0.0.1:{listening})"}


def test_no_network_is_said_plainly() -> None:
    said = list(doctor._network_lines({"https://a": "can't be reached: no route", "https://b": "no answer within 1 s"}))
    assert said == ["network: there is none, as far as 2 hosts can tell; building needs none"]


def test_a_mistake_in_looking_becomes_part_of_the_report(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("odd")

    for place in ("shutil.disk_usage", "importlib.metadata.requires"):
        monkeypatch.setattr(place, fail)
    monkeypatch.setattr(states, "look", fail)
    monkeypatch.setattr(doctor_machine, "gpus", fail)
    answer = examined(work)
    assert len(answer["broken"]) == len(SCENARIOS) + 3
    assert "ZeroDivisionError: odd" in "\n".join(doctor.lines(answer))


def test_the_command_prints_json_and_exits_with_1_for_what_is_broken(work: Work) -> None:
    arguments = ["--offline", "--json", "--work", str(work.root)]
    fine = CliRunner().invoke(command, arguments)
    assert (fine.exit_code, json.loads(fine.stdout)["ok"]) == (0, True)
    (work.raw / "mvp_n").mkdir(parents=True)
    (work.raw / "mvp_n" / "data.zip").write_bytes(b"<html>")
    broken = CliRunner().invoke(command, arguments)
    assert (broken.exit_code, json.loads(broken.stdout)["ok"]) == (1, False)
    text = CliRunner().invoke(command, [*arguments[:1], *arguments[2:]]).stdout
    assert "mvp_n: partly" in text
    assert "Next:" in text
