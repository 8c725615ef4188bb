"""For NeMo-RL's GRPO loop. See docs/other_frameworks.md for the place."""

from __future__ import annotations

from typing import Any

from toggle_rs import Toggle


def shape_batch(
    toggle: Toggle, step: int, batch: dict[str, Any], group_size: int
) -> dict[str, float]:
    """Shapes `total_reward` of a repeated batch; lengths count from the next step. Metrics."""
    shaped = toggle.apply(
        step,
        batch["total_reward"],
        # Tokens that the model made, over all its turns.
        [
            sum(len(turn["token_ids"]) for turn in log if turn["role"] == "assistant")
            for log in batch["message_log"]
        ],
        batch["task_name"],
        groups=group_size,
    )
    batch["total_reward"] = shaped.scores  # a tensor again
    return shaped.metrics
