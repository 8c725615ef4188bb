"""Responses out of trajectories, as the integrations of verl and slime count them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toggle_rs import Toggle
from toggle_rs.integrations._responses import (
    Response,
    changed,
    group_of,
    observe,
    responses_of,
    shape,
    shared_scores,
)


def columns(rows: list[tuple[str, float, float | None, int]], max_score: float = 1.0) -> Any:
    keys, scores, accuracies, lengths = zip(*rows, strict=True)
    rewards = np.array(scores, np.float32)
    return responses_of(keys, rewards, accuracies, lengths, ["d"] * len(keys), max_score)


def test_a_session_is_one_response_however_its_trajectories_come() -> None:
    rows = [("a_0_1", 1.0, None, 5), ("b_0_0", 0.0, None, 7), ("a_1_0", 0.0, None, 1),
            ("a_0_10", 0.5, 1.0, 20), ("a_0_2", 1.0, None, 100)]  # fmt: skip
    assert columns(rows) == [
        Response("a", ("a_0_1", "a_0_10", "a_0_2"), 0.5, 125, "d", correct=True),
        Response("b", ("b_0_0",), 0.0, 7, "d", correct=False),
        Response("a", ("a_1_0",), 0.0, 1, "d", correct=False),
    ]
    assert [group_of(key) for key in ("a", "a_0_1")] == ["a", "a"]


@pytest.mark.parametrize(
    ("score", "accuracy", "max_score", "correct"),
    [
        (1.0, None, 1.0, True),
        (0.5, None, 1.0, False),
        (0.5, 1.0, 1.0, True),
        (0.5, True, 1.0, True),
        (2.0, 0.0, 1.0, False),
        (2.0, False, 1.0, False),
        (10.0, None, 10.0, True),
        (10.0, 1.0, 10.0, False),
        (0.7, None, 0.7, True),  # as float32
        (1.0, float("nan"), 1.0, False),
    ],
)
def test_acc_says_what_is_correct_where_it_is_there(
    score: float, accuracy: float | None, max_score: float, *, correct: bool
) -> None:
    assert columns([("a_0_0", score, accuracy, 1)], max_score)[0].correct is correct


@pytest.mark.filterwarnings("ignore:scores go down")
@given(st.data())
def test_groups_that_shaping_changes(data: Any) -> None:
    """Against a loop over the groups, that knows the budget."""
    number = st.sampled_from([-1.0, 0.0, 0.5, 1.0])
    rows = [
        (f"{group}_{session}_0", data.draw(number), data.draw(st.booleans()) * 1.0, length)
        for session in range(4)
        for group in data.draw(st.permutations("abc"))
        for length in [data.draw(st.sampled_from([5, 10, 11, 50]))]
    ]
    penalty = data.draw(st.sampled_from(["zero", "cap_at_zero"]))
    toggle = Toggle(m=1, lambda_=0.5, percentile=50, penalty=penalty)
    toggle.observe(["d"] * 3, [9, 10, 11], [1.0] * 3, step=0)  # the budget is 10
    responses = columns(rows)
    shaped = shape(toggle, 1, responses)

    expected_changed, expected_shared = set(), {}
    for group in "abc":
        mine = [response for response in responses if response.group == group]
        enforced = sum(response.correct for response in mine) / len(mine) >= 0.5
        scores = []
        for response in mine:
            masked = enforced and response.length > 10
            score = response.score
            if masked:
                score = 0.0 if penalty == "zero" else min(score, 0.0)
            scores.append(score)
            if score != response.score:
                expected_changed.add(response.keys)
        if any(response.keys in expected_changed for response in mine):
            expected_shared[group] = scores[0] if len({*scores}) == 1 else None
    assert {response.keys for response in changed(responses, shaped)} == expected_changed
    assert shared_scores(responses, shaped) == expected_shared

    observe(toggle, 1, responses)
    correct = sum(response.correct for response in responses)
    assert toggle.counts() == {("d",): 3 + correct}


def test_one_response_shares_its_score_with_none() -> None:
    toggle = Toggle(m=1, lambda_=0.5, percentile=50)
    toggle.observe(["d"], [10], [1.0], step=0)
    responses = columns([("a_0_0", 1.0, None, 50)])
    with pytest.warns(UserWarning, match="with groups of 1"):
        shaped = shape(toggle, 1, responses)
    assert shared_scores(responses, shaped) == {"a": None}
