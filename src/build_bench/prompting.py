"""Draft + prompt pool + seed -> question, options and their order: `Plan`.

The rules of the texts are those of the published evaluator (proactivebench 0.1.1, its sections "Hard constraints on
text"): each pool is checked against them when it is loaded, so a bad line is refused by name, not found by a crash.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from build_bench import manifests
from build_bench.draws import Draw
from build_bench.errors import InputError
from build_bench.records import ABSTAIN, ACTIONS, END, PROACTIVE, Draft, Option, Plan, State

ABSTAIN_MARKS = ("cannot", "do not")
"""The evaluator takes an option for an abstention if it contains one of these, and for a request otherwise."""

CAPITAL_STOP = re.compile(r"[A-Z]\.")
"""The evaluator deletes everything up to the last such pair: a text that ends in one is compared as an empty string."""

MANY_KEYED = frozenset({"change_view"})
"""Actions whose texts may hold several of their own keys: the evaluator makes this exception for its ROTATE alone."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The texts of one scenario (`manifests/prompts/<scenario>.toml`)."""

    context: str
    reference_question: str
    """Asked of the reference frame; empty: the question itself."""
    hints: Mapping[str, str]
    abstain: tuple[str, ...]
    questions: Mapping[str, tuple[str, ...]]
    asks: Mapping[str, tuple[str, ...]]
    keys: Mapping[str, tuple[str, ...]]
    """Per action, the words by which the evaluator knows it."""
    open_proactive: Mapping[str, tuple[str, ...]]
    """Per action, what counts as asking for help in open-ended generation; empty: the option as it was worded."""


def load_pool(scenario: str) -> Pool:
    """The checked pool of a scenario. Raises `InputError` naming the offending line."""
    name = f"prompts/{scenario}.toml"
    return read_pool(manifests.text(name), name)


def read_pool(text: str, name: str) -> Pool:
    """Parse and check a pool. `name` is the file's, for errors."""
    try:
        data = tomllib.loads(text)
        pool = Pool(
            context=data["context"],
            reference_question=data["reference_question"],
            hints=data["hints"],
            abstain=tuple(data["abstain"]),
            questions={kind: tuple(entry["texts"]) for kind, entry in data["questions"].items()},
            asks={action: tuple(entry["texts"]) for action, entry in data["asks"].items()},
            keys={action: tuple(entry["keys"]) for action, entry in data["asks"].items()},
            open_proactive={action: tuple(entry["open"]) for action, entry in data["asks"].items()},
        )
        sizes = {("questions", kind): entry["size"] for kind, entry in data["questions"].items()}
        sizes |= {("asks", action): entry["size"] for action, entry in data["asks"].items()}
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{name}: {error!r} (a key is missing or of the wrong type)") from error
    for place, problem in _problems(pool, sizes):
        raise InputError(f"{name}: {place}: {problem}", "the rules are in build_bench/prompting.py")
    return pool


def _problems(pool: Pool, sizes: Mapping[tuple[str, str], int]) -> Iterator[tuple[str, str]]:
    """Every (place, broken rule) of a pool."""
    if len(pool.abstain) != 3:
        yield "abstain", f"3 texts expected (paper, appendix A), found {len(pool.abstain)}"
    groups = {("questions", kind): texts for kind, texts in pool.questions.items()}
    groups |= {("asks", action): texts for action, texts in pool.asks.items()}
    groups[("abstain", "")] = pool.abstain
    for (section, name), texts in groups.items():
        size = sizes.get((section, name), len(texts))
        if len(texts) != size:
            yield f"{section}.{name}", f"{size} texts expected, found {len(texts)}"
        for text in texts:
            if text != text.strip() or "\n" in text or not text:
                yield f"{section}.{name} {text!r}", "empty, or with a line break or outer spaces"
            if texts.count(text) > 1:
                yield f"{section}.{name} {text!r}", "stands there twice"
    for text in pool.abstain:
        if not any(mark in text.lower() for mark in ABSTAIN_MARKS):
            yield f"abstain {text!r}", 'an abstain text contains "cannot" or "do not"'
        if problem := text_problem(text):
            yield f"abstain {text!r}", problem
    all_keys = [key for keys in pool.keys.values() for key in keys]
    for action, texts in pool.asks.items():
        if action not in ACTIONS:
            yield f"asks.{action}", "is not one of the 19 actions (records.ACTIONS)"
        for text in texts:
            lower = text.lower()
            if any(mark in lower for mark in ABSTAIN_MARKS):
                yield f"asks.{action} {text!r}", 'a proactive text contains neither "cannot" nor "do not"'
            found = [key for key in all_keys if key in lower]
            own = set(found) <= set(pool.keys[action])
            if not found or not own or (len(found) > 1 and action not in MANY_KEYED):
                yield (
                    f"asks.{action} {text!r}",
                    f"exactly one action key of {pool.keys[action]} expected, found {found}",
                )
            if problem := text_problem(text):
                yield f"asks.{action} {text!r}", problem


