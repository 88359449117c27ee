"""MVP-N as distributed: views of 44 retail products, and per class a list of the sets that they are seen in.

    data.zip  or  data/test/<class>/<set>/<anything>_<mark>.png     mark 1: informative, 0: not
                  data/test_list/test_<class>_100.pkl               100 sets of 2 to 6 paths
    classes.csv   class,name: the product's name, which the data doesn't hold

A path counts by its last three parts, as in the authors' loader. Both may be there: the folder comes first, what it
lacks is looked for in the zip.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from build_bench.errors import InputError, Rejected
from build_bench.raw_sources import Reader, missing
from build_bench.raw_sources.mvp_n_lists import read_list
from build_bench.raw_sources.mvp_n_trees import Archive, Folder, Tree
from build_bench.records import Census

SPLITS = ("test", "valid")
CLASSES = tuple(f"{number:04d}" for number in range(44))
NAMES = "classes.csv"

MAX_SETS, MAX_VIEWS, LONGEST_PATH = 10_000, 6, 1_000
"""Per list, per set, and in characters. The source has 100, at most 6 (its MAX_NUM_VIEWS) and some 40; the bounds are
checked first, as a pickle of a few kB can name one long list a million times."""

_LIST = re.compile(r"(?P<split>[a-z]+)_list/(?P=split)_(?P<label>\d{4})_\d+\.pkl")
_FILE = re.compile(r"[^./\\]+_(?P<mark>[01])\.png")  # the authors' code takes what stands before the first dot


class Seen(NamedTuple):
    """One view."""

    path: str
    """`<class>/<set>/<file>`."""
    informative: bool


class Entry(NamedTuple):
    """One set of a list; or what stands in its place, and why that is no set (`problem`)."""

    key: str
    """`<split>/<class>/` and a digest of the set's paths: a place in a list would move when the list changes."""
    label: str
    """The class, four digits."""
    views: tuple[Seen, ...] = ()
    """In the list's order."""
    problem: tuple[str, str] | None = None
    """(reason, detail)."""


