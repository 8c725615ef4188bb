"""What the examples of `Toggle` by hand have in common."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from toggle_rs import Toggle


def toggle(**options: Any) -> Toggle:
    """Every step is a penalty step, every group is enforced, the budget is the median."""
    usual = {"m": 1000, "lambda_": 0.0, "percentile": 50.0, "start_phase": "length_penalty"}
    settings: dict[str, Any] = usual | options
    return Toggle(**settings)


def observe(t: Toggle, *lengths: int, step: int | None, key: str = "math") -> None:
    t.observe([key] * len(lengths), list(lengths), np.ones(len(lengths)), step=step)


def budget_at(t: Toggle, step: int, key: str = "math") -> float | None:
    """The budget that a step uses, as the metrics tell it."""
    shaped = t.shape(step, np.ones(1), [1], [key], groups=1)
    budget = shaped.metrics["toggle/budget_max"]
    return None if math.isnan(budget) else budget


def is_masked(t: Toggle, step: int, length: int) -> bool:
    shaped = t.shape(step, np.ones(2), [length, 0], ["math"] * 2, groups=2)
    assert shaped.scores[1] == 1.0
    return bool(shaped.scores[0] == 0.0)
