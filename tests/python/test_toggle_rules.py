"""Each rule of `Toggle` in the words of its docs, by an example worked out by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import toggle_rs
from strategies import SCORE_DTYPES, fresh
from toggle_rs import Shaped, Toggle
from toggle_runs import ESTIMATORS, FREEZES, METRICS, PENALTIES, START_PHASES, needs_clock

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def toggle(**options: Any) -> Toggle:
    """Every step is a penalty step, every group is enforced, the budget is the median."""
    usual = {"m": 1000, "lambda_": 0.0, "percentile": 50.0, "start_phase": "length_penalty"}
    return Toggle(**(usual | options))


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


# The formula


def test_the_formula() -> None:
    """r * 1[accuracy(x) < lambda_ or |y| <= budget(d)]"""
    t = toggle(lambda_=0.5)
    observe(t, 100, 200, 300, step=0)
    # Solved by half or more: what is longer than 200 tokens loses its reward, wrong or right.
    half = t.shape(1, np.array([1.0, 1.0, 0.25, 0.25]), [201, 200, 999, 1], ["math"] * 4, groups=4)
    assert half.scores.tolist() == [0.0, 1.0, 0.0, 0.25]
    assert half.kept.tolist() == [False, True, False, True]
    assert half.group_accuracy.tolist() == [0.5] * 4
    # Solved less often: everything stays.
    less = t.shape(1, np.array([1.0, 0.5, 0.5, 0.5]), [999] * 4, ["math"] * 4, groups=4)
    assert less.scores.tolist() == [1.0, 0.5, 0.5, 0.5]
    assert less.kept.all()


@pytest.mark.parametrize(("lambda_", "masked"), [(2 / 3, True), (np.nextafter(2 / 3, 1), False)])
def test_lambda_groups_with_an_accuracy_below_it_keep_their_scores(
    lambda_: float, masked: bool
) -> None:
    t = toggle(lambda_=lambda_)
    observe(t, 10, step=0)
    shaped = t.shape(1, np.array([1.0, 1.0, 0.0]), [11, 1, 1], ["math"] * 3, groups=3)
    assert bool(shaped.scores[0] == 0.0) is masked


@pytest.mark.parametrize("lambda_", [-5.0, 0.0, 1.5, 1e300, True, np.float32(0.5)])
def test_lambda_may_be_any_finite_number(lambda_: float) -> None:
    t = toggle(lambda_=lambda_)
    observe(t, 10, step=0)
    assert is_masked(t, 1, 11) is bool(lambda_ <= 1)


def test_percentile_is_as_numpy_takes_it() -> None:
    lengths = [3, 1000, 41, 7, 7, 650]
    for percentile in (0, 12.5, 50, 80, 99.9, 100):
        t = toggle(percentile=percentile)
        observe(t, *lengths, step=0)
        assert t.budget("math") == np.percentile(lengths, percentile)


# Phases


def test_m_is_the_length_of_a_phase_in_steps() -> None:
    t = toggle(m=3, start_phase="normal")
    assert [t.is_penalty_step(s) for s in range(9)] == [False] * 3 + [True] * 3 + [False] * 3


def test_start_phase_is_the_phase_of_the_first_m_steps() -> None:
    t = toggle(m=2, start_phase="length_penalty")
    assert [t.is_penalty_step(s) for s in range(6)] == [True, True, False, False, True, True]


def test_warmup_steps_are_steps_at_the_beginning_without_a_penalty() -> None:
    """They hide penalty steps, they shift none."""
    t = toggle(m=2, start_phase="length_penalty", warmup_steps=1)
    assert [t.is_penalty_step(s) for s in range(6)] == [False, True, False, False, True, True]
    t = toggle(m=2, start_phase="normal", warmup_steps=7)
    assert [s for s in range(13) if t.is_penalty_step(s)] == [7, 10, 11]


def test_m_of_0_disables_nothing_is_recorded_or_shaped() -> None:
    t = toggle(m=0)
    observe(t, 10, step=0)
    observe(t, 10, step=None)
    scores = np.ones(2)
    for call in (t.shape, t.apply):
        shaped = call(5, scores, [11, 1], ["math"] * 2, groups=2)
        assert shaped.scores is scores
        assert shaped.kept.all()
        assert shaped.metrics["toggle/length_penalty_phase"] == 0.0
        assert math.isnan(shaped.metrics["toggle/budget_max"])
    assert t.counts() == t.budgets() == {}
    assert not any(t.is_penalty_step(step) for step in range(5))
    # The clock has not moved either.
    t.observe(["math"], [1], np.ones(1), step=0)
    assert t == toggle(m=0)
    # Groups are always checked.
    with pytest.raises(ValueError, match="groups"):
        t.shape(0, scores, [11, 1], ["math"] * 2, groups=3)


@pytest.mark.parametrize("scores", [np.ones(2), [1.0, 1.0], np.ones(4)[::2], np.ones(2, "i2")])
def test_the_very_object_comes_back_where_the_phase_changes_nothing(scores: Any) -> None:
    t = toggle(m=1, start_phase="normal")
    observe(t, 10, step=0)
    for call in (t.shape, t.apply):
        assert call(2, scores, [99, 99], ["math"] * 2, groups=2).scores is scores
    # In a penalty step it does not, not even where all are kept.
    assert t.shape(3, scores, [1, 1], ["math"] * 2, groups=2).scores is not scores


# Time


def test_what_is_observed_at_step_s_counts_from_step_s_plus_1_on() -> None:
    t = toggle()
    observe(t, 10, step=3)
    assert budget_at(t, 3) is None
    assert budget_at(t, 4) == t.budget("math") == 10.0
    observe(t, 20, step=3)  # the step comes in many calls
    assert budget_at(t, 3) is None
    assert budget_at(t, 4) == t.budget("math") == 15.0
    observe(t, 60, step=4)
    assert budget_at(t, 4) == 15.0
    assert budget_at(t, 99) == t.budget("math") == 20.0


def test_without_a_step_it_counts_at_once() -> None:
    t = toggle()
    observe(t, 10, step=None)
    assert budget_at(t, 0) == t.budget("math") == 10.0
    observe(t, 20, step=7)
    observe(t, 40, step=None)
    assert budget_at(t, 7) == 25.0
    assert budget_at(t, 8) == t.budget("math") == 20.0


def test_apply_shapes_with_what_was_known_before_the_step_then_observes() -> None:
    t = toggle()
    scores, datasets = np.ones(2), ["math"] * 2
    assert t.apply(0, scores, [10, 20], datasets, groups=2).kept.all()
    assert t.apply(0, scores, [30, 90], datasets, groups=2).kept.all()
    assert t.counts() == {("math",): 4}
    assert t.apply(1, scores, [25, 26], datasets, groups=2).kept.tolist() == [True, False]
    assert t.budget("math") == np.percentile([10, 20, 30, 90, 25, 26], 50)


def test_shape_records_nothing_and_moves_no_clock() -> None:
    t = toggle()
    observe(t, 10, step=2)
    before = t.counts(), t.budgets()
    t.shape(50, np.ones(1), [99], ["code"], groups=1)
    assert (t.counts(), t.budgets()) == before
    observe(t, 20, step=2)  # 2 is still the last step


def test_only_correct_responses_are_observed() -> None:
    t = toggle()
    t.observe(["a", "a", "b"], [1, 2, 3], np.array([1.0, 0.99, 0.0]), step=0)
    assert t.counts() == {("a",): 1}
    assert t.budgets() == {("a",): 1.0}
    assert t.budget("b") is None


def test_no_budget_keeps_everything() -> None:
    t = toggle()
    observe(t, 10, step=0, key="other")
    assert not is_masked(t, 1, 2**53)


# Freezing


def test_freeze_never_the_budget_follows_what_is_observed() -> None:
    t = toggle(freeze="never")
    for step in range(5):
        observe(t, 10 * step, step=step)
    assert t.budget("math") == 20.0


def test_freeze_first_by_the_first_step_after_which_it_has_one() -> None:
    t = toggle(freeze="first")
    observe(t, 10, step=4)
    observe(t, 20, step=4)  # the same step, a group at a time
    assert t.budget("math") == 15.0
    for step in range(5, 9):
        observe(t, 1000, 1000, step=step)
        assert budget_at(t, step) == budget_at(t, step + 1) == t.budget("math") == 15.0
    assert t.counts() == {("math",): 10}


def test_freeze_first_by_the_first_call_without_a_step_after_which_it_has_one() -> None:
    t = toggle(freeze="first")
    observe(t, 10, 30, step=None)
    observe(t, 999, step=None)
    assert t.budget("math") == 20.0
    assert t.counts() == {("math",): 3}


def test_freeze_first_waits_for_min_samples() -> None:
    t = toggle(freeze="first", min_samples=3)
    observe(t, 10, 20, step=0)
    assert t.budget("math") is None
    observe(t, 30, 40, step=1)
    observe(t, 999, step=2)
    assert t.budget("math") == 25.0


def test_freeze_warmup_keys_with_a_budget_are_fixed_when_warm_up_ends() -> None:
    t = toggle(freeze="warmup", warmup_steps=3)
    observe(t, 10, step=0)
    observe(t, 30, step=2)
    observe(t, 999, step=3)
    observe(t, 999, step=4)
    assert t.budget("math") == 20.0
    assert t.counts() == {("math",): 4}


def test_freeze_warmup_a_key_without_a_budget_then_as_under_first() -> None:
    t = toggle(freeze="warmup", warmup_steps=3, min_samples=2)
    observe(t, 10, 10, step=1)
    observe(t, 50, step=2, key="late")
    observe(t, 60, step=5, key="late")
    observe(t, 70, step=5, key="late")
    observe(t, 999, step=6, key="late")
    observe(t, 1, step=9)
    assert t.budgets() == {("math",): 10.0, ("late",): 60.0}
    # Observed for the first time long after warm-up.
    observe(t, 5, 7, step=10, key="new")
    observe(t, 999, step=11, key="new")
    assert t.budget("new") == 6.0


def test_freeze_warmup_when_the_steps_jump_over_its_end() -> None:
    t = toggle(freeze="warmup", warmup_steps=3)
    observe(t, 10, step=0)
    observe(t, 999, step=100)
    observe(t, 999, step=200)
    assert t.budget("math") == 10.0


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_of_a_fixed_key_only_budget_count_and_step_are_kept(estimator: str) -> None:
    live, fixed = (
        toggle(freeze=freeze, estimator=ESTIMATORS[estimator]()) for freeze in ("never", "first")
    )
    empty = toggle(freeze="first", estimator=ESTIMATORS[estimator]()).nbytes
    lengths = np.random.default_rng(0).integers(0, 30_000, 20_000)
    sizes = []
    for t in (live, fixed):
        t.observe(["math"] * len(lengths), lengths, np.ones(len(lengths)), step=0)
        budget = t.budget("math")
        for step in (1, 2):  # the room that the large step took is given back or reused
            observe(t, 1, step=step)
        sizes.append(t.nbytes)
        if t is fixed:
            assert t.budget("math") == budget
    if estimator in ("exact", "decay"):
        assert sizes[0] - sizes[1] > 10_000
    assert sizes[1] < sizes[0] + empty


# min_samples and penalty


def test_min_samples_correct_responses_below_which_a_key_has_no_budget() -> None:
    t = toggle(min_samples=3)
    observe(t, 10, 10, step=0)
    assert t.budget("math") is None
    assert t.budgets() == {}
    assert t.counts() == {("math",): 2}
    assert not is_masked(t, 1, 99)
    observe(t, 10, step=1)
    assert t.budget("math") == 10.0
    assert is_masked(t, 2, 99)


NEGATIVE = [-1.0, -0.0, 0.0, 0.5, 2.0]


@pytest.mark.parametrize("dtype", SCORE_DTYPES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_penalty_zero_times_0_or_cap_at_zero_min_of_r_and_0(penalty: str, dtype: str) -> None:
    t = toggle(penalty=penalty)
    observe(t, 10, step=0)
    scores = np.abs(NEGATIVE).astype(dtype) if dtype[0] == "u" else np.array(NEGATIVE).astype(dtype)
    shaped = t.shape(1, scores, [11] * 5, ["math"] * 5, groups=5, correct=np.ones(5, bool))
    assert not shaped.kept.any()
    zero = np.zeros(5, dtype)
    expected = scores * zero if penalty == "zero" else np.where(scores <= zero, scores, zero)
    assert shaped.scores.dtype == scores.dtype
    # -1.0 * 0 is -0.0, and min(-0.0, 0) keeps its sign.
    assert shaped.scores.tobytes() == expected.astype(dtype).tobytes()


def test_a_negative_score_does_not_go_up_with_cap_at_zero() -> None:
    scores = np.array([-2.0, 1.0])
    for penalty, first in (("zero", 0.0), ("cap_at_zero", -2.0)):
        t = toggle(penalty=penalty)
        observe(t, 10, step=0)
        shaped = t.shape(1, scores, [99, 99], ["math"] * 2, groups=2)
        assert shaped.scores.tolist() == [first, 0.0]


# The report's own form


def test_kimi_k25_is_the_reports_own_form() -> None:
    """Penalty first, no warm-up, each problem's budget fixed by its first K responses."""
    t = Toggle.kimi_k25(m=2, lambda_=0.5, percentile=80.0)
    settings = dict(t.settings)
    assert settings == {
        "m": 2, "lambda_": 0.5, "percentile": 80.0, "warmup_steps": 0, "estimator": "exact",
        "start_phase": "length_penalty", "freeze": "first", "min_samples": 1, "penalty": "zero",
    }  # fmt: skip
    assert t == Toggle(**settings)
    assert t.is_penalty_step(0)
    first = t.apply(0, np.array([1.0, 1.0, 0.0, 1.0]), [100, 200, 999, 300], ["p1"] * 4, groups=4)
    assert first.kept.all()
    budget = np.percentile([100, 200, 300], 80)
    t.apply(4, np.ones(4), [1, 1, 1, 9999], ["p1"] * 4, groups=4)
    assert t.budgets() == {("p1",): budget}
    assert t.counts() == {("p1",): 7}
    again = t.shape(5, np.ones(2), [int(budget), int(budget) + 1], ["p1"] * 2, groups=2)
    assert again.scores.tolist() == [1.0, 0.0]