@lru_cache(4096)
def text_problem(text: str) -> str:
    """The rule that an option or a category breaks, or an empty string."""
    if "," in text:
        return "no commas: the evaluator splits open answers on them"
    if CAPITAL_STOP.search(text):
        return "no capital before a full stop: the evaluator would cut the text there"
    return ""


def name_problem(name: str) -> str:
    """Why a name can't be shown as a `category`, or an empty string."""
    shown = category(name)
    if "{" in name or "}" in name or not name.isprintable():
        return "no braces, tabs or line breaks"
    if not normalised(shown).strip("."):
        return "it has no letters"
    if any(mark in shown.lower() for mark in ABSTAIN_MARKS):
        return 'neither "cannot" nor "do not": the evaluator would take it for an abstention'
    return text_problem(shown)


@lru_cache(4096)
def category(name: str) -> str:
    """A category as shown: `the Eiffel tower` -> `The eiffel tower.` (the released spelling)."""
    words = name.strip().rstrip(".").replace(",", " ")
    return f"{' '.join(words.split()).capitalize()}."


@lru_cache(4096)
def normalised(text: str) -> str:
    """How the evaluator compares texts: case and spaces vanish."""
    return text.lower().strip().replace(" ", "")


def slug(source_key: str) -> str:
    """A source key in URL-safe spelling: `The Mona Lisa/51` -> `the-mona-lisa-51`."""
    return re.sub(r"[^a-z0-9]+", "-", source_key.lower()).strip("-")


def word(draft: Draft, pool: Pool, scenario: str, seed: int) -> Plan:
    """Put a draft into words and order. Raises `InputError` if its categories or options can't be told apart."""
    draw = Draw(seed, scenario, draft.source.key)
    blanks = dict(draft.fields)
    answer = category(draft.answer)
    question = draw.choice("question", pool.questions[draft.question_kind]).format(**blanks)
    texts = [Option(draw.choice("abstain", pool.abstain), ABSTAIN)]
    for ask in draft.asks:
        text = draw.choice(f"ask {ask.action}", pool.asks[ask.action]).format(**dict(ask.fields))
        texts.append(Option(text, ask.kind, ask.action))
    order = draw.shuffle("options", range(len(texts)))
    categories = tuple(draw.shuffle("categories", [category(c) for c in (draft.answer, *draft.distractors)]))
    options = tuple(texts[i] for i in order)
    _check_distinct(draft, options, categories)
    return Plan(
        id=f"{scenario}-{slug(draft.source.key)}",
        scenario=scenario,
        question=question,
        question_kind=draft.question_kind,
        context=pool.context,
        hint=pool.hints[draft.hint],
        reference_question=pool.reference_question.format(**blanks) or question,
        options=options,
        categories=categories,
        answer=answer,
        frames=draft.frames,
        states=tuple(_ordered_states(draft, order)),
        start=draft.start,
        reference=draft.reference,
        max_turns=draft.max_turns,
        first_turn_answerable=draft.first_turn_answerable,
        open_proactive=tuple(dict.fromkeys(t for option in texts for t in open_texts(option, pool))),
        open_categories=(answer.rstrip("."),),
        source=draft.source,
        group=draft.group,
        recipe=draft.recipe,
    )


def open_texts(option: Option, pool: Pool) -> tuple[str, ...]:
    """What counts as asking for the help that `option` asks for; nothing for one that can't help."""
    return (pool.open_proactive[option.action] or (option.text.rstrip("."),)) if option.kind == PROACTIVE else ()


def _ordered_states(draft: Draft, order: list[int]) -> Iterator[State]:
    """The draft's states with options in their shuffled order; index 0 of the unshuffled ones is abstain."""
    place = {index: at for at, index in enumerate(order)}
    for state in draft.states:
        moves = {place[ask + 1]: target for ask, target in state.moves} | {place[0]: END}
        shown = tuple(sorted(moves))
        yield State(state.view, shown, tuple([moves[at] for at in shown]))


def _check_distinct(draft: Draft, options: tuple[Option, ...], categories: tuple[str, ...]) -> None:
    texts = [option.text for option in options] + list(categories)
    if len({*map(normalised, texts)}) != len(texts):
        raise InputError(f"{draft.source.key}: texts can't be told apart once case and spaces are gone: {texts}")
    for text in categories:
        if problem := text_problem(text):
            raise InputError(f"{draft.source.key}: category {text!r}: {problem}")
