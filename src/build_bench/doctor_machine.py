"""What a build finds on this machine, for `doctor`: versions, extras, memory, GPUs, a token, and who answers.

No function here raises for what it finds, and none takes longer than `PATIENCE`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from build_bench import __version__, executors
from build_bench.fetching.addresses import origin
from build_bench.fetching.surroundings import proxy

DISTRIBUTION = "build-bench"
EXTRAS = {
    "clip": "COCO's wrong answers by CLIP's text encoder, the default; without it --set coco.negatives=supercategory",
    "predict": "models on this machine: predict --model hf:NAME",
    "ray": "builds on a cluster: --executor ray",
    "slurm": "builds on a cluster: --executor slurm",
    "videos": "ChangeIt's videos, by yt-dlp",
    "dev": "the tests and checks of build-bench itself",
    "bench": "make bench",
}
"""What each is for. What isn't named here is shown by its packages alone."""

PATIENCE = 1.0
"""Seconds that all endpoints together, or the GPUs' driver, may take."""

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^]]*\])?(?P<bounds>[^;]*)(;(?P<marker>.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)")
_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def versions() -> dict[str, str]:
    """Python, the system, build-bench."""
    return {
        "build-bench": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "interpreter": sys.executable,
    }


def libraries() -> dict[str, dict[str, Any]]:
    """Per extra ("" is the base install) its packages: {package: {"version": str or None, "fits": bool}}."""
    found: dict[str, dict[str, Any]] = {"": {}}
    with suppress(importlib.metadata.PackageNotFoundError):  # run from a checkout that isn't installed
        for text in importlib.metadata.requires(DISTRIBUTION) or ():
            if match := _REQUIREMENT.fullmatch(text.strip()):
                extra = _EXTRA.search(match["marker"] or "")
                found.setdefault(extra[1] if extra else "", {})[match["name"]] = _installed(
                    *match.group("name", "bounds")
                )
    return found


def _installed(name: str, bounds: str) -> dict[str, Any]:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return {"version": None, "fits": False, "expected": bounds.strip()}
    return {"version": version, "fits": _fits(version, bounds), "expected": bounds.strip()}


def _fits(version: str, bounds: str) -> bool:
    """Whether a version is at least the lower bound: the only kind of bound that build-bench sets."""
    least = re.search(r">=\s*([0-9.]+)", bounds)
    return not least or _numbers(version) >= _numbers(least[1])


def _numbers(version: str) -> list[int]:
    """The release's numbers, without zeros at the end: 2.0 is 2."""
    match = re.match(r"[0-9.]*", version)
    numbers = [int(part) for part in (match[0] if match else "").split(".") if part]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


def memory() -> dict[str, int | None]:
    """Bytes: what is built in, what is free, and what a container allows."""
    found: dict[str, int | None] = {"total": None, "available": None, "limit": None}
    with suppress(OSError, ValueError, AttributeError):
        page = os.sysconf("SC_PAGE_SIZE")
        found |= {"total": page * os.sysconf("SC_PHYS_PAGES"), "available": page * os.sysconf("SC_AVPHYS_PAGES")}
    with suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found["available"] = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            limit = int((Path("/sys/fs/cgroup") / name).read_text())
            found["limit"] = limit if found["total"] is None or limit < found["total"] else None
    return found


def cores() -> int:
    """Those that this process may use."""
    return executors.cores()


def gpus(ask_torch: bool = False) -> list[str]:
    """What the driver says of each GPU; with `ask_torch` also what torch can use, which takes seconds to import."""
    found: list[str] = []
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(query, capture_output=True, text=True, timeout=PATIENCE, check=True, errors="replace")
        found += [line.strip() for line in said.stdout.splitlines() if line.strip()]
    if ask_torch and importlib.util.find_spec("torch"):
        import torch

        usable = torch.cuda.device_count() if torch.cuda.is_available() else 0
        found.append(f"torch {torch.__version__}: {usable} usable")
    return found


def token() -> str:
    """Where a token of the Hub is, never the token; empty if there is none. As huggingface_hub looks for it."""
    if named := next((name for name in _TOKENS if os.environ.get(name, "").strip()), ""):
        return named
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or f"{cache}/huggingface"
    with suppress(OSError, RuntimeError, ValueError):
        path = Path(os.environ.get("HF_TOKEN_PATH") or f"{home}/token").expanduser()
        if path.is_file() and path.stat().st_size:
            return "a file, as `hf auth login` writes it"
    return ""


def reachable(addresses: Iterable[str]) -> dict[str, str]:
    """Per host (of the addresses) what came of it: `answers`, or why it doesn't. All are tried at once.

    It is asked for a connection and for nothing else; where the environment names a proxy, the proxy is asked.
    """
    found: dict[str, str] = {}
    hosts = {host: address for address in addresses if (host := origin(address))}
    threads = [threading.Thread(target=_try, args=(host, url, found), daemon=True) for host, url in hosts.items()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return {host: found.get(host, f"no answer within {PATIENCE:g} s") for host in sorted(hosts)}


def _try(host: str, address: str, found: dict[str, str]) -> None:
    by = proxy(address)
    try:
        to = urlsplit(by or address)
        port = to.port or (443 if to.scheme == "https" else 80)
        with socket.create_connection((to.hostname or "", port), timeout=PATIENCE):
            found[host] = f"its proxy answers ({origin(by) or 'as the environment names it'})" if by else "answers"
    except (OSError, ValueError, UnicodeError) as error:
        through = f" by the proxy {origin(by) or 'that the environment names'}" if by else ""
        found[host] = f"can't be reached{through}: {getattr(error, 'strerror', None) or error}"