def test_kimi_k25_makes_an_object_of_the_class_it_is_called_on() -> None:
    class Mine(Toggle):
        pass

    assert type(Mine.kimi_k25(m=1, lambda_=0.5, percentile=80.0)) is Mine


# What is correct


def test_without_correct_those_with_score_at_least_max_score_are() -> None:
    scores = np.array([10.0, 9.99, 3.0])
    t = toggle()
    t.observe(["math"] * 3, [1, 2, 3], scores, max_score=10.0, step=0)
    assert t.counts() == {("math",): 1}
    shaped = t.shape(1, scores, [9, 9, 9], ["math"] * 3, groups=3, max_score=10)
    assert shaped.group_accuracy.tolist() == [1 / 3] * 3


def test_max_score_may_be_one_per_sample() -> None:
    scores, limits = np.array([1.0, 1.0, 3.0]), np.array([1.0, 2.0, 2.5])
    t = toggle()
    t.observe(["math"] * 3, [1, 2, 3], scores, max_score=limits, step=0)
    assert t.budget("math") == 2.0
    assert t.counts() == {("math",): 2}
    # float32 beside float64 compares as NumPy does: 0.1 in float32 is above 0.1.
    near = np.array([0.1, 0.1], "float32")
    for limit in (np.array([0.1, 0.1]), np.array([0.1, 0.1], "float32"), np.array([1, 1])):
        t = toggle()
        t.observe(["math"] * 2, [1, 2], near, max_score=limit, step=0)
        assert sum(t.counts().values()) == int((near >= limit).sum())


