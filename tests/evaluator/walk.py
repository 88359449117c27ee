"""Walk the published evaluator and `Episode` side by side. A program of its own: the evaluator needs Python 3.12.

    python3.12 walk.py WHEEL SRC SAMPLES POLICIES [DATA] < ... prints JSON {samples, policies, turns, differences}

WHEEL: proactivebench 0.1.1, imported from within; SRC: the folder with build_bench/; SAMPLES: JSON lines of {dataset,
record, row, files (path -> frame), digests (sha256 per frame, or null)}; DATA: the folder with the exported pictures.
"""

from __future__ import annotations

import ast
import hashlib
import json
import random
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from policies import ASKING, answer

Sample = dict[str, Any]

NAMES = {
    "move_occluder_left": "LEFT", "move_occluder_right": "RIGHT", "move_camera_left": "LEFT",
    "move_camera_right": "RIGHT", "move_camera_up": "UP", "move_camera_down": "DOWN", "move_farther": "ZOOM",
    "rewind": "REWIND", "wait": "FORWARD", "change_view": "ROTATE", "adjust_brightness": "BRIGHTNESS",
    "adjust_contrast": "CONTRAST", "adjust_saturation": "SATURATE", "deblur": "BLUR", "denoise": "NOISE",
    "reduce_compression": "JPEG_COMPRESSION", "increase_resolution": "PIXELATE", "remove_artifacts": "ARTIFACTS",
    "add_details": "DETAILS",
}  # fmt: skip
"""Our actions by the evaluator's names."""

ENDLESS = {"Realistic-Occlusion-Dataset", "OcclusionDataSet-MM20", "ChangeIt", "coco2014"}
"""Here a request ends an episode only because the turns have run out, and the evaluator counts it as correct."""

DATA = "/data"
REFERENCE = 0.15
"""Share of policies that play the reference view."""


class Canvas:
    """A picture to the evaluator's transform: tells the crop that Pillow would make, which rounds half to even."""

    def crop(self, box: tuple[float, ...]) -> tuple[int, ...]:
        """Pillow's own arithmetic."""
        return tuple(map(int, map(round, box)))


@cache
def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def template(wheel: str) -> Callable[..., str]:
    """The evaluator's `apply_multi_choice_template`, alone: the rest of its module imports torch."""
    source = zipfile.ZipFile(wheel).read("proactivebench/data_utils.py").decode()
    wanted = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == "apply_multi_choice_template"
    ]
    space: dict[str, Any] = {"callable": callable}
    exec(compile(ast.Module(wanted, []), "data_utils.py", "exec"), space)
    return space["apply_multi_choice_template"]  # type: ignore[no-any-return]


