"""A list is read as lists of strings; whatever else a pickle may say is refused by name, and nothing of it is run."""

from __future__ import annotations

import os
import pickle
import resource
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from build_bench.errors import Rejected
from build_bench.raw_sources.mvp_n_lists import MAX_BYTES, read_list

NAME = "test_list/test_0000_100.pkl"
PROTOCOLS = range(6)


def refused(data: bytes) -> Rejected:
    with pytest.raises(Rejected) as why:
        read_list(data, NAME)
    assert NAME in why.value.detail
    return why.value


def outcome(data: bytes) -> str:
    """`list`, or the reason for which there is none."""
    try:
        return type(read_list(data, NAME)).__name__
    except Rejected as why:
        return why.reason


@given(st.lists(st.lists(st.text(max_size=300), max_size=6), max_size=20), st.sampled_from(PROTOCOLS))
@example([["ä/b/c_1.png"] * 3], 0)
def test_any_list_of_lists_of_strings_is_read_in_every_protocol(sets: list[list[str]], protocol: int) -> None:
    assert read_list(pickle.dumps(sets, protocol), NAME) == sets


@pytest.mark.parametrize(
    "data", [b"(lp0\n(lp1\nS'a/b/c_0.png'\np2\naa.", b"\x80\x02]q\x00]q\x01U\x0ba/b/c_0.pngq\x02aa."]
)
def test_a_list_of_python_2_is_read(data: bytes) -> None:
    assert read_list(data, NAME) == [["a/b/c_0.png"]]


class Harm:
    """Runs a command when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pickle_that_would_run_a_command_is_refused_and_runs_nothing(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "harmed"
    data = pickle.dumps([["a/b/c_0.png"], Harm(mark)], protocol)
    why = refused(data)
    assert why.reason == "refused_list"
    assert "GLOBAL" in why.detail
    assert not mark.exists()
    pickle.loads(data)
    assert mark.exists(), "the test's own pickle is harmless"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "thing", [("a",), {"a": 1}, {"a"}, 1, 2**70, 1.5, None, True, b"a", bytearray(b"a"), len, Path()]
)
def test_nothing_but_lists_and_strings_is_let_in(thing: object, protocol: int) -> None:
    assert refused(pickle.dumps([[thing]], protocol)).reason == "refused_list"


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",  # STACK_GLOBAL
        b"(ios\nsystem\n.",  # INST
        b"\x82\x01.",  # EXT1: the extension registry
        b"\x80\x02]Pid\n.",  # a persistent id
        b"\x80\x05\x96\x00\x00\x00\x00\xff\x00\x00\x00.",  # a bytearray of a terabyte
        b"\x80\x05]\x97.",  # a buffer from outside
        b"]}b.",  # BUILD
    ],
)
def test_every_other_instruction_is_refused(data: bytes) -> None:
    assert refused(data).reason in ("refused_list", "broken_list")


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02]r\xff\xff\xff\xff.",  # a place in the memo that makes pickle ask for 64 GB
        b"\x80\x04\x8d\x00\x00\x00\x00\xff\x00\x00\x00a.",  # a string that says it has a terabyte
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f].",  # a frame of that kind
        b"]" + b"(" * 100_000 + b".",
        b"]" * 100_000 + b"a" * 99_999 + b".",  # a hundred thousand lists in one another
    ],
)
def test_lengths_are_not_believed(data: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert outcome(data) in ("list", "broken_list")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10  # kB


def test_a_list_that_is_too_long_is_refused() -> None:
    assert refused(pickle.dumps([["a" * MAX_BYTES]])).reason == "refused_list"


@pytest.mark.parametrize(
    "data", [b"", b"<html>Google Drive - Quota exceeded</html>", b"\x80\x04.", b"a.", b"(.", b"h\x05.", b"]a."]
)
def test_what_is_no_pickle_is_broken(data: bytes) -> None:
    assert refused(data).reason in ("broken_list", "refused_list")


def test_a_text_is_no_list() -> None:
    assert refused(pickle.dumps("a/b/c_0.png")).reason == "broken_list"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_list_that_is_cut_anywhere_is_broken(protocol: int) -> None:
    data = pickle.dumps([["0000/1/0000_0.png", "0000/1/0001_1.png"]], protocol)
    for end in range(len(data)):
        assert refused(data[:end]).reason == "broken_list"


@given(st.binary(max_size=60) | st.binary(max_size=30).map(lambda data: pickle.dumps([["a", "b"]])[:-9] + data))
def test_no_bytes_do_anything_but_read_or_be_refused(data: bytes) -> None:
    assert outcome(data) in ("list", "broken_list", "refused_list")
