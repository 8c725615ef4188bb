"""What `Toggle` warns of: once, with the numbers, and only where there is reason to."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agreement import unchanged
from toggle_rs import Toggle


def calls(toggle: Toggle, steps: Iterable[int], size: int = 8, **options: Any) -> list[str]:
    """What is said while batches of groups of `size` are shaped at these steps."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in steps:
            arguments = (np.ones(2 * size), [1] * (2 * size), ["a"] * (2 * size))
            toggle.shape(step, *arguments, **{"groups": size} | options)
    assert all(warning.category is UserWarning for warning in caught)
    assert all(warning.filename == __file__ for warning in caught)  # the caller's line
    return [str(warning.message) for warning in caught]


def toggle(**options: Any) -> Toggle:
    return Toggle(**{"m": 10, "lambda_": 0.5, "percentile": 80.0} | options)


# K and lambda


@pytest.mark.parametrize(
    ("lambda_", "size"), [(0.9, 4), (0.9, 8), (0.76, 4), (1.0, 16), (1.0, 1000), (0.5, 1)]
)
def test_a_k_and_lambda_that_enforce_nothing_but_fully_solved_groups(
    lambda_: float, size: int
) -> None:
    t = toggle(lambda_=lambda_)
    (message,) = calls(t, range(30), size)
    assert f"groups of {size}" in message
    assert f"lambda_={lambda_}" in message
    assert "fully solved" in message
    assert "before you drop" in message


@pytest.mark.parametrize(
    ("lambda_", "size"), [(0.9, 10), (0.9, 16), (0.75, 4), (0.5, 2), (0.0, 1), (-1.0, 4)]
)
def test_nothing_where_other_groups_are_enforced_too(lambda_: float, size: int) -> None:
    assert calls(toggle(lambda_=lambda_), range(30), size) == []


def test_no_warning_is_wrong() -> None:
    """It is said exactly where no group but a fully solved one can reach lambda."""
    for size in range(1, 40):
        for solved in range(size + 1):
            for lambda_ in {solved / size, min(np.nextafter(solved / size, 2), 1.0)}:
                reaches = any(k / size >= lambda_ for k in range(size))
                said = calls(toggle(lambda_=float(lambda_)), [0], size)
                assert bool(said) is not reaches, (size, lambda_)


def test_ragged_groups_are_judged_by_the_largest() -> None:
    ids = [0, 1, 1, 2, 2, 2, 0, 2]
    arguments = (np.ones(8), [1] * 8, ["a"] * 8)
    with pytest.warns(UserWarning, match=r"groups of 4, lambda_=0\.8 "):
        toggle(lambda_=0.8).shape(0, *arguments, groups=ids)
    toggle(lambda_=0.75).shape(0, *arguments, groups=ids)


def test_a_lambda_above_every_accuracy_was_said_before() -> None:
    with pytest.warns(UserWarning, match="is above every accuracy"):
        t = toggle(lambda_=1.1)
    assert calls(t, range(30)) == []


def test_an_empty_batch_says_nothing_about_groups() -> None:
    t = toggle(lambda_=0.9)
    t.shape(0, np.ones(0), [], [], groups=4)
    assert len(calls(t, [0], 4)) == 1


# Aliasing


def test_m_10_and_a_stride_of_20_the_penalty_never_comes() -> None:
    t = toggle(m=10)
    (message,) = calls(t, range(0, 2000, 20))
    for part in ("20 apart", "m=10", "every 20 steps", "length-penalty phase never comes"):
        assert part in message
    # It is true.
    assert not any(t.is_penalty_step(step) for step in range(0, 2000, 20))


@pytest.mark.parametrize(
    ("m", "first", "stride", "hidden"),
    [
        (10, 0, 40, "length-penalty"), (10, 10, 20, "normal"), (10, 19, 20, "normal"),
        (1, 0, 2, "length-penalty"), (1, 1, 2, "normal"), (3, 4, 600, "normal"),
    ],
)  # fmt: skip
def test_which_phase_never_comes(m: int, first: int, stride: int, hidden: str) -> None:
    (message,) = calls(toggle(m=m), range(first, first + 10 * stride, stride))
    assert f"the {hidden} phase never comes" in message
    assert f"{stride} apart" in message


def test_warm_up_hides_no_phase_for_ever() -> None:
    """Steps of warm-up are normal, whatever the phase is that comes after."""
    t = toggle(m=10, warmup_steps=1000)
    (message,) = calls(t, range(10, 2000, 20))
    assert "the normal phase never comes" in message
    t = toggle(m=10, warmup_steps=1000, start_phase="length_penalty")
    (message,) = calls(t, range(10, 2000, 20))
    assert "the length-penalty phase never comes" in message


@pytest.mark.parametrize("stride", [1, 2, 3, 5, 7, 10, 15, 19, 21, 30, 50])
def test_nothing_where_both_phases_come(stride: int) -> None:
    t = toggle(m=10)
    steps = range(0, 40 * stride, stride)
    assert calls(t, steps) == []
    assert len({t.is_penalty_step(step) for step in steps}) == 2


