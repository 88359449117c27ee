"""The gallery in Chromium: overview, list, playing, links, keyboard, contrast, narrow and wide, dark and light."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from build_bench import sheets
from build_bench.builders import SCENARIOS
from build_bench.episode import Episode
from build_bench.imaging import decode
from build_bench.records import END
from build_bench.store import Work
from tests.gallery.conftest import Row, Window

Opened = Callable[..., Window]
WALKS = 200


def one_of(rows: dict[str, Row], scenario: str) -> Row:
    return next(row for row in rows.values() if row["scenario"] == scenario)


def farthest(row: Row) -> list[int]:
    """The choices that lead to the state that is most turns away."""
    walks: dict[int, list[int]] = {row["start"]: []}
    queue = [row["start"]]
    for state in queue:
        for choice, move in enumerate(row["states"][state]["moves"]):
            if move != END and move not in walks:
                walks[move] = [*walks[state], choice]
                queue.append(move)
    return walks[queue[-1]]


def right(row: Row, walk: list[int]) -> int:
    """The right category's place after these choices."""
    episode = Episode(row)
    for choice in walk:
        episode.choose(choice)
    return len(episode.choices) - len(row["categories"]) + list(row["categories"]).index(row["answer"])


def link(row: Row, walk: list[int] | None = None) -> str:
    return f"#sample/{quote(row['id'])}" + (f"?walk={'.'.join(map(str, walk))}" if walk else "")


def test_the_overview_counts_every_scenario_and_its_examples_lead_to_samples(
    window: Opened, gallery: Path, rows: dict[str, Row]
) -> None:
    page = window(gallery).open()
    counts = {row.split("\t")[0]: row.split("\t")[1] for row in page.locator("tbody tr").all_inner_texts()}
    expected = {name: sum(row["scenario"] == name for row in rows.values()) for name in SCENARIOS}
    assert counts == {name: str(count) for name, count in expected.items()}
    assert page.locator(".strips img").count() == sheets.SAMPLES * len(SCENARIOS)
    page.locator(".strips a").first.click()
    page.wait_for_selector(".choices button")
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth)")


def test_a_held_key_answers_once(window: Opened, gallery: Path, rows: dict[str, Row]) -> None:
    row = max(rows.values(), key=lambda one: one["max_turns"])
    page = window(gallery).open(link(row))
    key = chr(ord("a") + farthest(row)[0])
    page.keyboard.down(key)
    page.wait_for_selector(".stage[data-turn='2']")
    for _ in range(4):
        page.keyboard.down(key)
    page.evaluate("new Promise(requestAnimationFrame)")
    assert page.locator(".stage").get_attribute("data-turn") == "2"


def test_enter_held_on_a_choice_answers_once(window: Opened, gallery: Path, rows: dict[str, Row]) -> None:
    row = max(rows.values(), key=lambda one: one["max_turns"])
    page = window(gallery).open(link(row))
    page.locator(".choices button").nth(farthest(row)[0]).focus()
    page.keyboard.down("Enter")
    page.wait_for_selector(".stage[data-turn='2']")
    for _ in range(4):
        page.keyboard.down("Enter")
    page.evaluate("new Promise(requestAnimationFrame)")
    assert page.locator(".stage").get_attribute("data-turn") == "2"
    page.keyboard.up("Enter")
    page.keyboard.press("Enter")
    page.wait_for_selector(".verdict, .stage[data-turn='3']")


def test_back_from_an_example_leads_to_the_overview_as_it_was(window: Opened, gallery: Path) -> None:
    page = window(gallery, viewport={"width": 700, "height": 500}).open()
    page.check("[name=whole]")
    example = page.locator(".strips a").nth(8)
    example.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    example.click()
    page.wait_for_selector(".choices button")
    page.go_back()
    page.wait_for_selector(".strips a")
    assert before > 100
    assert abs(page.evaluate("scrollY") - before) < 5
    assert page.is_checked("[name=whole]")


def test_the_overview_does_not_spoil_what_it_invites_to_play(window: Opened, gallery: Path) -> None:
    page = window(gallery).open()
    first = page.locator(".strips img").first
    first.evaluate("image => image.decode()")
    box = first.bounding_box()
    assert box["width"] == box["height"]
    page.check("[name=whole]")
    assert first.bounding_box()["width"] > 2 * first.bounding_box()["height"]


