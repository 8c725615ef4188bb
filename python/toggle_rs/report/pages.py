"""What a page about each kind of result holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toggle_rs.replay import Replay
from toggle_rs.replay.sweep import Sweep
from toggle_rs.tables import (
    replay_tables,
    seeds,
    share,
    signed,
    simulation_table,
    sweep_table,
    whole,
)

from . import replay_figures, simulation_figures, sweep_figures
from .page import Page, Picture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from toggle_rs.simulate import Simulation

_NOT_M: Final = (
    "A replay tells what these settings would have done to rewards that were logged. It cannot "
    "tell what the model would have learned, nor which m is best: m only selects which of the "
    "logged steps are shaped."
)
_COVARIANCE: Final = (
    "What shaping adds to the covariance of GRPO's advantage and the length, over the samples of "
    "the penalty steps. To first order the covariance drives the length of the next policy: below "
    "0, shaping makes answers shorter than they would become."
)


def picture_of(result: Any) -> Figure:
    """The main picture."""
    if isinstance(result, Replay):
        return replay_figures.main_picture(result)
    if isinstance(result, Sweep):
        return sweep_figures.main_picture(result)
    return simulation_figures.main_picture(result)


def page_of(result: Any) -> Page:
    """The page."""
    if isinstance(result, Replay):
        return _replay(result)
    return _sweep(result) if isinstance(result, Sweep) else _simulation(result)


def _replay(replay: Replay) -> Page:
    outcome, unit = replay.outcome, replay.unit
    return Page(
        title="Toggle on a logged run",
        subtitle=f"{replay.settings.tracker}: {replay.settings}",
        note=_NOT_M,
        warnings=replay.warnings,
        figures=[
            ("rollouts", f"{replay.rollouts:,}"),
            ("rollouts in penalty steps", f"{outcome.rollouts:,}"),
            ("of these masked", share(outcome.masked_ratio)),
            ("groups held to the budget", share(outcome.enforced_group_ratio)),
            ("groups that gain a signal", share(outcome.gained_signal_group_ratio)),
            ("groups that lose it", share(outcome.lost_signal_group_ratio)),
            (f"{unit} above budget", whole(outcome.tokens_above_budget)),
            (f"covariance with length, as logged ({unit})", signed(outcome.covariance_before)),
            (f"covariance after shaping ({unit})", signed(outcome.covariance_after)),
        ],
        pictures=list(_replay_pictures(replay)),
        tables=replay_tables(replay),
        data=replay.to_json(),
    )


def _replay_pictures(replay: Replay) -> Iterator[Picture]:
    yield Picture(
        "Budgets",
        replay_figures.budgets(replay),
        f"Of each dataset at each step, in {replay.unit}. Shaded: length-penalty phases.",
    )
    lengths = replay_figures.lengths(replay)
    if lengths:
        yield Picture(
            "Lengths of correct answers",
            lengths,
            "Over all steps, beside the budget after the last one. What lies right of it is what "
            "the penalty is for.",
        )
    yield Picture(
        "Responses kept",
        replay_figures.kept(replay),
        "Share of the responses of each penalty step that are not masked, of those that Toggle "
        "saw: with the filter before it, not all.",
    )
    yield Picture(
        "Accuracy by group",
        replay_figures.group_accuracy(replay),
        "Groups from λ on, the stronger bars, are held to the budget.",
    )
    yield Picture(
        "Groups through shaping and filter",
        replay_figures.flow(replay),
        "A group has a signal where its rewards are not all equal; without one a trainer drops it.",
    )


def _sweep(sweep: Sweep) -> Page:
    first = next(iter(sweep.outcomes.values()))
    return Page(
        title="Toggle on a logged run: lambda and percentile",
        subtitle=f"{sweep.settings.tracker}: {sweep.settings.shared()}",
        note=_NOT_M,
        warnings=sweep.warnings,
        figures=[
            ("rollouts", f"{sweep.rollouts:,}"),
            ("rollouts in penalty steps", f"{first.rollouts:,}"),
            ("settings", f"{len(sweep.outcomes):,}"),
            (f"covariance before ({sweep.unit})", signed(first.covariance_before)),
        ],
        pictures=[
            Picture(title, sweep_figures.heat_map(sweep, field), note)
            for field, title, note in (
                ("masked_ratio", "Masked", "Share of samples over budget in groups held to it."),
                (
                    "lost_signal_group_ratio",
                    "Signal lost",
                    "Share of groups whose rewards differ before shaping, but not after.",
                ),
                ("covariance_added", "Push on the length", f"In {sweep.unit}. {_COVARIANCE}"),
            )
        ],
        tables=[sweep_table(sweep)],
        data=sweep.to_json(),
    )


def _simulation(simulation: Simulation) -> Page:
    from toggle_rs.simulate import NOTE  # noqa: PLC0415 - not needed for the others

    training = simulation.training
    return Page(
        title="Toggle on a toy policy",
        subtitle=f"setting “{training.setting}”, λ = {training.lambda_:g}, percentile = "
        f"{training.percentile:g}, m = {training.m}, warm-up = {training.warmup_steps}, groups of "
        f"{training.group_size}, {seeds(simulation)}",
        note=NOTE,
        warnings=[],
        figures=[],
        pictures=[
            Picture(
                "Tokens",
                simulation_figures.curves(simulation, "tokens"),
                "Expected length of an answer; the band is the spread of the seeds.",
            ),
            Picture(
                "Accuracy",
                simulation_figures.curves(simulation, "accuracy"),
                "Expected share of right answers.",
            ),
        ],
        tables=[simulation_table(simulation)],
        data=simulation.to_json(),
    )