def test_what_it_advises_helps() -> None:
    """An m such that 2 m does not divide the stride."""
    for stride in range(1, 50):
        for m in range(1, 30):
            t = toggle(m=m)
            steps = range(0, stride * 2 * m + 3 * stride + 1, stride)
            both = len({t.is_penalty_step(step) for step in steps}) == 2
            assert bool(calls(t, steps)) is not both
            assert both is (stride % (2 * m) != 0)


def test_a_step_that_comes_in_many_calls_is_one_step() -> None:
    assert calls(toggle(m=10), [0] * 50 + [20] * 50 + [20] * 50) == []
    assert len(calls(toggle(m=10), [0] * 5 + [20] * 5 + [40] * 5 + [60] * 5 + [80] * 5)) == 1


def test_a_few_steps_are_no_evidence() -> None:
    assert calls(toggle(m=10), [0, 20, 40]) == []


def test_any_other_step_is_evidence_that_all_is_well() -> None:
    assert calls(toggle(m=10), [0, 5, *range(20, 400, 20)]) == []


def test_a_disabled_one_says_nothing() -> None:
    assert calls(toggle(m=0, lambda_=0.9), range(0, 400, 20), 4) == []
    assert failures(toggle(m=0), [2000, 2000], highest=-1.0) == []


def test_both_are_said() -> None:
    said = calls(toggle(m=10, lambda_=0.9), range(0, 400, 20), 4)
    assert [("fully solved" in text, "never comes" in text) for text in said] == [
        (True, False), (False, True),
    ]  # fmt: skip


# Scores


def test_a_penalty_that_lets_a_score_go_up() -> None:
    t = toggle(m=1, lambda_=0.0)
    scores, lengths = np.array([1.0, -1.0, 1.0, -0.5]), [10, 99, 10, 99]
    said = []
    for step in range(20):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            shaped = t.apply(step, scores, lengths, ["a"] * 4, groups=4)
        said += [str(warning.message) for warning in caught]
    (message,) = said
    assert "scores go down to -1.0" in message
    assert '"cap_at_zero"' in message
    # It is true.
    assert shaped.scores.tolist() == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8])
def test_negative_scores_are_seen_in_any_dtype_and_late(dtype: type) -> None:
    t = toggle()
    assert calls(t, [0]) == []
    scores: npt.NDArray[Any] = np.array([1, 1, 1, -2], dtype)[::-1]
    with pytest.warns(UserWarning, match=r"scores go down to -2\.0"):
        t.shape(1, scores, [1] * 4, ["a"] * 4, groups=4)


def test_nothing_where_no_score_goes_up() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arguments = ([1] * 4, ["a"] * 4)
        t = toggle(penalty="cap_at_zero")
        t.shape(0, np.array([1.0, -1.0, -2.0, 1.0]), *arguments, groups=4)
        t = toggle()
        batches: list[npt.NDArray[Any]]
        batches = [np.array([0.0, -0.0, 5e-324, 1]), np.array([True] * 4), np.ones(4, "u1")]
        for scores in batches:
            t.shape(0, scores, *arguments, groups=4)


def failures(t: Toggle, sizes: Iterable[int], highest: float = 0.9) -> list[str]:
    """What is said while batches without a correct response are applied."""
    said = []
    for step, size in enumerate(sizes):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scores = np.linspace(0, highest, size)
            t.apply(step, scores, [1] * size, ["a"] * size, groups=2)
        said += [str(warning.message) for warning in caught]
    return said


def test_no_response_is_correct() -> None:
    """It is said once there are 1,000 of them, at the next call."""
    assert failures(toggle(), [600, 300, 200]) == []
    (message,) = failures(toggle(), [600, 300, 200, 5000, 5000])
    for part in ("none of the 1100 ", "score is 0.9", "max_score", "no key has a budget"):
        assert part in message


def test_a_few_failures_are_no_evidence() -> None:
    assert failures(toggle(), [600, 398, 2]) == []
    assert len(failures(toggle(), [600, 398, 2, 2])) == 1


def test_one_correct_response_is_evidence_that_all_is_well() -> None:
    t = toggle()
    assert failures(t, [600]) == []
    assert calls(t, [0]) == []
    assert failures(t, [600, 600, 600]) == []


def test_one_that_has_budgets_has_seen_correct_responses() -> None:
    """Read from a checkpoint, or observed before: also where no key of the batch is known."""
    t = toggle()
    t.observe(["b"], [1], [1.0], step=0)
    assert failures(Toggle.from_bytes(t.to_bytes()), [2000, 2000]) == []
    assert failures(t, [2000, 2000]) == []


