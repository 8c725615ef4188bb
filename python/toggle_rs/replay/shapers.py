"""The real trackers, fed with one logged step at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from toggle_rs import ToggleBudgetTracker
from toggle_rs.estimators import estimator_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .layout import Batch, Layout
    from .settings import Settings


class Shaping(NamedTuple):
    """What became of a step."""

    scores: NDArray[np.float64]
    kept: NDArray[np.bool_]
    """Per sample: the reward was left as it is."""
    budgets: NDArray[np.float64]
    """In tokens, of each dataset of the step: what it was shaped with. Infinite without one."""


class Shaper(Protocol):
    """A tracker, and how it is called."""

    def shape(self, batch: Batch) -> Shaping:
        """Shape one step; steps come in order."""

    def budget(self, dataset: int) -> float | None:
        """The budget after the last step."""

    def accuracy(self) -> NDArray[np.float64]:
        """Of each group, what is compared with lambda."""


def shaper_of(layout: Layout, settings: Settings) -> Shaper:
    """The tracker that does what the settings ask for, fed from `layout`."""
    return (DropIn if settings.is_drop_in else Product)(layout, settings)


class DropIn:
    """`ToggleBudgetTracker`, called as open-instruct does: a step's own lengths come first."""

    def __init__(self, layout: Layout, settings: Settings) -> None:
        """Make an empty tracker."""
        self.layout = layout
        self.is_always_on = settings.m is None
        self.tracker = ToggleBudgetTracker(
            1 if settings.m is None else settings.m,
            settings.lambda_,
            settings.percentile,
            settings.warmup_steps + self.is_always_on,
            estimator=estimator_of(settings.estimator),
        )
        self.is_enforced = (layout.mean_score >= settings.lambda_)[layout.group]

    def shape(self, batch: Batch) -> Shaping:
        """Shape one step; steps come in order."""
        rows, layout, step = batch.rows, self.layout, batch.step
        if self.is_always_on:
            # Step m is the first of a penalty phase. Counted from 1, for there is no m = 0.
            step += 1
            self.tracker.m = step
        lengths = layout.length[rows]
        scores, metrics = self.tracker.maybe_apply(
            step,
            layout.reward[rows],
            lengths,
            layout.samples[rows],
            layout.one_size(batch),
            layout.max_score,
        )
        budgets = np.array([_limit(self.budget(dataset)) for dataset in batch.datasets])
        kept = np.ones(len(lengths), dtype=bool)
        if metrics["toggle/length_penalty_phase"]:
            # The tracker tells the rewards, not the mask, which a reward of 0 hides.
            kept = ~self.is_enforced[rows] | (lengths <= budgets[batch.place])
        return Shaping(scores, kept, budgets)

    def budget(self, dataset: int) -> float | None:
        """The budget after the last step."""
        return self.tracker.budget(self.layout.keys[dataset])

    def accuracy(self) -> NDArray[np.float64]:
        """Of each group, what is compared with lambda."""
        return self.layout.mean_score


class Product:
    """`Toggle`. To let a step's own lengths count, it shapes half a step after it has observed."""

    def __init__(self, layout: Layout, settings: Settings) -> None:
        """Make an empty tracker."""
        self.layout = layout
        self.is_same_step = settings.budget_from == "same-step"
        self.toggle = settings.toggle(ticks=2 if self.is_same_step else 1)

    def shape(self, batch: Batch) -> Shaping:
        """Shape one step; steps come in order."""
        rows, layout, step = batch.rows, self.layout, batch.step
        lengths, keys = layout.length[rows], layout.samples[rows]
        correct = layout.correct[rows]
        shape = self.toggle.apply
        if self.is_same_step:
            self.toggle.observe(keys, lengths, correct=correct, step=2 * step)
            shape, step = self.toggle.shape, 2 * step + 1
        budgets = np.array([_limit(self.budget(dataset)) for dataset in batch.datasets])
        groups = batch.group_size or layout.group[rows]
        scores = layout.reward[rows]
        shaped = shape(step, scores, lengths, keys, groups=groups, correct=correct)
        return Shaping(shaped.scores, shaped.kept, budgets)

    def budget(self, dataset: int) -> float | None:
        """The budget after the last step."""
        return self.toggle.budget(self.layout.keys[dataset])

    def accuracy(self) -> NDArray[np.float64]:
        """Of each group, what is compared with lambda."""
        return self.layout.correct_share


def _limit(budget: float | None) -> float:
    return np.inf if budget is None else budget
