"""A release's number rises with what changed, its changelog says what, and it never becomes another."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_bench import listing, releases, store
from build_bench.errors import UsageError
from build_bench.release_changes import Bump, changes
from build_bench.releases import Version, parse
from build_bench.verifying import verify
from tests.trees import lay_out, some_plans

Manifest = dict[str, Any]


def facts(kept: dict[str, str], dropped: dict[str, str] | None = None) -> Manifest:
    rows = {"kept": kept, "dropped": dropped or {}}
    splits = {"unfiltered": len(kept) + len(dropped or {})} | ({} if dropped is None else {"filtered": len(kept)})
    return {"built": splits["unfiltered"], "splits": splits, "rows": rows, "settings": {}}


def manifest() -> Manifest:
    """Of release v1.2.3: coco has four rows, of which one is dropped; rod isn't filtered."""
    return {
        "release": "v1.2.3",
        "seed": 0,
        "code": {"build-bench": "1"},
        "models": {"old": {}},
        "left_out": {},
        "columns": {"id": "string", "answer": "string"},
        "files": {},
        "scenarios": {
            "coco": {
                **facts({"coco-1": "11", "coco-2": "22", "coco-3": "33"}, {"coco-4": "44"}),
                "settings": {"negatives": "supercategory"},
                "sources": [{"path": "a.zip", "sha256": "1"}],
            },
            "rod": facts({"rod-1": "11"}),
        },
    }


def move(new: Manifest, name: str, source: str, target: str) -> None:
    rows = new["scenarios"]["coco"]["rows"]
    rows[target][name] = rows[source].pop(name)


def rows_of(new: Manifest, side: str = "kept") -> dict[str, str]:
    found: dict[str, str] = new["scenarios"]["coco"]["rows"][side]
    return found


CASES: list[tuple[Callable[[Manifest], Any], str, str]] = [
    (lambda new: None, "v1.2.4", ""),
    (lambda new: new.update(seed=1), "v1.2.4", "- Made with seed: 1, before 0."),
    (lambda new: new["code"].update(pyarrow="26"), "v1.2.4", "- Made with pyarrow: 26, before none."),
    (lambda new: new.update(rule="first_turn_50_v1"), "v1.2.4", "- Made with rule: first_turn_50_v1, before none."),
    (lambda new: new.update(threshold=0.5), "v1.2.4", "- Made with threshold: 0.5, before none."),
    (
        lambda new: new.update(drawn=True),
        "v1.2.4",
        "- Made with source files: drawn by build-bench, before as distributed.",
    ),
    (lambda new: new["models"].update({"m/1": {}, "m/2": {}}), "v1.2.4", "- Models added: `m/1`, `m/2`."),
    (lambda new: new["models"].pop("old"), "v1.2.4", "- Models removed: `old`."),
    (
        lambda new: new["scenarios"]["coco"]["settings"].update(negatives="clip"),
        "v1.2.4",
        "- Made with coco.negatives: clip, before supercategory.",
    ),
    (
        lambda new: new["scenarios"]["coco"].update(facts={"table_sha256": "ab", "drawn": 7}),
        "v1.2.4",
        "- Made with coco.table_sha256: ab, before none.",
    ),
    (
        lambda new: new["scenarios"]["coco"].update(sources=[{"path": "a.zip", "sha256": "2"}, {"path": "b.zip"}]),
        "v1.2.4",
        "- Made with 2 other source files of coco.",
    ),
    (
        lambda new: new["left_out"].update(rod={"settings": new["scenarios"].pop("rod")["settings"]}),
        "v2.0.0",
        "- Not published any more: `rod`.",
    ),
    (lambda new: new["columns"].update(lang="string"), "v1.3.0", "- Column `lang (string)` is new."),
    (lambda new: new["columns"].pop("answer"), "v2.0.0", "- Column `answer (string)` is gone."),
    (lambda new: new["columns"].update(answer="int32"), "v2.0.0", "- Column `answer (int32)` is new."),
    (lambda new: new["scenarios"].update(vsod=facts({"vsod-1": "1"})), "v1.3.0", "- Scenario `vsod` is new: 1 rows."),
    (lambda new: new["scenarios"].pop("rod"), "v2.0.0", "- Scenario `rod` is gone."),
    (lambda new: rows_of(new).update({"coco-9": "99"}), "v1.3.0", "- 1 added: `coco-9`"),
    (lambda new: rows_of(new, "dropped").update({"coco-9": "99"}), "v1.3.0", "- 1 added: `coco-9`"),
    (lambda new: rows_of(new).pop("coco-1"), "v2.0.0", "- 1 removed: `coco-1`"),
    (lambda new: rows_of(new, "dropped").clear(), "v2.0.0", "- 1 removed: `coco-4`"),
    (lambda new: rows_of(new).update({"coco-1": "x", "coco-3": "y"}), "v2.0.0", "- 2 changed: `coco-1`, `coco-3`"),
    (lambda new: move(new, "coco-2", "kept", "dropped"), "v2.0.0", "- 1 from kept to dropped: `coco-2`"),
    (lambda new: move(new, "coco-4", "dropped", "kept"), "v1.3.0", "- 1 from dropped to kept: `coco-4`"),
    (lambda new: new["scenarios"].update(rod=facts({"rod-1": "11"}, {})), "v1.3.0", "- the split `filtered` is new"),
    (lambda new: new["scenarios"].update(rod=facts({}, {"rod-1": "11"})), "v1.3.0", "- the split `filtered` is new"),
    (
        lambda new: new["scenarios"].update(
            coco=facts({"coco-1": "11", "coco-2": "22", "coco-3": "33", "coco-4": "44"})
        ),
        "v2.0.0",
        "- the split `filtered` is gone",
    ),
]


