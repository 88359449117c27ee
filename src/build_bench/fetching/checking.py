"""Whether bytes are what was asked for: length, checksum, and no web page under an archive's name."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping

from build_bench.fetching.wanted import RemoteFile

_BEGINS = {".zip": (0, b"PK"), ".gz": (0, b"\x1f\x8b"), ".tar": (257, b"ustar"), ".ndjson": (0, b"{")}
"""Suffix -> where a file of the kind has which bytes."""
_PAGE = re.compile(
    rb"\s*(\xef\xbb\xbf)?\s*(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)


def page(head: bytes, name: str, content_type: str = "") -> str:
    """What was sent instead of `name`, if it is a web page: by its type, or by its first bytes. Empty if it isn't."""
    if not is_page_type(content_type) and not _PAGE.match(head):
        return ""
    title = _TITLE.search(head)
    text = " ".join(html.unescape(title[1].decode("utf-8", "replace")).split())[:80] if title else ""
    return f"a web page{f', {text!r},' if text else ''} and no {_kind(name)}: a login, a notice, or a quota"


def is_page_type(content_type: str) -> bool:
    """Whether a Content-Type is that of a web page."""
    return content_type.split(";")[0].strip().lower() in ("text/html", "application/xhtml+xml")


def unlike(head: bytes, name: str) -> str:
    """What a file with the first bytes `head` is, if it can't be `name`; empty if it may be."""
    begins = _BEGINS.get(_kind(name))
    if begins is None or head[begins[0] : begins[0] + len(begins[1])] == begins[1]:
        return ""
    return page(head, name) or f"no {_kind(name)}: it begins with {head[:16]!r}"


def _kind(name: str) -> str:
    return f".{name.rpartition('.')[2].lower()}"


def declared(headers: Mapping[str, str]) -> dict[str, str]:
    """Checksums of the whole file that its server names: the Hub's of large files, Google Cloud Storage's md5."""
    found = {}
    linked = headers.get("x-linked-etag", "").strip('"')
    if re.fullmatch("[0-9a-f]{64}", linked):
        found["sha256"] = linked
    if md5 := re.search(r"(?:^|[\s,])md5=([A-Za-z0-9+/]{22}==)", headers.get("x-goog-hash", "")):
        found["md5"] = base64.b64decode(md5[1]).hex()
    return found


def wrong_size(file: RemoteFile, size: int | None) -> str:
    """Why a file of `size` bytes isn't the one in the manifest; empty if it may be."""
    if file.bytes is None or size is None or size == file.bytes:
        return ""
    return f"has {size:,} bytes, {file.bytes:,} expected{_second_hand(file)}"


def wrong_checksum(file: RemoteFile, digests: Mapping[str, str]) -> str:
    """Why a file with these checksums isn't the one in the manifest, both named; empty if it may be."""
    for name, expected in (("sha256", file.sha256), ("md5", file.md5)):
        if expected and digests[name] != expected:
            return f"has {name} {digests[name]}, {expected} expected{_second_hand(file)}"
    return ""


def basis(file: RemoteFile, named: Mapping[str, str]) -> str:
    """On what grounds a file counts as whole, in words. `named`: the checksums that its server declared."""
    certainty = f" ({file.certainty})" if file.certainty != "none" else ""
    if file.sha256 or file.md5:
        return f"{'sha256' if file.sha256 else 'md5'}{certainty}"
    if named:
        return f"{next(iter(named))} as its server says"
    return f"size{certainty}" if file.bytes else "its server's length"


def _second_hand(file: RemoteFile) -> str:
    return " (known second-hand only, from others who have the file)" if file.certainty == "second-hand" else ""
