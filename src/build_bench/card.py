"""The dataset card: the page that a stranger reads. A function of what manifest.json says, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import Template
from textwrap import shorten
from typing import Any

from build_bench import card_made, card_samples, card_training, manifests
from build_bench.card_made import Facts, changed, in_order
from build_bench.card_metadata import front_matter

REPOSITORY = "path/or/repository"
"""Stands for the dataset where the card can't know its address."""

BUILT, DRAWN = "", "drawn"
NAMES = {
    BUILT: "ProactiveBench, rebuilt",
    DRAWN: "build-bench demo, all pictures drawn",
    "proactivebench": "ProactiveBench, as released",
}
_PAPER = (
    "*ProactiveBench: Benchmarking\nProactiveness in Multimodal Large Language Models* "
    "([arXiv:2603.19466](https://arxiv.org/abs/2603.19466))"
)
ORIGINS = {
    BUILT: f"""Rebuilt from the original sources by `build-bench` after {_PAPER}. The samples are drawn anew
and the questions worded anew: scores on it are not those of the published release.""",
    DRAWN: f"""What `build-bench all --demo` makes: tiny files in the layout of each source, and of them samples as in
{_PAPER}. It shows what the benchmark looks like; scores on it mean nothing.""",
    "proactivebench": f"""The records and pictures of a release in the layout of `proactivebench` 0.1.1, taken over by
`build-bench`: its questions, options and categories to the letter, and the rules of its evaluator as states.
{_PAPER}.""",
}
"""By the layout that the samples were adopted from; empty: they were built."""

_TRAINING = f"""Built from the original sources by `build-bench` after the section "Training for proactiveness" of
{_PAPER}. The examples are drawn anew: they are not those that the paper trained on."""

_BANNER = """> **A demonstration: every picture was drawn by build-bench; nothing here is from the datasets named
> below.**

"""


def render(manifest: Facts) -> str:
    """README.md of a manifest."""
    scenarios = {name: manifest["scenarios"][name] for name in in_order(manifest["scenarios"])}
    kind = _kind(manifest)
    example, training = next(iter(scenarios)), _is_training(manifest)
    shown = {name: facts.get("shown", []) for name, facts in scenarios.items()}
    whole = "train" if training else "unfiltered"
    return Template(manifests.text("card_train.md" if training else "card.md")).substitute(
        yaml=front_matter(
            scenarios,
            _name(manifest),
            manifest.get("repository") or "",
            drawn=kind == DRAWN,
            purpose="training" if training else "benchmark",
        ),
        name=_name(manifest),
        banner=_BANNER if kind == DRAWN else "",
        origin=ORIGINS[kind] if kind == DRAWN or not training else _TRAINING,
        in_short="\n".join(_in_short(manifest, scenarios)),
        release=_release(manifest),
        worked=card_samples.worked(shown),
        scenarios="\n".join(_section(name, shown[name], training=training) for name in scenarios),
        left_out=_left_out(manifest),
        load=_load(
            manifest,
            "all" if training else example,
            "filtered" if scenarios[example]["splits"].get("filtered") else whole,
        ),
        counts=card_training.counts(scenarios) if training else card_made.counts(manifest, scenarios),
        apart="\n".join(card_training.apart(manifest, scenarios)) if training else "",
        split_note=card_made.split_note(manifest, scenarios),
        candidates="\n".join(card_made.candidates(name, facts) for name, facts in scenarios.items()),
        made="\n".join(card_made.made(manifest, scenarios)),
        again=card_made.again(manifest),
        licences="\n".join(_licences(manifest)),
        limits="\n".join(_limits(manifest, scenarios)),
        citation=_citation(manifest),
        papers="\n".join(_paper(name) for name in _sources(manifest)),
    )


def _kind(manifest: Facts) -> str:
    """Key of `NAMES` and `ORIGINS`."""
    return DRAWN if manifest.get("drawn") else manifest.get("adopted", BUILT)


def _is_training(manifest: Facts) -> bool:
    return bool(manifest.get("split") == "train")


def _name(manifest: Facts) -> str:
    """The dataset's."""
    return NAMES[_kind(manifest)] + ", to train on" * _is_training(manifest)


def _sources(manifest: Facts) -> list[str]:
    """The scenarios that the card speaks of, those left out included."""
    return in_order({**manifest["scenarios"], **manifest.get("left_out", {})})


def _in_short(manifest: Facts, scenarios: Mapping[str, Facts]) -> Iterator[str]:
    """The box near the top."""
    samples = ", ".join(f"{count:,} in `{split}`" for split, count in card_made.totals(scenarios).items())
    yield f"> **Samples:** {samples}. [How many](#how-many) there are of each scenario."
    if _kind(manifest) != DRAWN:
        yield ">"
        kept_back = [f"`{name}`" for name in scenarios if not manifests.source(name).get("passing_on", True)]
        terms = f"; by their terms the pictures of {', '.join(kept_back)} may not be passed on" if kept_back else ""
        yield f"> **For academic research only{terms}:** see [Licences](#licences)."


