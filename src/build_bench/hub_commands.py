"""The commands `push` and `pull`: a release to and from the Hub."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import click

from build_bench.command_options import Common, common, lock_folder, option, split_option
from build_bench.command_output import whole_split
from build_bench.errors import UsageError

PULLED = "pulled"
"""The work folder of `pull`, unless another is named: what others published doesn't belong among what is built."""

repo_option = option("--repo", default="", metavar="ORG/NAME", help="The dataset repository on the Hub.")
private_option = option("--private", is_flag=True, help="Make the repository a private one, if there is none yet.")
create_pr_option = option("--create-pr", is_flag=True, help="Propose the release as a pull request.")


@click.command()
@repo_option
@split_option
@option(
    "--release",
    default="",
    metavar="vX.Y.Z",
    help="Its number.  [default: as assembled, else the lowest that the change allows]",
)
@private_option
@create_pr_option
@option("--dry-run", is_flag=True, help="Say what would be uploaded, in bytes, and change nothing.")
@common
def push(options: Common, repo: str, release: str, **wanted: bool) -> None:
    """Publish the dataset to the Hub: one commit, one tag.

    \b
    build-bench push --repo my-lab/my-bench --dry-run
    build-bench push --repo my-lab/my-bench --release v1.1.0

    Readers see the release before or this one, never a mixture; after an interruption, run the same again: it goes on.
    The token comes from HF_TOKEN or `hf auth login`.
    """
    from build_bench import stages
    from build_bench.publishing import Wanted

    work = options.work()
    report = stages.push(work, repository_name(options, repo), Wanted(release, **wanted), lock_folder(work))
    options.print(report, push_lines(report))


@click.command()
@repo_option
@option("--release", default="", metavar="vX.Y.Z", help="A release, or any commit.  [default: the newest release]")
@partial(common, home=PULLED)
def pull(options: Common, repo: str, release: str) -> None:
    """Download a release and check every file; in ./pulled unless --work names a folder."""
    from build_bench import stages

    work = options.work()
    report = stages.pull(work, repository_name(options, repo), release)
    files, size = report["files"], report["downloaded_bytes"]
    lines = [
        f"{report['repo']} {report['release']}: {files} files, {size:,} bytes downloaded",
        f"in {work.dataset}; build-bench verify {work.dataset} looks into every row and picture",
    ]
    options.print(report, lines)


def repository_name(options: Common, repo: str) -> str:
    """The repository that was named; there is no default. Raises `UsageError` if none was.

    The configuration names the test's: a training split has a repository of its own.
    """
    if name := repo or (options.config(()).repo if options.split == "test" else ""):
        return name
    raise UsageError(
        "which repository?", 'name it: --repo ORG/NAME, BUILD_BENCH_REPO, or repo = "ORG/NAME" in the --config file'
    )


def push_lines(report: dict[str, Any]) -> Iterable[str]:
    """What was published, for a person."""
    release, size = report["release"], report["uploaded_bytes"]
    since = f"after {report['since']}" if report["since"] else "the first release"
    yield f"{release}, {since}" + (f": {', '.join(report['reasons'])}" if report["reasons"] else "")
    if "uploads" in report:
        yield from (f"{count:>16,}  {path}" for path, count in report["uploads"].items())
        yield from (f"{'removed':>16}  {path}" for path in report["removals"])
        makes = f", a new {report['creates']} repository" if report["creates"] else ""
        yield f"{size:,} bytes would go to {report['url']}{makes}; nothing was changed"
    elif report["there"]:
        yield f"it is published already, nothing was to be done: {report['url']}"
    elif "pull_request" in report:
        yield f"it is proposed: {report['pull_request']}; once that is merged, push again to tag it"
    else:
        makes = f"a new {report['creates']} repository, " if report["creates"] else ""
        yield f"{report['url']}: {makes}{report['files']} files, {size:,} bytes of them new"
        yield f'    datasets.load_dataset("{report["repo"]}", split="{whole_split(report)}", revision="{release}")'
