"""For a subclass of SkyRL's trainer. See docs/other_frameworks.md for the place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from toggle_rs import Toggle


def shape_output(
    toggle: Toggle, step: int, output: dict[str, Any], uids: Sequence[str], dataset: str
) -> tuple[dict[str, Any], dict[str, float]]:
    """The generator's output with shaped rewards, and metrics; lengths count from the next step."""
    rewards = output["rewards"]
    totals = [sum(reward) if isinstance(reward, list) else reward for reward in rewards]
    shaped = toggle.apply(
        step,
        np.array(totals, float),
        # Tokens that the model made.
        [sum(mask) for mask in output["loss_masks"]],
        [dataset] * len(totals),
        groups=list(uids),
    )
    # A shaped reward is the reward, or 0 at every token. SkyRL shares the inner lists.
    scores = [
        reward if score == total else [0.0] * len(reward) if isinstance(reward, list) else 0.0
        for reward, total, score in zip(rewards, totals, shaped.scores.tolist(), strict=True)
    ]
    return {**output, "rewards": scores}, shaped.metrics
