"""When and by what `Toggle` shapes, in the words of its docs, by examples worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from strategies import SCORE_DTYPES
from toggle_cases import budget_at, is_masked, observe, toggle
from toggle_rs import Toggle
from toggle_runs import ESTIMATORS, PENALTIES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

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


@pytest.mark.parametrize("scores", [np.ones(2), np.ones(4)[::2], np.ones(2, "i2")])
def test_the_very_array_comes_back_where_the_phase_changes_nothing(scores: Any) -> None:
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
    settings = t.settings
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