@pytest.mark.parametrize(("change", "lowest", "line"), CASES)
def test_the_part_that_must_rise_follows_from_the_change(
    change: Callable[[Manifest], Any], lowest: str, line: str
) -> None:
    new = copy.deepcopy(manifest())
    change(new)
    found = changes(manifest(), new)
    assert str(releases.lowest(found)) == lowest
    assert line in [*releases.changelog("", lowest, found).splitlines(), ""]
    releases.check_version(lowest, found)
    releases.check_version("v7.0.0", found)
    below = {"v1.2.4": "v1.2.3", "v1.3.0": "v1.2.99", "v2.0.0": "v1.99.99"}[lowest]
    with pytest.raises(UsageError, match="too low") as refused:
        releases.check_version(below, found)
    assert lowest in refused.value.hint


def test_what_is_no_longer_published_is_said_once_and_its_settings_are_no_change() -> None:
    new = copy.deepcopy(manifest())
    new["left_out"]["rod"] = {"settings": new["scenarios"].pop("rod")["settings"]}
    new["left_out"]["vsod"] = {"settings": {}}
    lines = releases.changelog("", "v2.0.0", changes(manifest(), new)).splitlines()
    assert [line for line in lines if line.startswith("- ")] == ["- Not published any more: `rod`."]


def test_a_refusal_names_the_reason_and_the_lowest_number() -> None:
    new = copy.deepcopy(manifest())
    rows_of(new).update({"coco-1": "x", "coco-2": "y", "coco-3": "z", "coco-9": "new"})
    with pytest.raises(UsageError) as refused:
        releases.check_version("v1.3.0", changes(manifest(), new))
    assert refused.value.message == "v1.3.0 is too low after v1.2.3: 3 rows of coco changed"
    assert refused.value.hint == "name v2.0.0 or higher"


@pytest.mark.parametrize("first", ["v0.0.1", "v1.0.0", "v12.34.56"])
def test_the_first_release_may_have_any_number(first: str) -> None:
    releases.check_version(first, changes(None, manifest()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1.0.0",
        "v1.0",
        "v1.0.0.0",
        "v01.0.0",
        "v1.0.0-rc1",
        "v-1.0.0",
        "v1.0.0\n",
        "v0.0.0",
        "v\u0661.0.0",
        "V1.0.0",
    ],
)
def test_what_is_no_version_is_refused(text: str) -> None:
    assert not listing.is_version(text)
    with pytest.raises(UsageError, match="is no release"):
        parse(text)


numbers = st.builds(Version, *[st.integers(0, 10**9 - 1)] * 3).filter(lambda version: str(version) != "v0.0.0")


@given(numbers, numbers)
def test_versions_are_ordered_as_numbers_and_written_as_read(one: Version, other: Version) -> None:
    assert parse(str(one)) == one
    parts = [(version.major, version.minor, version.patch) for version in (one, other)]
    assert (one < other) == (parts[0] < parts[1])
    assert one < one.raised(Bump.PATCH) <= one.raised(Bump.MINOR) <= one.raised(Bump.MAJOR)


ids = st.dictionaries(st.sampled_from([f"coco-{n}" for n in range(8)]), st.tuples(st.booleans(), st.sampled_from("xy")))


def of(rows: dict[str, tuple[bool, str]]) -> Manifest:
    halves = {side: {n: digest for n, (kept, digest) in rows.items() if kept is side} for side in (True, False)}
    return {**manifest(), "scenarios": {"coco": facts(halves[True], halves[False])}}


@given(ids, ids)
def test_what_the_changes_say_turns_the_old_rows_into_the_new(
    old: dict[str, tuple[bool, str]], new: dict[str, tuple[bool, str]]
) -> None:
    found = changes(of(old), of(new)).rows.get("coco")
    if found is None:
        assert old == new
        return
    assert set(found.removed) == old.keys() - new.keys()
    assert set(found.added) == new.keys() - old.keys()
    for name in old.keys() & new.keys():
        assert (name in found.changed) == (old[name][1] != new[name][1])
        assert (name in found.to_dropped) == (old[name][0] and not new[name][0])
        assert (name in found.to_kept) == (new[name][0] and not old[name][0])
    keeps_promise = all(new.get(name) == row for name, row in old.items() if row[0])
    keeps_promise &= all(name in new and new[name][1] == row[1] for name, row in old.items())
    assert (releases.least_bump(changes(of(old), of(new))) < Bump.MAJOR) == keeps_promise


