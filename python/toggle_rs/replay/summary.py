"""A replay summed up: by step, by dataset, by phase."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .layout import Layout
from .outcome import Flow, Outcome, flow_of, outcome_of
from .run import Run, play
from .warn import warnings_about

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from toggle_rs.rollouts import RolloutColumns

    from .settings import Settings

PERCENTILES: Final = (10, 50, 80, 90, 100)
"""Percentiles of the lengths of correct responses that a summary gives."""

_BINS: Final = 40
_MOST_PARTS: Final = 20  # Of a histogram of accuracies.
_SHOWN: Final = 99  # Percentile of the lengths up to which a histogram goes.
_PHASES: Final = (("normal", False), ("length penalty", True))


@dataclass(frozen=True)
class Step:
    """One training step."""

    step: int
    penalty: bool
    kept_ratio: float | None
    """Share of responses that are not masked, of those that Toggle saw; None in the normal phase,
    and where it saw none."""
    budgets: dict[str, float]
    """Budget in tokens of each dataset of the step that has one."""


@dataclass(frozen=True)
class Histogram:
    """Counts between edges; the last bin holds its upper edge."""

    edges: list[float]
    counts: list[int]
    beyond: int
    """Values above the last edge."""


@dataclass(frozen=True)
class DatasetSummary:
    """One dataset, over all steps."""

    rollouts: int
    accuracy: float
    """Share of correct responses: those whose reward reaches the maximum."""
    correct_lengths: dict[int, float]
    """Percentiles of the lengths of correct responses, in tokens; empty without any."""
    budget: float | None
    """Budget after the last step, in tokens."""
    kept_ratio: float | None
    """Share of responses in penalty steps that are not masked; a response that a filter took before
    is not. None without any."""
    tokens_above_budget: float
    """Tokens by which correct responses in penalty steps exceed the budget of their step."""
    correct_histogram: Histogram | None
    """Lengths of correct responses, in tokens, up to their 99th percentile; None without any."""


@dataclass(frozen=True)
class PhaseSummary:
    """All steps of one phase."""

    steps: int
    rollouts: int
    accuracy: float
    length: float
    """Mean length of a response, in tokens."""
    reward: float
    """Mean reward as logged."""
    shaped_reward: float
    """Mean reward after shaping."""
    kept_ratio: float | None


@dataclass(frozen=True)
class Replay:
    """The result of `replay`."""

    settings: Settings
    steps: list[Step]
    datasets: dict[str, DatasetSummary]
    """By name, several names joined by `|`, in order of first appearance."""
    phases: dict[str, PhaseSummary]
    """Of the phases "normal" and "length penalty" those that occur."""
    flow: Flow
    outcome: Outcome
    group_accuracy: Histogram
    """Of all groups that Toggle saw: what it compares with lambda."""
    rollouts: int
    warnings: list[str]
    """What in the rollouts makes one doubt the result, a sentence each."""
    unit: str
    """What lengths and budgets count: "tokens", "words" or "characters"."""

    def to_json(self) -> dict[str, Any]:
        """All of it as plain objects, for `json.dump`."""
        return {
            "rollouts": self.rollouts,
            "length_unit": self.unit,
            "settings": self.settings.to_json(),
            "warnings": self.warnings,
            "steps": [
                {
                    "step": step.step,
                    "length_penalty_phase": int(step.penalty),
                    "mask_kept_ratio": step.kept_ratio,
                    "budgets": step.budgets,
                }
                for step in self.steps
            ],
            "datasets": {
                name: {
                    **asdict(dataset),
                    "correct_lengths": {str(p): n for p, n in dataset.correct_lengths.items()},
                }
                for name, dataset in self.datasets.items()
            },
            "phases": {name: asdict(phase) for name, phase in self.phases.items()},
            "flow": asdict(self.flow),
            "penalty_steps": asdict(self.outcome),
            "group_accuracy": asdict(self.group_accuracy),
        }


def replay(rollouts: RolloutColumns, settings: Settings, unit: str = "tokens") -> Replay:
    """Feed logged rollouts to a tracker, a step at a time, and sum up what it does to them.

    Args:
        rollouts: What `read_traces` or `read_rollouts` returns.
        settings: Toggle's settings, and how the trainer calls it.
        unit: What the lengths count.

    Raises:
        ReplayError: Two datasets have one name, or the groups of a step differ in size and the
            drop-in tracker shapes.
    """
    layout = Layout.of(rollouts, settings.max_score)
    run = play(layout, settings)
    flow = flow_of(run)
    accuracy = run.accuracy[~np.isnan(run.accuracy)]
    # A bin around each accuracy that the largest group can have: bins of another width would be
    # empty here and full there. Few enough to be told apart.
    parts = min(int(layout.group_sizes.max()), _MOST_PARTS)
    ends = (-0.5 / parts, 1 + 0.5 / parts)
    # A dataset may be a problem: there may be thousands.
    counts = np.bincount(layout.dataset, minlength=len(layout.names))
    rows_of = np.split(np.argsort(layout.dataset, kind="stable"), np.cumsum(counts)[:-1])
    return Replay(
        settings=settings,
        steps=list(_steps(run)),
        datasets={
            name: _dataset(run, rows, budget)
            for name, rows, budget in zip(layout.names, rows_of, run.last_budgets, strict=True)
        },
        phases={
            phase: _phase(run, run.penalty == penalty)
            for phase, penalty in _PHASES
            if (run.penalty == penalty).any()
        },
        flow=flow,
        outcome=outcome_of(run, flow),
        group_accuracy=_histogram(np.clip(accuracy, 0, 1), ends, parts + 1),
        rollouts=len(rollouts),
        warnings=list(warnings_about(layout, settings)),
        unit=unit,
    )


def _steps(run: Run) -> Iterator[Step]:
    names = run.layout.names
    for batch, budgets in zip(run.layout.batches, run.budgets, strict=True):
        penalty = bool(run.penalty[batch.rows.start])
        kept = run.kept[batch.rows][run.seen[batch.rows]]
        yield Step(
            step=batch.step,
            penalty=penalty,
            kept_ratio=float(kept.mean()) if penalty and len(kept) else None,
            budgets={names[dataset]: budget for dataset, budget in budgets.items()},
        )


def _dataset(run: Run, rows: NDArray[np.intp], budget: float | None) -> DatasetSummary:
    layout = run.layout
    correct, penalty = layout.correct[rows], run.penalty[rows]
    lengths = layout.length[rows][correct]
    above = np.maximum(layout.length[rows] - run.limit[rows], 0.0)
    return DatasetSummary(
        rollouts=len(rows),
        accuracy=float(correct.mean()),
        correct_lengths=dict(
            zip(PERCENTILES, np.percentile(lengths, PERCENTILES).tolist(), strict=True)
            if len(lengths)
            else ()
        ),
        budget=budget,
        kept_ratio=_mean(run.kept[rows][penalty]),
        tokens_above_budget=float(above[penalty & correct].sum()),
        correct_histogram=_lengths_histogram(lengths) if len(lengths) else None,
    )


def _phase(run: Run, rows: NDArray[np.bool_]) -> PhaseSummary:
    layout = run.layout
    return PhaseSummary(
        steps=len(np.unique(layout.step[rows])),
        rollouts=int(rows.sum()),
        accuracy=float(layout.correct[rows].mean()),
        length=float(layout.length[rows].mean()),
        reward=float(layout.reward[rows].mean()),
        shaped_reward=float(run.shaped[rows].mean()),
        kept_ratio=_mean(run.kept[rows]),
    )


def _lengths_histogram(lengths: NDArray[np.int64]) -> Histogram:
    # A few very long answers would press all others into the first bin.
    longest = max(math.ceil(np.percentile(lengths, _SHOWN)), 1)
    return _histogram(lengths, (0, longest), _BINS)


def _histogram(values: NDArray[Any], ends: tuple[float, float], bins: int) -> Histogram:
    counts, edges = np.histogram(values, bins=bins, range=ends)
    return Histogram(edges.tolist(), counts.tolist(), len(values) - int(counts.sum()))


def _mean(column: NDArray[np.bool_]) -> float | None:
    return float(column.mean()) if len(column) else None
