"""What shaping did to the penalty steps of a run, in a handful of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .run import Run


@dataclass(frozen=True)
class Flow:
    """Groups of the penalty steps on their way through shaping and the zero-variance filter."""

    groups: int
    signal_before: int
    """Groups whose rewards as logged are not all equal."""
    shaped: int
    """Groups that Toggle saw: all of them, or those that a filter before it left."""
    enforced: int
    """Groups accurate enough for the budget to count."""
    masked: int
    """Groups with a sample that is masked."""
    gained: int
    """Groups with a signal only after shaping."""
    lost: int
    """Groups with a signal only before shaping."""
    signal_after: int
    """Groups that teach something in the end."""


@dataclass(frozen=True)
class Outcome:
    """The penalty steps of a run, before and after shaping."""

    rollouts: int
    masked_ratio: float | None
    """Share of samples over budget in an enforced group, right or wrong; this and all below: None
    without a penalty step."""
    enforced_group_ratio: float | None
    gained_signal_group_ratio: float | None
    lost_signal_group_ratio: float | None
    tokens_above_budget: float
    """Tokens by which correct responses exceed the budget of their step."""
    covariance_before: float | None
    """Covariance of advantage and length, in tokens, over all samples; the advantage is
    GRPO's, as `Layout.advantages` has it."""
    covariance_after: float | None


def flow_of(run: Run) -> Flow:
    """Count the groups of the penalty steps."""
    layout = run.layout
    in_penalty = run.penalty[layout.group_starts]
    seen = run.seen[layout.group_starts]
    before, after = layout.had_signal, run.has_signal
    masked = ~layout.per_group(np.logical_and.reduceat, run.kept)

    def count(groups: NDArray[np.bool_]) -> int:
        return int(np.count_nonzero(groups & in_penalty))

    return Flow(
        groups=count(in_penalty),
        signal_before=count(before),
        shaped=count(seen),
        enforced=count(run.is_enforced()),
        masked=count(masked),
        gained=count(after & ~before),
        lost=count(before & ~after),
        signal_after=count(after),
    )


def outcome_of(run: Run, flow: Flow) -> Outcome:
    """Sum up the penalty steps."""
    layout, rows = run.layout, _rows(run.penalty)
    length, correct = layout.length[rows], layout.correct[rows]
    above = np.maximum(length - run.limit[rows], 0.0)
    shaped = layout.advantages(run.shaped, run.has_signal)
    return Outcome(
        rollouts=len(length),
        masked_ratio=_share(int(np.count_nonzero(~run.kept)), len(length)),
        enforced_group_ratio=_share(flow.enforced, flow.groups),
        gained_signal_group_ratio=_share(flow.gained, flow.groups),
        lost_signal_group_ratio=_share(flow.lost, flow.groups),
        tokens_above_budget=float(above @ correct),
        covariance_before=_covariance(layout.logged_advantages[rows], length),
        covariance_after=_covariance(shaped[rows], length),
    )


def _rows(which: NDArray[np.bool_]) -> slice | NDArray[np.bool_]:
    """The same rows, as a slice where they are side by side: nothing is copied then."""
    first = int(which.argmax())
    span = slice(first, first + int(np.count_nonzero(which)))
    return span if which[span].all() else which


def _covariance(advantage: NDArray[np.float64], length: NDArray[np.int64]) -> float | None:
    if not len(length):
        return None
    # Advantages of a group add up to 0, but for rounding.
    return float(advantage @ (length - length.mean()) / len(length))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