def test_correct_apart_from_the_scores() -> None:
    """Partial credit, added penalties, scores in {-1, 1}."""
    correct = np.array([True, False, True, False])
    for scores in ([0.3, 1.7, 0.9, 0.0], [-1.0, 1.0, -1.0, 1.0], [1, -1, 1, -1]):
        t = toggle(lambda_=0.5)
        t.observe(["math"] * 4, [1, 99, 3, 99], np.array(scores), correct=correct, step=0)
        assert t.budget("math") == 2.0
        shaped = t.shape(1, np.array(scores), [9] * 4, ["math"] * 4, groups=4, correct=correct)
        assert shaped.group_accuracy.tolist() == [0.5] * 4
        assert not shaped.kept.any()
    t.observe(["code"], [7], correct=[True], step=0)  # scores are not needed then
    assert t.budget("code") == 7.0


# Groups


def test_groups_of_any_size_and_order() -> None:
    t = toggle(lambda_=1.0)
    observe(t, 10, step=0)
    scores = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    ids = ["a", "b", "b", "a", "c", "a"]
    shaped = t.shape(1, scores, [99] * 6, ["math"] * 6, groups=ids)
    assert shaped.group_accuracy.tolist() == [1.0, 0.5, 0.5, 1.0, 1.0, 1.0]
    assert shaped.scores.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert shaped.has_signal.tolist() == [False, True, True, False, False, False]


