"""The command `doctor`."""

from __future__ import annotations

import sys

import click

from build_bench.command_options import Common, common, known, option


@click.command()
@option("--offline", is_flag=True, help="Ask no host.")
@option("--torch", "ask_torch", is_flag=True, help="Import torch too, and say what it can use: takes seconds.")
@common
def doctor(options: Common, offline: bool, ask_torch: bool) -> None:
    """What is here and what a build still needs: versions, disk, network, sources, what to type next.

    Changes nothing. Exits with 1 if something that is here is broken.
    """
    from build_bench import doctor as examining

    names = known(())
    answer = examining.report(options.work(), options.config(names), names, offline=offline, ask_torch=ask_torch)
    options.print(answer, examining.lines(answer))
    if not answer["ok"]:
        sys.exit(1)
