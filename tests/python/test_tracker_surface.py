"""What the tracker offers beside `maybe_apply`'s numbers: names, types, settings."""

from __future__ import annotations

from collections import UserList, deque
from typing import Any

import numpy as np
import pytest

from agreement import same_array, unchanged
from oracle import Oracle
from toggle_rs import ToggleBudgetTracker


def test_positional_and_keyword_arguments() -> None:
    tracker = ToggleBudgetTracker(2, 0.5, 80.0, 3)
    other = ToggleBudgetTracker(
        m=2, lambda_=0.5, percentile=80.0, warmup_steps=3, estimator="exact"
    )
    for t in (tracker, other):
        assert (t.m, t.lambda_, t.percentile, t.warmup_steps) == (2, 0.5, 80.0, 3)
    tracker.update(
        datasets=["a"], lengths=np.array([5]), scores=np.array([1.0]), max_possible_score=1.0
    )
    scores, metrics = tracker.maybe_apply(
        step=4,
        scores=np.array([1.0, 1.0]),
        sequence_lengths=np.array([5, 9]),
        datasets=["a", "a"],
        num_samples_per_prompt=2,
        max_possible_score=1.0,
    )
    assert scores.tolist() == [1.0, 1.0]
    assert metrics == {"toggle/length_penalty_phase": 0, "toggle/budget/a": 7.4}


def test_a_bool_is_the_integer_that_it_is_as_in_the_reference() -> None:
    ours, theirs = ToggleBudgetTracker(True, 0.5, 80.0, False), ToggleBudgetTracker(1, 0.5, 80.0, 0)
    arguments = np.ones(4), np.arange(4), ["math"] * 4
    scores, metrics = ours.maybe_apply(True, *arguments, True, 1.0)
    expected, same = theirs.maybe_apply(1, *arguments, 1, 1.0)
    assert scores.tolist() == expected.tolist() != [1.0] * 4
    assert (metrics, ours) == (same, theirs)
    ours.m, ours.warmup_steps = True, True
    assert (ours.m, ours.warmup_steps) == (1, 1)


def test_types_of_answers(tracker: ToggleBudgetTracker) -> None:
    assert type(tracker.m) is int
    assert type(tracker.lambda_) is float
    assert type(tracker.percentile) is float
    assert type(tracker.warmup_steps) is int
    assert tracker.enabled is True
    assert type(tracker.budget("math")) is float
    assert tracker.counts() == {("math",): 2, ("code",): 1, ("math", "code"): 1}
    assert all(type(count) is int for count in tracker.counts().values())
    assert list(tracker.budgets()) == [("math",), ("code",), ("math", "code")]
    lengths = tracker.lengths_per_dataset
    assert list(lengths) == [("math",), ("code",), ("math", "code")]
    assert same_array(lengths["math",], np.array([10, 40]))
    assert type(next(iter(lengths))[0]) is str


def test_a_name_alone_is_a_key_of_one_name(tracker: ToggleBudgetTracker) -> None:
    keys: tuple[Any, ...] = ("math", ["math"], ("math",), np.str_("math"), [np.str_("math")])
    for key in keys:
        assert tracker.budget(key) == 34.0
    assert tracker.budget(["math", "code"]) == tracker.budget(("math", "code")) == 30.0
    assert tracker.budget("unseen") is None
    assert tracker.budget(["code", "math"]) is None


def test_answers_are_copies(tracker: ToggleBudgetTracker) -> None:
    with unchanged(tracker):
        tracker.lengths_per_dataset["math",][:] = 7
        tracker.counts().clear()
        tracker.budgets().clear()


def test_settings_can_be_set(tracker: Any) -> None:
    tracker.percentile = 0
    assert (tracker.percentile, tracker.budget("math")) == (0.0, 10.0)
    tracker.percentile = np.float64(100)
    assert tracker.budget("math") == 40.0
    tracker.lambda_ = 1
    assert tracker.lambda_ == 1.0
    tracker.lambda_ = np.float32(0.25)
    assert tracker.lambda_ == 0.25
    tracker.warmup_steps = np.int64(9)
    assert tracker.warmup_steps == 9
    tracker.m = 0
    assert tracker.enabled is False
    tracker.m = np.int32(4)
    assert (tracker.m, tracker.enabled) == (4, True)


