"""From a row's `states` to the fields of a record: a proposal, of which `matching.pictures` proves that it is right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

from build_bench.errors import Rejected
from build_bench.layouts.record import DATASETS, Box, Record
from build_bench.records import END, PROACTIVE, Source

Row = Mapping[str, Any]

ROD_STEM = "natural_bluebl_greenr-banana-s"
"""By this, followed by 6, the evaluator knows the sequence with a hole."""

HOLE_STEP = 6


def record_of(row: Row, number: int) -> Record:
    """The record of a row, with `number` for its id. Raises `Rejected` if its states have another shape."""
    scenario = row["scenario"]
    if scenario not in DATASETS:
        raise Rejected("unknown_scenario", f"{scenario!r} is none of {', '.join(DATASETS)}")
    if not row["id"].isascii() or not row["id"].replace("-", "").replace("_", "").isalnum():
        raise Rejected("unsafe_id", f"{row['id']!r} can't be the name of a folder")
    fields = {
        "id": number,
        "image_template": "",
        "prompt": row["question"],
        "options": tuple(option["text"] for option in row["options"]),
        "categories": tuple(row["categories"]),
        "answer": row["answer"],
    }
    fields |= _FIELDS[scenario](row)
    folder = f"{DATASETS[scenario]}/{row['id']}/"
    fields["image_template"] = folder + fields["image_template"] + _ending(row)
    return Record(**fields)


def carrying(record: Record, row: Row, names: tuple[str, ...]) -> Record:
    """The record with what only our own rows have. `names`: of the frames, in the order in which they are shown."""
    return msgspec.structs.replace(
        record,
        bench_id=row["id"],
        bench_question_kind=row["question_kind"],
        bench_frames=names,
        bench_open_proactive=tuple(row["open_answers"]["proactive"]),
        bench_open_categories=tuple(row["open_answers"]["categories"]),
        bench_source=Source(**row["source"]),
    )


def _ending(row: Row) -> str:
    """The one ending of all frames: a template has one."""
    endings = {PurePosixPath(frame["path"]).suffix for frame in row["frames"]}
    if len(endings) != 1 or not endings.copy().pop()[1:].isalnum():
        raise Rejected("mixed_formats", f"frames end in {sorted(endings)}: one template can't name them all")
    return endings.pop()


def _option(row: Row, *actions: str) -> int:
    """The valid request for one of `actions`."""
    for index, option in enumerate(row["options"]):
        if option["kind"] == PROACTIVE and option["action"] in actions:
            return index
    raise Rejected("no_request", f"no valid option for {' or '.join(actions)}")


def _next(row: Row, state: int, option: int) -> int | None:
    """The state that an option leads to; `END`; None where it isn't open."""
    at = row["states"][state]
    return at["moves"][list(at["options"]).index(option)] if option in at["options"] else None


def _chain(row: Row, option: int, start: int | None = None) -> list[int]:
    """The states that one request leads through, each once."""
    found = [row["start"] if start is None else start]
    while (target := _next(row, found[-1], option)) not in (None, END, *found):
        found.append(target)
    return found


def _shown(row: Row, states: list[int]) -> list[int]:
    return [row["states"][state]["frame"] for state in states]


def _place(frames: list[int], row: Row, beyond: int) -> int:
    """Where the reference stands among `frames`; `beyond` where it isn't one of them."""
    frame = row["reference"]["frame"]
    return frames.index(frame) if frame in frames else beyond


def _circle(row: Row, forth: str, back: str) -> dict[str, Any]:
    """Pictures in a circle. They are numbered in the order of going forth, the first frame 0 if it is there."""
    onward = _chain(row, _option(row, forth))
    count = len(onward)
    backward = _chain(row, _option(row, back))
    holes = [k for k in range(1, min(count, len(backward))) if onward[k] != backward[-k]]
    frames = _shown(row, onward)
    first = (HOLE_STEP - holes[0]) % count if holes else -frames.index(min(frames)) % count
    numbered = [frames[(k - first) % count] for k in range(count)]
    reference = _place(numbered, row, count)
    return {
        "first_image": first,
        "num_images": count,
        "reference_image": reference,
        "image_template": (ROD_STEM if holes else "s") + "{image}",
    }


def _rod(row: Row) -> dict[str, Any]:
    return _circle(row, "move_occluder_right", "move_occluder_left")


def _vsod(row: Row) -> dict[str, Any]:
    return _circle(row, "wait", "rewind") | {"image_template": "{image}", "strong_occlusions": True}


def _mvp_n(row: Row) -> dict[str, Any]:
    frames = _shown(row, _chain(row, _option(row, "change_view")))
    count = len(frames)
    return {
        "first_image": 0,
        "num_images": count,
        "reference_image": _place(frames, row, count),
        "image_template": "{image}_{informative}",
        "valid_images": tuple(range(count)),
    }