def _release(manifest: Facts) -> str:
    if not manifest["release"]:
        return ""
    return (
        f"**Release {manifest['release']}.** [CHANGELOG.md](CHANGELOG.md) tells what changed, row by row;\n"
        "[manifest.json](manifest.json) has every file's checksum, and all that it was made of.\n\n"
    )


def _section(scenario: str, samples: list[Facts], *, training: bool) -> str:
    about = manifests.source(scenario)
    if training:
        captions = card_training.captions(card_samples.captions(samples), samples)
        picture = f"![Examples of {scenario}, a line each](assets/{scenario}.jpg)"
        return "\n\n".join(filter(None, [f"### {about['heading']} (`{scenario}`)", picture, captions])) + "\n"
    picture = f"![Samples of {scenario}, a line each, from hopeless to clear](assets/{scenario}.jpg)"
    parts = [f"### {about['heading']} (`{scenario}`)", about["sequence"], picture, card_samples.captions(samples)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _left_out(manifest: Facts) -> str:
    """Scenarios that belong to the benchmark and are not published."""
    found = manifest.get("left_out", {})
    if not found:
        return ""
    lines = ["", "## Not in this repository", ""]
    lines += [
        "These scenarios belong to the benchmark; the licence of their source keeps their pictures out of here.",
        "",
    ]
    lines += ["Whoever has the source builds them:", ""]
    for name in in_order(found):
        about = manifests.source(name)
        command = " ".join(
            [
                f"build-bench all --scenario {name}",
                *(["--split train"] if _is_training(manifest) else []),
                *([f"--seed {manifest['seed']}"] if manifest["seed"] else []),
            ]
            + [f"--set {name}.{key}={value}" for key, value in changed(name, found[name]["settings"]).items()]
        )
        lines.append(f"- **{about['heading']}** (`{name}`), from [{about['title']}]({about['homepage']}): `{command}`.")
        lines.append(f"  It needs {about['expected']} in `work/raw/{name}/`.")
    return "\n".join([*lines, ""])


def _load(manifest: Facts, example: str, split: str) -> str:
    arguments = [f'"{manifest.get("repository") or REPOSITORY}"', f'"{example}"', f'split="{split}"']
    if manifest["release"]:
        arguments.append(f'revision="{manifest["release"]}"')
    return f"samples = load_dataset({', '.join(arguments)})"


def _licences(manifest: Facts) -> Iterator[str]:
    if _kind(manifest) == DRAWN:
        yield "The pictures here were drawn by `build-bench`. What follows holds for the benchmark that is built from"
        yield "the sources, of which nothing is in here."
    else:
        yield "The samples keep the licences of what they are made of."
    yield "The paper's own material is for academic research, not for commercial purposes."
    yield ""
    for name in _sources(manifest):
        about = manifests.source(name)
        source = f"[{about['title']}]({about['homepage']})"
        yield f"- **`{name}`**: {source}. Licence: [{about['license']}]({about['license_url']})."
        yield f"  {about['conditions']}"
        yield f"  **Not allowed:** {about['not_allowed']}"


def _limits(manifest: Facts, scenarios: Mapping[str, Facts]) -> Iterator[str]:
    if _kind(manifest) == DRAWN:
        yield "- A few simple drawings: nothing about how a model does on photos or videos follows from them."
    else:
        yield "- Right answers are the sources' labels: their mistakes are in here too."
        if not _is_training(manifest):
            yield "- What is hard to see was not judged by people: some samples can be answered at once, others hardly."
        yield "- Models may have seen the sources, above all MS-COCO and ImageNet, in training."
    if _is_training(manifest):
        yield "- What is ambiguous follows from a picture's place in its sequence: nobody looked at each."
    else:
        yield "- Help costs nothing but a turn, and is always granted as asked. People tire, and misunderstand."
    yield "- Questions are made from templates, in English."
    if card_made.only_baselines(manifest):
        yield "- The split `filtered` was decided by baselines alone: nothing says that it is harder."
    for name, facts in {} if _kind(manifest) == DRAWN else scenarios.items():
        for gap in facts["gaps"]:
            yield f"- `{name}` was built from a part of its source: {shorten(gap, 200)}"


def _citation(manifest: Facts) -> str:
    """BibTeX of the dataset itself. A demonstration has none: nobody measures on it."""
    kind = _kind(manifest)
    if kind == DRAWN:
        return ""
    fields = {"title": f"{{{_name(manifest)}}}"}
    if repository := manifest.get("repository"):
        fields["url"] = f"{{https://huggingface.co/datasets/{repository}}}"
    if manifest["release"]:
        fields["version"] = f"{{{manifest['release']}}}"
    lines = ",\n".join(f"  {key} = {value}" for key, value in fields.items())
    key = "proactivebench_released" if kind else "proactivebench_rebuilt" + "_train" * _is_training(manifest)
    return f"@misc{{{key},\n{lines}\n}}\n\n"


def _paper(scenario: str) -> str:
    about: Mapping[str, Any] = manifests.source(scenario)
    title = f"[{about['paper']}]({about['paper_url']})" if "paper_url" in about else about["paper"]
    return f"- `{scenario}`, from {about['title']}: {title}."
