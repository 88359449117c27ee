"""A model in a folder of this machine, told from others of the same name by what it is made of."""

from __future__ import annotations

import hashlib
from pathlib import Path

_READ = frozenset({".json", ".jinja", ".txt", ".model", ".py", ".safetensors", ".bin"})
"""Endings of what transformers reads of a folder: a note or a checkpoint of training beside it changes no answer."""
_WHOLE = 64 << 20
"""Bytes. A file up to this size is read whole."""
_PLACES, _PIECE = 512, 4096
"""Of a larger one: so many pieces of so many bytes, evenly spread. Training moves nearly all numbers of a layer, and a
layer is larger than their distance; reading 100 GB would take minutes before the first question."""
_DIGITS = 8


def name_of(folder: Path) -> str:
    """The folder's own name and 8 hex digits of its content: the same wherever it lies, another for other weights."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in _READ and path.is_file():
            size = path.stat().st_size
            digest.update(f"{path.name}\0{size}\0".encode(errors="surrogateescape"))
            with path.open("rb") as file:
                if size <= _WHOLE:
                    digest.update(file.read())
                    continue
                for number in range(_PLACES):
                    file.seek((size - _PIECE) * number // (_PLACES - 1))
                    digest.update(file.read(_PIECE))
    return f"{folder.resolve().name}@{digest.hexdigest()[:_DIGITS]}"
