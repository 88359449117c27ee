"""Raw trees for the tests, one module per scenario: the demo's own files, and how to take one item out of them.

write(root)                   draw the tree in the source's real layout
remove(root, source_key)      take out the item that one sample was made of
shuffle(root)                 write the same items in another order
"""

from __future__ import annotations

import importlib
from types import ModuleType


def fake(scenario: str) -> ModuleType:
    """The fake of a scenario."""
    return importlib.import_module(f"tests.fakes.{scenario}")
