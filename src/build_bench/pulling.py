"""`pull`: a release from the Hub, whole, checked file by file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from build_bench import listing, releases, store, tree
from build_bench.errors import BuildBenchError, InputError, NetworkError
from build_bench.hub import Repository


def pull(repository: Repository, release: str, folder: Path) -> dict[str, Any]:
    """Download a release into `folder`; returns what contract section 9 says.

    `release`: a tag, a commit, or empty for the newest release. What `folder` has already isn't sent again; the
    manifest comes last, so until then the folder is what it was. Raises `InputError` for what isn't there or is no
    release, `BuildBenchError` if what arrives isn't what its manifest says, `NetworkError` if something doesn't arrive.
    """
    name = release or _newest(repository)
    commit = repository.head(name)
    if commit is None:
        raise InputError(f"{repository.name} has no {name}", f"it has: {', '.join(_releases(repository)) or 'none'}")
    if tree.MANIFEST not in repository.files(commit):
        raise InputError(f"{repository.name} at {name} has no {tree.MANIFEST}", "it is no release of build-bench")
    data = repository.read(commit, tree.MANIFEST)
    manifest = listing.decoded(data, f"{tree.MANIFEST} of {repository.name} at {name}")
    files = manifest["files"]
    wrong = _wrong(folder, files)
    size = sum(files[path]["bytes"] for path in wrong)
    _check_space(folder, size)
    if wrong:
        for path in wrong:
            (folder / path).unlink(missing_ok=True)
        repository.download(commit, [*wrong], folder)
        _check_arrived(repository, folder, _wrong(folder, {path: files[path] for path in wrong}))
    store.write_bytes(folder / tree.MANIFEST, data)
    tree.remove_superseded(folder, {*files})
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # the client's notes on what it downloaded
    return {
        "repo": repository.name,
        "release": manifest["release"],
        "revision": commit,
        "downloaded_bytes": size,
        "files": len(files),
    }


def _newest(repository: Repository) -> str:
    repository.existing_head()
    found = _releases(repository)
    if not found:
        raise InputError(f"{repository.name} has no release", "name a commit or a branch with --release")
    return found[-1]


def _releases(repository: Repository) -> list[str]:
    """The tags that are releases, the oldest first."""
    tags = repository.tags() if repository.head() else {}
    return sorted(filter(releases.is_version, tags), key=releases.parse)


def _wrong(folder: Path, files: dict[str, Any]) -> dict[str, str]:
    """What `folder` lacks or has otherwise, and how, in words."""
    return {path: problem for path, facts in files.items() if (problem := listing.damage(folder, path, facts))}


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
