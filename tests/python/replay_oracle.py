"""A replay by definition: plain loops over rows, with `np.percentile` of growing lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from oracle import ReferenceTracker, key_of
from toggle_rs.replay import Settings

Row = dict[str, Any]


def row(step: int, prompt: int, sample: int, length: int = 3, **fields: Any) -> Row:
    """A line of a trace."""
    return {
        "step": step,
        "sample_idx": sample,
        "prompt_idx": prompt,
        "response_tokens": [0] * length,
        "reward": 1.0,
        "dataset": "math",
    } | fields


def steps_of(rows: list[Row]) -> Iterator[tuple[int, list[Row]]]:
    """Rows of each step, the samples of a prompt side by side."""
    rows = sorted(rows, key=lambda row: (row["step"], row["prompt_idx"], row["sample_idx"]))
    return ((step, list(rows)) for step, rows in groupby(rows, key=lambda row: row["step"]))


def groups_of(batch: list[Row]) -> list[list[Row]]:
    return [list(rows) for _, rows in groupby(batch, key=lambda row: row["prompt_idx"])]


def name_of(row: Row) -> str:
    return "|".join(key_of(row["dataset"]))


def has_signal(scores: list[float]) -> bool:
    return any(score != scores[0] for score in scores)


@dataclass
class Budgets:
    """Budgets by dataset, as the estimator "exact" and a freeze rule make them."""

    settings: Settings
    lengths: dict[str, list[int]] = field(default_factory=dict)
    fixed: dict[str, float] = field(default_factory=dict)
    is_warm: bool = False

    def of(self, name: str) -> float | None:
        known = self.lengths.get(name, [])
        if name in self.fixed:
            return self.fixed[name]
        if len(known) < self.settings.min_samples:
            return None
        return float(np.percentile(known, self.settings.percentile))

    def begin(self, step: int) -> None:
        """Warm-up ends before the first step at or behind it."""
        is_warm = step >= self.settings.warmup_steps
        if self.settings.freeze == "warmup" and is_warm and not self.is_warm:
            self.fix(self.lengths)
        self.is_warm = is_warm

    def add(self, batch: list[Row]) -> None:
        correct = [row for row in batch if row["reward"] >= self.settings.max_score]
        for row in correct:
            self.lengths.setdefault(name_of(row), []).append(len(row["response_tokens"]))
        freeze = self.settings.freeze
        if freeze == "first" or (freeze == "warmup" and self.is_warm):
            self.fix(map(name_of, correct))

    def fix(self, names: Any) -> None:
        for name in names:
            budget = self.of(name)
            if budget is not None:
                self.fixed.setdefault(name, budget)


@dataclass
class OracleStep:
    step: int
    penalty: bool
    kept_ratio: float | None
    budgets: dict[str, float]
    rows: list[Row]


def is_penalty(settings: Settings, step: int) -> bool:
    if step < settings.warmup_steps:
        return False
    if settings.m is None:
        return True
    return (step // settings.m % 2 == 1) == (settings.start_phase == "normal")


def shape(
    group: list[Row], settings: Settings, budgets: dict[str, float | None], *, penalty: bool
) -> None:
    if settings.is_drop_in:
        accuracy = (np.array([one["reward"] for one in group]) / settings.max_score).mean()
    else:
        accuracy = sum(one["reward"] >= settings.max_score for one in group) / len(group)
    for one in group:
        length, budget = len(one["response_tokens"]), budgets[name_of(one)]
        over = penalty and budget is not None and length > budget
        enforced = penalty and accuracy >= settings.lambda_
        masked = enforced and over
        one.update(seen=True, kept=not masked, enforced=enforced)
        one["above"] = length - budget if over and budget is not None else 0
        if masked and (settings.penalty == "zero" or one["reward"] > 0):
            one["shaped"] = 0.0


def replay_by_definition(rows: list[Row], settings: Settings) -> tuple[list[OracleStep], Budgets]:
    """The steps, their rows marked: seen, kept, shaped, above, enforced; and the last budgets."""
    budgets, steps = Budgets(settings), []
    for step, batch in steps_of(rows):
        penalty = is_penalty(settings, step)
        groups = groups_of(batch)
        if settings.filter == "before":
            groups = [group for group in groups if has_signal([one["reward"] for one in group])]
        seen = [one for group in groups for one in group]
        for one in batch:
            shaped = one["reward"]
            one.update(seen=False, kept=True, shaped=shaped, above=0, enforced=False)
        if not seen:
            steps.append(OracleStep(step, penalty, None, {}, batch))
            continue
        budgets.begin(step)
        if settings.budget_from == "same-step":
            budgets.add(seen)
        used = {name: budgets.of(name) for name in map(name_of, seen)}
        for group in groups:
            shape(group, settings, used, penalty=penalty)
        if settings.budget_from == "earlier-steps":
            budgets.add(seen)
        kept = float(np.mean([one["kept"] for one in seen])) if penalty else None
        known = {name: budget for name, budget in used.items() if budget is not None}
        steps.append(OracleStep(step, penalty, kept, known, batch))
    return steps, budgets


def reference_agrees(settings: Settings, steps: list[OracleStep]) -> bool:
    """Whether the reference tracker, called a step at a time, gives the oracle's steps."""
    assert settings.is_drop_in
    assert settings.m is not None
    tracker = ReferenceTracker(
        settings.m, settings.lambda_, settings.percentile, settings.warmup_steps
    )
    for step in steps:
        batch = [one for one in step.rows if one["seen"]]
        if not batch:
            continue
        shaped, metrics = tracker.maybe_apply(
            step.step,
            np.array([one["reward"] for one in batch], dtype=np.float64),
            np.array([len(one["response_tokens"]) for one in batch]),
            [one["dataset"] for one in batch],
            len(groups_of(batch)[0]),
            settings.max_score,
        )
        budgets = {f"toggle/budget/{name}": budget for name, budget in step.budgets.items()}
        if (
            shaped.tolist() != [one["shaped"] for one in batch]
            or metrics.get("toggle/mask_kept_ratio") != step.kept_ratio
            or {name: n for name, n in metrics.items() if "/budget/" in name} != budgets
        ):
            return False
    return True


def advantages(scores: list[float]) -> list[float]:
    """GRPO's, of one group."""
    if not has_signal(scores):
        return [0.0] * len(scores)
    values = np.array(scores)
    result: list[float] = ((values - values.mean()) / values.std()).tolist()
    return result


def covariance(groups: list[list[Row]], score: str) -> float:
    """Of advantage and length, over whole groups."""
    advantage = [a for group in groups for a in advantages([one[score] for one in group])]
    length = [len(one["response_tokens"]) for group in groups for one in group]
    return float(np.cov(advantage, length, ddof=0)[0, 1])