SAME_GROUPS: dict[str, Any] = {
    "K": 2,
    "NumPy K": np.int16(2),
    "array of no dimension": np.array(2),
    "ints": [5, 5, -3, -3],
    "tuple": (5, 5, -3, -3),
    "huge ints": [2**100, 2**100, -(2**127), -(2**127)],
    "ints around 2**63": [2**63, 2**63, 2**63 - 1, 2**63 - 1],
    "equal in the lower 64 bits": [2**64 + 1, 2**64 + 1, 1, 1],
    "NumPy ints in a list": [*np.array([1, 1, 2, 2])],
    "ints in an object array": np.array([1, 1, 2**99, 2**99], object),
    "int8": np.array([-128, -128, 127, 127], "i1"),
    "uint64": np.array([0, 0, 2**64 - 1, 2**64 - 1], "u8"),
    "strided": np.array([1, 9, 1, 9, 2, 9, 2, 9])[::2],
    "str": ["x", "x", "", ""],
    "NumPy str": [*np.array(["x", "x", "y", "y"])],
    "fresh str": [fresh(name) for name in ("pq", "pq", "p", "p")],
    "str array": np.array(["a", "a", "ab", "ab"]),
    "strided str array": np.array(["a", "?", "a", "?", "ab", "?", "ab", "?"])[::2],
    "big-endian str array": np.array(["a", "a", "ab", "ab"], ">U2"),
    "array of empty str": np.array(["", "", "a", "a"]),
    "object array of str": np.array(["u-1", "u-1", "u-2", "u-2"], object),
    "StringDType": np.array(["u-1", "u-1", "long" * 9, "long" * 9], np.dtypes.StringDType()),
}  # fmt: skip


