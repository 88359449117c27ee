"""What models said at the first turn of the samples shown, and why a sample is in or out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from build_bench import prompting, store
from build_bench.errors import InputError, UsageError
from build_bench.filters import filtering, first_turn, keep_list, one_sample, predictions
from build_bench.gallery.dataset import Dataset, Manifest, share
from build_bench.store import Work

Said = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Answers:
    """What a work folder knows of one scenario."""

    models: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Said]]
    """Sample -> model -> its rows of the cache, one per input that the sample ever had."""
    keep: Mapping[str, str]
    """Sample -> what the keep list says by now, in words."""
    notes: tuple[str, ...]
    """What is stale in the work folder."""

    def of(self, sample: str, digest: str) -> list[list[Any]]:
        """A row per model that was asked: number of the model, verdict, answer, why it failed."""
        found = []
        for number, model in enumerate(self.models):
            if rows := self.rows.get(sample, {}).get(model):
                said = one_sample.said(rows, digest)
                found.append([number, said["verdict"], said["answer"], said.get("error", "")])
        return found


NOTHING = Answers((), {}, {}, ())


def read(work: Work, scenario: str, models: Sequence[str]) -> Answers:
    """What is cached of a scenario. Raises `InputError` for predictions that can't be read. Writes nothing."""
    rows: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for model in models:
        path = predictions.path_of(work, model, scenario)
        if path.exists():
            for row in predictions.read(path, model).iter_rows(named=True):
                rows.setdefault(row["id"], {}).setdefault(model, []).append(row)
    try:
        keep, stale = _keep(work, scenario), [str(line) for line in filtering.status(work, scenario)["stale"]]
    except InputError as error:  # what is shown is the dataset, whatever state the work folder is in
        keep, stale = {}, [error.message.replace(f"{work.root}/", "")]
    return Answers(tuple(models), rows, keep, tuple(stale))


def _keep(work: Work, scenario: str) -> dict[str, str]:
    if keep_list.read_stamp(work, scenario) is None:
        return {}
    return {
        row["id"]: f"{'kept' if row['kept'] else 'dropped'}: {row['correct']} of {row['models']} models were right"
        for row in keep_list.read(work, scenario).to_pylist()
    }


def refuse_rejected(work: Work, dataset: Dataset, samples: Sequence[str]) -> None:
    """Raise `UsageError` with the reason for one of `samples` that was rejected before it came into the dataset."""
    absent = set(samples) - {row["id"] for row in dataset.index} if samples else set()
    for scenario in dataset.scenarios if absent else ():
        for rejection in store.read_rejections(work.rejected(scenario)):
            if (name := f"{scenario}-{prompting.slug(rejection.source_key)}") in absent:
                reason = ": ".join(filter(None, (rejection.reason, rejection.detail)))
                raise UsageError(
                    f"{name} is not in the dataset: it was rejected at stage {rejection.stage}, {reason}",
                    f"{work.rejected(scenario)} lists all that were",
                )


def why(row: Mapping[str, Any], kept: bool | None, manifest: Manifest) -> str:
    """Why a row of the dataset is in `filtered` or not, in words, from what the dataset itself says."""
    if kept is None:
        return "The dataset is not filtered: it has no split `filtered`."
    side = "kept" if kept else "dropped"
    if manifest.rule is None:
        return f"{side}: by the list of ids that the dataset was made with"
    try:
        rule = first_turn.named(manifest.rule)
    except UsageError:  # of a later version
        return f"{side}: by the rule {manifest.rule}"
    correct, models = share(row)
    if rule.drops(correct, models, row["first_turn_answerable"]) == kept:
        return f"{side}: by the dataset's files, though its numbers say otherwise ({correct} of {models} models)"
    return one_sample.why(correct, models, row["first_turn_answerable"], rule)


def differs(kept: bool | None, now: str) -> bool:
    """Whether a keep list says by now what the dataset doesn't."""
    return bool(now) and kept is not None and now.startswith("kept") != kept
