"""Wrong categories that are hard to tell from the right one.

Three ways: neighbours by CLIP's text encoder (paper A.7), the same supercategory, or a table made by people. The first
is computed once and kept as such a table, so a rebuild needs no model. `open_clip` is imported here and nowhere else.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import importlib.util
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from build_bench.draws import Draw
from build_bench.errors import InputError

Ranking = Mapping[str, Sequence[str]]
"""Per category the others, nearest first."""

HOW_MANY = 3


@dataclass(frozen=True, slots=True)
class Encoder:
    """A text encoder as `open_clip` names it. What it was is written into the table that it makes."""

    model: str
    """A name, or `local-dir:` and a folder."""
    weights: str
    """A tag, or a file; empty for a `local-dir:` model, which has its own."""
    prompt: str
    """With `{}` where the category goes."""

    def described(self) -> dict[str, str]:
        """What identifies it on any machine: of paths the last part, of weights that lie on this disk the sha256."""
        kind, _, folder = self.model.partition("local-dir:")
        local, weights = bool(folder), Path(self.weights)
        files = sorted(path for path in Path(folder).glob("open_clip_*") if path.is_file()) if local else []
        files += [weights] if self.weights and weights.is_file() else []
        return {
            "model": f"local-dir:{Path(folder).name}" if local else kind,
            "weights": weights.name if weights.is_absolute() or weights.is_file() else self.weights,
            "prompt": self.prompt,
            "sha256": _digest(tuple((path, path.stat().st_mtime_ns) for path in files)) if files else "",
        }


@cache
def _digest(files: tuple[tuple[Path, int], ...]) -> str:
    """sha256 over files, given with their times: weights are large, and asked for more than once."""
    state = hashlib.sha256()
    for path, _ in files:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                state.update(block)
    return state.hexdigest()


def nearest(answer: str, ranked: Iterable[str], key: Callable[[str], str]) -> tuple[str, str, str]:
    """The first three that differ from the answer and from one another under `key`.

    Raises `InputError` if there are fewer.
    """
    chosen = {key(answer): answer}
    for name in ranked:
        chosen.setdefault(key(name), name)
        if len(chosen) == HOW_MANY + 1:
            _, first, second, third = chosen.values()
            return first, second, third
    raise InputError(
        f"categories: {answer!r} has {len(chosen) - 1} others to tell it from, expected at least {HOW_MANY}",
        "give it more neighbours in the table, or build from a file with more categories",
    )


def same_group_first(answer: str, groups: Mapping[str, str], draw: Draw) -> list[str]:
    """The others in random order, those of the answer's group first. `groups`: category -> supercategory."""
    others = sorted(name for name in groups if name != answer)
    same = [name for name in others if groups[name] == groups[answer]]
    rest = [name for name in others if groups[name] != groups[answer]]
    return draw.shuffle("distractors", same) + draw.shuffle("distractors of other groups", rest)


def text_encoder_installed() -> bool:
    """Whether `rank_by_text` can run; looks, without importing (that takes seconds)."""
    return importlib.util.find_spec("open_clip") is not None


def rank_by_text(names: Sequence[str], encoder: Encoder) -> dict[str, list[str]]:
    """Per category the others by cosine of their embeddings, ties by name.

    In fp32 and one batch: half precision moves similarities by 1e-3, other batch sizes by 1e-7. Raises `InputError` if
    the model can't be had.
    """
    import open_clip
    import torch

    try:
        model = open_clip.create_model(
            encoder.model, pretrained=encoder.weights or None, precision="fp32", device="cpu"
        )
        tokenizer = open_clip.get_tokenizer(encoder.model)
    except (RuntimeError, OSError, ValueError, KeyError) as error:
        raise InputError(
            f"coco.negatives=clip: open_clip can't load {encoder.model!r} with weights {encoder.weights!r}: {error}",
            "give a file with --set coco.clip_weights=FILE, or use --set coco.negatives=supercategory",
        ) from error
    del model.visual  # two thirds of the memory, and no picture is looked at
    model.eval()
    with torch.inference_mode():
        vectors = model.encode_text(tokenizer([encoder.prompt.format(name) for name in names]), normalize=True)
        similar = (vectors @ vectors.T).tolist()
    return {
        name: [other for _, other in sorted((-row[j], other) for j, other in enumerate(names) if other != name)]
        for name, row in zip(names, similar, strict=True)
    }


def format_table(ranking: Ranking, encoder: Encoder) -> str:
    """The table of an encoder's neighbours: its first line says which encoder, then CSV."""
    text = io.StringIO()
    text.write(f"# {json.dumps(encoder.described(), sort_keys=True, ensure_ascii=False)}\n")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["category", *(f"neighbour_{i}" for i in range(1, max(map(len, ranking.values())) + 1))])
    rows.writerows([name, *ranking[name]] for name in sorted(ranking))
    return text.getvalue()


def made_by(path: Path, encoder: Encoder) -> bool:
    """Whether the table at `path` is this encoder's. Weights that have left this disk are taken by name."""
    try:
        with path.open(encoding="utf-8") as file:
            made: dict[str, Any] = json.loads(file.readline().removeprefix("#"))
    except (OSError, ValueError):
        return False
    wanted = encoder.described()
    return made == wanted | {"sha256": wanted["sha256"] or made.get("sha256")}


def read_table(path: Path) -> dict[str, list[str]]:
    """A table `category,neighbour_1,neighbour_2,...`, nearest first; empty cells and lines with # in front are skipped.

    Raises `InputError` naming the file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: can't be read: {error}", "coco.negatives is clip, supercategory or a table"
        ) from error
    rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if not rows or not rows[0][1].startswith("category,"):
        raise InputError(f"{path}: no header, expected category,neighbour_1,neighbour_2,neighbour_3,...")
    table: dict[str, list[str]] = {}
    for number, line in rows[1:]:
        name, *others = [cell.strip() for cell in next(csv.reader([line]))]
        if name in table:
            raise InputError(f"{path}:{number}: category {name!r} stands there twice")
        table[name] = [other for other in others if other]
    return table


def check_table(table: Ranking, names: Sequence[str], path: Path) -> None:
    """Raise `InputError` if the table lacks one of `names`, or names a neighbour that no category is called."""
    if lacking := [name for name in names if name not in table]:
        raise InputError(f"{path}: has no row for {lacking[0]!r} ({len(lacking)} of {len(names)} categories missing)")
    known = {*names, *table}
    for name in names:
        for other in table[name]:
            if other not in known:
                near = difflib.get_close_matches(other, known, n=1)
                raise InputError(
                    f"{path}: {name!r} has a neighbour {other!r}, which is no category",
                    f"did you mean {near[0]!r}?" if near else "",
                )