@pytest.mark.parametrize("groups", SAME_GROUPS.values(), ids=SAME_GROUPS)
def test_the_same_groups_in_many_forms(groups: Any) -> None:
    scores = np.array([1.0, 0.0, 1.0, 1.0])
    shaped = toggle().shape(0, scores, [1] * 4, ["math"] * 4, groups=groups)
    assert shaped.group_accuracy.tolist() == [0.5, 0.5, 1.0, 1.0]


def test_an_int_is_no_str_and_no_two_str_are_taken_for_one() -> None:
    names = ["a", "a ", "A", "ab", "", "\0", "é", "e\u0301", "1", "x" * 999]
    shaped = toggle().shape(0, np.ones(10), [1] * 10, ["math"] * 10, groups=names)
    assert shaped.metrics["toggle/enforced_group_ratio"] == 1.0
    half = toggle().shape(
        0, np.arange(10) % 2 * 1.0, [1] * 10, ["math"] * 10, groups=names, max_score=1
    )
    assert half.group_accuracy.tolist() == [0.0, 1.0] * 5


# Shaped


def test_has_signal_the_shaped_scores_of_the_group_are_not_all_equal() -> None:
    t = toggle(lambda_=0.5)
    observe(t, 10, step=0)
    scores = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    lengths = [1, 99, 99, 1, 99, 99, 99, 99]
    ids = [0, 0, 1, 1, 2, 2, 3, 3]
    shaped = t.shape(1, scores, lengths, ["math"] * 8, groups=ids)
    assert shaped.scores.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert shaped.has_signal.tolist() == [True] * 2 + [False] * 6
    assert shaped.metrics["toggle/gained_signal_group_ratio"] == 1 / 4  # group 0
    assert shaped.metrics["toggle/lost_signal_group_ratio"] == 1 / 4  # group 1
    normal = toggle(start_phase="normal").shape(0, scores, lengths, ["math"] * 8, groups=ids)
    assert normal.has_signal.tolist() == [False] * 2 + [True] * 2 + [False] * 4


def test_zeros_of_either_sign_are_equal_scores() -> None:
    shaped = toggle().shape(0, np.array([0.0, -0.0]), [1, 1], ["math"] * 2, groups=2)
    assert not shaped.has_signal.any()


def test_the_nine_metrics() -> None:
    t = toggle(lambda_=0.5)
    observe(t, 10, 13, step=0, key="a")
    observe(t, 20, step=0, key="b")
    observe(t, 40, step=0, key="c")
    observe(t, 1, step=0, key="not in the batch")
    shaped = t.shape(
        1,
        np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0]),
        [12, 25, 99, 99, 30, 99],
        ["a", "b", "a", "new", "c", "c"],
        groups=[1, 1, 2, 2, 3, 3],
    )
    assert shaped.metrics == {
        "toggle/length_penalty_phase": 1.0,
        "toggle/kept_ratio": 3 / 6,
        "toggle/enforced_group_ratio": 2 / 3,
        "toggle/lost_signal_group_ratio": 0.0,
        "toggle/gained_signal_group_ratio": 0.0,
        "toggle/tokens_over_budget": 0.5 + 5.0,
        "toggle/budget_min": 11.5,
        "toggle/budget_median": 20.0,
        "toggle/budget_max": 40.0,
    }


