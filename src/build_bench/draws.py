"""The only randomness in the program.

Every draw is a function of (seed, scenario, source key, purpose): it depends on who a sample is, never on its place
in a queue, so one raw item more or less changes no other sample. Bits come from BLAKE2b in counter mode, not from
`random`: its `shuffle` and `sample` may change between Python versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")

_ALL = 2**64


def _key(*who: object) -> bytes:
    """32 bytes that stand for `who`; lengths are hashed too, so ("ab", "c") and ("a", "bc") differ."""
    *whose, purpose = who
    state = _hashed(*whose).copy()
    state.update(_spelled(purpose))
    return state.digest()


@lru_cache(64, typed=True)
def _hashed(*whose: object) -> blake2b:
    """The hash of all but the purpose: a sample is asked for several. Copy it, it is kept."""
    state = blake2b(digest_size=32)
    for part in whose:
        state.update(_spelled(part))
    return state


def _spelled(part: object) -> bytes:
    text = str(part).encode()
    return len(text).to_bytes(8, "little") + text


@dataclass(frozen=True, slots=True)
class Draw:
    """The draws of one sample. Each purpose has a generator of its own, so adding a draw moves no other."""

    seed: int
    scenario: str
    source_key: str

    def _integers(self, purpose: str, bounds: Iterable[int]) -> list[int]:
        """One integer in [0, bound) for each of `bounds`, exactly uniform: what passes the last multiple is redrawn."""
        keyed = blake2b(digest_size=8, key=_key(self.seed, self.scenario, self.source_key, purpose))
        drawn = []
        counter = 0
        for bound in bounds:
            limit = value = _ALL - _ALL % bound
            while value >= limit:
                state = keyed.copy()
                state.update(counter.to_bytes(8, "little"))
                value = int.from_bytes(state.digest(), "little")
                counter += 1
            drawn.append(value % bound)
        return drawn

    def integer(self, purpose: str, bound: int) -> int:
        """An integer in [0, bound)."""
        return self._integers(purpose, (bound,))[0]

    def choice(self, purpose: str, items: Sequence[T]) -> T:
        """One of `items`."""
        return items[self.integer(purpose, len(items))]

    def sample(self, purpose: str, items: Sequence[T], k: int) -> list[T]:
        """`k` different ones of `items`, in random order (a Fisher-Yates shuffle that stops after k)."""
        pool = list(items)
        if k > len(pool):
            raise ValueError(f"{k} of {len(pool)} items can't be drawn for {purpose!r}")
        for i, step in enumerate(self._integers(purpose, range(len(pool), len(pool) - k, -1))):
            pool[i], pool[i + step] = pool[i + step], pool[i]
        return pool[:k]

    def shuffle(self, purpose: str, items: Sequence[T]) -> list[T]:
        """`items` in random order."""
        return self.sample(purpose, items, len(items))


def ranks(ids: npt.NDArray[np.uint64], seed: int, scenario: str, group: str, purpose: str) -> npt.NDArray[np.uint64]:
    """A pseudo-random uint64 for each of `ids` (uint64, shape (n,)): a bijection, so different ids never tie.

    The k items with the smallest ranks are a uniform draw of k that depends on the *set* of ids alone, not on file
    order, and nested in k. Keyed rounds of MurmurHash3's 64-bit finaliser in numpy: BLAKE2b per id is 50 times slower.
    """
    first, second = np.frombuffer(_key(seed, scenario, group, purpose)[:16], dtype="<u8")
    mixed: npt.NDArray[np.uint64] = ids.astype(np.uint64) ^ first
    for key in (second, first):
        mixed ^= mixed >> np.uint64(33)
        mixed *= np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(33)
        mixed *= np.uint64(0xC4CEB9FE1A85EC53)
        mixed ^= (mixed >> np.uint64(33)) ^ key
    return mixed
