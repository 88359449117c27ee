"""manifest.json as others hand it to us: which files a release consists of, and whether they are what it says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from build_bench import store
from build_bench.errors import InputError
from build_bench.tree import CARD, CHANGELOG, MANIFEST

VERSION = re.compile(r"v(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")
_DATA = re.compile(r"data/[a-z0-9_]+/[0-9a-f]{12}/(kept|dropped)-[0-9]{5}\.parquet|assets/[a-z0-9_]+\.jpg")


class _Facts(msgspec.Struct):
    bytes: int
    sha256: str


class _Scenario(msgspec.Struct):
    built: int
    splits: dict[str, int]
    rows: dict[str, dict[str, str]]


class _Manifest(msgspec.Struct):
    """What a release is compared, pushed and pulled by."""

    release: str | None
    seed: int | None
    code: dict[str, str]
    models: dict[str, Any]
    columns: dict[str, str]
    files: dict[str, _Facts]
    scenarios: dict[str, _Scenario]


def is_version(text: str) -> bool:
    """Whether `text` is vMAJOR.MINOR.PATCH, from v0.0.1 on."""
    return bool(VERSION.fullmatch(text)) and text != "v0.0.0"


def is_data(name: str) -> bool:
    """Whether a path is one of those under which a release has its rows and the card's pictures."""
    return bool(_DATA.fullmatch(name))


def decoded(data: bytes, what: str, hint: str = "assemble or pull that release again") -> dict[str, Any]:
    """A manifest. Raises `InputError` if it is broken, or lists what is no file of a release.

    It may come from anywhere: a name that leads out of the folder, or that some disk can't hold, must not get in.
    """
    try:
        manifest = msgspec.json.decode(data, type=_Manifest)
        found: dict[str, Any] = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{what} is broken: {error}", hint) from error
    if manifest.release is not None and not is_version(manifest.release):
        raise InputError(f"{what} calls itself {manifest.release[:40]!r}, expected vMAJOR.MINOR.PATCH or null", hint)
    for name in manifest.files:
        if not is_data(name) and name not in (CARD, CHANGELOG):
            raise InputError(f"{what} lists {name!r}", "that is no file of a release: it wasn't made by build-bench")
    return found


def read(folder: Path) -> dict[str, Any]:
    """The manifest of a tree on disk. Raises `InputError` if there is none, or a broken one."""
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        hint = "build-bench assemble lays one out, with --split train that of a training split"
        if (folder / "dataset" / MANIFEST).is_file():
            hint = f"it is in {folder / 'dataset'}"
        elif (folder.parent / MANIFEST).is_file():
            hint = f"--work names the folder above the dataset: --work {folder.parent.parent}"
        raise InputError(f"{folder} has no {MANIFEST}", hint) from error
    return decoded(data, str(path))


def damage(folder: Path, name: str, facts: Mapping[str, Any]) -> str:
    """What is wrong with a listed file, in words; empty if it is what the manifest says."""
    path = folder / name
    if path.is_symlink() or not path.resolve().is_relative_to(folder.resolve()):
        return "is a link, or lies outside the folder"
    if not path.is_file():
        return "is missing"
    if (size := path.stat().st_size) != facts["bytes"]:
        return f"has {size} bytes, {facts['bytes']} expected"
    if (found := store.sha256(path)) != facts["sha256"]:
        return f"has sha256 {found}, {facts['sha256']} expected"
    return ""
