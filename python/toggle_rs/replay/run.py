"""All steps of a run through a tracker: what becomes of each sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from toggle_rs.doubts import heard

from .shapers import shaper_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .layout import Layout
    from .settings import Settings


@dataclass(frozen=True, eq=False)
class Run:
    """What a tracker did to a run. Columns have a row for each sample of `layout`."""

    layout: Layout
    penalty: NDArray[np.bool_]
    """Whether the sample's step is a length-penalty step."""
    seen: NDArray[np.bool_]
    """Whether Toggle saw the sample: not where the filter had dropped its group."""
    kept: NDArray[np.bool_]
    """Whether the reward was left as it is."""
    shaped: NDArray[np.float64]
    limit: NDArray[np.float64]
    """The budget that the sample is held to, in tokens; infinite without one."""
    accuracy: NDArray[np.float64]
    """Of each group, what is compared with lambda; NaN where Toggle did not see it."""
    budgets: list[dict[int, float]]
    """For each step of `layout` the budgets of its datasets, by number."""
    last_budgets: list[float | None]
    """Of each dataset, after the last step."""
    lambda_: float

    @cached_property
    def has_signal(self) -> NDArray[np.bool_]:
        """Of each group, whether its shaped rewards are not all equal."""
        return self.layout.has_signal(self.shaped)

    def is_enforced(self) -> NDArray[np.bool_]:
        """Of each group, whether its step holds it to the budget."""
        return self.penalty[self.layout.group_starts] & (self.accuracy >= self.lambda_)


def play(layout: Layout, settings: Settings) -> Run:
    """Feed a run to the tracker that the settings name, in the order of its steps.

    Raises:
        ReplayError: The groups of a step differ in size, and the drop-in shapes.
    """
    is_filtered = settings.filter == "before"
    given = layout.with_signal if is_filtered else layout
    seen = layout.had_signal if is_filtered else np.ones(len(layout.group_starts), dtype=bool)
    shaped, kept = given.reward.copy(), np.ones(len(given), dtype=bool)
    limit = np.full(len(given), np.inf)
    budgets: dict[int, dict[int, float]] = {}
    with heard():  # The numbers would be those of the clock that the shaper keeps.
        shaper = shaper_of(given, settings)
        for batch in given.batches:
            rows = batch.rows
            shaped[rows], kept[rows], of_datasets = shaper.shape(batch)
            limit[rows] = of_datasets[batch.place]
            budgets[batch.step] = {
                dataset: budget
                for dataset, budget in zip(batch.datasets, of_datasets.tolist(), strict=True)
                if budget < np.inf
            }

    schedule = settings.toggle()
    penalty = np.zeros(len(layout), dtype=bool)
    for batch in layout.batches:
        penalty[batch.rows] = schedule.is_penalty_step(batch.step)
    rows_seen = seen[layout.group]
    accuracy = np.full(len(seen), np.nan)
    accuracy[seen] = shaper.accuracy()
    return Run(
        layout=layout,
        penalty=penalty,
        seen=rows_seen,
        kept=_scatter(kept, rows_seen, np.ones(len(layout), dtype=bool)),
        shaped=_scatter(shaped, rows_seen, layout.reward.copy()),
        limit=_scatter(limit, rows_seen, np.full(len(layout), np.inf)),
        accuracy=accuracy,
        budgets=[budgets.get(batch.step, {}) for batch in layout.batches],
        last_budgets=[shaper.budget(dataset) for dataset in range(len(layout.keys))],
        lambda_=settings.lambda_,
    )


def _scatter(values: NDArray, rows: NDArray[np.bool_], into: NDArray) -> NDArray:  # type: ignore[type-arg]
    if len(values) == len(into):
        return values
    into[rows] = values
    return into
