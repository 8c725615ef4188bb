"""Random runs of `Toggle` beside the oracle: ragged, interleaved groups of any kind of id."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import toggle_rs
from agreement import same_array
from oracle import Key, key_of
from strategies import (
    INTEGERS,
    KEYS,
    LAYOUTS,
    MAX_SCORES,
    SCORE_DTYPES,
    Source,
    draw_datasets,
    draw_lengths,
    draw_percentile,
    draw_scores,
    fresh,
    laid_out,
    object_array,
)
from toggle_oracle import Result, ToggleOracle, is_correct

METRICS = (
    "length_penalty_phase", "kept_ratio", "enforced_group_ratio", "lost_signal_group_ratio",
    "gained_signal_group_ratio", "tokens_over_budget", "budget_min", "budget_median", "budget_max",
)  # fmt: skip

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "exact": lambda: "exact",
    "p2": lambda: "p2",
    "gk": lambda: "gk",
    "coarse gk": lambda: toggle_rs.GKQuantile(0.1),
    "window": lambda: toggle_rs.WindowQuantile(7),
    "decay": lambda: toggle_rs.DecayQuantile(3.0),
}
FREEZES = ("never", "warmup", "first")
START_PHASES = ("normal", "length_penalty")
PENALTIES = ("zero", "cap_at_zero")


def needs_clock(settings: dict[str, Any]) -> bool:
    return settings["freeze"] == "warmup" or "Decay" in type(settings["estimator"]).__name__


@dataclass
class Batch:
    """The arguments of a call, and what they mean in plain Python."""

    scores: np.ndarray
    lengths: Any
    datasets: Any
    groups: Any
    correct: np.ndarray | None
    max_score: Any
    keys: list[Key]
    plain_lengths: list[int]
    plain_groups: list[Any]
    plain_correct: list[bool]

    def __len__(self) -> int:
        return len(self.keys)

    def correctness(self) -> dict[str, Any]:
        if self.correct is not None:
            return {"correct": self.correct}
        return {"max_score": self.max_score}

    def shaping(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        arguments = (self.scores, self.lengths, self.datasets)
        return arguments, {"groups": self.groups, **self.correctness()}

    def plain(self) -> tuple[np.ndarray, list[int], list[Key], list[Any], list[bool]]:
        return self.scores, self.plain_lengths, self.keys, self.plain_groups, self.plain_correct

    def recorded(self) -> tuple[list[Key], list[int], list[bool]]:
        return self.keys, self.plain_lengths, self.plain_correct

    def take(self, order: np.ndarray) -> Batch:
        """The samples at these places, in this order; groups by id."""
        picked = order.tolist()
        groups = [self.plain_groups[i] for i in picked]
        per_sample = isinstance(self.max_score, np.ndarray)
        return Batch(
            scores=self.scores[order],
            lengths=[self.plain_lengths[i] for i in picked],
            datasets=[self.keys[i] for i in picked],
            groups=groups,
            correct=None if self.correct is None else np.asarray(self.correct)[order],
            max_score=self.max_score[order] if per_sample else self.max_score,
            keys=[self.keys[i] for i in picked],
            plain_lengths=[self.plain_lengths[i] for i in picked],
            plain_groups=groups,
            plain_correct=[self.plain_correct[i] for i in picked],
        )


def listed(ids: list[Any]) -> Any:
    return list(ids)


STR_ID_FORMS: dict[str, Callable[[list[str]], Any]] = {
    "list": listed,
    "fresh list": lambda ids: [fresh(name) for name in ids],
    "tuple": tuple,
    "object array": object_array,
    "strided object array": lambda ids: np.repeat(object_array(ids), 2)[::2],
    "str array": lambda ids: np.array(ids, np.str_),
    "reversed str array": lambda ids: np.array(ids[::-1], np.str_)[::-1],
}
INT_ID_FORMS: dict[str, Callable[[list[int]], Any]] = {
    "list": listed,
    "tuple": tuple,
    "object array": object_array,
    "NumPy scalars": lambda ids: [np.int64(i) for i in ids],
}


def draw_groups(source: Source, n: int) -> tuple[Any, list[Any]]:
    """The argument `groups`, and an id a sample."""
    kind = source.one_of(("K", "int array", "int list", "str"))
    rng = source.rng()
    if kind == "K":
        divisors = [k for k in range(1, n + 1) if n % k == 0] or [1, 3]
        size = source.one_of(divisors)
        forms: tuple[Callable[[int], Any], ...] = (int, np.int64, np.uint8, np.array)
        return source.one_of(forms)(size), [i // size for i in range(n)]
    # Ragged, and interleaved unless sorted: group numbers first, ids for them after.
    numbers = rng.integers(0, source.integer(1, max(1, n)), n)
    if source.one_of((False, True)):
        numbers = np.sort(numbers)
    if kind == "str":
        pool = [str(name) for name in ("", "a", "a|b", "größe", "🧮", "nul\0inside", "x" * 70)]
        names = [pool[i] if i < len(pool) else f"uid-{i}" for i in numbers.tolist()]
        form_of_names = STR_ID_FORMS[source.one_of(list(STR_ID_FORMS))]
        if n == 0:
            return list(names), names
        return form_of_names(names), names
    if kind == "int list":
        pool_of_ints = [0, -1, 2**62, -(2**63), 7, 5]
        if source.one_of((False, True)):
            pool_of_ints += [2**63, 2**64 - 1, 2**100, 2**127 - 1, -(2**127)]
        ints = [pool_of_ints[i] if i < len(pool_of_ints) else i for i in numbers.tolist()]
        form_of_ints = INT_ID_FORMS[source.one_of(list(INT_ID_FORMS))]
        if form_of_ints is INT_ID_FORMS["NumPy scalars"]:
            ints = numbers.tolist()
        return form_of_ints(ints), ints
    dtype = np.dtype(source.one_of(INTEGERS))
    info = np.iinfo(dtype)
    spread = source.one_of(("small", "ends", "wide"))
    if spread == "small":
        table = np.arange(n + 1) % 100
    elif spread == "ends":
        both = [info.min + i // 2 if i % 2 else info.max - i // 2 for i in range(n + 1)]
        table = np.array(both, dtype)
    else:
        table = rng.integers(info.min, info.max, n + 1, dtype, endpoint=True)
    ids = table.astype(dtype)[numbers] if n else np.zeros(0, dtype)
    return laid_out(ids, source.one_of(LAYOUTS)), ids.tolist()


def draw_batch(source: Source, most: int = 40) -> Batch:
    n = source.one_of((source.integer(0, 4), source.integer(0, most)))
    dtype = np.dtype(source.one_of(("float64", "float32", *SCORE_DTYPES)))
    max_score: Any = source.one_of(MAX_SCORES)
    scores = laid_out(draw_scores(source, n, dtype, float(max_score)), source.one_of(LAYOUTS))
    rng = source.rng()
    if source.one_of((False, False, True)):
        kinds = source.one_of(("float64", "float32", "int64", "uint8"))
        limits = rng.choice(np.array([float(max_score), 1.0, 3.0]), n)
        max_score = laid_out(np.maximum(limits, 1).astype(kinds), source.one_of(LAYOUTS))
    # Few values lie on the budget, more of them between two lengths.
    kind = source.one_of(("few", "few", "many", "any"))
    lengths = draw_lengths(source, n)
    if kind != "any":
        lengths = rng.integers(0, 4 if kind == "few" else 300, n)
    datasets = draw_datasets(source, n, source.one_of((1, 4)))
    correct = None
    if source.one_of((False, True)):
        correct = laid_out(rng.random(n) < source.one_of((0.5, 0.9, 1.0)), source.one_of(LAYOUTS))
    groups, plain_groups = draw_groups(source, n)
    return Batch(
        scores=scores,
        lengths=lengths.tolist() if source.one_of((False, True)) else laid_out(
            lengths, source.one_of(LAYOUTS)
        ),
        datasets=datasets,
        groups=groups,
        correct=correct,
        max_score=max_score,
        keys=[tuple(str(part) for part in key_of(name)) for name in datasets],
        plain_lengths=[int(length) for length in lengths],
        plain_groups=plain_groups,
        plain_correct=is_correct(scores, max_score) if correct is None else correct.tolist(),
    )  # fmt: skip


def draw_settings(source: Source, **fixed: Any) -> dict[str, Any]:
    drawn = {
        "m": source.one_of((1, 2, 3, 0)),
        "lambda_": source.one_of((0.5, 0.9, 0.0, 1.0, 1 / 3, -1.0, 2.0)),
        "percentile": draw_percentile(source),
        "warmup_steps": source.one_of((0, 1, 3, 6)),
        "estimator": ESTIMATORS[source.one_of(list(ESTIMATORS))](),
        "start_phase": source.one_of(START_PHASES),
        "freeze": source.one_of(FREEZES),
        "min_samples": source.one_of((1, 2, 7)),
        "penalty": source.one_of(PENALTIES),
    }
    return drawn | fixed


def check_shaped(shaped: Any, expected: Result, scores: np.ndarray) -> None:
    if expected.scores is None:
        assert shaped.scores is scores
    else:
        assert shaped.scores is not scores
        assert same_array(shaped.scores, np.array(expected.scores, scores.dtype))
        assert shaped.scores.flags.writeable
        assert not np.shares_memory(shaped.scores, scores)
    assert same_array(shaped.kept, np.array(expected.kept, bool))
    assert same_array(shaped.has_signal, np.array(expected.has_signal, bool))
    assert same_array(shaped.group_accuracy, np.array(expected.group_accuracy, np.float64))
    assert list(shaped.metrics) == [f"toggle/{name}" for name in METRICS]
    for name, value in expected.metrics.items():
        ours = shaped.metrics[name]
        assert type(ours) is float
        # For tokens, budgets are taken to 2^-52 and the sum is rounded twice; else nothing is.
        in_tokens = "tokens" in name
        relative, absolute = (4e-16, len(scores) * 2.0**-51) if in_tokens else (0.0, 0.0)
        same = math.isclose(ours, value, rel_tol=relative, abs_tol=absolute)
        assert same or (math.isnan(ours) and math.isnan(value)), (name, ours, value)


def check_state(toggle: Any, oracle: ToggleOracle) -> None:
    assert toggle.counts() == oracle.counts()
    budgets = oracle.budgets()
    assert toggle.budgets() == budgets
    for name in KEYS:
        assert toggle.budget(name) == budgets.get(key_of(name))


def check_run(make: Callable[..., Any], source: Source, calls: int, **fixed: Any) -> None:
    """Observes, shapes and applies at steps that never go back, and compares all there is."""
    settings = draw_settings(source, **fixed)
    toggle, oracle = make(**settings), ToggleOracle(**settings)
    step = source.integer(0, 3)
    for _ in range(calls):
        step += source.one_of((0, 1, 1, 2, 5))
        batch = draw_batch(source)
        arguments, options = batch.shaping()
        before = [np.array(a).tobytes() for a in (batch.scores, batch.plain_lengths)]
        call = source.one_of(("observe", "shape", "apply", "observe at once"))
        if call == "observe at once" and not needs_clock(settings):
            toggle.observe(batch.datasets, batch.lengths, batch.scores, **batch.correctness())
            oracle.observe(*batch.recorded())
        elif call.startswith("observe"):
            toggle.observe(
                batch.datasets, batch.lengths, batch.scores, **batch.correctness(), step=step
            )
            oracle.observe(*batch.recorded(), step)
        else:
            expected = oracle.shape(step, *batch.plain())
            if call == "apply":
                shaped = toggle.apply(step, *arguments, **options)
                oracle.observe(*batch.recorded(), step)
            else:
                # A look ahead is allowed, and moves no clock.
                shaped = toggle.shape(step, *arguments, **options)
            check_shaped(shaped, expected, batch.scores)
        assert before == [np.array(a).tobytes() for a in (batch.scores, batch.plain_lengths)]
        if source.one_of((True, False)):
            check_state(toggle, oracle)
    check_state(toggle, oracle)
