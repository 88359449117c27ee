"""Writing down what fetching needs to know later."""

from __future__ import annotations

from pathlib import Path

from build_bench import store
from build_bench.errors import InputError


def write(path: Path, data: bytes) -> None:
    """Write `data` whole or not at all. Raises `InputError` that names the file, which a full disk's error doesn't."""
    try:
        store.write_bytes(path, data)
    except OSError as error:
        raise InputError(
            f"{path} can't be written: {error.strerror or error}", "mend that, and run again: what came is kept"
        ) from error
