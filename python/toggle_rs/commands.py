"""The subcommands of `toggle-rs`: arguments in, text and files out."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable
from rich.text import Text

from . import ToggleBudgetTracker, TraceError, __version__, read_traces
from .replay import ReplayError, estimator_of
from .replay import replay as replay_rollouts
from .tables import tables

if TYPE_CHECKING:
    from types import ModuleType

    from . import Rollouts
    from .replay import Replay
    from .tables import Table

PLAIN_WIDTH = 120
"""Columns of the output where no terminal says how many there are."""

ROOMY = 100
"""Columns from which on the columns of a table stand two spaces apart."""

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"toggle-rs {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Toggle reward shaping for reinforcement learning on language models."""


def _finite_and_positive(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{value} is not a finite number above 0.")
    return value


@app.command()
def replay(  # noqa: PLR0913  (one argument for each option)
    *,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES...",
            help="Rollout traces of open-instruct: JSON lines, plain or gzip, shards in any order. "
            "Where files repeat a sample of a step, the later file counts.",
            show_default=False,
        ),
    ],
    m: Annotated[
        int, typer.Option("--m", min=1, help="Steps from one change of phase to the next.")
    ],
    lambda_: Annotated[
        float,
        typer.Option(
            "--lambda", help="Accuracy of a group from which on its long responses lose the reward."
        ),
    ],
    percentile: Annotated[
        float,
        typer.Option(
            "--percentile",
            min=0,
            max=100,
            help="Percentile of the lengths of correct responses that is the budget.",
        ),
    ],
    warmup: Annotated[
        int, typer.Option("--warmup", min=0, help="Steps before the first penalty.")
    ] = 0,
    max_score: Annotated[
        float,
        typer.Option(
            "--max-score",
            callback=_finite_and_positive,
            help="Reward of a correct response. open-instruct's own default is 10.",
        ),
    ] = 1.0,
    estimator: Annotated[
        str,
        typer.Option(
            "--estimator",
            metavar="KIND",
            help="What keeps the percentile. exact: all lengths; p2, gk: sketches of all of them, "
            "P² or Greenwald-Khanna; window:N: the last N lengths of a dataset; decay:H: all, the "
            "weight of a length halving every H steps.",
        ),
    ] = "exact",
    json_path: Annotated[
        Path | None,
        typer.Option("--json", metavar="PATH", help="Write steps and datasets as JSON."),
    ] = None,
    png_path: Annotated[
        Path | None,
        typer.Option("--png", metavar="PATH", help="Draw budgets and kept ratio over the steps."),
    ] = None,
    report_path: Annotated[
        Path | None,
        typer.Option("--report", metavar="PATH", help="Write tables and picture as one HTML page."),
    ] = None,
) -> None:
    """Show what Toggle would have done to a run, from its logged rollouts."""
    try:
        tracker = ToggleBudgetTracker(
            m, lambda_, percentile, warmup, estimator=estimator_of(estimator)
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    report = _report_module() if png_path or report_path else None
    try:
        rollouts = _read(files)
        result = replay_rollouts(rollouts, tracker, max_score=max_score)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")
    except (TraceError, ReplayError) as error:
        _fail(str(error))
    for warning in result.warnings:
        typer.echo(f"toggle-rs: warning: {warning}", err=True)
    _show(result, _heading(rollouts, result, len(files)))
    settings = (
        f"m = {m}, λ = {lambda_:g}, percentile = {percentile:g}, warm-up = {warmup}, {estimator}"
    )
    try:
        if json_path:
            json_path.write_text(json.dumps(result.to_json(), indent=1, allow_nan=False) + "\n")
        if png_path and report:
            report.write_png(result, settings, png_path)
        if report_path and report:
            report.write_html(result, settings, report_path)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")
    for path in filter(None, (json_path, png_path, report_path)):
        typer.echo(f"Wrote {path}")


def _fail(message: str) -> NoReturn:
    typer.echo(f"toggle-rs: {message}", err=True)
    raise typer.Exit(1)


def _report_module() -> ModuleType:
    try:
        from . import report  # noqa: PLC0415  (matplotlib may be missing, and is slow to load)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        _fail('matplotlib is missing: pip install "toggle-rs[report]"')
    return report


def _read(files: list[Path]) -> Rollouts:
    if not sys.stderr.isatty():
        return read_traces(files)
    columns = TextColumn("Reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=sum(path.stat().st_size for path in files))
        return read_traces(files, progress=lambda bytes_read: bar.advance(task, bytes_read))


def _heading(rollouts: Rollouts, result: Replay, files: int) -> str:
    counts = [
        (result.rollouts, "rollout"),
        (len(result.steps), "step"),
        (files, "file"),
    ]
    text = ", ".join(f"{count:,} {noun}{'s' * (count != 1)}" for count, noun in counts)
    if rollouts.repeated:
        text += f"; {rollouts.repeated:,} repeated by later rows"
    if rollouts.torn:
        text += f"; {rollouts.torn:,} torn last line{'s' * (rollouts.torn != 1)} left out"
    return text


def _show(result: Replay, heading: str) -> None:
    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)
    console.print(heading)
    for table in tables(result):
        console.print()
        console.print(_rich(table, gap=1 if console.width < ROOMY else 2))


def _rich(table: Table, gap: int) -> RichTable:
    first, *numbers = table.header
    rich = RichTable(
        title=table.title,
        caption=table.note,
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, gap - 1, 0, 0),
        pad_edge=False,
    )
    rich.add_column(first, overflow="fold")
    for name in numbers:
        rich.add_column(name, justify="right", no_wrap=True)
    for row in table.rows:
        rich.add_row(*map(Text, row))
    return rich