class MvpN(Reader):
    """MVP-N's `split` under `root`. `table` is the name of a further file that planning reads there, if any.

    Opening it looks at names in `root` only; it pickles as its three arguments.
    """

    def __init__(self, root: Path, split: str = "test", table: str = "") -> None:
        super().__init__(root)
        self._split, self._table = split, table
        self._candidates = 0
        self._gaps: list[str] = []
        bases = [root / "data" / "data", root / "data", root]
        inside = [base for base in bases if (base / f"{split}_list").is_dir() or (base / split).is_dir()]
        self._trees: list[Tree] = [Folder(inside[0], split)] if inside else []
        self._trees += [Archive(path, split) for path in _archive(root)]
        if not self._trees:
            raise missing(root)
        if table and not (root / table).is_file():
            raise InputError(f"{root / table}: there is no such file", "mvp_n.similarity is `name`, or a table's name")

    def __reduce__(self) -> tuple[type[MvpN], tuple[Path, str, str]]:
        return MvpN, (self.root, self._split, self._table)

    @property
    def names_file(self) -> Path | None:
        """The user's `classes.csv`."""
        path = self.root / NAMES
        return path if path.is_file() else None

    @property
    def files(self) -> Sequence[Path]:
        tables = [self.root / self._table] if self._table else []
        tables += [self.names_file] if self.names_file else []
        return sorted([*tables, *(path for tree in self._trees for path in tree.files)])

    @property
    def census(self) -> Census:
        return Census(self._candidates)

    @property
    def gaps(self) -> Sequence[str]:
        return tuple(self._gaps)

    def lacks(self, what: str) -> None:
        """Take note of a gap that only the builder can see."""
        self._gaps.append(what)

    @cached_property
    def _index(self) -> dict[str, Tree]:
        """Which tree each name is read from."""
        found: dict[str, Tree] = {}
        for tree in self._trees:
            for name in tree.names:
                found.setdefault(name, tree)
        return found

    @cached_property
    def _refused(self) -> dict[str, str]:
        return {name: why for tree in self._trees for name, why in tree.refused.items()}

    def sets(self) -> Iterator[Entry]:
        """Every set of every list, by key; neither the order of lists nor that of sets in them plays a part.

        Raises `InputError` if there is no list.
        """
        lists = {name: found["label"] for name in self._index if (found := _LIST.fullmatch(name))}
        if not lists:
            raise InputError(
                f"{self.root}: no list {self._split}_list/{self._split}_<class>_100.pkl among {len(self._index)} files",
                "unpack the whole of data.zip, or put the zip itself there",
            )
        self._gaps = self._gaps_of(set(lists.values()))
        entries = [entry for name in sorted(lists) for entry in self._entries(name, lists[name])]
        entries += [
            Entry(name, found["label"], problem=("refused_member", f"{name}: {why}"))
            for name, why in sorted(self._refused.items())
            if name not in lists and (found := _LIST.fullmatch(name))
        ]
        entries.sort(key=lambda entry: entry.key)
        self._candidates = len(entries)
        times = Counter(entry.key for entry in entries)
        met: set[str] = set()
        for entry in entries:
            if entry.key in met:
                detail = f"the same set stands {times[entry.key]} times in the lists of class {entry.label}"
                yield entry._replace(problem=("duplicate_set", detail))
            else:
                yield entry
            met.add(entry.key)

    def _gaps_of(self, listed: set[str]) -> list[str]:
        gaps = []
        if absent := [label for label in CLASSES if label not in listed]:
            gaps.append(f"no list of {self._split} sets for {len(absent)} of {len(CLASSES)} classes: {some(absent)}")
        if self._refused:
            named = [f"{ascii(name)[1:-1]} ({why})" for name, why in sorted(self._refused.items())]
            gaps.append(f"{len(named)} files refused: {some(named)}")
        return gaps

    def _entries(self, name: str, label: str) -> Iterator[Entry]:
        tree = self._index[name]
        try:
            items = read_list(tree.read(name), name)
            if len(items) > MAX_SETS:
                raise Rejected("refused_list", f"{name}: {len(items)} sets, a list has at most {MAX_SETS}")
        except Rejected as why:
            reason = why.reason if why.reason.endswith("_list") else "broken_list"
            yield Entry(name, label, problem=(reason, why.detail))
            return
        for number, item in enumerate(items):
            try:
                views = _views(item, label)
            except Rejected as why:
                yield Entry(f"{name}[{number}]", label, problem=(why.reason, f"{name}[{number}]: {why.detail}"))
            else:
                digest = blake2b("\n".join(view.path for view in views).encode(), digest_size=6).hexdigest()
                yield Entry(f"{self._split}/{label}/{digest}", label, views)

    def problem(self, view: Seen) -> tuple[str, str] | None:
        """Why a view can't be had: (reason, detail)."""
        name = f"{self._split}/{view.path}"
        if name in self._index:
            return None
        why = self._refused.get(name)
        return ("refused_member", f"{name}: {why}") if why else ("missing_picture", name)

    def stamp(self, path: str) -> str:
        """What changes with the bytes of the view at `path`."""
        name = f"{self._split}/{path}"
        return self._index[name].stamp(name) if name in self._index else "missing"

    def picture(self, path: str) -> bytes:
        """The bytes of the view at `path`. Raises `Rejected` if there are none, or the zip is damaged at them."""
        name = f"{self._split}/{path}"
        if name not in self._index:
            raise Rejected("missing_picture", name)
        return self._index[name].read(name)


def some(names: Sequence[str], most: int = 8) -> str:
    """A list for people: the first ones, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _archive(root: Path) -> list[Path]:
    """`data.zip`, or the one zip there is (browsers rename what they download twice)."""
    if (root / "data.zip").is_file():
        return [root / "data.zip"]
    found = sorted(path for path in root.glob("*.zip") if path.is_file())
    if len(found) > 1:
        raise InputError(
            f"{root}: {len(found)} zips, {found[0].name} and {found[1].name} among them", "name the right one data.zip"
        )
    return found


def _views(item: object, label: str) -> tuple[Seen, ...]:
    """A set as views. Raises `Rejected`: `broken_set`, `too_many_views`, `bad_path`, `bad_mark`, `wrong_class`."""
    if not isinstance(item, list):
        raise Rejected("broken_set", "a string, expected a list of paths")
    if len(item) > MAX_VIEWS:
        raise Rejected("too_many_views", f"{len(item)} views, a set has at most {MAX_VIEWS}")
    if not all(isinstance(path, str) for path in item):
        raise Rejected("broken_set", "a list in a list, expected a list of paths")
    return tuple(_seen(path, label) for path in item)


def _seen(path: str, label: str) -> Seen:
    parts = path.split("/")[-3:] if len(path) <= LONGEST_PATH and path.isprintable() else []
    if len(parts) < 3 or any(p in ("", ".", "..") or "\\" in p or ":" in p for p in parts):
        raise Rejected("bad_path", f"{path[:100]!a}, expected .../<class>/<set>/<file>")
    found = _FILE.fullmatch(parts[2])
    if not found:
        raise Rejected("bad_mark", f"{parts[2][:120]!r}, expected <name>_0.png or <name>_1.png")
    if parts[0] != label:
        raise Rejected("wrong_class", f"a view of class {parts[0][:20]!r} in a list of class {label}")
    return Seen("/".join(parts), found["mark"] == "1")
