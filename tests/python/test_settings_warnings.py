"""Settings that are allowed, but hardly meant: it is said, and nothing else changes."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agreement import unchanged
from toggle_rs import Toggle, ToggleBudgetTracker
from toggle_rs.doubts import heard
from toggle_rs.integrations._responses import toggle_of
from toggle_rs.integrations.trl import ToggleReward
from toggle_rs.replay import Settings

LAMBDA = "lambda_=50.0 is above every accuracy: no budget is ever enforced"
PERCENTILE = "percentile=0.8 is below 1: percentiles go from 0 to 100"

MAKERS: dict[str, Callable[..., Any]] = {
    "Toggle": Toggle,
    "kimi_k25": Toggle.kimi_k25,
    "ToggleBudgetTracker": lambda **settings: ToggleBudgetTracker(**settings, warmup_steps=0),
    "ToggleReward": lambda **settings: ToggleReward(lambda **_: [], **settings),
    "verl and slime": lambda **settings: toggle_of(settings),
}
ODD = [
    ({"percentile": 0.8}, [PERCENTILE]),
    ({"lambda_": 50}, [LAMBDA]),
    ({"lambda_": np.float32(50), "percentile": np.float64(0.8)}, [LAMBDA, PERCENTILE]),
    ({"m": 0, "percentile": 0.8}, [PERCENTILE]),
]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(("change", "texts"), ODD)
def test_it_is_said_once_each(
    make: Callable[..., Any], change: dict[str, Any], texts: list[str]
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(**{"m": 1, "lambda_": 0.5, "percentile": 80.0} | change)
    assert [str(warning.message) for warning in caught] == texts
    assert all(warning.category is UserWarning for warning in caught)


def test_it_is_said_of_the_callers_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tracker = ToggleBudgetTracker(1, 0.5, 0.8, 0)
        tracker.percentile = 0.7
        Toggle(m=1, lambda_=0.5, percentile=0.8)
        Toggle.kimi_k25(m=1, lambda_=0.5, percentile=0.8)
    assert [warning.filename for warning in caught] == [__file__] * 4


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("lambda_", [-1.0, 0, 0.3, 1, np.float32(1), True])
@pytest.mark.parametrize("percentile", [0, 0.0, 1, 1.0, 1.5, 80, 99.9, 100])
def test_nothing_is_said_of_what_makes_sense(
    make: Callable[..., Any], lambda_: float, percentile: float
) -> None:
    """Warnings are errors here."""
    make(m=1, lambda_=lambda_, percentile=percentile)


def test_setters_say_it_too(tracker: ToggleBudgetTracker) -> None:
    with pytest.warns(UserWarning, match="^" + LAMBDA):
        tracker.lambda_ = 50
    with pytest.warns(UserWarning, match="^" + PERCENTILE):
        tracker.percentile = 0.8
    assert (tracker.lambda_, tracker.percentile) == (50.0, 0.8)
    # Of another setting nothing is said again.
    tracker.m, tracker.warmup_steps = 5, 2
    tracker.lambda_, tracker.percentile = 1.0, 1.0


@pytest.mark.parametrize(("name", "value"), [("lambda_", 50), ("percentile", 0.8)])
def test_as_an_error_it_changes_nothing(
    tracker: ToggleBudgetTracker, name: str, value: float
) -> None:
    with unchanged(tracker), pytest.raises(UserWarning, match=name):
        setattr(tracker, name, value)
    for make in MAKERS.values():
        with pytest.raises(UserWarning, match=name):
            make(**{"m": 1, "lambda_": 0.5, "percentile": 80.0, name: value})


def test_what_is_refused_is_not_warned_of() -> None:
    with pytest.raises(ValueError, match="^percentile: got 101"):
        Toggle(m=1, lambda_=50, percentile=101)
    with pytest.raises(ValueError, match="^percentile: got 101"):
        ToggleBudgetTracker(1, 50, 101, 0)
    with pytest.raises(ValueError, match="^min_samples"):
        Toggle(m=1, lambda_=0.5, percentile=0.8, min_samples=0)
    for lambda_ in (float("inf"), float("nan")):
        with pytest.raises(ValueError, match="^lambda_: got"):
            Toggle(m=1, lambda_=lambda_, percentile=80)


@pytest.mark.parametrize("make", [Toggle, MAKERS["ToggleBudgetTracker"]])
def test_a_state_that_comes_back_is_not_warned_of(make: Callable[..., Any], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = make(m=1, lambda_=50, percentile=0.8)
    made.save(tmp_path / "state")
    for again in (
        type(made).from_bytes(made.to_bytes()),
        type(made).load(tmp_path / "state"),
        pickle.loads(pickle.dumps(made)),  # noqa: S301 - its own
        copy.deepcopy(made),
    ):
        assert again == made
    made.load_state_dict(made.state_dict())


def test_a_reward_that_begins_anew_says_it_no_second_time() -> None:
    with pytest.warns(UserWarning, match="^" + PERCENTILE):
        reward = ToggleReward(lambda **_: [], m=1, lambda_=0.5, percentile=0.8)
    reward.load(None)
    reward.load(reward.toggle.state_dict())


def test_the_command_line_has_the_same_texts() -> None:
    settings = Settings(m=1, lambda_=50, percentile=0.8)
    settings.toggle()
    assert settings.doubts() == [LAMBDA, PERCENTILE]


def test_warnings_of_others_are_shown_all_the_same() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with heard() as texts:
            warnings.warn("of NumPy", RuntimeWarning, stacklevel=1)
            Toggle(m=1, lambda_=50, percentile=80)
    assert texts == [LAMBDA]
    assert [(each.category, each.filename) for each in caught] == [(RuntimeWarning, __file__)]
