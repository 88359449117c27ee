"""Models that can be asked: KIND:NAME, one module per kind, imported when asked for."""

from __future__ import annotations

import importlib
import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from build_bench.errors import UsageError, unknown
from build_bench.filters.inputs import FirstTurn

KINDS = {
    "hf": "hugging_face:HuggingFace",
    "openai": "openai_api:OpenAI",
    "baseline": "baselines:Baseline",
}
"""KIND -> module:class below this package. The class takes (NAME, `Options`) and is a `Model`."""

EXAMPLES = "hf:llava-hf/llava-onevision-qwen2-7b-ov-hf, openai:gpt-4.1, baseline:random"

_ON_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
"""How models are called there."""

ANSWERED, REFUSED, FAILED = "answered", "refused", "failed"
"""What came of asking. Only what was answered is judged; the others are asked again next time."""


class Answer(NamedTuple):
    """What a model made of one first turn."""

    outcome: str
    """`ANSWERED`, `REFUSED` (the model or its provider declined by protocol, not in words) or `FAILED`."""
    text: str
    """What it wrote; why there is nothing, if it was refused or failed."""
    tokens: tuple[int, int] = (0, 0)
    """Read and written, as the server counts them."""


@dataclass(frozen=True, slots=True)
class Options:
    """How models are run. Each kind reads what concerns it."""

    seed: int = 0
    max_tokens: int = 50
    """Of an answer; 50 as in the published evaluator's script (proactivebench 0.1.1, tests/mcqa.py)."""
    batch_size: int = 8
    """Samples at once on the device; halved where memory runs out."""
    concurrency: int = 8
    """Requests at once."""
    base_url: str = ""
    """Of the server; empty: the environment's OPENAI_BASE_URL, else OpenAI's own."""


class Model(Protocol):
    """A model that is ready to be asked."""

    name: str
    """KIND:NAME as the cache, the manifest and the card have it: says nothing of this machine."""

    def answers(self, turns: Iterable[FirstTurn]) -> Generator[tuple[FirstTurn, Answer]]:
        """One answer for each of `turns`, in any order. `turns` is read no further ahead than is being worked on.

        Raises `BuildBenchError` for what would fail every other sample too.
        """
        ...

    @property
    def runtime(self) -> Mapping[str, Any]:
        """What the last answers came from: library versions, device, dtype, generation settings. JSON-able."""


def load(name: str, options: Options) -> Model:
    """The model KIND:NAME. Raises `UsageError` for a kind or a name that isn't there, or a package that is missing."""
    return _class_of(name)(name.partition(":")[2], options)  # type: ignore[no-any-return]


def cache_name(name: str) -> str:
    """What `load(name)` will be called in the cache, without loading anything. Raises `UsageError` as `load` does.

    A folder's place is this machine's business: its own name is kept, with a digest of what lies in it.
    """
    model = _class_of(name)
    kind, _, own = name.partition(":")
    if kind == "baseline":
        model(own, Options())  # no more than a check of its name
    if kind != "hf":
        return name
    if Path(own).is_dir():
        from build_bench.models import folders

        return f"{kind}:{folders.name_of(Path(own))}"
    if not _ON_HUB.fullmatch(own):
        raise UsageError(
            f"--model {name}: there is no folder {own}",
            "name one that has the model, or ORG/NAME for a model of the Hub",
        )
    return name


def _class_of(name: str) -> Any:
    kind, colon, own = name.partition(":")
    if not (colon and own):
        raise UsageError(f"--model {name}: expected KIND:NAME", f"for example {EXAMPLES}")
    if kind not in KINDS:
        raise unknown("kind of model", kind, KINDS)
    module, _, attribute = KINDS[kind].partition(":")
    return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