def test_a_click_shows_a_picture_in_its_own_size(window: Opened, gallery: Path, rows: dict[str, Row]) -> None:
    page = window(gallery, viewport={"width": 360, "height": 600}).open(link(one_of(rows, "rod")))
    width = int(page.locator("figcaption").first.inner_text().split(": ")[1].split(" ")[0])
    page.locator(".stage .view").click()
    assert page.locator(".stage .view").bounding_box()["width"] == pytest.approx(width)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.get_by_role("button", name="Actual size").click()
    assert page.locator(".stage .view").bounding_box()["width"] < 360


def test_choices_after_z_have_numbers_and_no_key(window: Opened, gallery: Path) -> None:
    page = window(gallery).open()
    assert page.evaluate("[letter(0), letter(25), letter(26)]") == ["A", "Z", "27"]
    assert page.evaluate("choiceOf('[')") is None


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_whole_episode_ends_right_and_everything_is_shown(
    scenario: str, window: Opened, gallery: Path, rows: dict[str, Row]
) -> None:
    row = one_of(rows, scenario)
    page = window(gallery).open(link(row))
    assert page.locator(".verdict, .way, .facts").count() == 0, "nothing is shown before the end"
    walk = farthest(row)
    for turn, choice in enumerate([*walk, right(row, walk)], 1):
        assert f"Turn {turn} of" in page.locator(".stage").inner_text()
        texts = page.locator(".choices button span").all_inner_texts()
        assert texts[choice] in [*row["categories"], *(option["text"] for option in row["options"])]
        if turn % 2:
            page.locator(".choices button").nth(choice).click()
        else:
            page.keyboard.press(chr(ord("a") + choice))
        page.wait_for_selector(f".verdict, .stage[data-turn='{turn + 1}']")
    assert page.locator(".verdict").inner_text().startswith(f"Right, at turn {len(walk) + 1}.")
    assert page.locator(".way li").count() == len(walk) + 2
    assert page.locator(".graph .node").count() == len(row["states"])
    assert page.locator(".source .crop").count() == (len(walk) + 1 if scenario == "coco" else 0)
    assert page.locator("table", has_text="baseline:random").locator("tbody tr").count() == 4
    assert page.evaluate(
        "Promise.all([...document.querySelectorAll('image')].map(one => { const copy = new Image(); "
        "copy.src = one.href.baseVal; return copy.decode(); })).then(all => all.length)"
    )


def test_a_wrong_end_says_why(window: Opened, gallery: Path, rows: dict[str, Row]) -> None:
    row = one_of(rows, "rod")
    shown = window(gallery)
    page = shown.open(link(row, [right(row, [])]))
    assert "it counts as wrong at the first turn" in page.locator(".verdict").inner_text()
    abstain = next(at for at, option in enumerate(row["states"][row["start"]]["options"])
                   if row["options"][option]["kind"] == "abstain")  # fmt: skip
    page = shown.open(link(row, [abstain]))
    assert "Abstaining ends" in page.locator(".verdict").inner_text()
    page.get_by_text("Start over").click()
    page.wait_for_selector(".choices button")


def test_a_link_leads_to_any_state_and_back_goes_one_turn_back(
    window: Opened, gallery: Path, rows: dict[str, Row]
) -> None:
    row = max(rows.values(), key=lambda one: len(one["states"]))
    shown = window(gallery)
    page = shown.open(f"{link(row)}?look=1")
    links = page.locator(".graph .node").evaluate_all("nodes => nodes.map(node => node.href.baseVal)")
    for state, address in enumerate(links):
        walked = page.evaluate(
            "async address => { const [id, query] = address.slice('#sample/'.length).split('?');"
            "const sample = await loadSample((await loadIndex()).numbers.get(decodeURIComponent(id)));"
            "const walk = (new URLSearchParams(query).get('walk') || '').split('.').filter(Boolean).map(Number);"
            "return walked(sample, walk).state; }",
            address,
        )
        assert walked == state
    state, leads = next(
        (at, place)
        for at, one in enumerate(row["states"])
        for place, move in enumerate(one["moves"])
        if move != END and at != row["start"]
    )
    page = shown.open(links[state])
    turn = int(page.locator(".stage").get_attribute("data-turn"))
    page.locator(".choices button").nth(leads).click()
    page.wait_for_selector(f".stage[data-turn='{turn + 1}']")
    page.go_back()
    page.wait_for_selector(f".stage[data-turn='{turn}']")


