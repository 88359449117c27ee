"""Files at an address that fsspec knows, and what is known of them: `s3://bucket/bench`, `gs://bucket/bench`."""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from build_bench.errors import BuildBenchError, InputError, NetworkError, UsageError

_VERSIONS = ("ETag", "etag", "md5Hash", "content_md5", "mtime", "LastModified", "last_modified", "created")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")
"""What object stores call a file's digest or version, and its time."""

TRIES = 3
"""Of a download: clients connect again by themselves, but give up where a file breaks off."""

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}

Tell = Callable[[int], None]
"""Is called with the bytes that went by; what it raises ends the transfer."""


class There(NamedTuple):
    """What a store says of a file."""

    version: str
    size: int
    seconds: int | None
    """When it was written, if the store tells."""


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """The files below an address. What a store raises becomes an error that names the address."""

    url: str

    @property
    def name(self) -> str:
        """The address without its password: for people, and for names of files."""
        return re.sub(r"(?<=://)([^/:@]*):[^/]*@", r"\1@", self.url)

    def check(self) -> None:
        """Raise `UsageError` if nothing that is installed reads and writes the address."""
        if not self._opened()[1] or self.url.startswith("http"):
            raise UsageError(f"--work {self.name}: no place to write to", "an address is as s3://BUCKET/NAME")

    def files(self, scope: str) -> dict[str, There]:
        """The files that are `scope` or lie in it, by their names below the address; "." is all.

        Raises `InputError` for a name that no path below a folder can have.
        """
        fs, root = self._opened()
        with self._told():
            fs.invalidate_cache()
            found = fs.find(root if scope == "." else f"{root}/{scope}", detail=True)
        named = {path.removeprefix(f"{root}/"): info for path, info in found.items() if _is_file(info)}
        for name in named:
            if {"", ".", ".."} & {*name.split("/")}:
                raise InputError(f"{self.name}/{name}: no file here can be called so", "remove it")
        return {name: _there(info) for name, info in named.items() if within(name, scope)}

    def get(self, name: str, to: Path, tell: Tell) -> None:
        """Download a file."""
        fs, root = self._opened()
        for left in reversed(range(TRIES)):
            try:
                with self._told(name):
                    fs.get_file(f"{root}/{name}", str(to), callback=_callback(tell))
                break
            except NetworkError:
                if not left:
                    raise

    def put(self, path: Path, name: str, tell: Tell) -> There:
        """Upload a file, which is there whole or not at all."""
        from fsspec.asyn import AsyncFileSystem

        fs, root = self._opened()
        to = f"{root}/{name}"
        with self._told(name):
            if isinstance(fs, AsyncFileSystem):  # object stores: they have no folders, and show a file when it is whole
                fs.put_file(str(path), to, callback=_callback(tell))
            else:
                fs.makedirs(fs._parent(to), exist_ok=True)
                fs.put_file(str(path), f"{to}.partial", callback=_callback(tell))
                fs.mv(f"{to}.partial", to)
            fs.invalidate_cache()
            return _there(fs.info(to))

    def remove(self, name: str) -> None:
        """Remove a file."""
        fs, root = self._opened()
        with self._told(name):
            fs.rm_file(f"{root}/{name}")

    def sha256(self, name: str) -> str:
        """A file's checksum, 64 hex digits. It is downloaded for that."""
        fs, root = self._opened()
        with self._told(name), fs.open(f"{root}/{name}", "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _opened(self) -> tuple[Any, str]:
        import fsspec

        with self._told():  # some connect at once
            try:
                fs, root = fsspec.core.url_to_fs(self.url)
            except (ImportError, ValueError) as error:
                raise UsageError(f"--work {self.name}: {error}", "s3:// needs pip install s3fs, gs:// gcsfs") from error
        return fs, root.rstrip("/")

    @contextmanager
    def _told(self, name: str = "") -> Iterator[None]:
        """Each store has exceptions of its own."""
        address = f"{self.name}/{name}".rstrip("/")
        try:
            yield
        except BuildBenchError:
            raise
        except (FileNotFoundError, PermissionError) as error:
            raise InputError(f"{address}: {error}", "is there such a place, and may you read and write it?") from error
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _DISK:
                raise
            raise NetworkError(
                f"{address}: {error}",
                "mend that, if it is yours to mend, and run the same again: what is finished is kept",
            ) from error


def within(name: str, scope: str) -> bool:
    """Whether a file is `scope`, or lies in it."""
    return scope == "." or name == scope or name.startswith(f"{scope}/")


def _is_file(info: Mapping[str, Any]) -> bool:
    """Consoles of object stores mark a folder by an empty object whose name ends with a slash."""
    return info["type"] == "file" and not str(info.get("Key", info["name"])).endswith("/")


def _there(info: Mapping[str, Any]) -> There:
    version, time = (next((info[key] for key in keys if info.get(key)), None) for keys in (_VERSIONS, _TIMES))
    if isinstance(version, datetime):  # a listing of the same store may say it as a number
        version = version.timestamp()
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    seconds = time.timestamp() if isinstance(time, datetime) else time
    return There(str(version).strip('"'), info["size"], None if seconds is None else int(seconds))


def _callback(tell: Tell) -> Any:
    from fsspec.callbacks import Callback

    class Telling(Callback):  # type: ignore[misc]
        def relative_update(self, inc: int = 1) -> None:
            tell(inc)

    return Telling()
