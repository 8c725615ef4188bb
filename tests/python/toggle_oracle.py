"""The rules of `Toggle` as plain loops over samples, groups and steps.

It keeps every correct length with the step at which it came, and works each
budget out anew. It checks nothing: the tests of bad input do not use it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import toggle_rs
from oracle import Key

MASK = 2**64 - 1


def shuffled(lengths: Sequence[int]) -> list[int]:
    """The order in which a step's lengths come to an estimator that heeds order.

    It depends on the lengths alone: Fisher-Yates over the sorted lengths, with
    Knuth's MMIX generator started from their number.
    """
    values = sorted(lengths)
    state = len(values)
    for last in range(len(values) - 1, 0, -1):
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        other = (state >> 33) % (last + 1)
        values[last], values[other] = values[other], values[last]
    return values


def is_correct(scores: np.ndarray, max_score: Any) -> list[bool]:
    """What counts as correct when nobody says so: NumPy's own comparison."""
    result: list[bool] = (scores >= max_score).tolist()
    return result


def new_estimator(pattern: Any, percentile: float) -> Any:
    """An empty one of the kind that a name or an object stands for."""
    kinds: dict[str, Callable[[], Any]] = {
        "exact": toggle_rs.ExactQuantile,
        "p2": lambda: toggle_rs.P2Quantile(percentile / 100),
        "gk": lambda: toggle_rs.GKQuantile(0.001),
        "P2Quantile": lambda: toggle_rs.P2Quantile(pattern.q),
        "GKQuantile": lambda: toggle_rs.GKQuantile(pattern.epsilon),
        "WindowQuantile": lambda: toggle_rs.WindowQuantile(pattern.window),
        "DecayQuantile": lambda: toggle_rs.DecayQuantile(pattern.half_life),
    }
    return kinds[pattern if isinstance(pattern, str) else type(pattern).__name__]()


@dataclass
class History:
    """What is known of one key."""

    # One entry a step, with its lengths; step None: what counted at once.
    steps: list[tuple[int | None, list[int]]] = field(default_factory=list)
    fixed: float | None = None
    # When it was fixed: how many were known, and how many had come.
    count_then: int = 0
    came_then: int = 0

    def came(self) -> int:
        return sum(len(lengths) for _, lengths in self.steps)

    def count(self, window: float) -> int:
        """Correct responses; of a window, those in it."""
        if self.fixed is None:
            return int(min(self.came(), window))
        return self.count_then + self.came() - self.came_then


@dataclass
class Result:
    """The fields of `Shaped`, as lists; scores None where nothing is masked by phase."""

    scores: list[Any] | None
    kept: list[bool]
    has_signal: list[bool]
    group_accuracy: list[float]
    metrics: dict[str, float]


