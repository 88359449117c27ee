"""One demo, its gallery, and one Chromium for all tests of the pages."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from build_bench import cli
from build_bench.store import Work
from tests import trees

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

Row = dict[str, Any]


def command(*arguments: str) -> str:
    """What a command prints. It must succeed."""
    done = CliRunner().invoke(cli.group, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """What `make demo` leaves."""
    root = tmp_path_factory.mktemp("demo")
    shown = command("all", "--demo", "--work", str(root), "--workers", "1")
    assert f"in a browser: {root / 'reports' / 'gallery' / 'index.html'}" in shown
    return Work(root, root / "raw")


@pytest.fixture(scope="package")
def gallery(demo: Work) -> Path:
    """The demo's gallery, in which every sample can be played."""
    return demo.reports / "gallery"


@pytest.fixture(scope="package")
def rows(demo: Work) -> dict[str, Row]:
    """id -> row of the demo's dataset, without pictures."""
    columns = ["id", "scenario", "options", "categories", "answer", "states", "start", "reference", "max_turns",
               "first_turn_answerable", "question", "context", "hint", "reference_question"]  # fmt: skip
    paths = sorted(demo.dataset.glob("data/*/*/*.parquet"))
    return {row["id"]: row for path in paths for row in pq.read_table(path, columns=columns).to_pylist()}


@pytest.fixture(scope="package")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset folder without a work folder, every third sample dropped."""
    plans = trees.some_plans()
    return trees.lay_out(tmp_path_factory.mktemp("tree"), plans, {one.id: at % 3 > 0 for at, one in enumerate(plans)})


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """The machine's own Chromium; nothing is downloaded."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM:
        pytest.skip("there is no Chromium on this machine")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@dataclass
class Window:
    """A browser window on one folder, and what went wrong in it."""

    page: Any
    folder: Path
    troubles: list[str] = field(default_factory=list)

    def open(self, address: str = "") -> Any:
        """Load the page anew at an address, as from a link."""
        self.page.goto("about:blank")
        self.page.goto((self.folder / "index.html").as_uri() + address)
        self.page.wait_for_selector("main h1")
        return self.page

    def asked_for(self, request: Any) -> None:
        if not request.url.startswith((self.folder.as_uri() + "/", "data:,", "blob:", "about:blank")):
            self.troubles.append(f"a request leaves the folder: {request.url}")


@pytest.fixture(scope="package")
def contexts(chromium: Any) -> Callable[[str], Any]:
    """A browser context per set of options: starting one takes longer than most tests."""
    return functools.cache(lambda options: chromium.new_context(**json.loads(options)))


@pytest.fixture
def window(contexts: Callable[[str], Any]) -> Generator[Callable[..., Window]]:
    """Opens windows (folder, options of the context); none may meet an error, or ask for what isn't in the folder."""
    opened: list[Window] = []

    def make(folder: Path, **options: Any) -> Window:
        new = Window(contexts(json.dumps(options, sort_keys=True)).new_page(), folder)
        new.page.on("console", lambda said: said.type in ("error", "warning") and new.troubles.append(said.text))
        new.page.on("pageerror", lambda error: new.troubles.append(str(error)))
        new.page.on("requestfailed", lambda request: new.troubles.append(f"failed: {request.url}"))
        new.page.on("request", new.asked_for)
        opened.append(new)
        return new

    yield make
    for new in opened:
        new.page.close()
        assert new.troubles == []


@pytest.fixture(scope="package")
def axe() -> str:
    """axe-core, and a function that lists what it doesn't accept."""
    package = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    source = (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    return source + (
        ";window.accepted = () => axe.run(document, { preload: false, resultTypes: ['violations'] })"
        ".then(found => found.violations.map(one => `${one.id}: ${one.nodes[0].html}`));"
    )