def test_correct_says_which_are() -> None:
    t = toggle()
    correct = np.zeros(2000, bool)
    arguments = (np.ones(2000), [1] * 2000, ["a"] * 2000)
    t.shape(0, *arguments, groups=8, correct=correct)
    with pytest.warns(UserWarning, match=r"none of the 2000 .* highest score is 1\.0"):
        t.shape(0, *arguments, groups=8, correct=correct)


def test_what_was_refused_is_no_evidence() -> None:
    """Neither for a failure nor for a success."""
    t = toggle()
    wrong, right = np.zeros(600), np.ones(600)
    for scores in (wrong, right):
        refused: list[tuple[Any, Any]]
        refused = [([1] * 600, [None] * 600), (np.full(600, -1), ["a"] * 600)]
        for lengths, datasets in refused:
            with pytest.raises((TypeError, ValueError)):
                t.shape(0, scores, lengths, datasets, groups=4)
    assert failures(t, [600, 398]) == []
    with pytest.raises(TypeError):
        t.shape(2, right, [1] * 600, datasets=[1] * 600, groups=4)  # type: ignore[list-item]
    t.shape(2, np.zeros(2), [1, 1], ["a", "a"], groups=2)
    with pytest.warns(UserWarning, match="none of the 1000 responses"):
        t.shape(2, np.zeros(2), [1, 1], ["a", "a"], groups=2)


# As errors


def test_where_warnings_are_errors_the_state_does_not_change() -> None:
    """Nothing has been recorded, the call can be made again, and each is said once."""
    t = toggle(m=10, lambda_=0.9)
    arguments = (np.ones(4), [1, 2, 3, 4], ["a"] * 4)
    with unchanged(t), pytest.raises(UserWarning, match="fully solved"):
        t.apply(0, *arguments, groups=4)
    assert t.counts() == {}
    for step in (0, 20, 40):
        t.apply(step, *arguments, groups=4)
    with unchanged(t), pytest.raises(UserWarning, match="never comes"):
        t.apply(60, *arguments, groups=4)
    t.apply(60, *arguments, groups=4)
    assert t.counts() == {("a",): 16}


def test_one_error_does_not_hide_the_other() -> None:
    """The aliasing is told at the fourth step, also where an error came before."""
    t = toggle(m=10, lambda_=0.9)
    arguments = (np.ones(4), [1, 2, 3, 4], ["a"] * 4)
    told = []
    for step in range(0, 200, 20):
        for _ in range(2):
            try:
                t.apply(step, *arguments, groups=4)
            except UserWarning as warning:
                told.append(str(warning))
    assert len(told) == 2
    assert "fully solved" in told[0]
    assert "never comes" in told[1]


def test_a_refused_call_says_nothing_and_tells_nothing() -> None:
    """What is not shaped is no evidence, and does not use up what is said once."""
    t = toggle(m=10, lambda_=0.9)
    t.observe(["a"], [1], [1.0], step=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(0, 400, 20):
            with pytest.raises(ValueError, match="^step"):
                t.shape(step, np.ones(4), [1] * 4, ["a"] * 4, groups=4)
        with pytest.raises(ValueError, match="^groups"):
            t.shape(1000, np.ones(4), [1] * 4, ["a"] * 4, groups=[1, 2])
        with pytest.raises(ValueError, match="^groups"):
            t.shape(1000, -np.ones(4), [1] * 4, ["a"] * 4, groups=[1, 2])
    assert len(calls(t, [1000, 1005], 4)) == 1


def test_warnings_are_no_part_of_the_state() -> None:
    a, b = toggle(lambda_=0.9), toggle(lambda_=0.9)
    assert len(calls(a, range(0, 400, 20), 4)) == 2
    assert a == b
    assert a.to_bytes() == b.to_bytes()


# Settings under which budgets were fixed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"percentile": 20.0}, "percentile=20, here 80"),
        ({"freeze": "never", "min_samples": 9}, "min_samples=1, here 9; freeze=first, here never"),
    ],
)
def test_fixed_budgets_that_came_with_other_settings(change: dict[str, Any], said: str) -> None:
    saved = toggle(freeze="first", percentile=change.get("percentile", 80.0))
    for step, key in enumerate("abc"):
        saved.observe([key] * 4, [10, 20, 30, 40], correct=np.ones(4, bool), step=step)
    later = toggle(**{"freeze": "first"} | change | {"percentile": 80.0})
    state = saved.state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with unchanged(later), pytest.raises(UserWarning, match="fixed budgets stay"):
            later.load_state_dict(state)
        # The same settings, and nothing that is fixed: nothing to say.
        toggle(freeze="first", percentile=saved.settings["percentile"]).load_state_dict(state)
        later.load_state_dict(toggle(percentile=1.0).state_dict())
    expected = f"fixed budgets stay as they are, 2 of them; they came with {said}"
    with pytest.warns(UserWarning, match=f"^{expected}$"):
        later.load_state_dict(state)
    assert later.budget("a") == saved.budget("a")
