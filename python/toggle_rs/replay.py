"""What Toggle would have done to a run that was logged: the drop-in tracker, step by step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from . import DecayQuantile, WindowQuantile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from . import Rollouts, ToggleBudgetTracker

PERCENTILES: Final = (10, 50, 80, 90, 100)
"""Percentiles of the lengths of correct responses that a summary gives."""

_BUDGET: Final = "toggle/budget/"

_Name: TypeAlias = Literal["exact", "p2", "gk"]
_NAMES: Final[tuple[_Name, ...]] = ("exact", "p2", "gk")


def estimator_of(text: str) -> _Name | WindowQuantile | DecayQuantile:
    """The argument `estimator` of a tracker, from "exact", "p2", "gk", "window:N" or "decay:H".

    Args:
        text: `N` is a number of lengths, `H` a half-life in training steps.

    Raises:
        ValueError: It is none of these, or its number is out of range.
    """
    for plain in _NAMES:
        if text == plain:
            return plain
    kind, _, number = text.partition(":")
    try:
        if kind == "window":
            return WindowQuantile(int(number))
        if kind == "decay":
            return DecayQuantile(float(number))
    except ValueError as error:
        raise ValueError(f"estimator: got {text!r}: {error}") from error
    raise ValueError(f"estimator: got {text!r}, expected exact, p2, gk, window:N or decay:H")


class ReplayError(ValueError):
    """Rollouts that the tracker cannot be fed with."""


@dataclass(frozen=True)
class Step:
    """One training step."""

    step: int
    penalty: bool
    kept_ratio: float | None
    """Share of responses that keep their reward; None in the normal phase."""
    budgets: dict[str, float]
    """Budget in tokens of each dataset of the step that has one."""


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
    """Share of responses that keep their reward in penalty steps; None without any."""
    tokens_above_budget: float
    """Tokens by which correct responses in penalty steps exceed the budget of their step."""


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
    kept_ratio: float


@dataclass(frozen=True)
class Replay:
    """The result of `replay`."""

    steps: list[Step]
    datasets: dict[str, DatasetSummary]
    """By name, several names joined by `|`, in order of first appearance."""
    phases: dict[str, PhaseSummary]
    """Of the phases "normal" and "length penalty" those that occur."""
    rollouts: int
    warnings: list[str]
    """What in the rollouts makes one doubt the result, a sentence each."""

    def to_json(self) -> dict[str, Any]:
        """Steps and datasets as plain objects, for `json.dump`."""
        return {
            "rollouts": self.rollouts,
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
                    "rollouts": dataset.rollouts,
                    "accuracy": dataset.accuracy,
                    "correct_lengths": {str(p): n for p, n in dataset.correct_lengths.items()},
                    "budget": dataset.budget,
                    "kept_ratio": dataset.kept_ratio,
                    "tokens_above_budget": dataset.tokens_above_budget,
                }
                for name, dataset in self.datasets.items()
            },
        }


def replay(rollouts: Rollouts, tracker: ToggleBudgetTracker, *, max_score: float = 1.0) -> Replay:
    """Feed logged rollouts to a tracker, a step at a time, and sum up what it does to them.

    Args:
        rollouts: What `read_traces` returns.
        tracker: Enabled, and not used before; it is changed.
        max_score: The reward of a correct response.

    Raises:
        ReplayError: The groups of a step differ in size, or two datasets have one name.
    """
    run = _Run(rollouts, max_score)
    steps = [run.play(rows, tracker) for rows in run.steps()]
    return Replay(
        steps=steps,
        datasets={
            name: run.dataset_summary(index, tracker.budget(run.keys[index]))
            for index, name in enumerate(run.names)
        },
        phases={
            phase: run.phase_summary(run.penalty == penalty)
            for phase, penalty in (("normal", False), ("length penalty", True))
            if (run.penalty == penalty).any()
        },
        rollouts=len(rollouts),
        warnings=list(run.warnings()),
    )


class _Run:
    """Columns of a run, the samples of a group side by side, and what becomes of each sample."""

    def __init__(self, rollouts: Rollouts, max_score: float) -> None:
        self.keys = rollouts.names
        self.names = ["|".join(key) for key in self.keys]
        if len(set(self.names)) < len(self.names):
            raise ReplayError(f"two datasets have one name when joined by '|': {self.keys}")
        order = np.lexsort((rollouts.group, rollouts.step))  # Stable: samples stay in order.
        self.step = rollouts.step[order]
        self.group = rollouts.group[order]
        self.dataset = rollouts.dataset[order]
        self.length = rollouts.length[order]
        self.reward = rollouts.reward[order]
        self.max_score = max_score
        self.correct = self.reward >= max_score
        self.penalty = np.zeros(len(order), dtype=bool)
        self.kept = np.ones(len(order), dtype=bool)
        self.shaped = self.reward.copy()
        self.above_budget = np.zeros(len(order))

    def steps(self) -> Iterator[slice]:
        """The rows of each step."""
        starts = np.flatnonzero(np.diff(self.step, prepend=-1)).tolist()
        return (slice(*ends) for ends in pairwise([*starts, len(self.step)]))

    def play(self, rows: slice, tracker: ToggleBudgetTracker) -> Step:
        """Let the tracker shape one step."""
        step = int(self.step[rows.start])
        k = self._group_size(step, rows)
        reward, length, dataset = self.reward[rows], self.length[rows], self.dataset[rows]
        keys = [self.keys[index] for index in dataset.tolist()]
        shaped, metrics = tracker.maybe_apply(step, reward, length, keys, k, self.max_score)
        budgets = {
            name.removeprefix(_BUDGET): value
            for name, value in metrics.items()
            if name.startswith(_BUDGET)
        }
        penalty = bool(metrics["toggle/length_penalty_phase"])
        if penalty:
            # The tracker tells the rewards, not the mask, which a reward of 0 hides.
            accuracy = (reward / self.max_score).reshape(-1, k).mean(axis=1)
            budget = np.array([budgets.get(name, np.inf) for name in self.names])[dataset]
            self.kept[rows] = np.repeat(accuracy < tracker.lambda_, k) | (length <= budget)
            self.above_budget[rows] = np.maximum(length - budget, 0) * self.correct[rows]
        self.penalty[rows] = penalty
        self.shaped[rows] = shaped
        return Step(step, penalty, metrics.get("toggle/mask_kept_ratio"), budgets)

    def _group_size(self, step: int, rows: slice) -> int:
        sizes = Counter(np.unique(self.group[rows], return_counts=True)[1].tolist())
        if len(sizes) > 1:
            listed = ", ".join(f"{n} of {k} samples" for k, n in sorted(sizes.items()))
            raise ReplayError(
                f"step {step}: groups differ in size ({listed}), "
                "but the tracker takes groups of one size only"
            )
        return int(next(iter(sizes)))

    def dataset_summary(self, index: int, budget: float | None) -> DatasetSummary:
        """Sum up one dataset, whose budget is `budget` in the end."""
        rows = self.dataset == index
        lengths = self.length[rows & self.correct]
        kept = self.kept[rows & self.penalty]
        return DatasetSummary(
            rollouts=int(rows.sum()),
            accuracy=float(self.correct[rows].mean()),
            correct_lengths=dict(
                zip(PERCENTILES, np.percentile(lengths, PERCENTILES).tolist(), strict=True)
                if len(lengths)
                else ()
            ),
            budget=budget,
            kept_ratio=float(kept.mean()) if len(kept) else None,
            tokens_above_budget=float(self.above_budget[rows].sum()),
        )

    def phase_summary(self, rows: NDArray[np.bool_]) -> PhaseSummary:
        """Sum up the rows of one phase."""
        return PhaseSummary(
            steps=len(np.unique(self.step[rows])),
            rollouts=int(rows.sum()),
            accuracy=float(self.correct[rows].mean()),
            length=float(self.length[rows].mean()),
            reward=float(self.reward[rows].mean()),
            shaped_reward=float(self.shaped[rows].mean()),
            kept_ratio=float(self.kept[rows].mean()),
        )

    def warnings(self) -> Iterator[str]:
        """What makes one doubt the result."""
        highest = self.reward.max()
        if not self.correct.any():
            yield (
                f"no reward reaches the maximum score {self.max_score:g} (the highest is "
                f"{highest:g}): no response counts as correct, and no dataset has a budget"
            )
        above = np.count_nonzero(self.reward > self.max_score)
        if above:
            yield (
                f"{above} of {len(self.reward)} rewards exceed the maximum score "
                f"{self.max_score:g} (the highest is {highest:g})"
            )
        same_group = (np.diff(self.step) == 0) & (np.diff(self.group) == 0)
        mixed = np.count_nonzero(same_group & (np.diff(self.dataset.astype(np.int64)) != 0))
        if mixed:
            yield (
                "some groups mix datasets: prompt_idx is wrong where the trainer drops "
                "truncated samples, and group accuracy with it"
            )
