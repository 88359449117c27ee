"""Is everything there that a build needs? One report, for whoever builds and for whoever reads a report of a mistake.

It changes nothing, takes about a second, and never fails by what it finds. `broken` is what one has and what is wrong
with it: then the command exits with 1 (contract section 2: a check failed). What is merely absent (a source, a table,
the network) is no defect: it is listed with what to type, and the exit code is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from build_bench import doctor_machine as machine
from build_bench import doctor_sources as sources
from build_bench.config import Config
from build_bench.doctor_sources import ABSENT, Source
from build_bench.fetching import addresses, states, surroundings
from build_bench.store import Work

T = TypeVar("T")


def report(work: Work, config: Config, names: Sequence[str], *, offline: bool, ask_torch: bool) -> dict[str, Any]:
    """All that is found, as `--json` shows it."""
    broken: list[str] = []
    with ThreadPoolExecutor() as pool:  # the network and the driver are waited for while files are looked at
        asked = pool.submit(_reached, list(names), offline)
        drivers = pool.submit(machine.gpus, ask_torch)
        memory = states.Memory(work.raw)
        found = [sources.examine(work, config, name, memory) for name in names]
        reached: dict[str, str] = _got(lambda: asked.result(), {}, broken)
        gpus: list[str] = _got(lambda: drivers.result(), [], broken)
    libraries: dict[str, dict[str, Any]] = _got(machine.libraries, {}, broken)
    disks: dict[str, Any] = _got(lambda: _disks(work, found), {}, broken)
    broken += [one.broken for one in found if one.broken]
    broken += [f"{why}: {hint}" for why, hint in surroundings.problems()]
    broken += list(_wrong_libraries(libraries.get("", {}))) + list(_wrong_disks(disks))
    answer = {
        "versions": machine.versions(),
        "libraries": {name: facts["version"] for name, facts in libraries.get("", {}).items()},
        "extras": {
            name: {
                "for": machine.EXTRAS.get(name, ", ".join(packages)),
                "installed": all(facts["fits"] for facts in packages.values()),
                "lacks": [package for package, facts in packages.items() if not facts["fits"]],
            }
            for name, packages in libraries.items()
            if name
        },
        "machine": {"cores": machine.cores(), "memory": machine.memory(), "gpus": gpus},
        "disk": disks,
        "hub": {"endpoint": addresses.origin(addresses.hub_as_named()), "token": machine.token()},
        "network": None if offline else reached,
        "sources": {
            one.name: {"state": one.state, "needs": one.needs, "steps": one.steps, "to_download": one.to_download}
            for one in found
        },
        "broken": broken,
        "ok": not broken,
    }
    answer["next"] = list(_next(work, found, broken, disks.get("raw", {})))
    return answer


def _got(get: Callable[[], T], otherwise: T, broken: list[str]) -> T:
    """What `get` returns; if it raises, that is part of the report."""
    try:
        return get()
    except Exception as error:
        broken.append(f"this could not be found out: {type(error).__name__}: {error}")
        return otherwise


def _reached(names: list[str], offline: bool) -> dict[str, str]:
    return {} if offline else machine.reachable([addresses.hub_as_named(), *sources.addresses(names)])


def _disks(work: Work, found: Sequence[Source]) -> dict[str, Any]:
    """Of work/ and raw/: free bytes, and those that are still to come there."""
    disks = {"work": sources.disk(work.root), "raw": sources.disk(work.raw)}
    disks["work"]["needed"] = sum(one.to_write for one in found if one.state != ABSENT)
    disks["raw"]["needed"] = sum(one.to_download for one in found)
    return disks


def _wrong_libraries(packages: Mapping[str, Any]) -> Iterator[str]:
    for name, facts in packages.items():
        if not facts["fits"]:
            found = facts["version"] or "is not installed"
            yield f"{name} {found}, expected {facts['expected']}: pip install build-bench"


def _wrong_disks(disks: Mapping[str, Any]) -> Iterator[str]:
    """What stops a build of what is there: a folder that can't be written, or is too small for it."""
    if disks and not disks["work"]["writable"]:
        yield f"{disks['work']['path']} can't be written: choose another folder with --work"
    if disks and disks["work"]["free"] < disks["work"]["needed"]:
        yield (
            f"{disks['work']['path']}: {size(disks['work']['free'])} are free, building what is there takes about "
            f"{size(disks['work']['needed'])}: choose another folder with --work"
        )


