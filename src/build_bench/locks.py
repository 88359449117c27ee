"""Locks: what a release was built from, small enough for a repository of code, and enough to build it again.

A release made or pulled here lies whole in <work>/releases/vX.Y.Z/ (manifest and changelog). Its lock, the manifest
without the rows, also goes to manifests/releases/ of the checkout that the program runs from, and so into wheels.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from build_bench import listing, manifests, releases, store
from build_bench.errors import InputError, UsageError, unknown
from build_bench.store import Work
from build_bench.tree import CARD, CHANGELOG, MANIFEST


class ScenarioLock(msgspec.Struct, frozen=True):
    """What a scenario was built from, and what came out."""

    digest: str
    settings: dict[str, Any]
    sources: list[dict[str, Any]]


class ModelLock(msgspec.Struct, frozen=True):
    """What was kept of a model: digests of its predictions by scenario, empty where it said nothing."""

    predictions: dict[str, str]


class Lock(msgspec.Struct, frozen=True):
    """What a release depends on, read from a lock or from a manifest."""

    release: str
    seed: int | None
    """None: the release was adopted, not built."""
    code: dict[str, str]
    scenarios: dict[str, ScenarioLock]
    files: dict[str, dict[str, Any]]
    """Path -> bytes, sha256."""
    models: dict[str, ModelLock]
    left_out: dict[str, dict[str, Any]] = {}
    rule: str = ""
    """By which it was filtered; empty: it wasn't."""
    allowed_missing: dict[str, Any] = {}
    repository: str | None = None
    manifest_sha256: str = ""
    split: str = "test"


def lock_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The lock of a sealed manifest: a part of it, and its checksum."""
    scenarios = {
        name: {key: facts[key] for key in ("digest", "settings", "sources", "facts", "splits")}
        for name, facts in manifest["scenarios"].items()
    }
    names = ("release", "repository", "seed", "code", "files", "models", "left_out", "rule", "threshold")
    optional = {key: manifest[key] for key in (*names, "allowed_missing", "split") if key in manifest}
    digest = hashlib.sha256(store.to_json(manifest)).hexdigest()
    return {**optional, "scenarios": scenarios, "manifest_sha256": digest}


def keep(work: Work, manifest: Mapping[str, Any], changelog: str, beside: Path | None = None) -> list[Path]:
    """Keep a sealed release in the work folder, and its lock and the changelog in the folder `beside`, if there is one.

    Returns what was written. Raises `UsageError`, and writes nothing, if `beside` has another lock of that release.
    """
    folder, data = work.releases / manifest["release"], changelog.encode()
    written = {}
    if beside:
        check_beside(beside, manifest)
        written = {beside / CHANGELOG: data, _lock_path(beside, manifest): store.to_json(lock_of(manifest))}
    written |= {
        folder / CHANGELOG: data,
        folder / MANIFEST: store.to_json(manifest),
    }  # last: by it the release is found
    for path, content in written.items():
        store.write_bytes(path, content)
    return [*written]


def _lock_path(folder: Path, manifest: Mapping[str, Any]) -> Path:
    return folder / f"{manifest['release']}.json"


def check_beside(beside: Path, manifest: Mapping[str, Any]) -> None:
    """Raise `UsageError` if there is a lock of that release and of other content."""
    path = _lock_path(beside, manifest)
    if path.exists() and _inputs(path.read_bytes()) != _inputs(store.to_json(lock_of(manifest))):
        raise UsageError(
            f"{path} is the lock of another {manifest['release']}",
            "name a higher release; or delete that lock, if it was never published",
        )


def _inputs(lock: bytes) -> dict[str, Any] | None:
    """What a lock says but for the address that a first push adds, and what follows from it."""
    try:
        found = msgspec.json.decode(lock, type=dict[str, Any])
        files = {path: facts for path, facts in found["files"].items() if path not in (CARD, CHANGELOG)}
    except (msgspec.DecodeError, KeyError, AttributeError):
        return None
    return {**found, "files": files, "repository": None, "manifest_sha256": ""}


def checkout() -> Path | None:
    """manifests/releases/ of the checkout that this program runs from and one stands in; None elsewhere.

    Who builds in another folder doesn't expect files in the checkout.
    """
    folder = Path(manifests.__file__).resolve().parent
    if not Path.cwd().resolve().is_relative_to(folder.parent):
        return None
    try:
        project = tomllib.loads((folder.parent / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return folder / "releases" if project.get("project", {}).get("name") == "build-bench" else None


def previous(work: Work, version: str) -> tuple[dict[str, Any] | None, str]:
    """Manifest and changelog of the release that `version` follows; None and an empty text if there is none.

    That is itself, if it is in the work folder, else the newest there. Raises `InputError` for a broken one.
    """
    there = _kept(work)
    if not there:
        return None, ""
    folder = work.releases / (version if version in there else there[-1])
    try:
        return listing.read(folder), (folder / CHANGELOG).read_text(encoding="utf-8")
    except (InputError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{folder} is broken: {error}", "delete it, or pull the release again") from error


def _kept(work: Work) -> list[str]:
    """The releases in the work folder, the oldest first."""
    names = [path.parent.name for path in work.releases.glob(f"*/{MANIFEST}")]
    return sorted(filter(listing.is_version, names), key=releases.parse)


def read(name: str, work: Work) -> tuple[Lock, str]:
    """A release's lock, and its changelog as it was then.

    `name`: a release kept in the work folder or in this program, or a path to a lock or to a manifest, with
    CHANGELOG.md beside it. Raises `UsageError` if there is none, `InputError` if it can't be built from.
    """
    path = _found(name, work)
    try:
        data = path.read_bytes()
        lock = msgspec.json.decode(data, type=Lock)
        text = (path.parent / CHANGELOG).read_text(encoding="utf-8")
    except (msgspec.DecodeError, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} can't be read: {error}", "expected a lock or manifest.json, beside CHANGELOG.md"
        ) from error
    releases.parse(lock.release)  # it becomes a folder's name
    if lock.seed is None:
        raise InputError(f"{path}: this release was adopted, not built", "run build-bench adopt on what it was made of")
    if not lock.manifest_sha256:  # it is the manifest itself
        lock = msgspec.structs.replace(lock, manifest_sha256=hashlib.sha256(data).hexdigest())
    changelog = releases.changelog_at(text, lock.release)
    if changelog is None:
        raise InputError(f"{path.parent / CHANGELOG} says nothing of {lock.release}", "pull the release again")
    return lock, changelog


def _found(name: str, work: Work) -> Path:
    if not listing.is_version(name) and Path(name).exists():
        return Path(name) / MANIFEST if Path(name).is_dir() else Path(name)
    shipped = Path(manifests.__file__).parent / "releases"
    known = {path.stem: path for path in shipped.glob("v*.json")}
    known |= {version: work.releases / version / MANIFEST for version in _kept(work)}
    if name not in known:
        raise (
            unknown("release", name, sorted(known))
            if known
            else UsageError(
                f"there is no release {name!r}",
                f"{work.releases} and {shipped} have none: name a lock or a manifest.json",
            )
        )
    return known[name]
