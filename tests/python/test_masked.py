"""Masked arrays: what is masked is no value, so an array with a masked entry is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import toggle_rs
from agreement import unchanged
from toggle_rs import Toggle, ToggleBudgetTracker

N = 8
MASKED = {
    "the last": np.arange(N) == N - 1,
    "two of them": np.isin(np.arange(N), (3, 6)),
    "all": np.ones(N, bool),
}


def columns() -> dict[str, np.ndarray]:
    return {
        "scores": np.ones(N),
        "lengths": np.arange(1, N + 1),
        "datasets": np.array(["math", "code"] * (N // 2), object),
        "groups": np.array([0, 1] * (N // 2)),
        "correct": np.ones(N, bool),
        "max_score": np.ones(N),
    }


def masked(values: np.ndarray, mask: Any) -> Any:
    return np.ma.array(values, mask=mask)


def message(name: str, mask: np.ndarray) -> str:
    return rf"^{name}\[{mask.argmax()}\]: got a masked entry, expected entries that are not masked$"


@pytest.mark.parametrize("mask", MASKED.values(), ids=MASKED)
@pytest.mark.parametrize("name", columns())
def test_toggle(name: str, mask: np.ndarray) -> None:
    toggle = Toggle(m=1, lambda_=0.5, percentile=80.0)
    good = columns()
    del good["correct" if name == "max_score" else "max_score"]
    bad = good | {name: masked(good[name], mask)}
    for method in (toggle.shape, toggle.apply):
        with unchanged(toggle), pytest.raises(ValueError, match=message(name, mask)):
            method(1, **bad)
    if name != "groups":
        del bad["groups"]
        with unchanged(toggle), pytest.raises(ValueError, match=message(name, mask)):
            toggle.observe(**bad)


@pytest.mark.parametrize("mask", MASKED.values(), ids=MASKED)
@pytest.mark.parametrize("name", ["scores", "lengths", "datasets"])
def test_the_drop_in(tracker: ToggleBudgetTracker, name: str, mask: np.ndarray) -> None:
    good = {key: columns()[key] for key in ("scores", "lengths", "datasets")}
    bad = good | {name: masked(good[name], mask)}
    with unchanged(tracker), pytest.raises(ValueError, match=message(name, mask)):
        tracker.update(**bad, max_possible_score=1.0)
    bad["sequence_lengths"] = bad.pop("lengths")
    named = "sequence_lengths" if name == "lengths" else name
    for step in (0, 1):
        with unchanged(tracker), pytest.raises(ValueError, match=message(named, mask)):
            tracker.maybe_apply(step, **bad, num_samples_per_prompt=4, max_possible_score=1.0)


def test_str_as_datasets_and_as_groups() -> None:
    toggle = Toggle(m=1, lambda_=0.5, percentile=80.0)
    names = np.array(["a", "b"] * (N // 2))
    for name in ("datasets", "groups"):
        bad = {"datasets": names, "groups": names, name: masked(names, MASKED["the last"])}
        with pytest.raises(ValueError, match=message(name, MASKED["the last"])):
            toggle.shape(1, np.ones(N), np.arange(N), **bad)


@pytest.mark.parametrize("kind", ["ExactQuantile", "P2Quantile", "GKQuantile"])
def test_estimators(kind: str) -> None:
    estimator = getattr(toggle_rs, kind)(*([] if kind == "ExactQuantile" else [0.5]))
    for values in (masked(np.arange(N), MASKED["the last"]), np.ma.masked):
        with pytest.raises(ValueError, match=r"^values\[\d\]: got a masked entry"):
            estimator.update(values)
    assert estimator.count == 0


@pytest.mark.parametrize("kind", ["ExactQuantile", "GKQuantile"])
def test_questions(kind: str) -> None:
    estimator = getattr(toggle_rs, kind)(*([] if kind == "ExactQuantile" else [0.5]))
    estimator.update([1, 2, 3])
    for name, ask in (("q", estimator.quantile), ("p", estimator.percentile)):
        for question in (masked(np.array([0.1, 0.5]), [False, True]), np.ma.masked):
            with pytest.raises(ValueError, match=rf"^{name}\[\d\]: got a masked entry"):
                ask(question)
        assert ask(masked(np.array([0.0]), [False])).tolist() == [1.0]


@pytest.mark.parametrize("mask", [False, np.zeros(N, bool), np.ma.nomask])
def test_nothing_masked_is_an_array_like_any_other(mask: Any) -> None:
    good = columns()
    del good["max_score"]
    plain, ours = (Toggle(m=1, lambda_=0.5, percentile=80.0) for _ in range(2))
    plain.apply(1, **good)
    ours.apply(1, **{name: masked(values, mask) for name, values in good.items()})
    assert ours == plain
    assert sum(ours.counts().values()) == N
