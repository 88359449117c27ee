"""One run over the files of some sources: check, download, draw, fetch videos. What fails doesn't stop the rest."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from build_bench import store
from build_bench.config import Config
from build_bench.errors import BuildBenchError, InputError
from build_bench.executors import Progress, notice
from build_bench.fetching import addresses, checking, keeping, quickdraw_sample, states, wanted
from build_bench.fetching.asking import Asker, Patience, Refused
from build_bench.fetching.downloading import Downloader, Failed, Whole
from build_bench.fetching.partial import digested
from build_bench.fetching.progress import Bars, in_words
from build_bench.fetching.sampling import NoRanges
from build_bench.fetching.states import FileState, Memory, SourceState
from build_bench.fetching.wanted import RemoteFile
from build_bench.fingerprints import Checksums
from build_bench.models.http_json import in_parallel
from build_bench.raw_sources.quickdraw_files import SAMPLE, SAMPLED
from build_bench.store import Work

SAMPLED_SOURCE = "quickdraw"
LONG = 1_000_000_000
"""Bytes; who waits while more are read is told."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to fetch."""

    jobs: int = 4
    accepted: Sequence[str] = ()
    """The sources whose licences are accepted, beside those of the configuration."""
    accept_new: bool = False
    sample: bool = False
    """Of QuickDraw, only as many drawings as are built."""
    retry_dead: bool = False
    """Try the videos again that were gone or private."""
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file isn't there after all, or not the right one."""

    source: str
    path: str
    why: str
    changed: bool = False
    """`--accept-new` would take it."""
    here: bool = False
    """It lies here already: no server can help."""
    read: Whole | None = None
    """What it is, where it was read to the end: nobody need do that again."""


@dataclass(slots=True)
class Outcome:
    """What a run came to."""

    problems: list[Problem] = field(default_factory=list)
    received: int = 0
    """Bytes of files that came."""


@dataclass(frozen=True, slots=True)
class _Task:
    source: str
    state: FileState
    file: RemoteFile
    """As it is expected: what was accepted before is no change."""
    target: Path

    @property
    def there(self) -> bool:
        """Whether it only has to be checked."""
        return not self.state.lacking

    @property
    def name(self) -> str:
        return f"{self.source}/{self.file.path}"


