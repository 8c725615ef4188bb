"""A replay as tables of text, for the terminal and for the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .replay import PERCENTILES

if TYPE_CHECKING:
    from .replay import Replay

_NONE = "–"  # noqa: RUF001  (an en dash, as tables have it)


@dataclass(frozen=True)
class Table:
    """Text in rows; all columns but the first hold numbers."""

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str


def tables(replay: Replay) -> list[Table]:
    """One table of the datasets, one of the phases."""
    return [_datasets(replay), _phases(replay)]


def _datasets(replay: Replay) -> Table:
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
                _share(dataset.accuracy),
                *(_tokens(dataset.correct_lengths.get(p)) for p in PERCENTILES),
                _tokens(dataset.budget),
                _share(dataset.kept_ratio),
                _tokens(dataset.tokens_above_budget),
            ]
            for name, dataset in replay.datasets.items()
        ],
        "accuracy: share of rollouts that reach the maximum score; p10 to p100: percentiles of the "
        "lengths of correct responses, in tokens; budget: after the last step, in tokens; kept: "
        "share of rollouts that keep their reward in penalty steps; above: tokens by which "
        "correct responses in penalty steps exceed their budget.",
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
                _share(phase.accuracy),
                _tokens(phase.length),
                f"{phase.reward:.3f}",
                f"{phase.shaped_reward:.3f}",
                _share(phase.kept_ratio),
            ]
            for name, phase in replay.phases.items()
        ],
        "length: mean, in tokens; reward: mean as logged; shaped: mean after shaping.",
    )


def _tokens(number: float | None) -> str:
    return _NONE if number is None else f"{number:,.0f}"


def _share(share: float | None) -> str:
    return _NONE if share is None else f"{share:.1%}"
