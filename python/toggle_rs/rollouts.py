"""Rollouts as columns, whatever file they came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class RolloutColumns(Protocol):
    """What `toggle_rs.Rollouts` and `Columns` have in common: a row for each response."""

    @property
    def step(self) -> NDArray[np.int64]:
        """Training step."""

    @property
    def sample(self) -> NDArray[np.int64]:
        """Place of the response in its step."""

    @property
    def group(self) -> NDArray[np.int64]:
        """Responses of one step with the same number answer one prompt."""

    @property
    def dataset(self) -> NDArray[np.uint32]:
        """Index into `names`."""

    @property
    def length(self) -> NDArray[np.int64]:
        """Length of the response, in tokens unless a caller knows better."""

    @property
    def reward(self) -> NDArray[np.float64]:
        """Reward as logged."""

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """Dataset keys."""

    @property
    def repeated(self) -> int:
        """Rows left out since a later one had the same step and sample."""

    @property
    def torn(self) -> int:
        """Files whose last line broke off."""

    def __len__(self) -> int:
        """Number of rollouts."""


COLUMNS = ("step", "sample", "group", "dataset", "length", "reward")


@dataclass(frozen=True, eq=False)
class Columns:
    """Rollouts sorted by step, then by sample; see `RolloutColumns` for the fields."""

    step: NDArray[np.int64]
    sample: NDArray[np.int64]
    group: NDArray[np.int64]
    dataset: NDArray[np.uint32]
    length: NDArray[np.int64]
    reward: NDArray[np.float64]
    names: tuple[tuple[str, ...], ...]
    repeated: int = 0
    torn: int = 0

    def __len__(self) -> int:
        """Number of rollouts."""
        return len(self.step)


def gather(parts: Sequence[RolloutColumns], *, is_numbered: bool = True) -> Columns:
    """One set of columns from those of several files, in the order of the files.

    The rules are those of `read_traces`: rows are sorted by step and sample, of repeated ones the
    later file's counts, and names are numbered by first appearance.

    Args:
        parts: At least one.
        is_numbered: Whether the files number the samples of a step; if not, rows are numbered as
            they come, in each part anew.
    """
    numbers: dict[tuple[str, ...], int] = {}
    datasets = []
    for part in parts:
        ids = [numbers.setdefault(name, len(numbers)) for name in part.names]
        datasets.append(np.array(ids, dtype=np.int64)[part.dataset])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in COLUMNS
        if name != "dataset"
    }
    columns["dataset"] = np.concatenate(datasets)
    if not is_numbered:
        sizes = [len(part) for part in parts]
        columns["sample"] += np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)

    order = np.lexsort((columns["sample"], columns["step"]))  # Stable: later files stay later.
    step, sample = columns["step"][order], columns["sample"][order]
    is_last = np.append((np.diff(step) != 0) | (np.diff(sample) != 0), True)[: len(order)]
    order = order[is_last]
    columns = {name: column[order] for name, column in columns.items()}

    names = list(numbers)
    seen, first = np.unique(columns["dataset"], return_index=True)
    seen = seen[np.argsort(first)]
    renumbered = np.zeros(len(names), dtype=np.uint32)
    renumbered[seen] = np.arange(len(seen), dtype=np.uint32)
    columns["dataset"] = renumbered[columns["dataset"]]
    return Columns(
        **columns,
        names=tuple(names[i] for i in seen.tolist()),
        repeated=sum(part.repeated for part in parts) + len(is_last) - len(order),
        torn=sum(part.torn for part in parts),
    )
