"""The audit as one HTML page that needs nothing else: plots as inline SVG, pictures as data URIs, no script."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from build_bench import manifests
from build_bench.filters import plots
from build_bench.filters.audit import PAPER
from build_bench.filters.audit_tables import (
    ALL,
    SPARED,
    aside,
    called,
    letter,
    models_line,
    models_table,
    people_tables,
    percent,
    summary,
    thresholds,
    verdict_of,
)
from build_bench.filters.comparing import STANDS
from build_bench.filters.inputs import VERDICTS, FirstTurn
from build_bench.filters.plots import Level
from build_bench.imaging import decode

STYLE = manifests.text("audit.css")


def render(report: dict[str, Any], samples: Sequence[tuple[dict[str, Any], FirstTurn | None]]) -> str:
    """The page of a report; `samples`: as `one_sample.explain` found them, each with what it shows if it is built."""
    parts = [
        f"<h1>What the first-turn filter keeps</h1><p>Rule <code>{escape(report['rule'])}</code>: a sample is "
        f"dropped if at least {report['threshold']:g} of those counted are right at first sight. "
        f"{escape(models_line(report))}</p>",
        _gaps(report["gaps"]),
        _table(summary(report), "Samples before and after the filter, ours and the paper's"),
        f"<p>In the paper {percent(PAPER['before'])} of first answers were right before its filter, "
        f"{percent(PAPER['after'])} after.</p>",
        "<h2>Any other threshold</h2>",
        '<p class="key"><span class="curve">at each threshold</span> <span class="rule">the rule</span> '
        '<span class="before">unfiltered</span> <span class="after">filtered</span></p>',
        '<div class="plots">',
        *(
            _plots(name, facts, report["threshold"])
            for name, facts in [(ALL, report["all"]), *report["scenarios"].items()]
        ),
        "</div>",
        _table(thresholds(report), "Samples kept at some of them"),
        "<h2>Models</h2>",
        *_model_tables(ALL, report["all"], report),
        *(_scenario(name, facts, report) for name, facts in report["scenarios"].items()),
        *(["<h2>Samples</h2>"] if samples else []),
        *(_sample(found, turn) for found, turn in samples),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>What the first-turn filter keeps</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>{''.join(parts)}</main></body></html>\n"
    )


def _gaps(gaps: Sequence[str]) -> str:
    """With many models not there yet, there are as many lines as would hide what the page is for."""
    if not gaps:
        return ""
    listed = "".join(f"<li>{escape(gap)}</li>" for gap in gaps)
    return (
        f'<details class="gaps"><summary>Not all have answered everything as it is now, and each is counted only where '
        f"it did: {len(gaps):,} gaps, by model and scenario</summary><ul>{listed}</ul></details>"
    )


def _table(rows: Iterable[Sequence[str]], caption: str) -> str:
    head, *body = rows
    cells = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in body
    )
    return (
        f'<p class="caption">{escape(caption)}</p><div class="wide" tabindex="0" role="region" '
        f'aria-label="{escape(caption)}"><table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>'
    )


def _plots(name: str, facts: dict[str, Any], threshold: float) -> str:
    kept = [(x, float(y)) for x, y, _ in facts["curve"]]
    accuracy = [(x, y) for x, _, y in facts["curve"]]
    before, after = facts["first_turn_accuracy"], facts["kept_first_turn_accuracy"]
    sizes = [
        Level(facts["total"], f"{facts['total']:,}", "before"),
        Level(facts["kept"], f"{facts['kept']:,}", "after"),
    ]
    levels = [
        Level(value, percent(value), css) for value, css in ((before, "before"), (after, "after")) if value is not None
    ]
    top = max([0.1, *(y for _, y in accuracy if y is not None), before or 0])
    return (
        f'<section class="pair"><h3>{escape(name)}</h3><figure>'
        + plots.curve(
            kept, threshold, top=facts["total"], levels=sizes,
            alt=f"{name}: samples kept at each threshold; {facts['kept']} of {facts['total']} at {threshold:g}",
        )
        + "<figcaption>samples kept</figcaption></figure><figure>"
        + plots.curve(
            accuracy, threshold, top=top, levels=levels, percent=True,
            alt=f"{name}: first-turn accuracy of the samples kept at each threshold; {percent(before)} of all "
            f"are right, {percent(after)} of those kept at {threshold:g}",
        )
        + "<figcaption>right first answers among them</figcaption></figure></section>"
    )  # fmt: skip


def _model_tables(name: str, facts: dict[str, Any], report: dict[str, Any]) -> list[str]:
    """What each model answered; beside each person, on the same samples."""
    caption = f"{name}: what each model answers, and how many samples are dropped, or kept, only because it is asked"
    people = [_table(rows, f"{name}: people and models on the same samples") for rows in people_tables(facts, report)]
    return [_table(models_table(facts, report), caption), *people]


def _scenario(name: str, facts: dict[str, Any], report: dict[str, Any]) -> str:
    places = [("place", "stands there", "offered", "chosen", "share")]
    for place in facts["places"]:
        share = percent(place["chosen"] / place["offered"] if place["offered"] else None)
        what = STANDS.get(place["stands_there"], place["stands_there"])
        places.append((letter(place["place"]), what, f"{place['offered']:,}", f"{place['chosen']:,}", share))
    near = [("sample", "side", "correct", "of models")]
    near += [
        (s["id"], side, str(s["correct"]), str(s["models"])) for side, found in facts["nearest"].items() for s in found
    ]
    agreement = [("", *(str(number) for number in range(1, len(facts["models_asked"]) + 1)))]
    for number, (model, row) in enumerate(zip(facts["models_asked"], facts["agreement"], strict=True), 1):
        agreement.append(
            (f"{number} {called(model, report)}", *("-" if value is None else f"{value:.2f}" for value in row))
        )
    return (
        f"<details><summary>{escape(name)}: models, order, samples nearest to the line</summary>"
        + (f"<p>{SPARED[0].upper()}{SPARED[1:]}.</p>" if facts["spared"] == facts["total"] else "")
        + _verdict_bars(facts, report)
        + "".join(_model_tables(name, facts, report))
        + _table(agreement, f"{name}: share of samples that two models both get right or both don't")
        + _table(places, f"{name}: is the order fair? What stood at each place, and how often it was chosen")
        + (_table(near, f"{name}: the samples nearest to the line") if len(near) > 1 else "")
        + "</details>"
    )


def _verdict_bars(facts: dict[str, Any], report: dict[str, Any]) -> str:
    key = "".join(f'<span class="{verdict}">{verdict}</span> ' for verdict in VERDICTS)
    bars = "".join(
        f'<dt>{escape(called(model, report))}</dt><dd class="bar">'
        + "".join(plots.bar(found["verdicts"][v] or 0, v, v) for v in VERDICTS)
        + "</dd>"
        for model, found in [*facts["models"].items(), *facts["beside"].items()]
    )
    return f'<p class="key">{key}</p><dl class="bars">{bars}</dl>'


def _sample(found: dict[str, Any], turn: FirstTurn | None) -> str:
    if turn is None:
        return f'<section class="sample"><h3>{escape(found["id"])}</h3><p>{escape(found["why"])}</p></section>'
    rows = [("model", "verdict", "answer")]
    for model, said in found["answers"].items():
        rows.append((f"{model}{aside(said)}", verdict_of(said), said.get("error") or said["answer"] or ""))
    picture = base64.b64encode(_as_seen(turn)).decode("ascii")
    alt = f"What a model sees first of {found['id']}"
    return (
        f'<section class="sample"><h3>{escape(found["id"])}</h3><img alt="{escape(alt)}" '
        f'src="data:image/png;base64,{picture}"><p>{escape(found["why"])}</p><pre>{escape(found["prompt"])}</pre>'
        f"<p>Right: {escape(found['right'])}</p>" + _table(rows, "What the models answered") + "</section>"
    )


def _as_seen(turn: FirstTurn) -> bytes:
    """The first picture as PNG, cropped as the model sees it."""
    buffer = io.BytesIO()
    decode(turn.picture, turn.episode.view.crop).save(buffer, "PNG")
    return buffer.getvalue()
