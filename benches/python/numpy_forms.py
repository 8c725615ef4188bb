"""The drop-in's step in NumPy alone, as fast as NumPy lets it be.

Both forms keep a histogram of lengths for each dataset and ask for one budget
for each dataset and step. They check nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
Lengths = npt.NDArray[np.int64]
Metrics = dict[str, "int | float"]
Budgets = npt.NDArray[np.float64]

BLOCK = 256


def lerp(low: Budgets, high: Budgets, fraction: Budgets) -> Budgets:
    """NumPy's own line for "linear"."""
    difference = high - low
    return np.where(fraction < 0.5, low + difference * fraction, high - difference * (1 - fraction))


class HistogramTracker:
    """`np.bincount` into a histogram for each dataset, then a cumulative sum of all of it."""

    def __init__(self, m: int, lambda_: float, percentile: float, warmup_steps: int) -> None:
        """Takes what the reference takes."""
        self.m = m
        self.lambda_ = lambda_
        self.percentile = percentile
        self.warmup_steps = warmup_steps
        self.ids: dict[Any, int] = {}
        self.names: list[str] = []
        self.histograms = np.zeros((1, 1), np.int64)

    def _ids_of(self, datasets: Any) -> npt.NDArray[np.intp]:
        """An id for each sample: one look-up in a dict, all of it in C."""
        if isinstance(datasets, np.ndarray):
            datasets = datasets.tolist()
        try:
            return np.fromiter(map(self.ids.__getitem__, datasets), np.intp, len(datasets))
        except (KeyError, TypeError):  # new names, or lists, which do not hash
            keys = [key if isinstance(key, str) else tuple(key) for key in datasets]
        for key in set(keys).difference(self.ids):
            self.ids[key] = len(self.names)
            self.names.append(key if isinstance(key, str) else "|".join(key))
        return np.fromiter(map(self.ids.__getitem__, keys), np.intp, len(keys))

    def _grow(self, longest: int) -> None:
        """Room for the lengths and datasets that have come."""
        rows, columns = self.histograms.shape
        if longest >= columns or len(self.names) > rows:
            columns = max(columns, -(-(longest + 1) // BLOCK) * BLOCK)
            grown = np.zeros((max(len(self.names), rows), columns), np.int64)
            grown[:rows, : self.histograms.shape[1]] = self.histograms
            self.histograms = grown

    def _record(self, ids: npt.NDArray[np.intp], lengths: Lengths) -> None:
        for i in np.unique(ids):
            counts = np.bincount(lengths[ids == i])
            self.histograms[i, : len(counts)] += counts

    def _at_ranks(self, row: int, low: int, high: int) -> tuple[float, float]:
        cumulative = self.histograms[row].cumsum()
        found = np.searchsorted(cumulative, [low, high], "right")
        return float(found[0]), float(found[1])

    def _budgets(self, rows: npt.NDArray[np.intp]) -> Budgets:
        budgets = np.full(len(self.names), np.inf)
        for row in rows:
            last = int(self.histograms[row].sum()) - 1
            if last < 0:
                continue
            virtual = last * (self.percentile / 100)
            index = min(int(virtual), last)
            low, high = self._at_ranks(int(row), index, min(index + 1, last))
            pair = np.array([low]), np.array([high])
            budgets[row] = lerp(*pair, np.array([virtual - index]))[0]
        return budgets

    def maybe_apply(
        self,
        step: int,
        scores: Scores,
        sequence_lengths: Lengths,
        datasets: Any,
        num_samples_per_prompt: int,
        max_possible_score: float,
    ) -> tuple[Scores, Metrics]:
        """The reference's call."""
        ids = self._ids_of(datasets)
        correct = scores >= max_possible_score
        lengths = sequence_lengths[correct]
        self._grow(int(lengths.max(initial=0)))
        self._record(ids[correct], lengths)
        penalty = step >= self.warmup_steps and (step // self.m) % 2 == 1
        present, first = np.unique(ids, return_index=True)
        present = present[np.argsort(first)]
        budgets = self._budgets(present)
        metrics: Metrics = {"toggle/length_penalty_phase": int(penalty)}
        for row in present.tolist():
            if budgets[row] != np.inf:
                metrics[f"toggle/budget/{self.names[row]}"] = float(budgets[row])
        if not penalty:
            return scores, metrics
        groups = (-1, num_samples_per_prompt)
        accuracy = (scores / max_possible_score).reshape(groups).mean(axis=-1, keepdims=True)
        within = (sequence_lengths <= budgets[ids]).reshape(groups)
        keep = ((accuracy < self.lambda_) | within).reshape(-1)
        metrics["toggle/mask_kept_ratio"] = float(keep.mean())
        return scores * keep, metrics


class BlockedTracker(HistogramTracker):
    """`np.add.at` into all histograms at once, sums of blocks, every budget in one go.

    The best that the author of this file found in NumPy.
    """

    def __init__(self, m: int, lambda_: float, percentile: float, warmup_steps: int) -> None:
        """Takes what the reference takes."""
        super().__init__(m, lambda_, percentile, warmup_steps)
        self.blocks = np.zeros((1, 1), np.int64)

    def _grow(self, longest: int) -> None:
        before = self.histograms
        super()._grow(longest)
        if self.histograms is not before:
            rows, columns = self.histograms.shape
            self.blocks = self.histograms.reshape(rows, columns // BLOCK, BLOCK).sum(axis=2)

    def _record(self, ids: npt.NDArray[np.intp], lengths: Lengths) -> None:
        flat = ids * self.histograms.shape[1] + lengths
        np.add.at(self.histograms.reshape(-1), flat, 1)
        np.add.at(self.blocks.reshape(-1), flat // BLOCK, 1)

    def _values_at(
        self, rows: npt.NDArray[np.intp], cumulative: npt.NDArray[np.int64], ranks: Lengths
    ) -> Budgets:
        """The sorted values at these ranks, one for each row."""
        block = (cumulative <= ranks[:, None]).sum(axis=1)
        before = np.where(block > 0, cumulative[np.arange(len(rows)), block - 1], 0)
        counts = self.histograms.reshape(len(self.histograms), -1, BLOCK)[rows, block]
        within = (counts.cumsum(axis=1) <= (ranks - before)[:, None]).sum(axis=1)
        values: Budgets = (block * BLOCK + within).astype(np.float64)
        return values

    def _budgets(self, rows: npt.NDArray[np.intp]) -> Budgets:
        cumulative = self.blocks[rows].cumsum(axis=1)
        last = cumulative[:, -1] - 1
        filled = last >= 0
        if not filled.all():
            rows, cumulative, last = rows[filled], cumulative[filled], last[filled]
        virtual = last * (self.percentile / 100)
        index = np.minimum(virtual.astype(np.int64), last)
        low = self._values_at(rows, cumulative, index)
        high = self._values_at(rows, cumulative, np.minimum(index + 1, last))
        budgets = np.full(len(self.names), np.inf)
        budgets[rows] = lerp(low, high, virtual - index)
        return budgets


Make = Callable[[int, float, float, int], Any]
