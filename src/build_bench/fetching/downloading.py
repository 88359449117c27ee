"""One file over HTTP, however often the connection breaks. Whose work it is: docs/decisions/fetch-downloader.md.

Nothing is sent again that a server could have skipped; a file gets its name when its length and checksum fit.
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from build_bench.errors import InputError
from build_bench.fetching import addresses, checking
from build_bench.fetching.asking import Answer, Asker, Lost, Patience, Refused
from build_bench.fetching.partial import SUFFIX, Facts, Part
from build_bench.fetching.wanted import RemoteFile

Tally = Callable[[int], None]
"""Is told of bytes as they come; of fewer than none where some must come again."""


_ENDLESS = 100
"""Times its size, as well as that is known: a body of unknown length that has more is taken to have no end."""


class Changed(Refused):
    """The file is whole, and another one than the manifest says."""


class Failed(Exception):  # noqa: N818 - one file of many: the others go on
    """No address gave the file."""

    def __init__(self, problems: Mapping[str, Refused]) -> None:
        super().__init__("; ".join(f"{host}: {why}" for host, why in problems.items()))
        self.changed = any(isinstance(why, Changed) for why in problems.values())


@dataclass(frozen=True, slots=True)
class Whole:
    """A file that came, or was there."""

    size: int
    digests: Mapping[str, str]
    basis: str
    """On what grounds it counts as whole."""
    instead_of: str = ""
    """How it differs from the manifest, where `--accept-new` took it."""


class Downloader:
    """Downloads files, in as many threads as call it."""

    def __init__(self, asker: Asker, patience: Patience, stop: threading.Event, *, accept_new: bool = False) -> None:
        self._asker, self._patience, self._accept_new = asker, patience, accept_new
        self._stop = stop

    def fetch(self, file: RemoteFile, target: Path, tally: Tally) -> Whole:
        """Get `file` as `target`. Raises `Failed`, or `InputError` for a disk that is full."""
        problems: dict[str, Refused] = {}
        part = None
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part = Part(target, file.bytes)
            if part.size and part.facts and part.facts.refused:
                return self._checked(file, part, resumed=False)
            for url in file.addresses:
                try:
                    return self._from(url, file, part, tally)
                except Refused as why:
                    problems[addresses.host(url)] = why
        except (Refused, _Damaged) as why:  # what waits for --accept-new isn't downloaded again
            problems[f"{target.name}{SUFFIX}"] = why if isinstance(why, Refused) else Refused(str(why))
        except OSError as error:
            raise InputError(
                f"{target} can't be written: {error.strerror or error}", "mend that, and run again"
            ) from error
        finally:
            if part:
                part.close()
        raise Failed(problems)

    def _from(self, url: str, file: RemoteFile, part: Part, tally: Tally) -> Whole:
        """From one address, trying again while bytes come. Raises `Refused`."""
        failures = damaged = 0
        furthest = part.size
        while True:
            try:
                resumed = self._once(url, file, part, tally)
                return self._checked(file, part, resumed=resumed)
            except _Damaged as why:
                damaged += 1
                if damaged == 2:
                    raise Refused(str(why)) from None
                tally(-why.size)
            except Lost as lost:
                failures = 0 if part.size > furthest else failures + 1
                furthest = max(furthest, part.size)
                if failures == self._patience.attempts:
                    raise Refused(f"{lost}, {failures} times in a row") from None
                self._pause(lost.wait if lost.wait is not None else min(2.0**failures, 60.0))

    def _pause(self, seconds: float) -> None:
        (self._patience.sleep or self._stop.wait)(seconds)
        if self._stop.is_set():
            raise Refused("was not asked again: the run was stopped")

    def _once(self, url: str, file: RemoteFile, part: Part, tally: Tally) -> bool:
        """Ask for what is still to come; returns whether it was added to what was there. Raises `Refused`, `Lost`."""
        if part.facts and part.size and part.size == part.facts.total and not part.facts.refused:
            return True  # whole: the run was stopped before it got its name
        with self._asker.get(url, _resuming(url, file, part)) as answer:
            facts = _facts(url, answer)
            if answer.status == 416:
                if part.adopted and facts.total == part.size:  # a person has it whole
                    if not self._accept_new:
                        raise Changed(f"the file {checking.wrong_size(file, part.size)}")
                    part.note(facts)
                    return False
                tally(-part.size)
                part.discard()
                raise Lost("has fewer bytes than were there: begun anew", 0.0)
            answer.check_unpacked()
            if facts.total == 0:
                raise Refused("sent nothing: the file has 0 bytes there")
            _refuse_page(answer, part.target.name)
            if (why := checking.wrong_size(file, facts.total)) and not self._accept_new:
                what = checking.unlike(_head(answer), part.target.name) if _range(answer)[0] == 0 else ""
                raise Refused(f"sent {what}") if what else Changed(f"the file {why}")
            if part.adopted and not (file.sha256 or file.md5 or facts.declared):
                tally(-part.size)
                part.discard()
                raise Lost("names no checksum, so what was there can't be gone on with", 0.0)
            resumed = self._continue(answer, facts, part, tally)
            self._receive(answer, file, part, tally)
        if facts.total is not None and part.size < facts.total:
            raise Lost(f"broke off after {part.size:,} of {facts.total:,} bytes")
        return resumed

    def _continue(self, answer: Answer, facts: Facts, part: Part, tally: Tally) -> bool:
        """Make the part end where the answer begins; returns whether there is anything before that."""
        start = _range(answer)[0]
        if start != 0:
            known = part.facts.total if part.facts else None
            if start is None or start > part.size or (known is not None and facts.total not in (None, known)):
                tally(-part.size)
                part.discard()
                raise Lost("sent another part than was asked for: begun anew")
            if start < part.size:
                tally(start - part.size)
                part.cut(start)
            old = part.facts.declared if part.facts else {}
            total = known if facts.total is None else facts.total
            part.note(msgspec.structs.replace(facts, total=total, declared=facts.declared or old))
            return True
        if facts.total is None and answer.headers.get("transfer-encoding", "").lower() != "chunked":
            raise Refused("names no length: that it broke off would go unnoticed")
        free = shutil.disk_usage(part.target.parent).free
        if facts.total is not None and facts.total > free + (0 if part.adopted else part.size):
            raise InputError(
                f"{part.target} takes {facts.total:,} bytes, and {free:,} are free", "make room, or name another --raw"
            )
        tally(-part.size)
        part.begin(facts)
        return False

    def _receive(self, answer: Answer, file: RemoteFile, part: Part, tally: Tally) -> None:
        most = part.facts.total if part.facts else None
        if most is None:
            most = file.bytes if not self._accept_new and file.bytes else _ENDLESS * file.size or None
        for chunk in answer.chunks:
            if not part.size and (what := checking.page(chunk, part.target.name)):
                part.discard()
                raise Refused(f"sent {what}")
            part.append(chunk)
            tally(len(chunk))
            if most is not None and part.size > most:
                tally(-part.size)
                part.discard()
                raise Refused(f"sends more than {most:,} bytes")
            if self._stop.is_set():
                raise Refused("was left: the run was stopped")

    def _checked(self, file: RemoteFile, part: Part, *, resumed: bool) -> Whole:
        """Give a whole part its name, if it is what was asked for. Raises `Refused`, and `_Damaged` to begin anew."""
        assert part.facts is not None
        size, named = part.size, part.facts.declared
        if what := checking.unlike(part.head(), part.target.name):
            part.discard()
            raise Refused(f"sent {what}")
        digests = part.digests()
        if other := [name for name, value in named.items() if digests[name] != value]:
            part.discard()
            raise _Damaged(f"sent bytes that don't have the {other[0]} it names", size)
        why = checking.wrong_size(file, size) or checking.wrong_checksum(file, digests)
        if why and resumed and not named:
            part.discard()
            raise _Damaged(f"the file, joined from parts, {why}", size)
        if why and not self._accept_new:
            part.note(msgspec.structs.replace(part.facts, total=size, refused=why))
            raise Changed(f"the file {why}")
        part.finish()
        return Whole(size, digests, "accepted as new" if why else checking.basis(file, named), why)


class _Damaged(Exception):  # noqa: N818 - never leaves this module
    """The bytes aren't those of the server, or were joined from two versions: they are removed."""

    def __init__(self, why: str, size: int) -> None:
        super().__init__(why)
        self.size = size


