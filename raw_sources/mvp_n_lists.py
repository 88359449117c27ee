"""MVP-N's lists of sets: pickles, read without unpickling.

A pickle is a program; `pickle.Unpickler` with a strict `find_class` still runs the rest of it, and a memo index of
2**32 or a buffer length of 2**40 in thirty bytes makes it ask for all of the memory. Here the few instructions that
build lists and strings (protocols 0 to 5) are walked one by one; any other is refused by its name.
"""

from __future__ import annotations

import pickletools
from typing import Any

from build_bench.errors import Rejected

MAX_BYTES = 1 << 20
"""Of one list. The source's hold 100 sets of 2 to 6 paths: some 30 kB."""

_STRINGS = frozenset(
    {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"}
)
_PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})
_MARK = object()


def read_list(data: bytes, name: str) -> list[object]:
    """The list that `data` pickles: of lists and strings, and of nothing else. `name` is the file's, for errors.

    Raises `Rejected`: `refused_list` (too long, or it asks for something that is neither), `broken_list` (no pickle,
    cut off, or of something else).
    """
    if len(data) > MAX_BYTES:
        raise Rejected("refused_list", f"{name}: {len(data)} bytes, a list has at most {MAX_BYTES}")
    try:
        made = _walk(data, name)
    except (ValueError, IndexError, KeyError, AttributeError, TypeError) as error:
        raise Rejected("broken_list", f"{name}: not a whole pickle: {error}") from error
    if not isinstance(made, list):
        raise Rejected("broken_list", f"{name}: holds a {type(made).__name__}, expected a list of lists of paths")
    return made


def _walk(data: bytes, name: str) -> object:
    """Run the pickle on a stack of lists and strings."""
    stack: list[Any] = []
    memo: dict[Any, Any] = {}
    for instruction, argument, position in pickletools.genops(data):
        word = instruction.name
        if word in _STRINGS:
            stack.append(argument)
        elif word == "MARK":
            stack.append(_MARK)
        elif word == "EMPTY_LIST":
            stack.append([])
        elif word == "LIST":
            stack.append(_above_mark(stack))
        elif word == "APPENDS":
            items = _above_mark(stack)
            stack[-1].extend(items)
        elif word == "APPEND":
            item = _not_mark(stack.pop())
            stack[-1].append(item)
        elif word in _PUTS:
            memo[argument] = _not_mark(stack[-1])
        elif word == "MEMOIZE":
            memo[len(memo)] = _not_mark(stack[-1])
        elif word in _GETS:
            stack.append(memo[argument])
        elif word == "STOP":
            return _not_mark(stack.pop())
        elif word not in ("PROTO", "FRAME"):
            what = f" {argument!r:.80}" if argument is not None else ""
            raise Rejected(
                "refused_list", f"{name}: asks for {word}{what} at byte {position}, expected only lists and strings"
            )
    raise ValueError("it has no end")


def _above_mark(stack: list[Any]) -> list[Any]:
    """What stands above the last mark; it and the mark are taken off."""
    items: list[Any] = []
    while (item := stack.pop()) is not _MARK:
        items.append(item)
    items.reverse()
    return items


def _not_mark(item: Any) -> Any:
    if item is _MARK:
        raise ValueError("a mark where a value was expected")
    return item
