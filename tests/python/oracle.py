"""The reference that the drop-in must equal, in plain Python and NumPy.

It keeps every correct length in a list and asks `np.percentile` for each
budget, as `ToggleBudgetTracker` of allenai/open-instruct pull request 1676
does. It checks nothing: the tests of bad input do not use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Key = tuple[str, ...]
Metrics = dict[str, "int | float"]


def key_of(dataset: Any) -> Key:
    """A name alone is the key of that one name."""
    return (dataset,) if isinstance(dataset, str) else tuple(dataset)


def numpy_mean(groups: np.ndarray) -> np.ndarray:
    means: np.ndarray = groups.mean(axis=-1)
    return means


class ReferenceTracker:
    """The formula, literally: a growing list, a percentile for each sample."""

    def __init__(
        self,
        m: int,
        lambda_: float,
        percentile: float,
        warmup_steps: int,
        *,
        mean: Callable[[np.ndarray], np.ndarray] = numpy_mean,
    ) -> None:
        self.m = m
        self.lambda_ = lambda_
        self.percentile = percentile
        self.warmup_steps = warmup_steps
        self.lengths_per_dataset: dict[Key, list[int]] = {}
        # Tests put a wrong mean here, to show that they would notice it.
        self._mean = mean

    @property
    def enabled(self) -> bool:
        return self.m > 0

    def update(
        self, datasets: Iterable[Any], lengths: Any, scores: np.ndarray, max_possible_score: Any
    ) -> None:
        is_correct = scores >= max_possible_score
        for dataset, length, correct in zip(datasets, lengths, is_correct, strict=True):
            if correct:
                self.lengths_per_dataset.setdefault(key_of(dataset), []).append(int(length))

    def budget(self, dataset: Any) -> float | None:
        lengths = self.lengths_per_dataset.get(key_of(dataset))
        if not lengths:
            return None
        return float(np.percentile(lengths, self.percentile))

    def is_penalty_step(self, step: int) -> bool:
        return step >= self.warmup_steps and (step // self.m) % 2 == 1

    def maybe_apply(
        self,
        step: int,
        scores: np.ndarray,
        sequence_lengths: np.ndarray,
        datasets: Sequence[Any],
        num_samples_per_prompt: int,
        max_possible_score: Any,
    ) -> tuple[np.ndarray, Metrics]:
        if not self.enabled:
            return scores, {}
        self.update(datasets, sequence_lengths, scores, max_possible_score)
        penalty = self.is_penalty_step(step)
        metrics: Metrics = {"toggle/length_penalty_phase": int(penalty)}
        for key in dict.fromkeys(map(key_of, datasets)):
            budget = self.budget(key)
            if budget is not None:
                metrics["toggle/budget/" + "|".join(key)] = budget
        if not penalty:
            return scores, metrics
        groups = (scores / max_possible_score).reshape(-1, num_samples_per_prompt)
        accuracy = self._mean(groups)
        below_lambda = np.repeat(accuracy < self.lambda_, num_samples_per_prompt)
        budgets = [self.budget(dataset) for dataset in datasets]
        within = sequence_lengths <= np.array(
            [np.inf if budget is None else budget for budget in budgets], dtype=np.float64
        )
        keep = below_lambda | within
        metrics["toggle/mask_kept_ratio"] = float(keep.mean())
        return scores * keep, metrics


class Oracle(ReferenceTracker):
    """The same, but a percentile is computed once for each state of a list.

    The lists only grow, so their length tells the state.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known: dict[tuple[Key, int, float], float | None] = {}

    def budget(self, dataset: Any) -> float | None:
        key = key_of(dataset)
        state = (key, len(self.lengths_per_dataset.get(key, ())), self.percentile)
        if state not in self._known:
            self._known[state] = super().budget(key)
        return self._known[state]

    def budgets(self) -> dict[Key, float]:
        found = {key: self.budget(key) for key in self.lengths_per_dataset}
        return {key: budget for key, budget in found.items() if budget is not None}

    def counts(self) -> dict[Key, int]:
        return {key: len(lengths) for key, lengths in self.lengths_per_dataset.items()}
