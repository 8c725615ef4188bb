"""For OpenRLHF's samples generator. See docs/other_frameworks.md for the place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from toggle_rs import Toggle


def shape_experiences(
    toggle: Toggle, step: int, experiences: Sequence[Any], dataset: str, max_score: float = 1.0
) -> None:
    """Shapes the rewards and scores of a prompt's experiences; lengths count from the next step."""
    shaped = toggle.apply(
        step,
        np.array([float(experience.rewards.item()) for experience in experiences]),
        # Tokens that the model made: those of tools have 0.
        [int(experience.action_mask.sum()) for experience in experiences],
        [dataset] * len(experiences),
        groups=len(experiences),
        correct=np.array(
            [float(experience.scores.item()) >= max_score for experience in experiences]
        ),
    )
    for experience, is_kept in zip(experiences, shaped.kept.tolist(), strict=True):
        # Floats also where a tensor held integers. The dynamic filter looks at the scores.
        experience.rewards = experience.rewards * float(is_kept)
        experience.scores = experience.scores * float(is_kept)
