"""Results as tables of text, for the terminal and for the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .replay import PERCENTILES

if TYPE_CHECKING:
    from .replay import Replay
    from .replay.sweep import Sweep
    from .simulate import Simulation

NONE = "–"  # noqa: RUF001  (an en dash, as tables have it)

MOST_ROWS = 30
"""Datasets that a table shows."""


@dataclass(frozen=True)
class Table:
    """Text in rows; all columns but the first `texts` hold numbers."""

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str
    texts: int = 1


def printable(text: str) -> str:
    """The text on one line, with an escape for what would steer a terminal or turn text around."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def replay_tables(replay: Replay) -> list[Table]:
    """Tables of the datasets, of the phases, and of what became of the groups."""
    return [_datasets(replay), _phases(replay), _flow(replay)]


def _datasets(replay: Replay) -> Table:
    shown = list(replay.datasets.items())
    left_out = ""
    if len(shown) > MOST_ROWS:
        shown = sorted(shown, key=lambda item: -item[1].rollouts)[:MOST_ROWS]
        left_out = f" The {MOST_ROWS} with most rollouts of {len(replay.datasets):,} datasets."
    return Table(
        "Datasets",
        [
            "dataset",
            "rollouts",
            "accuracy",
            *(f"p{percentile}" for percentile in PERCENTILES),
            "budget",
            "kept",
            "above",
        ],
        [
            [
                name,
                f"{dataset.rollouts:,}",
                share(dataset.accuracy),
                *(whole(dataset.correct_lengths.get(p)) for p in PERCENTILES),
                whole(dataset.budget),
                share(dataset.kept_ratio),
                whole(dataset.tokens_above_budget),
            ]
            for name, dataset in shown
        ],
        "accuracy: share of rollouts that reach the maximum score; p10 to p100: percentiles of the "
        f"lengths of correct responses, in {replay.unit}; budget: after the last step, in "
        f"{replay.unit}; kept: share of rollouts in penalty steps that are not masked; above: "
        f"{replay.unit} by which correct responses in penalty steps exceed their budget.{left_out}",
    )


def _phases(replay: Replay) -> Table:
    return Table(
        "Phases",
        ["phase", "steps", "rollouts", "accuracy", "length", "reward", "shaped", "kept"],
        [
            [
                name,
                f"{phase.steps:,}",
                f"{phase.rollouts:,}",
                share(phase.accuracy),
                whole(phase.length),
                f"{phase.reward:.3f}",
                f"{phase.shaped_reward:.3f}",
                share(phase.kept_ratio),
            ]
            for name, phase in replay.phases.items()
        ],
        f"length: mean, in {replay.unit}; reward: mean as logged; shaped: mean after shaping.",
    )


def _flow(replay: Replay) -> Table:
    flow, outcome = replay.flow, replay.outcome
    counts = [
        ("all", flow.groups),
        ("with a signal as logged", flow.signal_before),
        ("seen by Toggle", flow.shaped),
        ("held to the budget", flow.enforced),
        ("with a masked response", flow.masked),
        ("signal gained", flow.gained),
        ("signal lost", flow.lost),
        ("with a signal at the end", flow.signal_after),
    ]
    return Table(
        "Groups of the penalty steps",
        ["", "groups", "share"],
        [
            [name, f"{count:,}", share(count / flow.groups if flow.groups else None)]
            for name, count in counts
        ],
        "masked: over budget in a group that is held to it, right or wrong; signal: the rewards of "
        "the group are not all equal. Covariance of advantage and length: "
        f"{signed(outcome.covariance_before)} {replay.unit} as logged, "
        f"{signed(outcome.covariance_after)} after shaping; below 0 it makes the responses of the "
        "next policy shorter.",
    )


def sweep_table(sweep: Sweep) -> Table:
    """One row for each pair of lambda and percentile."""
    first = next(iter(sweep.outcomes.values()))
    return Table(
        f"Penalty steps: {first.rollouts:,} rollouts",
        ["lambda", "percentile", "masked", "enforced", "gained", "lost", "above", "covariance"],
        [
            [
                f"{lambda_:g}",
                f"{percentile:g}",
                share(outcome.masked_ratio),
                share(outcome.enforced_group_ratio),
                share(outcome.gained_signal_group_ratio),
                share(outcome.lost_signal_group_ratio),
                whole(outcome.tokens_above_budget),
                signed(outcome.covariance_after),
            ]
            for (lambda_, percentile), outcome in sweep.outcomes.items()
        ],
        "masked: share of samples over budget in groups that are held to it, right or wrong; "
        "enforced, gained, lost: share of groups that are held to the budget, that have a signal "
        "only after shaping, only before; above: "
        f"{sweep.unit} by which correct responses exceed their budget; covariance of advantage and "
        f"length after shaping, in {sweep.unit}: below 0 it makes the next policy's responses "
        f"shorter. Before shaping it is {signed(first.covariance_before)}.",
        texts=0,
    )


def simulation_table(simulation: Simulation) -> Table:
    """One row for each variant."""
    ends = simulation.ends()
    plain = ends["no penalty"]
    return Table(
        f"After {simulation.training.steps:,} steps, {seeds(simulation)}",
        ["variant", "tokens", "lowest", "highest", "change", "accuracy", "lowest", "highest"],
        [
            [
                variant,
                whole(end.tokens),
                *map(whole, end.tokens_spread),
                f"{round(end.tokens / plain.tokens - 1, 3) + 0.0:+.1%}",  # + 0.0: no "-0.0%"
                share(end.accuracy),
                *map(share, end.accuracy_spread),
            ]
            for variant, end in ends.items()
        ],
        "tokens: expected length of an answer; accuracy: expected share of right answers; both "
        "over the last cycle of phases, mean of the seeds, then the lowest and highest of them; "
        "change: of the tokens, against no penalty.",
    )


def seeds(simulation: Simulation) -> str:
    """How many there were."""
    return f"{simulation.seeds} seed{'s' * (simulation.seeds != 1)}"


def whole(number: float | None) -> str:
    """A number of tokens."""
    return NONE if number is None else f"{number:,.0f}"


def signed(number: float | None) -> str:
    """A number of tokens that may be negative."""
    return NONE if number is None else f"{number:+,.1f}"


def share(share: float | None) -> str:
    """A share as a percentage."""
    return NONE if share is None else f"{share:.1%}"