@pytest.mark.parametrize(
    "step", [0, 1, 5, 6, 7, 8, 9, 11, 12, np.int64(6), np.uint8(6), 2**53, 2**62 + 3, 2**63 - 1]
)
def test_phase_of_a_step(step: int) -> None:
    tracker, oracle = ToggleBudgetTracker(3, 0.5, 80.0, 5), Oracle(3, 0.5, 80.0, 5)
    arguments = (np.zeros(1), np.ones(1, int), ["a"], 1, 1.0)
    assert tracker.maybe_apply(step, *arguments)[1] == oracle.maybe_apply(int(step), *arguments)[1]


def test_disabled_checks_and_records_nothing() -> None:
    tracker = ToggleBudgetTracker(0, 0.5, 80.0, 0)
    assert tracker.enabled is False
    rubbish: Any = object()
    no_lengths: Any = None
    with unchanged(tracker):
        scores, metrics = tracker.maybe_apply(1, rubbish, no_lengths, "a", -3, float("nan"))
        assert scores is rubbish
        assert metrics == {}
        good = np.ones(4)
        assert tracker.maybe_apply(1, good, np.ones(4, int), ["a"] * 4, 4, 1.0)[0] is good


def test_update_records_while_disabled() -> None:
    """As in the reference: only `maybe_apply` asks whether it is enabled."""
    tracker = ToggleBudgetTracker(0, 0.5, 80.0, 0)
    tracker.update(["a"], np.array([5]), np.ones(1), 1.0)
    assert tracker.budget("a") == 5.0


def test_group_size_matters_in_the_penalty_phase_only(tracker: ToggleBudgetTracker) -> None:
    scores = np.ones(8)
    assert tracker.maybe_apply(0, scores, np.ones(8, int), ["a"] * 8, 3, 1.0)[0] is scores
    assert tracker.counts()["a",] == 8


@pytest.mark.parametrize(
    "names",
    [
        deque(["a", "b"]),
        UserList(["a", "b"]),
        {"a": 1, "b": 2}.keys(),
        iter(["a", "b"]),
        np.array([["a"], ["b"]]),
    ],
    ids=["deque", "UserList", "keys", "iterator", "2-D"],
)
def test_unusual_sequences_of_names(tracker: ToggleBudgetTracker, names: Any) -> None:
    """Taken for what they are, or refused as a whole: never half of them."""
    try:
        with unchanged(tracker):
            tracker.update(names, np.array([5, 6]), np.zeros(2), 1.0)
            tracker.update(names, np.array([5, 6]), np.zeros(2), 1.0)
    except (TypeError, ValueError) as error:
        assert "datasets" in str(error)  # noqa: PT017
        return
    tracker.update(names, np.array([5, 6]), np.ones(2), 1.0)
    assert tracker.budget("a") == 5.0
    assert tracker.budget("b") == 6.0


def test_names_that_hold_anything() -> None:
    tracker = ToggleBudgetTracker(1, 0.5, 80.0, 0)
    names = ["", "\0", "a\0", "\U0010ffff", "é", "e\u0301", "x" * 10**6]
    tracker.update(names, np.arange(len(names)), np.ones(len(names)), 1.0)
    assert list(tracker.budgets().items()) == [((name,), float(i)) for i, name in enumerate(names)]


def test_many_datasets() -> None:
    names = [f"problem-{i}" for i in range(20_000)]
    tracker = ToggleBudgetTracker(1, 0.5, 80.0, 0)
    scores, metrics = tracker.maybe_apply(1, np.ones(20_000), np.arange(20_000), names, 4, 1.0)
    assert scores.all()
    assert list(metrics)[1:-1] == [f"toggle/budget/{name}" for name in names]


def test_repr_shows_the_settings(tracker: ToggleBudgetTracker) -> None:
    text = repr(tracker)
    for part in ("ToggleBudgetTracker", "m=1", "lambda_=0.5", "percentile=80", "warmup_steps=0"):
        assert part in text
