"""What in the rollouts makes one doubt a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .layout import Layout
    from .settings import Settings

_MANY: Final = 30
"""Groups of which one would expect some to be solved or failed by every response."""


def warnings_about(layout: Layout, settings: Settings) -> Iterator[str]:
    """One sentence for each doubt."""
    yield from settings.doubts()
    yield from _about_rewards(layout, settings)
    yield from _about_groups(layout, settings)
    schedule = settings.toggle()
    if not any(schedule.is_penalty_step(batch.step) for batch in layout.batches):
        yield "no logged step is a length-penalty step: nothing is shaped"


def _about_rewards(layout: Layout, settings: Settings) -> Iterator[str]:
    max_score = settings.max_score
    reward = layout.reward
    highest = reward.max()
    if not layout.correct.any():
        yield (
            f"no reward reaches the maximum score {max_score:g} (the highest is "
            f"{highest:g}): no response counts as correct, and no dataset has a budget"
        )
    above = np.count_nonzero(reward > max_score)
    if above:
        yield (
            f"{above} of {len(reward)} rewards exceed the maximum score {max_score:g} "
            f"(the highest is {highest:g})"
        )
    negative = np.count_nonzero(reward < 0)
    if negative and settings.penalty == "zero":
        yield (
            f"{negative} of {len(reward)} rewards are below 0, and with the penalty zero a "
            "response over budget gets 0, also where that is more: cap_at_zero lets no reward go up"
        )
    partial = np.count_nonzero((reward > 0) & (reward < max_score))
    if partial and settings.is_drop_in and layout.correct.any():
        yield (
            f"{partial} of {len(reward)} rewards lie between 0 and {max_score:g}: the drop-in "
            "counts them into the accuracy of their group, Toggle does not"
        )


def _about_groups(layout: Layout, settings: Settings) -> Iterator[str]:
    lambda_ = settings.lambda_
    groups = len(layout.group_starts)
    signal = np.count_nonzero(layout.had_signal)
    if signal == groups >= _MANY:
        yield (
            "no group has rewards that are all equal: these rollouts were probably logged behind "
            "a zero-variance filter, and the groups that it dropped are missing here"
        )
    mixed = np.count_nonzero(
        layout.per_group(np.minimum.reduceat, layout.dataset)
        != layout.per_group(np.maximum.reduceat, layout.dataset)
    )
    if mixed:
        yield (
            "some groups mix datasets: prompt_idx is wrong where the trainer drops "
            "truncated samples, and group accuracy with it"
        )
    largest = int(layout.group_sizes.max())
    if (largest - 1) / largest < lambda_ <= 1 and settings.filter == "before":
        yield (
            f"with groups of at most {largest}, only fully solved ones reach lambda {lambda_:g}, "
            "and the filter drops those before Toggle sees them"
        )
