"""What `Toggle` refuses: the message names the argument, and no byte of the state has changed."""

# ruff: noqa: E501 - the tables have one case a line.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import toggle_rs
from agreement import unchanged
from test_bad_input import FOREIGN_LENGTHS, FOREIGN_SCORES, key_object, no_unicode, with_last
from toggle_oracle import new_estimator
from toggle_rs import Toggle
from toggle_runs import ESTIMATORS

N = 8
CLOCK = 5


@pytest.fixture(params=["never", "first"])
def toggle(request: pytest.FixtureRequest) -> Toggle:
    """In a penalty phase, with lengths that count and lengths that do not count yet."""
    result = Toggle(
        m=1000, lambda_=0.5, percentile=80.0, start_phase="length_penalty", freeze=request.param
    )
    for step in (CLOCK - 1, CLOCK):
        result.observe(["math", "code", ["math", "code"]], [10, 20, 30], np.ones(3), step=step)
    return result


def good() -> dict[str, Any]:
    """Arguments of a call that records every sample."""
    return {
        "step": CLOCK + 1,
        "scores": np.ones(N),
        "lengths": np.arange(1, N + 1),
        "datasets": ["math", "new"] * (N // 2),
        "groups": ["g", "h"] * (N // 2),
        "correct": None,
    }


def last(name: str, value: Any, dtype: str | None = None) -> dict[str, Any]:
    values = good()[name] if dtype is None else np.ones(N, dtype)
    return {name: with_last(values, value)}


def vast(value: Any, dtype: str | None = None) -> Any:
    """So many samples that their number would be N in 32 bits; all lie in one place."""
    return np.broadcast_to(np.array(value, dtype), 2**32 + N)


# What `observe` has as well.
COMMON: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "NaN score": (last("scores", np.nan), ValueError, r"^scores\[7\]: got NaN"),
    "infinite score": (last("scores", -np.inf), ValueError, r"^scores\[7\]: got -inf"),
    "NaN score, float32": (last("scores", np.nan, "float32"), ValueError, r"^scores\[7\]: got NaN"),
    "NaN score where correct is told": ({**last("scores", np.nan), "correct": np.ones(N, bool)}, ValueError, r"^scores\[7\]: got NaN"),
    "score beyond 2**53": (last("scores", 2**53 + 1, "int64"), ValueError, r"^scores\[7\]: got 9007199254740993"),
    "scores in a column": ({"scores": np.ones((N, 1))}, ValueError, "^scores: "),
    "negative length": (last("lengths", -1), ValueError, r"^lengths\[7\]: got -1\b"),
    "negative length in a list": ({"lengths": [1] * 7 + [-1]}, ValueError, r"^lengths\[7\]: got -1\b"),
    "length above 2**53": (last("lengths", 2**53 + 1), ValueError, r"^lengths\[7\]: got 9007199254740993\b"),
    "huge length in a list": ({"lengths": [1] * 7 + [10**30]}, ValueError, r"^lengths\[7\]: got 1000000000000000000000000000000\b"),
    "fewer lengths": ({"lengths": np.arange(7)}, ValueError, r"^lengths: has length 7, expected 8"),
    "more lengths": ({"lengths": list(range(9))}, ValueError, r"^lengths: has length 9, expected 8"),
    "fewer datasets": ({"datasets": ["math"] * 7}, ValueError, r"^datasets: has length 7, expected 8"),
    "more datasets": ({"datasets": ("math",) * 9}, ValueError, r"^datasets: has length 9, expected 8"),
    "maximum beyond 2**53": ({"max_score": 2**53 + 1}, ValueError, "^max_score: got 9007199254740993, expected a number that float64 holds exactly"),
    "ragged lengths": ({"lengths": ([[1, 2], [3]] * N)[:N]}, TypeError, r"^lengths\[0\]: "),
    "ragged scores": ({"scores": ([[1, 2], [3]] * N)[:N]}, ValueError, r"^scores: setting an array element"),
    "lengths of float16": ({"lengths": np.ones(N, "float16")}, TypeError, r"^lengths: .*expected an integer dtype$"),
    "vast scores": ({"scores": vast(1.0)}, ValueError, r"^scores: got 4294967304 samples, expected fewer than 2\*\*32"),
    "vast correct": ({"correct": vast(True)}, ValueError, r"^correct: got 4294967304 samples, expected fewer than 2\*\*32"),
    "vast lengths": ({"lengths": vast(5)}, ValueError, r"^lengths: has length 4294967304, expected 8"),
    "vast maxima": ({"max_score": vast(1.0)}, ValueError, r"^max_score: has length 4294967304, expected 8"),
    "vast datasets, str array": ({"datasets": vast("math")}, ValueError, r"^datasets: has length 4294967304, expected 8"),
    "vast datasets, object array": ({"datasets": vast("math", "object")}, ValueError, r"^datasets: has length 4294967304, expected 8"),
    "fewer correct": ({"correct": np.ones(7, bool)}, ValueError, r"^correct: has length 7, expected 8, the length of scores"),
    "more correct": ({"correct": [True] * 9}, ValueError, r"^correct: has length 9, expected 8"),
    "correct of no dimension": ({"correct": np.array(True)}, ValueError, r"^correct: "),
    "correct in rows": ({"correct": np.ones((2, 4), bool)}, ValueError, r"^correct: "),
    "lone surrogate": (last("datasets", "a\ud800"), ValueError, r"^datasets\[7\]"),
    "NaN maximum": ({"max_score": float("nan")}, ValueError, "^max_score: got NaN"),
    "infinite maximum": ({"max_score": float("inf")}, ValueError, "^max_score: got inf"),
    "maximum of 0": ({"max_score": 0}, ValueError, "^max_score: got 0"),
    "negative maximum": ({"max_score": -1.0}, ValueError, "^max_score: got -1"),
    "maximum of 0 for a sample": ({"max_score": with_last(np.ones(N), 0.0)}, ValueError, r"^max_score\[7\]: got 0\b"),
    "negative maximum for a sample": ({"max_score": with_last(np.ones(N), -2.5)}, ValueError, r"^max_score\[7\]: got -2.5\b"),
    "negative integer for a sample": ({"max_score": with_last(np.ones(N, int), -2)}, ValueError, r"^max_score\[7\]: got -2\b"),
    "NaN for a sample": ({"max_score": with_last(np.ones(N), np.nan)}, ValueError, r"^max_score\[7\]: got NaN"),
    "infinite for a sample": ({"max_score": with_last(np.ones(N, "float32"), np.inf)}, ValueError, r"^max_score\[7\]: got inf"),
    "maximum beyond 2**53 for a sample": ({"max_score": with_last(np.ones(N, int), 2**53 + 1)}, ValueError, r"^max_score\[7\]: got 9007199254740993\b"),
    "false for a sample": ({"max_score": with_last(np.ones(N, bool), False)}, ValueError, r"^max_score\[7\]: got false"),
    "bad maximum where correct is told": ({"max_score": with_last(np.ones(N), 0.0), "correct": [True] * N}, ValueError, r"^max_score\[7\]"),
    "fewer maxima where correct is told": ({"max_score": np.ones(7), "correct": [True] * N}, ValueError, r"^max_score: has length 7, expected 8"),
    "fewer maxima": ({"max_score": np.ones(7)}, ValueError, r"^max_score: has length 7, expected 8"),
    "more maxima": ({"max_score": [1.0] * 9}, ValueError, r"^max_score: has length 9, expected 8"),
    "maxima in rows": ({"max_score": np.ones((2, 4))}, ValueError, r"^max_score: "),
    "step back": ({"step": CLOCK - 1}, ValueError, r"^step: got 4, expected 5, the last observed step, or a later one"),
    "step far back": ({"step": 0}, ValueError, r"^step: got 0\b"),
    "step negative": ({"step": -1}, ValueError, r"^step: got -1\b"),
    "step of 2**70": ({"step": 2**70}, ValueError, "^step: got 1180591620717411303424"),
    "step a float": ({"step": 6.0}, TypeError, "^step: "),
    "step a str": ({"step": "6"}, TypeError, "^step: "),
    "step a bool": ({"step": True}, TypeError, r"^step: got True \(bool\), expected an integer"),
    **{f"scores of {d}": ({"scores": np.ones(N, "u1").astype(d)}, TypeError, "^scores: ") for d in FOREIGN_SCORES if d != "V8"},
    **{f"lengths of {d}": ({"lengths": np.ones(N, "u1").astype(d)}, TypeError, "^lengths: ") for d in FOREIGN_LENGTHS if d != "V8"},
    "whole floats as lengths": ({"lengths": [1.0] * N}, TypeError, r"^lengths\[0\]: got 1.0"),
    "bool among the lengths": ({"lengths": [1] * 7 + [True]}, TypeError, r"^lengths\[7\]: got True"),
    "lengths None": ({"lengths": None}, TypeError, "^lengths: "),
    "scores of str": ({"scores": ["1"] * N}, TypeError, "^scores: "),
    **{f"correct of {d}": ({"correct": np.ones(N, d)}, TypeError, "^correct: .*expected dtype bool") for d in ("int64", "uint8", "float64", "object", "U1")},
    "correct a list of ints": ({"correct": [1] * N}, TypeError, "^correct: "),
    "correct a number": ({"correct": 1.0}, TypeError, "^correct: "),
    "datasets a str": ({"datasets": "m" * N}, TypeError, "^datasets: "),
    "datasets None": ({"datasets": None}, TypeError, "^datasets: "),
    "datasets of numbers": ({"datasets": np.arange(N)}, TypeError, r"^datasets(\[0\])?: "),
    "a number as dataset": (last("datasets", 5), TypeError, r"^datasets\[7\]: got 5 \(int\)"),
    "None as dataset": (last("datasets", None), TypeError, r"^datasets\[7\]: got None"),
    "a number in a dataset": (last("datasets", ["math", 5]), TypeError, r"^datasets\[7\]"),
    "a number as dataset in an object array": ({"datasets": key_object(["a"] * 7 + [5])}, TypeError, r"^datasets\[7\]"),
    "maximum None": ({"max_score": None}, TypeError, "^max_score: "),
    "maximum a str": ({"max_score": "1"}, TypeError, r"^max_score: got '1' \(str\), expected a number$"),
    "maximum complex": ({"max_score": 1j}, TypeError, "^max_score: "),
    "maxima of str": ({"max_score": ["1"] * N}, TypeError, "^max_score: "),
    "maxima of objects": ({"max_score": np.ones(N, object)}, TypeError, "^max_score: "),
    "maxima a dict": ({"max_score": {}}, TypeError, "^max_score: "),
}  # fmt: skip

GROUPS: dict[str, tuple[Any, type[Exception] | tuple[type[Exception], ...], str]] = {
    "K that does not divide": (3, ValueError, r"^groups: got 3, .*8 samples"),
    "K above N": (16, ValueError, r"^groups: got 16, .*8 samples"),
    "K of 0": (0, ValueError, r"^groups: got 0\b"),
    "K negative": (-4, ValueError, r"^groups: got -4\b"),
    "K of 2**64 + 4": (2**64 + 4, ValueError, r"^groups: "),
    "K a float": (4.0, TypeError, r"^groups: "),
    "K a NumPy float": (np.float64(4), TypeError, r"^groups: "),
    "K a bool": (True, TypeError, r"^groups: got True \(bool\), expected an integer"),
    "K None": (None, TypeError, r"^groups: "),
    "a str": ("g" * N, TypeError, r"^groups: "),
    "nothing": (None, TypeError, r"^groups: got None \(NoneType\), expected a group size, or one int or str id per sample$"),
    "bytes": (b"g" * N, (TypeError, ValueError), r"^groups: "),
    "an object": (object(), TypeError, r"^groups: "),
    "a set": ({*range(N)}, TypeError, r"^groups: "),
    "a dict": (dict.fromkeys(range(N)), TypeError, r"^groups: "),
    "a generator": ((i for i in range(N)), TypeError, r"^groups: "),
    "vast ids": (vast(1), ValueError, r"^groups: has length 4294967304, expected 8"),
    "vast ids, str array": (vast("g"), ValueError, r"^groups: has length 4294967304, expected 8"),
    "vast ids, object array": (vast("g", "object"), ValueError, r"^groups: has length 4294967304, expected 8"),
    "ids too few": (np.arange(7), ValueError, r"^groups: has length 7, expected 8, the length of scores"),
    "ids too few, str": (["g"] * 7, ValueError, r"^groups: has length 7, expected 8"),
    "ids too few, str array": (np.array(["g"] * 7), ValueError, r"^groups: has length 7, expected 8"),
    "ids too many": ((1,) * 9, ValueError, r"^groups: has length 9, expected 8"),
    "no ids": ([], ValueError, r"^groups: has length 0, expected 8"),
    "ids in rows": (np.ones((2, 4), int), ValueError, r"^groups: "),
    **{f"ids of {d}": (np.ones(N, "u1").astype(d), TypeError, r"^groups: .*expected an integer or str dtype") for d in ("float64", "float32", "float16", "bool", "complex64", "S1", "datetime64[s]", "timedelta64[s]", ">i8", ">u2")},
    "ids of void": (np.zeros(N, "V8"), TypeError, r"^groups: "),
    "floats": ([1.0] * N, TypeError, r"^groups\[0\]: got 1.0"),
    "a float among ints": ([1] * 7 + [2.0], TypeError, r"^groups\[7\]: got 2.0"),
    "NaN among str": (["a"] * 7 + [float("nan")], TypeError, r"^groups\[7\]: got nan"),
    "None": ([None] * N, TypeError, r"^groups\[0\]: got None"),
    "None among ints": ([1] * 7 + [None], TypeError, r"^groups\[7\]: got None"),
    "None in an object array": (key_object(["a"] * 7 + [None]), TypeError, r"^groups\[7\]: got None"),
    "bools": ([True, False] * 4, TypeError, r"^groups\[0\]: got True"),
    "a bool among ints": ([1] * 7 + [True], TypeError, r"^groups\[7\]: got True"),
    "a bool beside a huge int": ([2**80] * 7 + [True], TypeError, r"^groups\[7\]: got True"),
    "NumPy bools in an object array": (key_object([*np.ones(N, bool)]), TypeError, r"^groups\[0\]: got "),
    "a str among ints": ([1] * 7 + ["1"], TypeError, r"^groups\[7\]: got '1' .*all int or all str"),
    "an int among str": (["1"] * 7 + [1], TypeError, r"^groups\[7\]: got 1 .*all int or all str"),
    "bytes among str": (["1"] * 7 + [b"1"], TypeError, r"^groups\[7\]: got b'1'"),
    "tuples": ([("a", 1)] * N, TypeError, r"^groups\[0\]: "),
    "lists of str": ([["a"]] * N, TypeError, r"^groups\[0\]: "),
    "a lone surrogate": (["a"] * 7 + ["\udc80"], ValueError, r"^groups\[7\]: got .*surrogate"),
    "no Unicode": (["a"] * 7 + no_unicode().tolist(), ValueError, r"^groups\[7\]: got .*valid Unicode"),
    "an int of 2**127": ([1] * 7 + [2**127], ValueError, r"^groups\[7\]: got 170141183460469231731687303715884105728, expected an int in"),
    "an int of -10**5000": ([1] * 7 + [-(10**5000)], ValueError, r"^groups\[7\]: got a huge number"),
}  # fmt: skip

SHAPING = [
    *(pytest.param(*case, id=name) for name, case in COMMON.items()),
    *(pytest.param({"groups": groups}, error, text, id=f"groups: {name}") for name, (groups, error, text) in GROUPS.items()),
    pytest.param({"scores": np.ones(4)}, ValueError, "has length", id="fewer scores"),
    pytest.param({"scores": None}, TypeError, "^scores: ", id="scores None"),
    pytest.param({"scores": 1.0}, TypeError, "^scores: ", id="scores a number"),
    pytest.param({"step": None}, TypeError, "^step: ", id="step None"),
    pytest.param({"groups": 3, "datasets": ["math", 5]}, (TypeError, ValueError), ".", id="two faults"),
]  # fmt: skip


def test_the_good_arguments_are_good(toggle: Toggle) -> None:
    before = toggle.counts()["math",]
    toggle.apply(**good())
    assert toggle.counts() == {
        ("math",): before + 4,
        ("code",): 2,
        ("math", "code"): 2,
        ("new",): 4,
    }


@pytest.mark.parametrize("method", ["shape", "apply"])
@pytest.mark.parametrize(("change", "error", "message"), SHAPING)
def test_shaping(
    toggle: Toggle, method: str, change: dict[str, Any], error: Any, message: str
) -> None:
    with unchanged(toggle), pytest.raises(error, match=f"(?i){message}"):
        getattr(toggle, method)(**(good() | change))
    # It goes on as if nothing had been.
    with unchanged(toggle):
        toggle.shape(**good())


def observing(change: dict[str, Any]) -> dict[str, Any]:
    arguments = good() | change
    del arguments["groups"]
    return arguments


@pytest.mark.parametrize(("change", "error", "message"), COMMON.values(), ids=COMMON)
def test_observe(toggle: Toggle, change: dict[str, Any], error: Any, message: str) -> None:
    with unchanged(toggle), pytest.raises(error, match=f"(?i){message}"):
        toggle.observe(**observing(change))


WITHOUT_STEP = {name: case for name, case in COMMON.items() if "step" not in case[0]}


@pytest.mark.parametrize(("change", "error", "message"), WITHOUT_STEP.values(), ids=WITHOUT_STEP)
def test_observe_at_once(toggle: Toggle, change: dict[str, Any], error: Any, message: str) -> None:
    with unchanged(toggle), pytest.raises(error, match=f"(?i){message}"):
        toggle.observe(**observing(change) | {"step": None})


def test_observe_needs_scores_or_correct(toggle: Toggle) -> None:
    with unchanged(toggle), pytest.raises(TypeError, match="^scores: got None, .* correct"):
        toggle.observe(["math"], [1], step=9)
    with unchanged(toggle), pytest.raises(ValueError, match="^datasets: has length 1, expected 2"):
        toggle.observe(["math"], [1], correct=[True, True], step=9)


@pytest.mark.parametrize("method", ["shape", "apply"])
@pytest.mark.parametrize("m", [0, 1, 1000])
def test_groups_are_checked_in_every_phase(method: str, m: int) -> None:
    """Also in the normal phase, and when disabled."""
    toggle = Toggle(m=m, lambda_=0.5, percentile=80.0)
    for groups, error, message in GROUPS.values():
        with unchanged(toggle), pytest.raises(error, match=f"(?i){message}"):
            getattr(toggle, method)(**(good() | {"groups": groups, "step": 0}))


def test_a_disabled_one_checks_all_the_rest_too() -> None:
    toggle = Toggle(m=0, lambda_=0.5, percentile=80.0)
    for change, error, message in COMMON.values():
        if "back" not in message and change.get("step") not in (0, CLOCK - 1):
            for method in ("shape", "apply"):
                with unchanged(toggle), pytest.raises(error, match=f"(?i){message}"):
                    getattr(toggle, method)(**(good() | change))


# The clock


def test_time_never_goes_back_in_observe_shape_and_apply() -> None:
    toggle = Toggle(m=1, lambda_=0.0, percentile=50.0)
    toggle.observe(["a"], [1], [1.0], step=7)
    toggle.shape(9, [1.0], [1], ["a"], groups=1)  # moves no clock
    toggle.observe(["a"], [1], [1.0], step=7)
    with unchanged(toggle):
        for step in (0, 6):
            with pytest.raises(ValueError, match=f"^step: got {step}, expected 7, the last"):
                toggle.observe(["a"], [1], [1.0], step=step)
            for method in (toggle.shape, toggle.apply):
                with pytest.raises(ValueError, match=f"^step: got {step}, expected 7, the last"):
                    method(step, [1.0], [1], ["a"], groups=1)


def test_a_refused_call_moves_no_clock() -> None:
    toggle = Toggle(m=1, lambda_=0.0, percentile=50.0)
    for method in (toggle.apply, toggle.shape):
        with pytest.raises(ValueError, match=r"^lengths\[0\]"):
            method(9, [1.0], [-1], ["a"], groups=1)
    with pytest.raises(ValueError, match=r"^lengths\[0\]"):
        toggle.observe(["a"], [-1], [1.0], step=9)
    toggle.observe(["a"], [1], [1.0], step=0)


NEEDS_CLOCK: dict[str, dict[str, Any]] = {
    "warmup": {"freeze": "warmup"},
    "decay": {"estimator": toggle_rs.DecayQuantile(2.0)},
}


@pytest.mark.parametrize("options", NEEDS_CLOCK.values(), ids=NEEDS_CLOCK)
@pytest.mark.parametrize("m", [0, 1])
def test_step_none_where_the_settings_need_a_clock(m: int, options: dict[str, Any]) -> None:
    toggle = Toggle(m=m, lambda_=0.5, percentile=80.0, **options)
    for step in ({}, {"step": None}):
        with unchanged(toggle), pytest.raises(ValueError, match="^step: got None, expected a step"):
            toggle.observe(["a"], [1], [1.0], **step)


def test_a_step_that_decay_cannot_count() -> None:
    toggle = Toggle(m=1, lambda_=0.5, percentile=80.0, estimator=toggle_rs.DecayQuantile(2.0))
    toggle.observe(["a"], [1], [1.0], step=2**53)
    for method in (toggle.shape, toggle.apply):
        with unchanged(toggle), pytest.raises(ValueError, match="^step: got 9007199254740993"):
            method(2**53 + 1, [1.0], [1], ["a"], groups=1)
    with unchanged(toggle), pytest.raises(ValueError, match="^step: got 9007199254740993"):
        toggle.observe(["a"], [1], [1.0], step=2**53 + 1)
    assert toggle.budget("a") == 1.0


def test_the_last_step_of_all() -> None:
    toggle = Toggle(m=2**64 - 1, lambda_=0.5, percentile=80.0)
    toggle.apply(2**64 - 1, np.ones(2), [1, 2], ["a"] * 2, groups=2)
    assert toggle.is_penalty_step(2**64 - 1)
    assert toggle.budget("a") == 1.8


# Settings

SETTINGS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "m negative": ({"m": -1}, ValueError, "^m: got -1"),
    "m of 2**64": ({"m": 2**64}, ValueError, "^m: got 18446744073709551616"),
    "m a float": ({"m": 2.0}, TypeError, "^m: "),
    "m a str": ({"m": "2"}, TypeError, "^m: "),
    "m None": ({"m": None}, TypeError, "^m: "),
    "m a bool": ({"m": True}, TypeError, r"^m: got True \(bool\), expected an integer"),
    "lambda NaN": ({"lambda_": float("nan")}, ValueError, "^lambda_: got NaN"),
    "lambda infinite": ({"lambda_": float("inf")}, ValueError, "^lambda_: got inf"),
    "lambda huge": ({"lambda_": 10**400}, ValueError, "^lambda_: "),
    "lambda a str": ({"lambda_": "0.5"}, TypeError, "^lambda_: "),
    "lambda None": ({"lambda_": None}, TypeError, "^lambda_: "),
    "percentile above": ({"percentile": 100.00000000000001}, ValueError, "^percentile: got 100.00000000000001"),
    "percentile below": ({"percentile": -1e-300}, ValueError, "^percentile: got -"),
    "percentile NaN": ({"percentile": float("nan")}, ValueError, "^percentile: got NaN"),
    "percentile None": ({"percentile": None}, TypeError, "^percentile: "),
    "percentile out of range, p2": ({"percentile": 101, "estimator": "p2"}, ValueError, "^percentile: got 101"),
    "percentile out of range, gk": ({"percentile": 101, "estimator": "gk"}, ValueError, "^percentile: got 101"),
    "percentile of another p2": ({"estimator": toggle_rs.P2Quantile(0.5)}, ValueError, "^percentile: got 80"),
    "warm-up negative": ({"warmup_steps": -1}, ValueError, "^warmup_steps: got -1"),
    "warm-up a float": ({"warmup_steps": 1.0}, TypeError, "^warmup_steps: "),
    "warm-up a bool": ({"warmup_steps": False}, TypeError, "^warmup_steps: got False"),
    "warm-up None": ({"warmup_steps": None}, TypeError, "^warmup_steps: "),
    "min_samples of 0": ({"min_samples": 0}, ValueError, "^min_samples: got 0"),
    "min_samples negative": ({"min_samples": -1}, ValueError, "^min_samples: got -1"),
    "min_samples a float": ({"min_samples": 1.0}, TypeError, "^min_samples: "),
    "min_samples a bool": ({"min_samples": True}, TypeError, "^min_samples: got True"),
    "min_samples None": ({"min_samples": None}, TypeError, "^min_samples: "),
    "start_phase unknown": ({"start_phase": "penalty"}, ValueError, "^start_phase: got \"penalty\", expected \"normal\" or \"length_penalty\""),
    "start_phase in capitals": ({"start_phase": "Normal"}, ValueError, "^start_phase: "),
    "start_phase None": ({"start_phase": None}, TypeError, "^start_phase: "),
    "start_phase a number": ({"start_phase": 0}, TypeError, "^start_phase: "),
    "freeze unknown": ({"freeze": "always"}, ValueError, "^freeze: got \"always\", expected \"never\" or \"warmup\" or \"first\""),
    "freeze None": ({"freeze": None}, TypeError, "^freeze: "),
    "freeze a bool": ({"freeze": False}, TypeError, "^freeze: "),
    "penalty unknown": ({"penalty": "half"}, ValueError, "^penalty: got \"half\", expected \"zero\" or \"cap_at_zero\""),
    "penalty None": ({"penalty": None}, TypeError, "^penalty: "),
    "penalty a surrogate": ({"penalty": "\ud800"}, ValueError, "^penalty: "),
    "penalty no Unicode": ({"penalty": no_unicode().tolist()[0]}, ValueError, "^penalty: got .*expected"),
    "estimator no Unicode": ({"estimator": no_unicode().tolist()[0]}, ValueError, "^estimator: got .*expected"),
    "estimator unknown": ({"estimator": "kll"}, ValueError, "^estimator: got \"kll\".* such as WindowQuantile"),
    "estimator empty": ({"estimator": ""}, ValueError, "^estimator: "),
    "estimator None": ({"estimator": None}, TypeError, "^estimator: "),
    "estimator a class": ({"estimator": toggle_rs.ExactQuantile}, TypeError, "^estimator: "),
    "estimator a number": ({"estimator": 0.001}, TypeError, "^estimator: "),
}  # fmt: skip


