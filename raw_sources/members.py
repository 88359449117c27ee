"""Which members of somebody else's archive are used: judged by name, kind and size, here for every reader.

Nothing is ever written under a member's name, so a bad one can't reach outside. It can be taken for a good one, fill
the memory, or forge a line of a report. A refused member is never passed over without a word:

    it holds an item, a picture say      the item is rejected as `refused_member`, naming it; the others can be used
    it holds a table of all items        `InputError`, naming archive and member: nothing can be built without it
    no item needs it                     a gap of the source names it

Reasons read on from a name: `<name>: is a link`.
"""

from __future__ import annotations

import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from build_bench import raw_sources
from build_bench.errors import InputError

FILES = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE})
NO_FILE = "is a link or a device, not a file"

LARGEST_TABLE = 2 << 30
"""Bytes of a table in an archive, which is unpacked into memory. COCO's largest, of 2017, has 470 million."""

DEFLATE_MOST = 1032
"""Bytes that deflate can make of one: 258 of two bits (zlib's technical notes)."""

LONGEST, DEEPEST = 1000, 32
"""Characters and folders of a name. The sources have some 120 and 6; Linux opens no path of more than 4,096 bytes."""

LONGEST_NUMBER = 20
"""Digits: 2^64 has so many."""

UNREADABLE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
    EOFError, OSError, RuntimeError, ValueError,
)  # fmt: skip
"""What `zipfile` raises for a damaged zip or member; a name that isn't UTF-8 is a ValueError to it."""

_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:")
_SEPARATOR = re.compile(r"[/\\]")
_ODD = re.compile(r"[\\:]")
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029]")
_LEAVINGS = "__MACOSX/"
"""What a Mac puts into a zip beside the files."""


def why_name(name: str) -> str:
    """Why a member of this name is refused; empty if it isn't."""
    if not name:
        return "has no name"
    if _ABSOLUTE.match(name) or (".." in name and ".." in _SEPARATOR.split(name)):
        return "leads out of the archive"
    if _CONTROL.search(name):
        return "has a control character in its name"
    if _ODD.search(name):
        return "has a backslash or a colon in its name"
    if len(name) > LONGEST or name.count("/") > DEEPEST:
        return f"has a name of {len(name)} characters in {name.count('/')} folders"
    return ""


def why_tar(name: str, kind: bytes, size: int) -> str:
    """Why a tar's member is refused; empty if it isn't. `kind` is the header's type flag."""
    if why := why_name(name):
        return why
    if kind not in FILES and kind != tarfile.DIRTYPE:
        return NO_FILE
    if kind in FILES and size > raw_sources.LARGEST:
        return f"has {size} bytes, more than a picture"
    return ""


def number(digits: bytes) -> int:
    """A decimal number in a header; -1 if it is none, or has more digits than any size has.

    Python refuses to read thousands of digits (a ValueError), which whoever makes an archive can put there.
    """
    return int(digits) if digits.isdigit() and len(digits) <= LONGEST_NUMBER else -1


def open_zip(path: Path) -> zipfile.ZipFile:
    """A zip, its list of members read. Raises `InputError` if it is none."""
    try:
        return zipfile.ZipFile(path)
    except UNREADABLE as error:
        raise InputError(
            f"{path}: not a readable zip: {error}",
            "fetch it again; it may be cut off, or a page that asks for a confirmation",
        ) from error


def of_zip(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The members, without a Mac's leavings."""
    return [info for info in archive.infolist() if not (_left(info.orig_filename) and _left(info.filename))]


def _left(name: str) -> bool:
    return name.startswith(_LEAVINGS) and len(name) <= LONGEST


def refused(infos: Iterable[zipfile.ZipInfo]) -> dict[str, str]:
    """Names that no member may be read by, and why: bad ones, links, those that mean two members.

    `zipfile` cuts a name at a zero byte, and may take it from an extra field: both spellings are judged.
    """
    infos = list(infos)
    found: dict[str, str] = {}
    times: Counter[str] = Counter()
    for info in infos:
        names = {info.orig_filename, info.filename}
        if not info.filename.endswith("/"):  # `is_dir` fails on a name that begins with a zero byte
            times.update(names)
        if why := next(filter(None, map(why_name, sorted(names))), "") or _why_kind(info):
            found |= dict.fromkeys(names, why)
    found |= {name: f"stands there {count} times" for name, count in times.items() if count > 1}
    return found | colliding(times)


def _why_kind(info: zipfile.ZipInfo) -> str:
    """Why by its Unix mode the member is no file; empty if it is one, a folder, or another system's."""
    kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0
    if kind in (0, stat.S_IFREG, stat.S_IFDIR):
        return ""
    return "is a link" if kind == stat.S_IFLNK else NO_FILE


def colliding(names: Iterable[str]) -> dict[str, str]:
    """The names that differ from another only in case: some disks hold one of the two, and which is meant?"""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(name.casefold(), []).append(name)
    return {
        name: f"differs only in case from {spelled((same[:at] + same[at + 1 :])[0])}"
        for same in alike.values()
        if len(same) > 1
        for at, name in enumerate(same)
    }


def unfit(info: zipfile.ZipInfo, largest: int | None = None) -> str:
    """Why a zip's member isn't unpacked; empty if it is. `largest`: its bytes at most, else those of a picture."""
    largest = raw_sources.LARGEST if largest is None else largest
    size, packed = info.file_size, info.compress_size
    if info.flag_bits & 1:
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is packed by method {info.compress_type}, expected 0 or 8"
    if size > largest:
        return f"has {size} bytes, expected at most {largest}"
    if size > packed * (1 if info.compress_type == zipfile.ZIP_STORED else DEFLATE_MOST):
        return f"claims {size} bytes, more than {packed} packed ones can hold"
    return ""


def check_table(path: Path, info: zipfile.ZipInfo, refusals: Mapping[str, str]) -> None:
    """Raises `InputError` if a table in the zip at `path` can't be trusted: by `refusals`, or `unfit`."""
    if why := refusals.get(info.filename) or unfit(info, LARGEST_TABLE):
        raise InputError(
            f"{path}: {spelled(info.orig_filename)}: {why}", "take the archive as its authors distribute it"
        )


def check_names(path: Path, refusals: Mapping[str, str]) -> None:
    """Raises `InputError` for the first of a zip's refused members: for one that is a table as a whole."""
    for name, why in sorted(refusals.items()):
        raise InputError(f"{path}: {spelled(name)}: {why}", "take the archive as its authors distribute it")


def gap(archive: Path, refusals: Mapping[str, str], most: int = 8) -> Iterator[str]:
    """The refused members in a line for people; none if there are none."""
    if refusals:
        named = [f"{spelled(name)} ({why})" for name, why in sorted(refusals.items())]
        more = f" and {len(named) - most} more" if len(named) > most else ""
        yield f"{len(named)} members of {archive.name} refused: {', '.join(named[:most])}{more}"


def spelled(name: str, most: int = 200) -> str:
    """A name that can be shown: what can't be printed is escaped, so that it can forge no line."""
    shown = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in name)
    return shown if len(shown) <= most else f"{shown[:most]}..."
