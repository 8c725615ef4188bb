"""What open-instruct's loop calls. See docs/open_instruct.md for the places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toggle_rs import Toggle


def shape_group(
    toggle: Toggle,
    step: int,
    masks: Sequence[Sequence[int]],
    scores: Sequence[float],
    dataset: str | list[str],
    max_possible_score: float,
) -> list[float]:
    """The shaped scores of a group; its lengths count from the next step on."""
    shaped = toggle.apply(
        step,
        np.array(scores),
        # Tokens that the model made: 0 marks those of a tool.
        [sum(mask) for mask in masks],
        [dataset] * len(scores),
        groups=len(scores),
        max_score=max_possible_score,
    )
    result: list[float] = shaped.scores.tolist()
    return result
