"""Every decision that is data: sources and their licences, prompts, tables, the paper's counts, the card's template."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


def text(name: str) -> str:
    """The text of one data file, named below this folder."""
    return (resources.files(__name__) / name).read_text(encoding="utf-8")


@cache
def table(name: str) -> dict[str, Any]:
    """One TOML file, parsed."""
    return tomllib.loads(text(name))


def source(scenario: str) -> dict[str, Any]:
    """What is known of a scenario's source: title, homepage, license, license_url, conditions, expected, steps."""
    return table(f"sources/{scenario}.toml")