class ToggleOracle:
    """`Toggle` by definition."""

    def __init__(  # noqa: PLR0913 - the arguments of Toggle
        self,
        *,
        m: int,
        lambda_: float,
        percentile: float,
        warmup_steps: int = 0,
        estimator: Any = "exact",
        start_phase: str = "normal",
        freeze: str = "never",
        min_samples: int = 1,
        penalty: str = "zero",
    ) -> None:
        self.m = m
        self.lambda_ = lambda_
        self.percentile = percentile
        self.warmup_steps = warmup_steps
        self.estimator = estimator
        self.start_phase = start_phase
        self.freeze = freeze
        self.min_samples = min_samples
        self.penalty = penalty
        self.window = getattr(estimator, "window", math.inf)
        self.clock: int | None = None
        self.known: dict[Key, History] = {}
        # What was observed at the clock's own step: it counts from the next one on.
        self.today: dict[Key, list[int]] = {}

    def is_penalty_step(self, step: int) -> bool:
        if self.m == 0 or step < self.warmup_steps:
            return False
        first, second = ("normal", "length_penalty")
        if self.start_phase == "length_penalty":
            first, second = second, first
        return (first if (step // self.m) % 2 == 0 else second) == "length_penalty"

    def observe(
        self,
        keys: Sequence[Key],
        lengths: Sequence[int],
        correct: Sequence[bool],
        step: int | None = None,
    ) -> None:
        if self.m == 0:
            return
        if step is not None:
            self.advance(step)
        touched = set()
        for key, length, ok in zip(keys, lengths, correct, strict=True):
            if not ok:
                continue
            if step is not None:
                self.today.setdefault(key, []).append(length)
            else:
                self.known.setdefault(key, History()).steps.append((None, [length]))
                touched.add(key)
        if self.freeze == "first":
            for key in touched:
                self._fix(key)

    def advance(self, step: int) -> None:
        """Begin `step`: what an earlier step observed counts from now on."""
        if self.clock is not None and step > self.clock:
            for key, lengths in self.today.items():
                self.known.setdefault(key, History()).steps.append((self.clock, sorted(lengths)))
            fixes = {
                "never": False,
                "first": True,
                "warmup": self.clock >= self.warmup_steps,
            }[self.freeze]
            if fixes:
                for key in self.today:
                    self._fix(key)
            if self.freeze == "warmup" and self.clock < self.warmup_steps <= step:
                for key in self.known:
                    self._fix(key)
            self.today = {}
        self.clock = step

    def _fix(self, key: Key) -> None:
        history = self.known[key]
        if history.fixed is None:
            history.count_then, history.came_then = history.count(self.window), history.came()
            history.fixed = self._estimate(history)

    def _estimate(self, history: History) -> float | None:
        if self.estimator != "exact":
            return self._ask_the_estimator(history)
        lengths = [n for _, step_lengths in history.steps for n in step_lengths]
        if len(lengths) < self.min_samples:
            return None
        return float(np.percentile(np.array(lengths, np.int64), self.percentile))

    def _ask_the_estimator(self, history: History) -> float | None:
        """The class itself, fed step by step."""
        estimator = new_estimator(self.estimator, self.percentile)
        now = 0
        for step, lengths in history.steps:
            if hasattr(estimator, "tick"):
                assert step is not None
                estimator.tick(step - now)
                now = step
            estimator.update(np.array(shuffled(lengths), np.int64))
        if estimator.count < self.min_samples:
            return None
        return float(estimator.percentile(self.percentile))

    def as_of(self, step: int | None) -> ToggleOracle:
        """What it knows at the beginning of `step`; None: of the next one."""
        later = copy.copy(self)
        later.known = copy.deepcopy(self.known)
        if step is None:
            step = 0 if self.clock is None else self.clock + 1
        later.advance(step)
        return later

    def budget_now(self, key: Key) -> float | None:
        history = self.known.get(key)
        if history is None or not history.steps:
            return None
        return self._estimate(history) if history.fixed is None else history.fixed

    def budget(self, key: Key) -> float | None:
        return self.as_of(None).budget_now(key)

    def budgets(self) -> dict[Key, float]:
        later = self.as_of(None)
        found = {key: later.budget_now(key) for key in later.known}
        return {key: budget for key, budget in found.items() if budget is not None}

    def counts(self) -> dict[Key, int]:
        later = self.as_of(None)
        return {key: history.count(self.window) for key, history in later.known.items()}

    def shape(
        self,
        step: int,
        scores: np.ndarray,
        lengths: Sequence[int],
        keys: Sequence[Key],
        groups: Sequence[Any],
        correct: Sequence[bool],
    ) -> Result:
        """One sample after the other; nothing is recorded."""
        then = self.as_of(step)
        budgets = {key: then.budget_now(key) for key in keys}
        members: dict[Any, list[int]] = {}
        for i, group in enumerate(groups):
            members.setdefault(group, []).append(i)

        is_penalty = self.is_penalty_step(step)
        result = Result(list(scores), [True] * len(keys), [False] * len(keys), [], {})
        assert result.scores is not None
        accuracy_of, enforced, lost, gained = {}, 0, 0, 0
        for group, samples in members.items():
            accuracy = sum(correct[i] for i in samples) / len(samples)
            accuracy_of[group] = accuracy
            is_enforced = is_penalty and accuracy >= self.lambda_
            enforced += is_enforced
            for i in samples:
                budget = budgets[keys[i]]
                if is_enforced and budget is not None and lengths[i] > budget:
                    result.kept[i] = False
                    result.scores[i] = self._penalised(scores[i])
            had_signal = any(scores[i] != scores[samples[0]] for i in samples)
            has_signal = any(result.scores[i] != result.scores[samples[0]] for i in samples)
            lost += had_signal and not has_signal
            gained += has_signal and not had_signal
            for i in samples:
                result.has_signal[i] = has_signal
        result.group_accuracy = [accuracy_of[group] for group in groups]

        over = [
            Fraction(length) - Fraction(budget)
            for key, length, ok in zip(keys, lengths, correct, strict=True)
            if ok and (budget := budgets[key]) is not None and length > budget
        ]
        known = [budget for budget in budgets.values() if budget is not None]
        share = [n / len(members) if members else math.nan for n in (enforced, lost, gained)]
        result.metrics = {
            "toggle/length_penalty_phase": float(is_penalty),
            "toggle/kept_ratio": sum(result.kept) / len(keys) if keys else math.nan,
            "toggle/enforced_group_ratio": share[0],
            "toggle/lost_signal_group_ratio": share[1],
            "toggle/gained_signal_group_ratio": share[2],
            "toggle/tokens_over_budget": float(sum(over)),
            "toggle/budget_min": min(known, default=math.nan),
            "toggle/budget_median": float(np.median(known)) if known else math.nan,
            "toggle/budget_max": max(known, default=math.nan),
        }
        if not is_penalty:
            result.scores = None
        return result

    def _penalised(self, score: Any) -> Any:
        kind = type(score)
        if self.penalty == "zero":
            return score * kind(0)
        return score if score <= 0 else kind(0)