def _imagenet_c(row: Row) -> dict[str, Any]:
    valid = [option for option in row["options"] if option["kind"] == PROACTIVE]
    if len(valid) != 1:
        raise Rejected("no_request", f"{len(valid)} valid requests, expected 1")
    option = _option(row, valid[0]["action"])
    frames = _shown(row, _chain(row, option))
    count = len(frames)
    return {
        "first_image": count,
        "num_images": count,
        "reference_image": count - _place(frames, row, count),
        "image_template": "{level}",
        "quality_answer": row["options"][option]["text"],
    }


def _quickdraw(row: Row) -> dict[str, Any]:
    frames = _shown(row, _chain(row, _option(row, "add_details")))
    count = len(frames)
    return {
        "first_image": 0,
        "num_images": count,
        "reference_image": _place(frames, row, count),
        "image_template": "{image}",
    }


def _changeit(row: Row) -> dict[str, Any]:
    """Images are numbered by the seconds in the frames' names where these are evenly spaced, else one by one.

    An episode begins at image 0: with `first_image` >= `step_size` the evaluator's open-ended helper adds a second
    "Rewind the video." to its options, and its next turn stops with a ValueError.
    """
    if _next(row, row["start"], _option(row, "rewind")) is not None:
        raise Rejected("start_not_first", "a video that doesn't begin at its first frame")
    wait = _option(row, "wait")
    states = _chain(row, wait)
    frames = _shown(row, states)
    names = [PurePosixPath(row["frames"][frame]["path"]).stem for frame in frames]
    step = int(names[1]) if len(names) > 1 and names[1].isdecimal() else 1
    if step < 1 or names != [str(place * step) for place in range(len(names))]:
        step = 1
    last = step * (len(frames) - 1)
    reference = row["reference"]["frame"]
    named = PurePosixPath(row["frames"][reference]["path"]).stem
    if reference in frames:
        reference = frames.index(reference) * step
    else:
        taken = not named.isdecimal() or str(int(named)) != named or (int(named) <= last and int(named) % step == 0)
        reference = last + step if taken else int(named)
    return {
        "first_image": 0,
        # Where waiting is still offered at the last frame that turns allow, the video goes on behind it.
        "num_images": last + 1 + (step if _next(row, states[-1], wait) is not None else 0),
        "reference_image": reference,
        "image_template": "{image}",
        "step_size": step,
        "max_steps": row["max_turns"],
    }


def _coco(row: Row) -> dict[str, Any]:
    """The steps are whole numbers: the evaluator's own arithmetic is exact with those alone."""
    actions = {option["action"] for option in row["options"] if option["kind"] == PROACTIVE}
    zoom = actions == {"move_farther"}
    names = ["zoom"] if zoom else [w for w in ("up", "down", "left", "right") if f"move_camera_{w}" in actions]
    if len(names) != len(actions) or not names:
        raise Rejected("unknown_direction", f"requests {sorted(actions)}")
    prefix = "move_farther" if zoom else "move_camera_"
    views: list[list[tuple[int, ...]]] = []
    for name in names:
        states = _chain(row, _option(row, prefix if zoom else prefix + name))
        views.append([tuple(row["states"][state]["crop"]) for state in states])
    if any(len(crop) != 4 for crops in views for crop in crops):
        raise Rejected("no_crop", "a state shows the whole picture")
    left, top, right, bottom = views[0][0]
    steps = {0: 0, 1: 0}
    for name, crops in zip(names, views, strict=True):
        for axis in (0, 1) if zoom else (0,) if name in ("left", "right") else (1,):
            edge = axis if zoom or name in ("left", "up") else axis + 2
            steps[axis] = abs(crops[1][edge] - crops[0][edge]) if len(crops) > 1 else 1
    if 0 in (steps[0], steps[1]) and zoom:
        raise Rejected("no_step", "zooming out moves both edges by at least a pixel")
    left += steps[0] * (zoom or "left" in names)
    top += steps[1] * (zoom or "up" in names)
    right -= steps[0] * (zoom or "right" in names)
    bottom -= steps[1] * (zoom or "down" in names)
    width, height = (right - left, bottom - top) if zoom else (right, bottom)
    return {
        "first_image": 0,
        "num_images": 1,
        "reference_image": 0,
        "image_template": PurePosixPath(row["frames"][row["reference"]["frame"]]["path"]).stem,
        "direction": "_".join(names),
        "granularity": len(views[0]) - zoom,
        "horizontal_step": steps[0],
        "vertical_step": steps[1],
        "crop": Box(top=top, left=left, height=height, width=width),
    }


_FIELDS = {
    "rod": _rod, "vsod": _vsod, "mvp_n": _mvp_n, "imagenet_c": _imagenet_c, "quickdraw": _quickdraw,
    "changeit": _changeit, "coco": _coco,
}  # fmt: skip