def _refuse_page(answer: Answer, name: str) -> None:
    """Raises `Refused` for a web page where none is expected, by its title."""
    kind, head = answer.headers.get("content-type", ""), b""
    if checking.is_page_type(kind):
        for chunk in answer.chunks:
            head += chunk
            if len(head) > 1 << 14:
                break
        raise Refused(f"sent {checking.page(head, name, kind)}")


def _head(answer: Answer) -> bytes:
    """The first bytes of a body."""
    head = b""
    for chunk in answer.chunks:
        head += chunk
        if len(head) >= 1024:
            break
    return head


def _resuming(url: str, file: RemoteFile, part: Part) -> dict[str, str]:
    """The headers that ask for the rest, where what is there can be gone on with."""
    facts = part.facts
    if not facts or not part.size or facts.refused:
        return {}
    headers = {"Range": f"bytes={part.size}-"}
    if facts.url == addresses.without_login(url) and facts.validator:
        headers["If-Range"] = facts.validator
    elif not (file.sha256 or file.md5 or facts.declared or part.adopted):
        return {}  # nothing would tell that two versions were joined; for an adopted one the answer may name a checksum
    part.digests()  # reads what is there, before a server is kept waiting
    return headers


def _facts(url: str, answer: Answer) -> Facts:
    etag = answer.headers.get("etag", "")
    validator = etag if etag.startswith('"') else answer.headers.get("last-modified", "")
    return Facts(addresses.without_login(url), validator, _range(answer)[1], checking.declared(answer.headers))


def _range(answer: Answer) -> tuple[int | None, int | None]:
    """Where an answer begins, and how long the whole file is; None for what isn't said."""
    if answer.status == 200:
        length = answer.headers.get("content-length", "")
        return 0, int(length) if re.fullmatch(r"\d{1,18}", length) else None
    said = answer.headers.get("content-range", "").strip()
    found = re.fullmatch(r"bytes (?:\*|(\d{1,18})-\d{1,18})/(\d{1,18}|\*)", said)
    if not found:
        return None, None
    return int(found[1]) if found[1] else None, None if found[2] == "*" else int(found[2])
