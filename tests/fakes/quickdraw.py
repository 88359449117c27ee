"""Quick, Draw! as `full/simplified/<word>.ndjson`."""

from __future__ import annotations

import json
from pathlib import Path

from build_bench.demo.quickdraw import write

__all__ = ["remove", "shuffle", "write"]


def remove(root: Path, source_key: str) -> None:
    """Take one drawing out."""
    word, key_id = source_key.split("/")
    for path in root.rglob(f"{word}.ndjson"):
        lines = path.read_text().splitlines()
        path.write_text("".join(line + "\n" for line in lines if json.loads(line)["key_id"] != key_id))


def shuffle(root: Path) -> None:
    """Turn each file around."""
    for path in root.rglob("*.ndjson"):
        path.write_text("".join(line + "\n" for line in reversed(path.read_text().splitlines())))