class Run:
    """One call of `fetch`."""

    def __init__(self, work: Work, config: Config, options: Options) -> None:
        self._work, self._config, self._options = work, config, options
        self._memory, self._checksums = Memory(work.raw), Checksums(work)
        self._stop = threading.Event()
        self._asker = Asker(options.patience, options.jobs)
        self._downloader = Downloader(self._asker, options.patience, self._stop, accept_new=options.accept_new)
        self._outcome = Outcome()

    def close(self) -> None:
        """Wake up what waits, and keep what was computed."""
        self._stop.set()
        self._asker.close()
        # A build that is working there computes them itself.
        with contextlib.suppress(BuildBenchError, OSError), self._work.locked():
            self._checksums.save()

    def all(self, found: Sequence[SourceState]) -> Outcome:
        """Check what was never checked, get what is missing. Raises `InputError` if the disk hasn't the room."""
        tasks = [task for source in found for task in self._tasks(source)]
        self._check_room(tasks)
        self._outcome.problems += [
            Problem(source.name, state.file.path, state.note, _may_be_new(state), here=True)
            for source in found
            for state in source.files
            if state.state == states.BAD and not (self._options.accept_new and _may_be_new(state))
        ]
        bars = Bars(sum(task.state.to_come for task in tasks))
        try:
            each = in_parallel(lambda task: self._one(task, bars), tasks, self._options.jobs, self._stop.set)
            for task, result in each:
                self._note(task, result)
        finally:
            bars.close()
            self._outcome.received = bars.received
        for source in found:
            if source.name == SAMPLED_SOURCE and self._options.sample:
                self._sample(source)
            if wanted.source(source.name).videos:
                self._videos(source)
        return self._outcome

    def _tasks(self, source: SourceState) -> Iterator[_Task]:
        if source.name == SAMPLED_SOURCE and self._options.sample:
            return
        for state in source.files:
            if isinstance(state.file, RemoteFile):
                target = wanted.place(self._work.raw / source.name, state.file.path)
                file = self._memory.expected(state.file, target)
                unchecked = state.state == states.UNVERIFIED and target.is_file() and (file.md5 or file.sha256)
                new = state.state == states.BAD and self._options.accept_new and _may_be_new(state)
                if state.lacking or unchecked or new:
                    yield _Task(source.name, state, file, target)

    def _check_room(self, tasks: Sequence[_Task]) -> None:
        needed, free = sum(task.state.to_come for task in tasks), shutil.disk_usage(self._work.raw).free
        if needed > free:
            raise InputError(
                f"{in_words(needed)} are still to come, and {self._work.raw} has room for {in_words(free)}",
                "make room, name another folder with --raw, or fewer sources; of QuickDraw, --sample gets a few lines",
            )

    def _one(self, task: _Task, bars: Bars) -> Whole | Problem:
        if task.state.there >= LONG:
            notice(f"{task.name}: reading the {in_words(task.state.there)} that are here, for the checksum")
        if task.there:
            return self._check(task)
        with bars.file(task.name, task.file.size, task.state.there) as tally:
            try:
                return self._downloader.fetch(task.file, task.target, tally)
            except Failed as why:
                return Problem(task.source, task.file.path, str(why), why.changed)

    def _check(self, task: _Task) -> Whole | Problem:
        """A file that was there before, under the name it would get."""
        sha256, md5 = digested(task.target)
        digests = {"sha256": sha256.hexdigest(), "md5": md5.hexdigest()}
        size = task.target.stat().st_size
        why = checking.wrong_size(task.file, size) or checking.wrong_checksum(task.file, digests)
        if why and not self._options.accept_new:
            read = Whole(size, digests, "")
            return Problem(task.source, task.file.path, f"the file {why}", changed=True, here=True, read=read)
        return Whole(size, digests, "accepted as new" if why else checking.basis(task.file, {}), why)

    def _note(self, task: _Task, result: Whole | Problem) -> None:
        if isinstance(result, Problem):
            if result.why not in {problem.why for problem in self._outcome.problems}:
                notice(f"{task.name}: {result.why}")  # 345 files may have the same
            self._outcome.problems.append(result)
            if result.read:
                self._memory.add(task.target, result.read)
            return
        self._work.give(task.target)  # before it is known by its time, which that sets
        self._memory.add(task.target, result)
        self._checksums.remember(task.target, self._work.raw / task.source, result.digests["sha256"])
        how = f"{result.basis}: it {result.instead_of}" if result.instead_of else f"checked by {result.basis}"
        notice(f"{task.name}: {in_words(result.size)}, {how}")

    def _sample(self, source: SourceState) -> None:
        """Draw from the words of which no whole file is there."""
        folder, settings = self._work.raw / source.name, self._config.settings[source.name]
        draws = quickdraw_sample.Draws(settings.per_class, settings.min_strokes, self._config.seed)
        sample = quickdraw_sample.read(folder, draws)
        sampler = quickdraw_sample.Sampler(self._asker, self._options.patience, self._stop, draws, folder)
        words = quickdraw_sample.lacking(source, sample, draws)
        before = self._outcome.received

        def one(word: str) -> quickdraw_sample.WordSample | Problem:
            try:
                return sampler.draw(word, words[word], sample.words.get(word))
            except NoRanges as why:
                raise quickdraw_sample.whole_only(words[word], why) from None
            except Refused as why:
                return Problem(source.name, words[word].path, f"{addresses.host(words[word].addresses[0])}: {why}")

        with Progress(f"sample {source.name}", len(words), "words") as bar:
            for word, drawn in in_parallel(one, [*words], self._options.jobs, self._stop.set):
                bar.add(1)
                if isinstance(drawn, Problem):
                    self._outcome.problems.append(drawn)
                    continue
                self._outcome.received += drawn.bytes_read
                sample.words[word] = drawn
                keeping.write(folder / SAMPLE / SAMPLED, store.to_json(sample))
        if read := self._outcome.received - before:
            notice(f"{source.name}: {len(sample.words)} words drawn from, {in_words(read)} read of them in this run")

    def _videos(self, source: SourceState) -> None:
        """Those of ChangeIt's annotated videos that aren't there: no file of the authors, so by other means."""
        from build_bench.fetching.video_failures import NETWORK
        from build_bench.fetching.videos import VideoOptions, fetch_videos

        if any(problem.source == source.name for problem in self._outcome.problems):
            return  # without the annotations it isn't known which
        try:
            options = VideoOptions(retry_dead=self._options.retry_dead)
            report = fetch_videos(self._work.raw / source.name, options, notice)
        except BuildBenchError as error:
            why = f"{error.message}: {error.hint}"
            self._outcome.problems.append(Problem(source.name, "downloads/", why, here=True))
            return
        lost = report.by_reason.get(NETWORK, 0)
        if why := report.stopped or (f"the network failed for {lost} videos" if lost else ""):
            self._outcome.problems.append(Problem(source.name, "downloads/", why))
        reasons = ", ".join(f"{count} {reason}" for reason, count in report.by_reason.items())
        notice(
            f"{source.name}: {report.there + report.fetched} of {report.wanted} videos{f', {reasons}' * bool(reasons)}"
        )


def _may_be_new(state: FileState) -> bool:
    """Whether `--accept-new` takes a file that is another than the manifest says."""
    return isinstance(state.file, RemoteFile) and state.takeable
