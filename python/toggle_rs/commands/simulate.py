"""`toggle-rs simulate`: what Toggle does to a toy."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from toggle_rs.doubts import heard
from toggle_rs.simulate import NOTE, SETTINGS, VARIANTS, Training
from toggle_rs.simulate import simulate as train
from toggle_rs.tables import simulation_table

from . import options as o
from .console import progress, report_module, show, warn, write

_DEFAULTS = Training()


def simulate(  # noqa: PLR0913  (one argument for each option)
    *,
    setting: Annotated[
        Literal["verbose", "hungry", "too-hard"],
        typer.Option(
            "--setting",
            help="verbose: answers are longer than they need to be; hungry: more tokens go on "
            "helping, Toggle costs accuracy; too-hard: hardly a group reaches lambda, Toggle does "
            "next to nothing.",
        ),
    ] = "verbose",
    m: Annotated[
        int, typer.Option("--m", min=1, help="Steps from one change of phase to the next.")
    ] = _DEFAULTS.m,
    lambda_: Annotated[
        float, typer.Option("--lambda", help="Accuracy of a group from which on budgets count.")
    ] = _DEFAULTS.lambda_,
    percentile: Annotated[
        float, typer.Option("--percentile", min=0, max=100, help="Percentile that is the budget.")
    ] = _DEFAULTS.percentile,
    warmup: o.Warmup = _DEFAULTS.warmup_steps,
    steps: Annotated[
        int, typer.Option("--steps", min=1, max=100_000, help="Training steps.")
    ] = _DEFAULTS.steps,
    group_size: Annotated[
        int, typer.Option("--group-size", min=2, max=1024, help="Responses to a prompt.")
    ] = _DEFAULTS.group_size,
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=1000, help="Trainings of each.")] = 5,
    json_path: o.Json = None,
    png_path: o.Png = None,
    report_path: o.Report = None,
) -> None:
    """Train a toy policy with and without Toggle: a model, not a proof.

    The policy chooses nothing but the length of an answer, on problems whose success rises with it
    and saturates. GRPO trains it, and the real Toggle shapes the rewards.
    """
    training = Training(
        setting=setting,
        m=m,
        lambda_=lambda_,
        percentile=percentile,
        warmup_steps=warmup,
        steps=steps,
        group_size=group_size,
    )
    try:
        with heard() as doubts:
            training.toggle(always_on=False)
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(str(error)) from error
    warn(doubts)
    report: Any = report_module() if png_path or report_path else None
    with progress("Training", len(VARIANTS) * seeds) as advance:
        result = train(training, seeds, advance)
    classes = "; ".join(
        f"{each.name}: at most {each.ceiling:.0%}, 63 % of it by {each.scale:,.0f} tokens"
        for each in SETTINGS[setting]
    )
    text = json.dumps(result.to_json(), indent=1, allow_nan=False) + "\n"
    written = write(
        [
            (json_path, text),
            (png_path, lambda path: report.write_png(result, path)),
            (report_path, lambda path: report.write_html(result, path)),
        ]
    )
    show(f"{NOTE}\n\nSetting {setting}: {classes}.", [simulation_table(result)], written)
