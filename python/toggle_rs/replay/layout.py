"""The columns of a run, laid out as a trainer hands them to Toggle: a step at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from toggle_rs.rollouts import RolloutColumns


LONGEST: Final = 2**53
"""Tokens up to which a tracker takes lengths."""

LARGEST_REWARD: Final = 1e100
"""Beyond it sums of squares overflow."""


class ReplayError(ValueError):
    """Rollouts that the tracker cannot be fed with."""


@dataclass(frozen=True)
class Batch:
    """The rows of one step."""

    step: int
    rows: slice
    group_size: int | None
    """Samples in each group; None where the groups differ in size."""
    datasets: list[int]
    """The datasets of the step, each once."""
    place: NDArray[np.intp]
    """Of each row, the place of its dataset in `datasets`."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Columns of a run, the samples of a group side by side, in the order of their steps.

    What follows from the columns alone is worked out once, for many settings to use.
    """

    step: NDArray[np.int64]
    dataset: NDArray[np.int64]
    length: NDArray[np.int64]
    reward: NDArray[np.float64]
    correct: NDArray[np.bool_]
    """Whether the reward reaches the maximum score."""
    group: NDArray[np.int64]
    """Number of the group in the run, from 0."""
    group_starts: NDArray[np.int64]
    """First row of each group."""
    batches: list[Batch]
    keys: tuple[tuple[str, ...], ...]
    names: list[str]
    """The keys as text, the names in a key joined by `|`."""
    max_score: float

    @staticmethod
    def of(rollouts: RolloutColumns, max_score: float) -> Layout:
        """Lay out what was read.

        Raises:
            ReplayError: Two datasets have one name, or a length or a reward is no such thing.
        """
        for name, column, largest in (
            ("length", rollouts.length, LONGEST),
            ("reward", np.abs(rollouts.reward), LARGEST_REWARD),
        ):
            if column.max() > largest:
                step = rollouts.step[column.argmax()]
                raise ReplayError(f"step {step}: a {name} of {column.max()} is too large")
        names = ["|".join(key) for key in rollouts.names]
        if len(set(names)) < len(names):
            raise ReplayError(f"two datasets have one name when joined by '|': {rollouts.names}")
        order = np.lexsort((rollouts.group, rollouts.step))  # Stable: samples stay in order.
        step, group = rollouts.step[order], rollouts.group[order]
        is_first = np.append(True, (np.diff(step) != 0) | (np.diff(group) != 0))
        return _layout(
            {
                "step": step,
                "dataset": rollouts.dataset[order].astype(np.int64),
                "length": rollouts.length[order],
                "reward": rollouts.reward[order],
                "correct": rollouts.reward[order] >= max_score,
            },
            is_first[: len(order)],
            {"keys": rollouts.names, "names": names, "max_score": max_score},
        )

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.step)

    @cached_property
    def with_signal(self) -> Layout:
        """The layout without the groups whose rewards are all equal."""
        if self.had_signal.all():
            return self
        rows = self.had_signal[self.group]
        is_first = np.zeros(len(self), dtype=bool)
        is_first[self.group_starts] = True
        columns = ("step", "dataset", "length", "reward", "correct")
        return _layout(
            {name: getattr(self, name)[rows] for name in columns},
            is_first[rows],
            {"keys": self.keys, "names": self.names, "max_score": self.max_score},
        )

    @cached_property
    def samples(self) -> list[str | tuple[str, ...]]:
        """The key of each sample, as few objects as there are keys."""
        keys = [key[0] if len(key) == 1 else key for key in self.keys]
        return [keys[dataset] for dataset in self.dataset.tolist()]

    def per_group(self, reduce: Callable[..., Any], column: NDArray[Any]) -> NDArray[Any]:
        """What a ufunc's `reduceat` makes of each group."""
        if not len(column):
            return column[:0]
        result: NDArray[Any] = reduce(column, self.group_starts)
        return result

    @cached_property
    def group_sizes(self) -> NDArray[np.int64]:
        """Samples in each group."""
        return np.diff(self.group_starts, append=len(self))

    def has_signal(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Of each group, whether its scores are not all equal."""
        lowest = self.per_group(np.minimum.reduceat, scores)
        highest = self.per_group(np.maximum.reduceat, scores)
        return np.asarray(lowest != highest)

    @cached_property
    def had_signal(self) -> NDArray[np.bool_]:
        """Of each group, whether its rewards as logged are not all equal."""
        return self.has_signal(self.reward)

    @cached_property
    def logged_advantages(self) -> NDArray[np.float64]:
        """`advantages` of the rewards as logged."""
        return self.advantages(self.reward, self.had_signal)

    def advantages(
        self, scores: NDArray[np.float64], has_signal: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """GRPO's advantage of each sample, given which groups have a signal.

        Score less the mean of its group, by the group's standard deviation (population); 0 where
        all scores of a group are equal.
        """
        sizes, group = self.group_sizes, self.group
        centred = scores - (self.per_group(np.add.reduceat, scores) / sizes)[group]
        spread = np.sqrt(self.per_group(np.add.reduceat, centred * centred) / sizes)
        # The mean of equal numbers may be rounded: then the spread is 1e-17, and not 0.
        spread[~has_signal] = np.inf
        centred /= spread[group]
        return centred

    @cached_property
    def correct_share(self) -> NDArray[np.float64]:
        """Of each group, the share of correct samples."""
        return self.per_group(np.add.reduceat, self.correct.astype(np.int64)) / self.group_sizes

    @cached_property
    def mean_score(self) -> NDArray[np.float64]:
        """Of each group, the mean of reward / maximum score, summed up as the drop-in does.

        Raises:
            ReplayError: The groups of a step differ in size.
        """
        scores = self.reward / self.max_score
        means = [
            scores[batch.rows].reshape(-1, self.one_size(batch)).mean(axis=1)
            for batch in self.batches
        ]
        return np.concatenate([*means, np.zeros(0)])

    def one_size(self, batch: Batch) -> int:
        """The size of the groups of a step.

        Raises:
            ReplayError: They differ.
        """
        if batch.group_size is not None:
            return batch.group_size
        counts = Counter(np.unique(self.group[batch.rows], return_counts=True)[1].tolist())
        listed = ", ".join(f"{n} of {k} samples" for k, n in sorted(counts.items()))
        raise ReplayError(
            f"step {batch.step}: groups differ in size ({listed}), but the drop-in tracker takes "
            "groups of one size only; --budget-from earlier-steps takes any"
        )


def _layout(columns: dict[str, Any], is_first: NDArray[np.bool_], shared: dict[str, Any]) -> Layout:
    step = columns["step"]
    group = np.cumsum(is_first) - 1
    group_starts = np.flatnonzero(is_first)
    sizes = np.diff(group_starts, append=len(step))
    starts = np.flatnonzero(np.diff(step, prepend=-1)).tolist()
    batches = []
    for start, end in pairwise([*starts, len(step)]):
        of_step = sizes[group[start] : group[end - 1] + 1]
        same = bool((of_step == of_step[0]).all())
        datasets, place = np.unique(columns["dataset"][start:end], return_inverse=True)
        batches.append(
            Batch(
                step=int(step[start]),
                rows=slice(start, end),
                group_size=int(of_step[0]) if same else None,
                datasets=datasets.tolist(),
                place=place,
            )
        )
    return Layout(**columns, group=group, group_starts=group_starts, batches=batches, **shared)
