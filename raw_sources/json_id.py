"""The `key_id` of one JSON line, found without parsing the whole line."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

BOM = b"\xef\xbb\xbf"

KEY_ID = re.compile(rb'[,{][ \t\r]*+"key_id"[ \t\r]*+:[ \t\r]*+(?:"([0-9]{1,20})"|([0-9]{1,20})(?=[ \t\r]*[,}]))')
"""In JSON this is always a key and never part of a text: the text's quotes would be escaped."""

SPACE = re.compile(rb"[ \t\r]*+")
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
SCALAR = re.compile(rb"[-+.\w]++")
NESTED = re.compile(rb'[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)


class Head(NamedTuple):
    """An id, and the place of its digits in the line."""

    id: int
    start: int
    end: int
    plain: bool
    """Whether nothing nested comes before: the ids of lines like this one can be read at the same place."""


class _OnlyId(msgspec.Struct):
    key_id: str | int


_DECODER = msgspec.json.Decoder(_OnlyId)


def find_id(line: bytes) -> Head | str:
    """The line's own `key_id` (1 to 20 digits below 2^64, quoted or not), or in words why there is none.

    The rest of the line isn't checked. A damaged line has an id if one can be read: whether it does must not depend on
    what was read before it, and when it is chosen, decoding it says what is wrong.
    """
    if not line.removeprefix(BOM).lstrip().startswith(b"{"):
        problem = "is not a JSON object"
    else:
        problem = "has no key_id of 1 to 20 digits"
    found = KEY_ID.search(line)
    if found is None:
        return problem
    before = line[: found.start() + 1]
    plain = b"[" not in before and before.rfind(b"{") <= len(BOM)
    own = None if plain else _own_id(line)
    return own or _head(found, plain) or "has a key_id of more than 64 bits"


def _head(found: re.Match[bytes], plain: bool) -> Head | None:
    group = found.lastindex or 0
    value = int(found[group])
    return Head(value, *found.span(group), plain) if value < 2**64 else None


def _own_id(line: bytes) -> Head | None:
    """`find_id`, where something nested - the drawing, as a rule - or a bracket in a text comes before the id."""
    if line.count(b"key_id") == 1:
        try:
            text = str(_DECODER.decode(line.removeprefix(BOM)).key_id)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # the walk goes on to the id, whatever comes after it
        else:
            right = text.isascii() and text.isdecimal() and len(text) <= 20 and int(text) < 2**64
            return Head(int(text), 0, 0, plain=False) if right else None
    at = _skip(line, len(BOM) if line.startswith(BOM) else 0)
    while line[at : at + 1] in (b"{", b","):
        if (found := KEY_ID.match(line, at)) is not None:
            return _head(found, plain=False)
        key = STRING.match(line, _skip(line, at + 1))
        at = _skip(line, key.end()) if key else len(line)
        if line[at : at + 1] == b":":
            at = _skip(line, _end_of_value(line, _skip(line, at + 1)))
    return None


def _skip(line: bytes, at: int) -> int:
    space = SPACE.match(line, at)
    return space.end() if space else at


def _end_of_value(line: bytes, at: int) -> int:
    """The end of the JSON value that starts at `at`, or of the line. Brackets are counted, not matched."""
    if line[at : at + 1] not in (b"[", b"{"):
        found = STRING.match(line, at) or SCALAR.match(line, at)
        return found.end() if found else len(line)
    depth = 0
    while (token := NESTED.match(line, at)) is not None:
        depth += (token[0] in (b"[", b"{")) - (token[0] in (b"]", b"}"))
        at = token.end()
        if depth == 0:
            return at
    return len(line)
