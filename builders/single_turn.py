"""One state of a sample as a training example of a single turn (paper, section 5: "Training for proactiveness").

What is ambiguous, and why so: docs/decisions/train-split.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from build_bench.draws import Draw
from build_bench.records import END, INVALID, Draft, DraftState, View


def single_turn(draft: Draft, seed: int, scenario: str, nth: int = 0) -> Draft:
    """`draft` cut down to one of its states: ambiguous or unambiguous with even odds, then any that is.

    `nth`: which example of one source item it is, from 0; they take turns in being ambiguous. All that can be asked for
    stays open; what reveals nothing in that state is of the kind `invalid`. The reference is the sample's own where it
    lies in the stored frame, else what is seen.
    """
    draw = Draw(seed, scenario, draft.source.key)
    ambiguous, unambiguous = sides(draft.states, draft.start)
    first = Draw(seed, scenario, draft.group).integer("train side", 2)
    at = draw.choice("train state", (ambiguous, unambiguous)[(first + nth) % 2])
    view = draft.states[at].view
    helps = _leading_on(draft.states[at])
    return replace(
        draft,
        asks=tuple(ask if n in helps else replace(ask, kind=INVALID) for n, ask in enumerate(draft.asks)),
        frames=(draft.frames[view.frame],),
        states=(DraftState(View(0, view.crop), tuple((n, END) for n in range(len(draft.asks)))),),
        reference=View(0, draft.reference.crop if draft.reference.frame == view.frame else view.crop),
        max_turns=1,
        start=0,
    )


def sides(states: Sequence[DraftState], start: int) -> tuple[list[int], list[int]]:
    """The ambiguous states, in the first third of the way, and the unambiguous ones, from which nothing leads on.

    The way's length is counted in requests, from the start to the farthest state.
    """
    turns = {start: 0}
    queue = [start]
    for at in queue:
        for _, target in states[at].moves:
            if target != END and target not in turns:
                turns[target] = turns[at] + 1
                queue.append(target)
    longest = max(turns.values())
    going_on = [at for at in sorted(turns) if _leading_on(states[at])]
    return [at for at in going_on if 3 * turns[at] <= longest], [at for at in sorted(turns) if at not in going_on]


def _leading_on(state: DraftState) -> set[int]:
    """The requests that show something else."""
    return {ask for ask, target in state.moves if target != END}