def test_the_pages_walk_as_episode_does(window: Opened, gallery: Path, rows: dict[str, Row]) -> None:
    """All walks in one go: at each step state, view, choices, turns, end and verdict."""
    draw = random.Random(7)
    wanted, expected, at_once = [], [], len(rows)
    for number in range(at_once + max(WALKS, len(rows))):
        row = list(rows.values())[number % len(rows)]
        episode, steps, chosen = Episode(row), [], []
        while True:
            view = [episode.view.frame, list(episode.view.crop)]
            steps.append([episode.state, view, episode.choices, episode.turns, episode.done, episode.correct])
            if episode.done:
                break
            moves = [at for at, move in enumerate(row["states"][episode.state]["moves"]) if move != END]
            stay = moves and draw.random() < 0.8  # a walk at random would end at once
            chosen.append(draw.choice(moves) if stay else draw.randrange(len(episode.choices)))
            if number < at_once:
                chosen[-1] = right(row, [])
            episode.choose(chosen[-1])
        wanted.append([row["id"], chosen])
        expected.append(steps)
    found = (
        window(gallery)
        .open()
        .evaluate(
            """async wanted => {
          const index = await loadIndex(), all = [];
          for (const [id, choices] of wanted) {
            const episode = new Episode(await loadSample(index.numbers.get(id))), steps = [];
            const note = () => steps.push([episode.state, [episode.view.frame, episode.view.crop], episode.choices,
                                           episode.turns, episode.done, episode.correct]);
            note();
            for (const choice of choices) { episode.choose(choice); note(); }
            all.push(steps);
          }
          return all;
        }""",
            wanted,
        )
    )
    assert len(found) >= at_once + WALKS
    assert found == expected
    ends = {(walk[-1][-1], len(walk) > 3) for walk in expected[at_once:]}
    assert len(ends) == 4, "right and wrong, short and long"
    assert len({walk[-1][-1] for walk in expected[:at_once]}) == 2, "right at once counts as wrong in one scenario"


def test_a_crop_has_the_pixels_that_a_model_sees(window: Opened, gallery: Path, demo: Work) -> None:
    path = next(demo.dataset.glob("data/coco/*/kept-*.parquet"))
    row = pq.read_table(path).to_pylist()[0]
    page = window(gallery, viewport={"width": 1600, "height": 900}).open(f"#sample/{row['id']}")
    page.wait_for_timeout(100)  # until the picture is painted
    view = Episode(row).view
    expected = decode(row["frames"][view.frame]["bytes"], view.crop)
    page.evaluate(
        "([width, height]) => { const { style } = document.querySelector('.stage .view');"
        "style.width = `${width}px`; style.height = `${height}px`; style.borderRadius = 0; }",
        [expected.width, expected.height],
    )
    shot = Image.open(io.BytesIO(page.locator(".stage .view").screenshot())).convert("RGB").resize(expected.size)
    assert np.abs(np.asarray(shot, int) - np.asarray(expected, int)).mean() < 6


def test_the_keyboard_alone_is_enough(window: Opened, gallery: Path, rows: dict[str, Row]) -> None:
    page = window(gallery).open()

    def tab_to(selector: str) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
                return
        raise AssertionError(f"{selector} can't be reached")

    tab_to(".strips a")
    page.keyboard.press("Enter")
    page.wait_for_selector(".choices button")
    tab_to(".choices button")
    row = rows[page.evaluate("decodeURIComponent(location.hash).split('/')[1]")]
    walk = farthest(row)
    for turn, choice in enumerate([*walk, right(row, walk)], 2):
        page.keyboard.press(chr(ord("A") + choice))
        page.wait_for_selector(f".verdict, .stage[data-turn='{turn}']")
    assert page.evaluate("document.activeElement.matches('.verdict.right')")
    tab_to(".graph .node")
    page.keyboard.press("Enter")
    page.wait_for_selector(".choices button")
    assert page.evaluate("document.activeElement.matches('.choices button')")


def addresses(rows: dict[str, Row]) -> dict[str, str]:
    row = one_of(rows, "coco")
    walk = farthest(row)
    return {
        "overview": "",
        "list": "#list?scenario=coco",
        "playing": link(row),
        "ended": link(row, [*walk, right(row, walk)]),
    }


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1600, "dark")])
def test_a_checker_of_accessibility_accepts_every_page(
    width: int, scheme: str, window: Opened, gallery: Path, rows: dict[str, Row], axe: str
) -> None:
    shown = window(gallery, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    for name, address in addresses(rows).items():
        page = shown.open(address)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
        page.evaluate(axe)
        assert page.evaluate("accepted()") == [], name


@pytest.mark.parametrize("address", ["#sample/%", "#sample/none", "#nonsense", "#list?page=99&scenario=none&turns=x"])
def test_an_address_that_leads_nowhere_is_no_error(address: str, window: Opened, gallery: Path) -> None:
    page = window(gallery).open(address)
    assert page.locator("h1").inner_text()