@pytest.mark.parametrize(("change", "error", "message"), SETTINGS.values(), ids=SETTINGS)
def test_settings(change: dict[str, Any], error: Any, message: str) -> None:
    arguments = {"m": 1, "lambda_": 0.5, "percentile": 80.0} | change
    with pytest.raises(error, match=message):
        Toggle(**arguments)
    if change.keys() <= {"m", "lambda_", "percentile"}:
        with pytest.raises(error, match=message):
            Toggle.kimi_k25(**arguments)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_that_holds_values_is_no_pattern(estimator: str) -> None:
    pattern: Any = ESTIMATORS[estimator]()
    if isinstance(pattern, str):
        pattern = new_estimator(pattern, 80.0)
    pattern.update([1])
    with pytest.raises(ValueError, match="^estimator: got one that holds 1 value"):
        Toggle(m=1, lambda_=0.5, percentile=80.0, estimator=pattern)


def test_arguments_are_keywords_and_none_may_be_left_out() -> None:
    with pytest.raises(TypeError):
        Toggle(1, 0.5, 80.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="percentile"):
        Toggle(m=1, lambda_=0.5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="warmup_steps"):
        Toggle.kimi_k25(m=1, lambda_=0.5, percentile=80, warmup_steps=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="groups"):
        Toggle(m=1, lambda_=0.5, percentile=80).shape(0, [1.0], [1], ["a"])  # type: ignore[call-arg]


@pytest.mark.parametrize("key", [5, None, b"math", ["math", 5], {"math"}, object(), np.arange(2)])
def test_budget_of_what_is_no_key(toggle: Toggle, key: Any) -> None:
    with unchanged(toggle), pytest.raises(TypeError, match="^key: "):
        toggle.budget(key)


@pytest.mark.parametrize(
    ("step", "error"),
    [(-1, ValueError), (2**64, ValueError), (1.0, TypeError), (None, TypeError), (True, TypeError)],
)
def test_is_penalty_step_of_what_is_no_step(toggle: Toggle, step: Any, error: Any) -> None:
    with unchanged(toggle), pytest.raises(error, match="^step: "):
        toggle.is_penalty_step(step)


@pytest.mark.parametrize("name", ["settings", "nbytes", "m", "lambda_", "estimator"])
def test_nothing_can_be_set(toggle: Toggle, name: str) -> None:
    with unchanged(toggle), pytest.raises(AttributeError):
        setattr(toggle, name, 1)
