"""What `Toggle` takes for correct and for a group, and what it tells of a batch, by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from strategies import fresh
from toggle_cases import observe, toggle
from toggle_runs import METRICS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

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
    groups: Any
    for groups in (4, [], np.array([], int), np.array([], "U3"), np.array([], object), ()):
        shaped = toggle().apply(0, np.ones(0), [], [], groups=groups, correct=[])
        assert len(shaped.scores) == len(shaped.kept) == len(shaped.has_signal) == 0
