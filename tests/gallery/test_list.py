"""The list in Chromium: filters, what the address keeps of them, and the way back to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from build_bench.store import Work
from tests.gallery.conftest import Row, Window
from tests.gallery.test_pages import one_of

Opened = Callable[..., Window]


def test_filters_narrow_the_list_and_the_address_keeps_them(
    window: Opened, gallery: Path, rows: dict[str, Row]
) -> None:
    shown = window(gallery)
    page = shown.open("#list")
    row = one_of(rows, "coco")
    page.select_option("[name=scenario]", "coco")
    assert page.locator("#results [role=status]").inner_text().startswith("14 of ")
    assert page.locator("[name=category] option").count() == 1 + len(
        {other["answer"] for other in rows.values() if other["scenario"] == "coco"}
    )
    page.select_option("[name=category]", row["answer"])
    page.select_option("[name=turns]", str(row["max_turns"]))
    page.fill("[name=text]", row["id"][-4:])
    assert page.locator("#results [role=status]").inner_text().startswith("1 of ")
    assert page.locator(".cards .answer").is_hidden(), "nothing gives the answer away unasked"
    page.check("[name=answers]")
    assert row["answer"] in page.locator(".cards").inner_text()
    page.reload()
    page.wait_for_selector(".cards")
    assert page.locator(".cards li").count() == 1
    page.locator(".cards a").click()
    page.wait_for_selector(".choices button")
    assert row["id"] in page.url


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("kept", "dropped", lambda row, kept: not kept),
        ("kind", "count", lambda row, kept: row["question_kind"] == "count"),
        ("accuracy", "none", lambda row, kept: row["first_turn_accuracy"] == 0),
        ("accuracy", "quarter", lambda row, kept: 0.25 <= row["first_turn_accuracy"] < 0.5),
    ],
)
def test_each_filter_shows_what_the_dataset_says(
    name: str, value: str, expected: Callable[[Row, bool], bool], window: Opened, gallery: Path, demo: Work
) -> None:
    columns = ["question_kind", "first_turn_accuracy"]
    files = {path: pq.read_table(path, columns=columns).to_pylist() for path in demo.dataset.glob("data/*/*/*.parquet")}
    count = sum(expected(row, path.name.startswith("kept")) for path, found in files.items() for row in found)
    page = window(gallery).open("#list")
    page.select_option(f"[name={name}]", value)
    assert count
    assert page.locator("#results [role=status]").inner_text().startswith(f"{count} of ")


@pytest.mark.parametrize(
    "address", ["#list?scenario=rod&category=Apple.", "#list?category=none&turns=x&kind=y", "#list?scenario=none"]
)
def test_a_filter_that_is_not_offered_is_dropped(address: str, window: Opened, gallery: Path) -> None:
    shown = window(gallery)
    page = shown.open("#list")
    every = page.locator("#results [role=status]").inner_text()
    page = shown.open(address)
    said = page.locator("#results [role=status]").inner_text()
    assert page.evaluate("document.querySelector('[name=category]').value") == ""
    assert said == every or (said[0] != "0" and "scenario=rod" in address)


def test_a_category_of_another_scenario_is_dropped_with_it(window: Opened, gallery: Path, rows: dict[str, Row]) -> None:
    page = window(gallery).open("#list?scenario=coco")
    page.select_option("[name=category]", one_of(rows, "coco")["answer"])
    page.select_option("[name=scenario]", "rod")
    count = sum(row["scenario"] == "rod" for row in rows.values())
    assert page.locator("#results [role=status]").inner_text().startswith(f"{count} of ")
    assert "category" not in page.url


def test_back_from_a_sample_leads_to_where_the_list_was_left(window: Opened, gallery: Path) -> None:
    page = window(gallery, viewport={"width": 700, "height": 500}).open("#list")
    page.locator(".cards a").nth(30).scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    page.locator(".cards a").nth(30).click()
    page.wait_for_selector(".stage")
    assert page.evaluate("scrollY") == 0
    page.go_back()
    page.wait_for_selector(".cards")
    assert before > 100
    assert abs(page.evaluate("scrollY") - before) < 5
    assert page.evaluate("[...document.querySelectorAll('.cards a')].indexOf(document.activeElement)") == 30
