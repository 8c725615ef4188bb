"""`toggle-rs replay`: what Toggle would have done to a run."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from toggle_rs.replay import Settings
from toggle_rs.replay import replay as replay_rollouts
from toggle_rs.tables import replay_tables

from . import options as o
from .console import heading, orderly, read, report_module, show, warn, write


def replay(  # noqa: PLR0913  (one argument for each option)
    *,
    files: o.Files,
    m: Annotated[
        int,
        typer.Option(
            "--m",
            min=1,
            help="Steps from one change of phase to the next. It only selects which of the logged "
            "steps are shaped: logs cannot tell which m is best.",
        ),
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
    json_path: o.Json = None,
    png_path: o.Png = None,
    report_path: o.Report = None,
) -> None:
    """Show what Toggle would have done to a run, from its logged rollouts."""
    settings = o.checked(
        Settings(
            m=m,
            lambda_=lambda_,
            percentile=percentile,
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
    )
    source = o.source_of(format_, columns, count)
    report: Any = report_module() if png_path or report_path else None
    with orderly():
        rollouts, shards = read(files, source, ray)
        result = replay_rollouts(rollouts, settings, unit=source.count)
    warn(result.warnings)
    text = json.dumps(result.to_json(), indent=1, allow_nan=False) + "\n"
    written = write(
        [
            (json_path, text),
            (png_path, lambda path: report.write_png(result, path)),
            (report_path, lambda path: report.write_html(result, path)),
        ]
    )
    show(
        f"{heading(rollouts, shards)}\n{settings.tracker}: {settings}",
        replay_tables(result),
        written,
    )