_SAMPLE = "--sample gets 80 MB of quickdraw's 24 GB"


def _next(work: Work, found: Sequence[Source], broken: Sequence[str], raw: Mapping[str, Any]) -> Iterator[str]:
    """What to type, the most useful first. `raw`: the sources' disk."""
    folder = "" if work.root == Path("work") else f" --work {work.root}"
    sources_folder = "" if work.raw == work.root / "raw" else f" --raw {work.raw}"
    if broken:
        yield "mend what is broken (above), then build-bench doctor again"
    if lacking := [one.name for one in found if one.state == ABSENT or one.fetchable]:
        command = f"build-bench fetch {' '.join(lacking)}{folder}"
        if raw and raw["free"] < raw["needed"]:
            room = f"{size(raw['needed'])} are still to come, {work.raw} has room for {size(raw['free'])}"
            yield f"{command} --raw FOLDER   ({room}: name a larger FOLDER, or fewer sources; {_SAMPLE})"
        else:
            yield f"{command}{sources_folder}"
    for one in found:
        yield from (f"{one.name}: {step}" for step in one.steps if one.state != ABSENT)
    if ready := [one.name for one in found if one.ready]:
        only = "".join(f" --scenario {name}" for name in ready) if len(ready) < len(found) else ""
        yield f"build-bench all --no-fetch{only}{folder}{sources_folder}"
    else:
        yield "build-bench all --demo   (needs no source: to see it work)"


def lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """The report for a person."""
    yield "  ".join(f"{name} {value}" for name, value in answer["versions"].items() if name != "interpreter")
    yield "  ".join(f"{name} {version}" for name, version in answer["libraries"].items())
    for name, extra in answer["extras"].items():
        lacks = f"lacks {', '.join(extra['lacks'])} (pip install 'build-bench[{name}]')"
        state = "installed" if extra["installed"] else lacks
        yield f"  [{name}] {state}: {extra['for']}"
    memory = answer["machine"]["memory"]
    known = [f"{size(memory[key])} {word}" for key, word in _MEMORY.items() if memory[key] is not None]
    gpus = "; ".join(answer["machine"]["gpus"]) or "none found"
    yield f"{answer['machine']['cores']} cores, memory: {', '.join(known) or 'unknown'}; GPU: {gpus}"
    for name, disk in answer["disk"].items():
        yield f"{disk['path']}: {size(disk['free'])} free, about {size(disk['needed'])} still {_TO_COME[name]}"
    token = answer["hub"]["token"]
    yield f"Hub {answer['hub']['endpoint']}, token: {f'yes, in {token}' if token else 'none (push needs one)'}"
    yield from _network_lines(answer["network"])
    yield ""
    for name, source in answer["sources"].items():
        yield f"{name}: {source['state']}"
        yield from (f"    {_short(need)}" for need in source["needs"])
    if answer["broken"]:
        yield from ("", "Broken:", *(f"  {problem}" for problem in answer["broken"]))
    yield from ("", "Next:", *("  " + step.replace("\n", "\n      ") for step in answer["next"]))


def _short(text: str) -> str:
    """A line that a person reads to its end; --json has all of it."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 250
_TO_COME = {"work": "to be written by builds of what is here", "raw": "to be downloaded"}
_MEMORY = {"total": "in all", "available": "available", "limit": "allowed to this container"}


def _network_lines(network: Mapping[str, str] | None) -> Iterator[str]:
    if network is None:
        yield "network: not looked at (--offline)"
    elif not any("proxy" in said or ("answer" in said and "no answer" not in said) for said in network.values()):
        yield f"network: there is none, as far as {len(network)} hosts can tell; building needs none"
    else:
        yield from (f"  {host} {said}" for host, said in network.items())


def size(count: float) -> str:
    """Bytes as a person reads them."""
    return f"{count / 1e9:,.1f} GB"
