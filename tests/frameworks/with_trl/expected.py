"""The rule, written once more with NumPy, over the record of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

Call = dict[str, Any]


def shaped(calls: list[Call], m: int, lambda_: float, percentile: float, size: int) -> list[Any]:
    """What each call should have returned; groups are `size` completions side by side."""
    seen: list[tuple[int, str, int]] = []
    results = []
    for call in calls:
        step, lengths, datasets = call["step"], call["lengths"], call["datasets"]
        rewards = np.array(call["rewards"])
        solved = (rewards >= 1).reshape(-1, size).mean(axis=1).repeat(size)
        expected = rewards.tolist()
        for i, (length, dataset) in enumerate(zip(lengths, datasets, strict=True)):
            before = [n for at, name, n in seen if at < step and name == dataset]
            is_over = bool(before) and length > np.percentile(before, percentile)
            if (step // m) % 2 == 1 and solved[i] >= lambda_ and is_over:
                expected[i] = 0.0
        results.append(expected)
        seen += [
            (step, dataset, length)
            for length, dataset, reward in zip(lengths, datasets, rewards, strict=True)
            if reward >= 1
        ]
    return results
