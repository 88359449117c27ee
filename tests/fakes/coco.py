"""MS-COCO as `val2014/` and `annotations/instances_val2014.json`."""

from __future__ import annotations

import json
from pathlib import Path

from build_bench.demo.coco import write, write_train

__all__ = ["remove", "shuffle", "write", "write_train"]


def remove(root: Path, source_key: str) -> None:
    """Take one image and its annotations out."""
    image_id = int(source_key.split("-")[0])
    path = root / "annotations" / "instances_val2014.json"
    data = json.loads(path.read_text())
    data["images"] = [image for image in data["images"] if image["id"] != image_id]
    data["annotations"] = [row for row in data["annotations"] if row["image_id"] != image_id]
    path.write_text(json.dumps(data))


def shuffle(root: Path) -> None:
    """Turn the tables and their keys around."""
    path = root / "annotations" / "instances_val2014.json"
    data = json.loads(path.read_text())
    turned = {
        name: [dict(reversed(row.items())) for row in reversed(rows)] if isinstance(rows, list) else rows
        for name, rows in reversed(data.items())
    }
    path.write_text(json.dumps(turned))