def test_metrics_are_the_same_nine_floats_on_every_call() -> None:
    for t, n in itertools.product([toggle(), toggle(m=0), toggle(start_phase="normal")], (0, 3)):
        shaped = t.apply(0, np.ones(n), [1] * n, [str(i) for i in range(n)], groups=1)
        assert list(shaped.metrics) == [f"toggle/{name}" for name in METRICS]
        assert all(type(value) is float for value in shaped.metrics.values())
        assert math.isnan(shaped.metrics["toggle/budget_median"])
        assert math.isnan(shaped.metrics["toggle/kept_ratio"]) is (n == 0)


def test_an_empty_batch() -> None:
    for groups in (4, [], np.array([], int), np.array([], "U3"), np.array([], object), ()):
        shaped = toggle().apply(0, np.ones(0), [], [], groups=groups, correct=[])
        assert len(shaped.scores) == len(shaped.kept) == len(shaped.has_signal) == 0


# Surface


def every_setting() -> list[dict[str, Any]]:
    return [
        {
            "m": 3, "lambda_": 0.25, "percentile": 80.0, "warmup_steps": 4,
            "estimator": ESTIMATORS[estimator](), "start_phase": start_phase, "freeze": freeze,
            "min_samples": 5, "penalty": penalty,
        }
        for estimator, start_phase, freeze, penalty in itertools.product(
            ESTIMATORS, START_PHASES, FREEZES, PENALTIES
        )
    ]  # fmt: skip


def test_settings_are_the_keyword_arguments_that_make_such_a_toggle() -> None:
    for settings in every_setting():
        t = Toggle(**settings)
        assert list(t.settings) == list(settings)
        for name, value in t.settings.items():
            if name != "estimator":
                assert value == settings[name]
                assert type(value) is type(settings[name])
        again = Toggle(**t.settings)
        assert again == t
        assert again.settings == t.settings
        assert repr(again) == repr(t)
        assert "lambda_=0.25" in repr(t)


def test_equal_means_same_settings_and_same_observations() -> None:
    plain = every_setting()
    toggles = [Toggle(**settings) for settings in plain]
    for i, t in enumerate(toggles):
        same = [other == t for other in toggles]
        assert same == [j == i for j in range(len(same))]
    for settings in plain:
        a, b = Toggle(**settings), Toggle(**settings)
        observe(a, 3, 1, 2, step=0)
        assert a != b
        for length in (2, 3, 1):
            observe(b, length, step=0)
        assert a == b
        if not needs_clock(settings):
            observe(a, 5, step=None)
            assert a != b
    assert Toggle(**plain[0]) != 1


def test_asking_changes_nothing() -> None:
    for settings in every_setting():
        a, b = Toggle(**settings), Toggle(**settings)
        for step in range(6):
            for t in (a, b):
                observe(t, *range(step, 40 + step), step=step)
            a.budgets(), a.counts(), a.budget("math"), a.budget("?"), repr(a), a.nbytes
            a.shape(step, np.ones(1), [5], ["?"], groups=1)
            a.shape(step + 9, np.ones(1), [5], ["math"], groups=1)
            assert a == b
        assert a.budgets() == b.budgets()


@pytest.mark.parametrize("name", ["exact", "p2", "gk"])
def test_estimator_by_name_or_an_empty_object_taken_as_a_pattern(name: str) -> None:
    pattern: Any = {
        "exact": toggle_rs.ExactQuantile(),
        "p2": toggle_rs.P2Quantile(0.5),
        "gk": toggle_rs.GKQuantile(0.001),
    }[name]
    by_name, by_pattern = toggle(estimator=name), toggle(estimator=pattern)
    assert by_name == by_pattern
    for t in (by_name, by_pattern):
        observe(t, *range(100), step=0)
        observe(t, *range(100), step=1, key="code")
    assert by_name == by_pattern
    assert pattern.count == 0


def test_shaped_shows_its_fields() -> None:
    shaped = toggle().shape(0, np.ones(1), [1], ["math"], groups=1)
    assert type(shaped) is Shaped
    assert repr(shaped).startswith("Shaped(scores=array([1.]), kept=array([ True])")
    with pytest.raises(AttributeError):
        shaped.scores = None
