"""A small MVP-N in its real layout: drawn products seen from all sides, and one set for each reason to be rejected."""

from __future__ import annotations

import pickle
from pathlib import Path

from build_bench.demo.mvp_n_products import PRODUCTS, view
from build_bench.draws import Draw

VIEWS: tuple[tuple[int, float, int], ...] = (
    (166, 0.22, 0), (130, 0.12, 0), (222, 0.3, 0), (196, 0.36, 0), (8, 0.2, 1), (-28, 0.32, 1),
)  # fmt: skip
"""(degrees turned from the front, how far the camera looks down, mark) of a class's views."""

WALLS = ((214, 218, 222), (224, 216, 204), (206, 216, 208), (222, 210, 214))

SETS: dict[str, tuple[tuple[int, ...], ...]] = {
    "0000": ((0, 1, 4), (0, 1, 2)),  # the second has no informative view
    "0001": ((5, 2, 3, 1),),
    "0002": ((1, 2, 0, 4), (4, 5)),  # the second has no uninformative view
    "0003": ((2, 0, 5),),
    "0027": ((1, 0, 3, 2, 4), (3, 5)),
    "0028": ((3, 1, 4, 5),),
    "0029": ((2, 1, 5), (0, 6)),  # the second has a picture that isn't there
    "0030": ((0, 3, 1, 4),),
    "0041": ((1, 3, 0, 5), (2, 4)),
    "0042": ((2, 0, 4),),
    "0043": ((3, 0, 2, 5), (0, 1, 4)),
    "0015": ((0, 4),),  # a class that classes.csv doesn't name
}
"""Per class, sets of views by number."""

FOLDER = "0001"
"""Each class's one folder of views."""


def write(root: Path) -> None:
    """Draw `data/` and `classes.csv` under `root`. The same bytes each time."""
    lists = root / "data" / "test_list"
    lists.mkdir(parents=True)
    for label, sets in SETS.items():
        product = PRODUCTS.get(label, PRODUCTS["0000"])
        folder = root / "data" / "test" / label / FOLDER
        folder.mkdir(parents=True)
        used = sorted({number for views in sets for number in views if number < len(VIEWS)})
        wall = Draw(0, "demo mvp_n", label).choice("wall", WALLS)
        for number in used:
            turned, tilt, _ = VIEWS[number]
            picture = view(product, turned, tilt, wall)
            picture.save(folder / _file(number), "PNG")
        paths = [[f"{label}/{FOLDER}/{_file(number)}" for number in views] for views in sets]
        (lists / f"test_{label}_100.pkl").write_bytes(pickle.dumps(paths))
    # A list that isn't one of lists: refused by its name.
    (lists / "test_0016_100.pkl").write_bytes(pickle.dumps([(f"0016/{FOLDER}/0000_0.png",)]))
    rows = [f"{label},{product.name}\n" for label, product in PRODUCTS.items()]
    (root / "classes.csv").write_text("class,name\n" + "".join(rows), encoding="utf-8")


def _file(number: int) -> str:
    mark = VIEWS[number][2] if number < len(VIEWS) else 1
    return f"{number:04d}_{mark}.png"
