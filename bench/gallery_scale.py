"""The gallery of 18,000 generated samples in Chromium: until the overview can be used, and until a filter has answered.

    python bench/gallery_scale.py [--samples N] [--rounds N] [--json FILE]

Targets: the overview within two seconds, a filter within 300 ms. The pictures are tiny: what is measured is the pages,
not how long 150 GB take to read.
"""

from __future__ import annotations

import io
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from parts import results

from build_bench.builders import SCENARIOS

STEPS = 4
ANSWERS = 300
FILTERS = [("scenario", "coco"), ("category", "Thing 7 of coco."), ("kept", "dropped"), ("accuracy", "low"),
           ("kind", "action"), ("turns", "3"), ("text", "00")]  # fmt: skip
READY = """async selector => {
  while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now();
}"""
CHANGE = """async ([name, value]) => {
  const field = document.querySelector(`[name=${name}]`), before = performance.now();
  field.value = value;
  field.dispatchEvent(new Event("change", { bubbles: true }));
  await new Promise(requestAnimationFrame);  // the frame in which the new list is laid out and painted
  await new Promise(requestAnimationFrame);
  return [performance.now() - before, document.querySelector("#results [role=status]").textContent];
}"""


def dataset(root: Path, count: int) -> None:
    """A dataset folder of `count` samples in seven scenarios, half of them kept."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from build_bench import schema

    facts = {}
    for place, scenario in enumerate(SCENARIOS):
        size = count // len(SCENARIOS) + (place < count % len(SCENARIOS))
        folder = root / "data" / scenario / f"{place:012x}"
        folder.mkdir(parents=True)
        for half, kept in (("kept", 0), ("dropped", 1)):
            rows = [row(scenario, number) for number in range(kept, size, 2)]
            table = pa.Table.from_pylist(rows, schema.PUBLISHED)
            pq.write_table(table, folder / f"{half}-00000.parquet", row_group_size=256, compression="none")
        facts[scenario] = {"digest": folder.name, "built": size, "splits": {"unfiltered": size, "filtered": size // 2}}
    (root / "manifest.json").write_text(json.dumps({"scenarios": facts, "seed": 0, "rule": "first_turn_25_v1"}))


def row(scenario: str, number: int) -> dict[str, object]:
    """One made-up sample."""
    texts = [f"Thing {(number + other) % ANSWERS} of {scenario}." for other in range(4)]
    states = [
        {"frame": at, "crop": [], "options": [0, 1], "moves": [-1, at + 1 if at + 1 < STEPS else -1]}
        for at in range(STEPS)
    ]
    kinds = [("I cannot tell.", "abstain", ""), ("Show me more.", "proactive", "add_details")]
    return {
        "id": f"{scenario}-a-source-key-of-usual-length-{number:06d}",
        "scenario": scenario,
        "question": "What kind of thing is in this picture?",
        "question_kind": ("object", "action", "count")[number % 3],
        "context": "",
        "hint": "Hint: asking helps.",
        "reference_question": "What kind of thing is in this picture?",
        "options": [{"text": text, "kind": kind, "action": action} for text, kind, action in kinds],
        "categories": texts,
        "answer": texts[0],
        "frames": [{"bytes": picture(at), "path": f"{at}.jpg"} for at in range(STEPS)],
        "states": states,
        "start": 0,
        "reference": {"frame": STEPS - 1, "crop": []},
        "max_turns": 2 + number % 5,
        "first_turn_answerable": True,
        "open_answers": {"proactive": [], "categories": []},
        "source": {"dataset": "Made up", "key": str(number), "url": "", "license": "CC0"},
        "first_turn_accuracy": (number % 9) / 22,
        "num_models": 22,
    }


def picture(step: int, known: dict[int, bytes] = {}) -> bytes:  # noqa: B006 - encoded once
    """A small picture."""
    from PIL import Image

    if step not in known:
        buffer = io.BytesIO()
        Image.radial_gradient("L").resize((64 + step, 64)).convert("RGB").save(buffer, "JPEG")
        known[step] = buffer.getvalue()
    return known[step]


def measure(gallery: Path, rounds: int) -> dict[str, list[float]]:
    """Milliseconds, each of `rounds` in a browser without a cache."""
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {}
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for _ in range(rounds):
            page = browser.new_context(viewport={"width": 1600, "height": 900}).new_page()
            page.goto(gallery.as_uri())
            found.setdefault("overview", []).append(page.evaluate(READY, ".strips img"))
            page.goto("about:blank")
            page.goto(f"{gallery.as_uri()}#list")
            found.setdefault("list", []).append(page.evaluate(READY, ".cards img"))
            for name, value in FILTERS:
                took, said = page.evaluate(CHANGE, [name, value])
                found.setdefault(f"filter by {name}", []).append(took)
                page.evaluate(CHANGE, [name, ""])
                assert not said.startswith("0 of"), (name, said)
            page.context.close()
        browser.close()
    return found


def main() -> None:
    """Generate, write, measure, print."""
    from build_bench.gallery.dataset import Dataset
    from build_bench.gallery.writing import Request, write

    parser = results.options(__doc__)
    parser.add_argument("--samples", type=int, default=18_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        dataset(root / "dataset", asked.samples)
        start = time.perf_counter()
        report = write(Dataset(root / "dataset"), None, root / "gallery", Request(workers=2))
        print(f"{asked.samples:,} samples: written in {time.perf_counter() - start:,.0f} s, {report['files']:,} files, "
              f"{report['bytes'] / 1e6:,.0f} MB")  # fmt: skip
        worst: dict[str, float] = {}
        for name, took in measure(root / "gallery" / "index.html", asked.rounds).items():
            print(f"  {name:24} median {statistics.median(took):6,.0f} ms, worst {max(took):6,.0f} ms")
            kind = "a filter" if name.startswith("filter") else name
            worst[kind] = max(*took, worst.get(kind, 0))
        results.write(
            asked.json,
            [
                results.Result(
                    f"gallery of {asked.samples:,}: {kind}, worst; limit: {limit:,} ms",
                    worst[kind],
                    limit,
                    "ms",
                    "<= 1",
                )
                for kind, limit in (("overview", 2000), ("list", 2000), ("a filter", 300))
            ],
        )


if __name__ == "__main__":
    main()
