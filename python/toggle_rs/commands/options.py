"""Options that subcommands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

from toggle_rs.inputs.source import Count, Source
from toggle_rs.replay import Settings

STDOUT = Path("-")
"""Stands for standard output."""


def finite_and_positive(value: float) -> float:
    """Refuse what is no score to divide by."""
    if not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{value} is not a finite number above 0.")
    return value


def a_file(path: Path | None) -> Path | None:
    """Refuse standard output, which takes text for other programs only."""
    if path == STDOUT:
        raise typer.BadParameter("- is no file; standard output is for --json and --csv.")
    return path


def numbers(text: str) -> list[float]:
    """The numbers in "0.5,0.9"."""
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a list of numbers such as 0.5,0.9.") from error
    return list(dict.fromkeys(values))


def pairs(text: str | None) -> dict[str, str]:
    """The names in "step=it,group=uid"."""
    words = [word.strip().partition("=") for word in (text.split(",") if text else [])]
    names = {column: name for column, _, name in words}
    if not all(map(all, words)) or len(names) < len(words):
        raise typer.BadParameter(f"{text!r} is not a list such as step=it,group=uid.")
    return names


Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES...",
        help="Rollouts: files, folders or patterns, shards in any order. JSON lines, plain, gzip "
        "or zstd, or Parquet; by default traces of open-instruct. Where files repeat a sample of a "
        "step, the later file counts.",
        show_default=False,
    ),
]
Warmup = Annotated[int, typer.Option("--warmup", min=0, help="Steps before the first penalty.")]
MaxScore = Annotated[
    float,
    typer.Option(
        "--max-score",
        callback=finite_and_positive,
        help="Reward of a correct response. open-instruct's own default is 10.",
    ),
]
Estimator = Annotated[
    str,
    typer.Option(
        "--estimator",
        metavar="KIND",
        help="What keeps the percentile. exact: all lengths; p2, gk: sketches of all of them, "
        "P² or Greenwald-Khanna; window:N: the last N lengths of a dataset; decay:H: all, the "
        "weight of a length halving every H steps.",
    ),
]
StartPhase = Annotated[
    Literal["normal", "length_penalty"], typer.Option("--start-phase", help="The first phase.")
]
Freeze = Annotated[
    Literal["never", "warmup", "first"],
    typer.Option(
        "--freeze",
        help="When the budget of a dataset is fixed: never; when warm-up ends; by the first step "
        "with enough correct responses.",
    ),
]
MinSamples = Annotated[
    int,
    typer.Option(
        "--min-samples", min=1, help="Correct responses below which a dataset has no budget."
    ),
]
Penalty = Annotated[
    Literal["zero", "cap_at_zero"],
    typer.Option(
        "--penalty",
        help="What a masked reward becomes: 0, or 0 only where it is above (a negative one stays).",
    ),
]
BudgetFrom = Annotated[
    Literal["same-step", "earlier-steps"],
    typer.Option(
        "--budget-from",
        help="Whose lengths a step's budgets come from. same-step: its own too, as in the drop-in "
        "ToggleBudgetTracker, which shapes unless an option is given that only Toggle has; "
        "earlier-steps: only those of the steps before, as in Toggle.",
    ),
]
Filter = Annotated[
    Literal["before", "after"],
    typer.Option(
        "--filter",
        help="Where the trainer drops groups whose rewards are all equal: before Toggle, which "
        "then neither shapes nor counts them, or after it, by the shaped rewards.",
    ),
]
Format = Annotated[
    Literal["open-instruct", "verl", "trl"] | None,
    typer.Option(
        "--format",
        help="What wrote the files. open-instruct: save_traces, the default; verl: "
        "trainer.rollout_data_dir; trl: log_completions, Parquet.",
    ),
]
ColumnNames = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="Columns of any JSON lines or Parquet: step=NAME, group=NAME, reward=NAME, "
        "length=NAME, and dataset=NAME, sample=NAME where there are such; with --format, those "
        "that differ. A length is a number or a list of tokens, or with --count a text; a sample "
        "is a number that no other row of its step has.",
    ),
]
CountOption = Annotated[
    Literal["words", "chars"] | None,
    typer.Option("--count", help="Measure texts, where files hold no tokens."),
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Let a Ray cluster read the files: auto, local, or its address.",
    ),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="PATH",
        help="Write all figures as JSON; - is standard output, and the tables go to standard "
        "error.",
    ),
]
Png = Annotated[
    Path | None,
    typer.Option("--png", metavar="PATH", callback=a_file, help="Draw the main picture."),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="PATH",
        callback=a_file,
        help="Write one HTML page: figures and pictures.",
    ),
]


def source_of(format_: str | None, columns: str | None, count: str | None) -> Source:
    """The columns of the files."""
    counts: dict[str | None, Count] = {None: "tokens", "words": "words", "chars": "characters"}
    try:
        return Source.of(format_, pairs(columns), counts[count])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def checked(settings: Settings) -> Settings:
    """Refuse settings that are out of range."""
    try:
        settings.toggle()
        settings.toggle(ticks=2)  # The clock of a replay may go twice as fast.
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(str(error)) from error
    return settings
