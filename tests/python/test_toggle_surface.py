"""Settings, equality and repr of `Toggle` and `Shaped`."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toggle_rs
from toggle_cases import observe, toggle
from toggle_rs import Shaped, Toggle
from toggle_runs import ESTIMATORS, FREEZES, PENALTIES, START_PHASES, needs_clock

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


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


def pickled(shaped: Shaped) -> Any:
    return pickle.loads(pickle.dumps(shaped))  # noqa: S301 - its own bytes


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_shaped_goes_from_one_process_to_another(again: Callable[[Shaped], Shaped]) -> None:
    shaped = toggle().shape(0, np.array([1.0, 0.0]), [1, 2], ["math"] * 2, groups=2)
    other = again(shaped)
    assert type(other) is Shaped
    assert repr(other) == repr(shaped)
    for name in ("scores", "kept", "has_signal", "group_accuracy"):
        assert getattr(other, name).dtype == getattr(shaped, name).dtype
    with pytest.raises(TypeError, match="metrics"):
        Shaped(1, 2, 3, 4, None)  # type: ignore[arg-type]


def test_shaped_shows_its_fields() -> None:
    shaped = toggle().shape(0, np.ones(1), [1], ["math"], groups=1)
    assert type(shaped) is Shaped
    assert repr(shaped).startswith("Shaped(scores=array([1.]), kept=array([ True])")
    with pytest.raises(AttributeError):
        shaped.scores = None  # type: ignore[misc]  # is read-only