class Walker:
    """Plays samples, and counts."""

    def __init__(self, wheel: str, source: str, data: str | None) -> None:
        sys.path[:0] = [wheel, source]
        from proactivebench import environment

        from build_bench.episode import Episode
        from build_bench.scores import scores

        self.environment, self.episode, self.scores = environment, Episode, scores
        self.worded = template(wheel)
        self.data = data or DATA
        self.prefix = f"{self.data}/"
        self.turns = self.policies = 0
        self.results: list[Any] = []
        self.statistics: list[dict[str, Any]] = []

    def walk(self, sample: Sample, policy: int) -> Iterator[str]:
        """Play one policy; yield what differs."""
        choose = random.Random(f"{sample['row']['id']}/{policy}")
        reference, asking = choose.random() < REFERENCE, choose.choice(ASKING)
        kind = self.environment.get_environment(sample["dataset"])
        theirs = kind(entry=sample["record"], data_dir=self.data, reference=reference)
        ours = self.episode(sample["row"], reference=reference)
        expected: dict[str, list[Any]] = {"action_evaluations": [], "category_evaluations": [], "action_history": []}
        self.policies += 1
        while not theirs.stop and not ours.done:
            hint = choose.random() < 0.5
            yield from self._shown(sample, theirs, ours, hint)
            text = self._answer(choose, asking, sample, ours)
            self._expect(expected, sample, ours, text)
            read = ours.read(text).option
            option = None if read is None else ours.choices[read]
            theirs.evaluate_generated_answer(text)
            verdict = ours.answer(text)
            self.turns += 1
            yield from _verdict(theirs, verdict, text, option)
        statistics = theirs.get_statistics()
        expected |= {
            "num_turns": ours.turns,
            "correct_prediction": ours.correct,
            "max_steps": ours.turns == sample["row"]["max_turns"],
        }
        yield from (
            f"{name}: {value} expected, theirs {statistics[name]}"
            for name, value in expected.items()
            if statistics[name] != value
        )
        if theirs.stop != ours.done:
            yield f"after {ours.turns} turns: done is {ours.done}, theirs {theirs.stop}"
        self.results.append(ours)
        self.statistics.append(statistics)

    def _shown(self, sample: Sample, theirs: Any, ours: Any, hint: bool) -> Iterator[str]:
        state = theirs.get_state(hint=hint)
        frame, crop = ours.view
        path = state["image_path"].removeprefix(self.prefix)
        if sample["digests"] is None:
            if sample["files"].get(path) != frame:
                yield f"picture: frame {frame}, theirs {path}, which is {sample['files'].get(path)}"
        elif digest(state["image_path"]) != sample["digests"][frame]:
            yield f"picture: frame {frame}, theirs {path} has other bytes"
        canvas = Canvas()
        made = state["transform"](canvas)
        if (() if made is canvas else made) != crop:
            yield f"crop: {crop}, theirs {made}"
        if state["options"] != ours.choices:
            yield f"choices: {ours.choices}, theirs {state['options']}"
        if self.worded(state["prompt"], state["options"], short_answer=True) != ours.prompt(hint=hint):
            yield f"prompt: {ours.prompt(hint=hint)!r}, theirs from {state['prompt']!r}"

    def _answer(self, choose: random.Random, asking: float, sample: Sample, ours: Any) -> str:
        row = sample["row"]
        state = row["states"][ours.state]
        opened = [] if ours.reference else state["options"]
        wanted = [row["options"][option]["text"] for option in opened if row["options"][option]["kind"] == "proactive"]
        absent = [option["text"] for option in row["options"] if option["text"] not in ours.choices]
        return answer(choose, asking, ours.choices, wanted, row["answer"], absent)

    def _expect(self, expected: dict[str, list[Any]], sample: Sample, ours: Any, text: str) -> None:
        """What the evaluator's histories should say of this answer."""
        row, reading = sample["row"], ours.read(text)
        action, done = "mismatch", "STOP"
        if reading.option is not None:
            state = row["states"][ours.state]
            option = row["options"][state["options"][reading.option]]
            leads = state["moves"][reading.option] >= 0 or sample["dataset"] in ENDLESS
            action = "correct" if option["kind"] == "proactive" and leads else "wrong"
            done = NAMES[option["action"]] if action == "correct" else "STOP"
        category = "mismatch" if reading.category is None else "wrong"
        answerable = ours.reference or ours.turns or row["first_turn_answerable"]
        if reading.category is not None and row["categories"][reading.category] == row["answer"] and answerable:
            category, done = "correct", "STOP"
        expected["action_evaluations"].append(action)
        expected["category_evaluations"].append(category)
        expected["action_history"].append(getattr(self.environment, done))

    def scored(self) -> Iterator[str]:
        """The evaluator's script over all policies, beside `scores`."""
        acc = sum(int(each["correct_prediction"]) for each in self.statistics) / len(self.statistics) * 100
        ps = sum(each["num_turns"] - 1 for each in self.statistics) / len(self.statistics)
        if (acc, ps) != tuple(self.scores(self.results)):
            yield f"scores: {self.scores(self.results)}, theirs {acc}, {ps}"


def _verdict(theirs: Any, verdict: str, text: str, option: str | None) -> Iterator[str]:
    """Compare the last answer's verdict with what the evaluator says of it. `option`: the one it was read as."""
    action, category = theirs.action_evaluation_history[-1], theirs.category_evaluation_history[-1]
    allowed = {"wrong"} if category == "wrong" else set()
    if option is not None:
        abstains = any(mark in option.lower() for mark in ("cannot", "do not"))
        allowed |= {"proactive" if option in theirs.correct_options else "abstain" if abstains else "invalid"}
    if category == "correct":
        allowed = {"correct"}
    elif action == "correct" and not theirs.stop:
        allowed = {"proactive"}
    if verdict not in (allowed or {"unparsed"}) or (option is None) != (action == "mismatch"):
        yield f"verdict on {text!r}: {verdict}, theirs action {action}, category {category}"


def main(wheel: str, source: str, samples: str, policies: str, data: str | None = None) -> None:
    walker = Walker(wheel, source, data)
    differences: list[str] = []
    differing = set()
    count = 0
    with Path(samples).open(encoding="utf-8") as lines:
        for line in lines:
            sample = json.loads(line)
            count += 1
            for policy in range(int(policies)):
                try:
                    found = list(walker.walk(sample, policy))
                except Exception as error:
                    found = [f"stopped with {error!r}"]
                differing.update([sample["row"]["id"]] if found else [])
                differences += [f"{sample['row']['id']}, policy {policy}: {each}" for each in found]
    differences += walker.scored()
    result = {"samples": count, "policies": walker.policies, "turns": walker.turns, "differences": len(differences)}
    json.dump({**result, "differing": sorted(differing), "first": differences[:20]}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