def test_the_changelog_is_newest_first_and_older_sections_stay_as_they_are() -> None:
    first = releases.changelog("", "v1.2.3", changes(None, manifest()))
    mended = first.replace("The first release.", "The first release, with a typo in `coco-2`.")
    second = releases.changelog(mended, "v1.2.4", changes(manifest(), manifest()))
    assert second.index("## v1.2.4") < second.index("## v1.2.3")
    assert "with a typo in" in second
    assert second.count("# Changelog") == 1
    assert releases.changelog_at(second, "v1.2.3") == mended
    assert releases.changelog_at(second, "v1.2.4") == second
    assert releases.changelog_at(second, "v1.2") is None
    assert "by hand" in releases.changelog("# by hand\n", "v1.2.3", changes(None, manifest()))


def test_a_long_list_is_cut_with_a_count() -> None:
    new = copy.deepcopy(manifest())
    rows_of(new).update({f"coco-x{n:04d}": "1" for n in range(1_060)})
    text = releases.changelog("", "v1.3.0", changes(manifest(), new))
    assert "- 1,060 added: `coco-x0000`, " in text
    assert text.rstrip().endswith("`coco-x0049` and 1,010 more")


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plans = [plan for plan in some_plans() if plan.scenario in ("coco", "quickdraw")]
    keep = {plan.id: number % 3 > 0 for number, plan in enumerate(plans)}
    return lay_out(tmp_path_factory.mktemp("releases") / "dataset", plans, keep)


@pytest.fixture
def tree(laid_out: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(laid_out, tmp_path / "dataset"))


def read(folder: Path) -> Manifest:
    found: Manifest = json.loads((folder / "manifest.json").read_bytes())
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_sealed_tree_is_whole_and_says_which_release_it_is(tree: Path) -> None:
    sealed = releases.seal(tree, read(tree), "v1.0.0", repository="my-lab/bench")
    assert verify(tree) == (len(sealed["files"]), [])
    assert {"README.md", "CHANGELOG.md"} <= sealed["files"].keys()
    assert read(tree)["release"] == "v1.0.0"
    card = (tree / "README.md").read_text()
    assert 'load_dataset("my-lab/bench", "quickdraw", split="filtered", revision="v1.0.0")' in card
    assert "## v1.0.0" in (tree / "CHANGELOG.md").read_text()


def test_sealing_again_as_the_same_release_changes_no_byte(tree: Path) -> None:
    sealed = releases.seal(tree, read(tree), "v1.0.0", repository="my-lab/bench")
    before = contents(tree)
    for manifest_again in (sealed, read(tree)):
        releases.seal(tree, manifest_again, "v1.0.0", read(tree), (tree / "CHANGELOG.md").read_text())
        assert contents(tree) == before


def test_a_release_never_becomes_another(tree: Path) -> None:
    first = releases.seal(tree, read(tree), "v1.0.0")
    before = contents(tree)
    other = copy.deepcopy(first)
    name, _ = other["scenarios"]["coco"]["rows"]["kept"].popitem()
    with pytest.raises(UsageError, match="released already, with other content: 1 row of coco removed") as refused:
        releases.seal(tree, other, "v1.0.0", first, before["CHANGELOG.md"].decode())
    assert "v2.0.0" in refused.value.hint
    with pytest.raises(UsageError, match="too low"):
        releases.seal(tree, other, "v1.0.1", first, before["CHANGELOG.md"].decode())
    assert contents(tree) == before
    second = releases.seal(tree, other, "v2.0.0", first, before["CHANGELOG.md"].decode())
    assert second["release"] == "v2.0.0"
    assert f"- 1 removed: `{name}`" in (tree / "CHANGELOG.md").read_text()


def test_a_release_that_follows_keeps_the_repository_of_the_last(tree: Path) -> None:
    first = releases.seal(tree, read(tree), "v1.0.0", repository="my-lab/bench")
    assert releases.seal(tree, first, "v1.0.1", first)["repository"] == "my-lab/bench"


def test_what_is_sealed_is_the_same_whether_the_manifest_was_just_made_or_read_back(tree: Path) -> None:
    manifest_made = read(tree)
    shuffled = {
        **manifest_made,
        "scenarios": dict(reversed(manifest_made["scenarios"].items())),
        "code": dict(reversed(manifest_made["code"].items())),
    }
    both = [releases.sealed(made, "v1.0.0") for made in (manifest_made, shuffled)]
    assert both[0][1] == both[1][1]
    assert store.to_json(both[0][0]) == store.to_json(both[1][0])
