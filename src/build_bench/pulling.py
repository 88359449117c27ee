"""`pull`: a release from the Hub, whole, checked file by file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from build_bench import listing, releases, store, tree
from build_bench.errors import BuildBenchError, InputError, NetworkError
from build_bench.hub import Repository


def pull(repository: Repository, release: str, folder: Path, staging: Path) -> dict[str, Any]:
    """Download a release into `folder`, by way of `staging` beside it; returns what contract section 9 says.

    `release`: a tag, a commit, or empty for the newest release. What `folder` has already isn't sent again. `folder`
    stays what it was until all has arrived; an interrupted download goes on where it was. Raises `InputError` for what
    isn't there or is no release, `BuildBenchError` if what arrives isn't what its manifest says, `NetworkError` if
    something doesn't arrive.
    """
    name = release or _newest(repository)
    commit, data = _manifest(repository, name)
    manifest = listing.decoded(data, f"{tree.MANIFEST} of {repository.name} at {name}", "tell its maintainers")
    if listing.is_version(name) and manifest["release"] != name:
        raise InputError(f"the tag {name} of {repository.name} is on {manifest['release']}", "tell its maintainers")
    files = manifest["files"]
    lacking = _wrong(folder, files)
    _check_places(folder, lacking)
    to_come = _wrong(staging, {path: files[path] for path in lacking})
    size = sum(files[path]["bytes"] for path in to_come)
    if to_come:
        _check_space(staging, size)
        for path in to_come:
            (staging / path).unlink(missing_ok=True)
        repository.download(commit, [*to_come], staging)
        _check_arrived(repository, staging, _wrong(staging, {path: files[path] for path in to_come}))
    for path in sorted(lacking, key=lambda path: "/" not in path):  # card and changelog after what they speak of
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (staging / path).replace(folder / path)
    store.write_bytes(folder / tree.MANIFEST, data)
    tree.remove_superseded(folder, {*files})
    shutil.rmtree(staging, ignore_errors=True)
    return {
        "repo": repository.name,
        "release": manifest["release"],
        "revision": commit,
        "downloaded_bytes": size,
        "files": len(files),
    }


def _manifest(repository: Repository, name: str) -> tuple[str, bytes]:
    """The commit of that name, and its manifest."""
    commit = repository.head(name)
    if commit is None:
        raise InputError(f"{repository.name} has no {name}", f"it has: {', '.join(_releases(repository)) or 'none'}")
    if tree.MANIFEST not in repository.files(commit):
        raise InputError(f"{repository.name} at {name} has no {tree.MANIFEST}", "it is no release of build-bench")
    return commit, repository.read(commit, tree.MANIFEST)


def _newest(repository: Repository) -> str:
    repository.existing_head()
    found = _releases(repository)
    if not found:
        raise InputError(f"{repository.name} has no release", "name a commit or a branch with --release")
    return found[-1]


def _releases(repository: Repository) -> list[str]:
    """The tags that are releases, the oldest first."""
    tags = repository.tags() if repository.head() else {}
    return sorted(filter(listing.is_version, tags), key=releases.parse)


def _wrong(folder: Path, files: dict[str, Any]) -> dict[str, str]:
    """What `folder` lacks or has otherwise, and how, in words."""
    return {path: problem for path, facts in files.items() if (problem := listing.damage(folder, path, facts))}


def _check_places(folder: Path, paths: dict[str, str]) -> None:
    """Raise `InputError` where a file would be written through a link, or where a folder is."""
    for path in paths:
        place = folder / path
        if place.is_dir() or not place.parent.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{place} is a folder, or behind a link", "move it away, or name another --work")


def _check_arrived(repository: Repository, folder: Path, wrong: dict[str, str]) -> None:
    for path, problem in wrong.items():
        if not (folder / path).exists():
            raise NetworkError(f"{len(wrong)} files of {repository.name} didn't arrive", "run the same command again")
        raise BuildBenchError(f"{path} of {repository.name} {problem}", "that release is damaged: tell its maintainers")


def _check_space(folder: Path, size: int) -> None:
    there = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    if size > (free := shutil.disk_usage(there).free):
        raise InputError(
            f"{size:,} bytes are to come, {free:,} are free in {there}", "make room, or name another --work"
        )
