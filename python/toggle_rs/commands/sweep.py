"""`toggle-rs sweep`: many settings over one run."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from toggle_rs.replay import Settings
from toggle_rs.replay.sweep import Sweep
from toggle_rs.replay.sweep import sweep as sweep_rollouts
from toggle_rs.tables import sweep_table

from . import options as o
from .console import heading, orderly, progress, read, report_module, show, warn, write


def sweep(  # noqa: PLR0913  (one argument for each option)
    *,
    files: o.Files,
    lambdas: Annotated[
        str,
        typer.Option(
            "--lambda",
            metavar="NUMBERS",
            help="Accuracies of a group from which on its long responses lose the reward, such as "
            "0.5,0.9.",
        ),
    ],
    percentiles: Annotated[
        str,
        typer.Option(
            "--percentile",
            metavar="NUMBERS",
            help="Percentiles of the lengths of correct responses, such as 50,80,90.",
        ),
    ],
    m: Annotated[
        int | None,
        typer.Option(
            "--m",
            min=1,
            help="Steps from one change of phase to the next; without it every step after warm-up "
            "is shaped. Logs cannot tell which m is best.",
            show_default=False,
        ),
    ] = None,
    warmup: o.Warmup = 0,
    max_score: o.MaxScore = 1.0,
    estimator: o.Estimator = "exact",
    start_phase: o.StartPhase = "normal",
    freeze: o.Freeze = "never",
    min_samples: o.MinSamples = 1,
    penalty: o.Penalty = "zero",
    budget_from: o.BudgetFrom = "same-step",
    filter_: o.Filter = "after",
    format_: o.Format = None,
    columns: o.ColumnNames = None,
    count: o.CountOption = None,
    ray: o.Ray = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Processes.", show_default="one for each core"),
    ] = None,
    json_path: o.Json = None,
    csv_path: Annotated[
        Path | None,
        typer.Option("--csv", metavar="PATH", help="Write the table as CSV; - as in --json."),
    ] = None,
    png_path: o.Png = None,
    report_path: o.Report = None,
) -> None:
    """Replay a run with each pair of lambda and percentile, and compare what they do."""
    settings = Settings(
        lambda_=0.0,
        percentile=0.0,
        m=m,
        warmup_steps=warmup,
        estimator=estimator,
        start_phase=start_phase,
        freeze=freeze,
        min_samples=min_samples,
        penalty=penalty,
        budget_from=budget_from,
        filter=filter_,
        max_score=max_score,
    )
    if json_path == csv_path == o.STDOUT:
        raise typer.BadParameter("--json and --csv cannot both go to standard output.")
    accuracies, percents = o.numbers(lambdas), o.numbers(percentiles)
    for lambda_ in accuracies:
        for percentile in percents:
            o.checked(replace(settings, lambda_=lambda_, percentile=percentile))
    source = o.source_of(format_, columns, count)
    report: Any = report_module() if png_path or report_path else None
    with orderly():
        rollouts, shards = read(files, source, ray)
        with progress("Replaying", len(accuracies) * len(percents)) as advance:
            result = sweep_rollouts(
                rollouts,
                settings,
                accuracies,
                percents,
                unit=source.count,
                jobs=jobs,
                progress=advance,
            )
    warn(result.warnings)
    text = json.dumps(result.to_json(), indent=1, allow_nan=False) + "\n"
    written = write(
        [
            (json_path, text),
            (csv_path, _csv(result)),
            (png_path, lambda path: report.write_png(result, path)),
            (report_path, lambda path: report.write_html(result, path)),
        ]
    )
    show(
        f"{heading(rollouts, shards)}\n{settings.tracker}: {settings.shared()}",
        [sweep_table(result)],
        written,
    )


def _csv(result: Sweep) -> str:
    rows = result.rows()
    text = io.StringIO()
    table = csv.DictWriter(text, rows[0], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()
