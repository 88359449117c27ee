"""The command `fetch`."""

from __future__ import annotations

from typing import Any

import click

from build_bench.command_options import Common, common, known, option, split_option
from build_bench.command_output import finish
from build_bench.errors import UsageError

accept_license_option = option(
    "--accept-license",
    "accepted",
    multiple=True,
    metavar="SOURCE|all",
    help="I accept this source's licence; repeatable. Asked for once, and kept in the work folder.",
)


@click.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE...]")
@option("--list", "only_list", is_flag=True, help="Show source, size, licence, how and state; fetch nothing.")
@accept_license_option
@option("--accept-new", is_flag=True, help="Take files that their authors changed, and keep the new checksums.")
@option("--jobs", type=click.IntRange(1, 32), default=4, show_default=True, help="Files at a time.")
@option(
    "--sample", is_flag=True, help="Of quickdraw only as many drawings as are built, drawn by ranges: 80 MB, not 24 GB."
)
@split_option
@option("--retry-dead", is_flag=True, help="Of changeit, try the videos again that were gone or private.")
@common
def fetch(options: Common, sources: tuple[str, ...], only_list: bool, **asked: Any) -> None:
    """Download the raw sources: checksums, resume, several at a time; what a program can't get is told step by step.

    \b
    build-bench fetch --list                             what there is, under which licence, and what is there
    build-bench fetch coco rod                           two sources; asks for their licences
    build-bench fetch quickdraw --sample                 only the drawings that are built
    build-bench fetch --accept-license all               everything, on a machine without a terminal

    Interrupt it at any time: run again, it goes on where it was. Archives stay packed. A file that is there already,
    unpacked or under another of its names, isn't fetched. HF_TOKEN and HF_ENDPOINT are honoured.
    """
    from build_bench.fetching import reporting
    from build_bench.fetching import sources as fetching
    from build_bench.fetching.running import Options, Outcome

    names = known(sources, options.split)
    if asked["sample"] and options.split == "train":
        raise UsageError("--sample draws what the test is built of", "the training split needs quickdraw's whole files")
    config, work = options.config(names), options.work()
    fetching.check_folder(work)
    outcome = Outcome() if only_list else fetching.fetch(work, config, names, Options(**asked))
    found = fetching.look(work, config, names)
    result = {
        "sources": {one.name: reporting.as_json(one, work) for one in found},
        "downloaded_bytes": outcome.received,
    }
    error = None if only_list else reporting.unfinished(found, outcome, work)
    finish(options, result, reporting.lines(found, work), error)
