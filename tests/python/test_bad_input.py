"""What is refused: the message names the argument, and nothing has changed."""

# ruff: noqa: E501 - the tables have one case a line.

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from agreement import unchanged
from toggle_rs import ToggleBudgetTracker

N = 8


def good() -> dict[str, Any]:
    """Arguments of a call in the penalty phase that records every sample."""
    return {
        "step": 1,
        "scores": np.ones(N),
        "sequence_lengths": np.arange(1, N + 1),
        "datasets": ["math", "code"] * (N // 2),
        "num_samples_per_prompt": 4,
        "max_possible_score": 1.0,
    }


def with_last(values: Any, last: Any) -> Any:
    """All but the last are good: what comes before it must not be recorded either."""
    if isinstance(values, list):
        return [*values[:-1], last]
    values = values.copy()
    values[-1] = last
    return values


def scores(last: Any, dtype: str = "float64") -> dict[str, Any]:
    return {"scores": with_last(np.ones(N, dtype), last)}


def lengths(last: Any, dtype: str = "int64") -> dict[str, Any]:
    return {"sequence_lengths": with_last(np.arange(N).astype(dtype), last)}


def names(last: Any) -> dict[str, Any]:
    return {"datasets": with_last(good()["datasets"], last)}


def key_object(values: list[Any]) -> np.ndarray:
    result = np.empty(len(values), object)
    for i, value in enumerate(values):
        result[i] = value
    return result


def no_unicode(width: int = 2) -> np.ndarray:
    """One text, as NumPy reads any bytes for one: a number beyond the last code point."""
    text: np.ndarray = np.array([[0x110000] * width], "u4").view(f"U{width}")[0]
    return text


# Arguments of both methods. "lengths" in a pattern also stands for "sequence_lengths".
VALUE_ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "NaN score": (scores(np.nan), r"^scores\[7\]: got nan"),
    "infinite score": (scores(np.inf), r"^scores\[7\]: got inf"),
    "minus infinite score": (scores(-np.inf), r"^scores\[7\]: got -inf"),
    "NaN score, float32": (scores(np.nan, "float32"), r"^scores\[7\]: got nan"),
    "infinite score, float32": (scores(np.inf, "float32"), r"^scores\[7\]: got inf"),
    "NaN score, strided": ({"scores": with_last(np.ones(2 * N)[::2], np.nan)}, r"^scores\[7\]: got nan"),
    "NaN score, reversed": ({"scores": with_last(np.ones(N)[::-1], np.nan)}, r"^scores\[7\]: got nan"),
    "NaN score first": ({"scores": np.array([np.nan] + [1.0] * 7)}, r"^scores\[0\]: got nan"),
    "maximum beyond 2**53": ({"max_possible_score": 2**53 + 1}, r"^max_possible_score: got 9007199254740993, expected a number that float64 holds exactly"),
    "negative length": (lengths(-1), r"lengths\[7\]: got -1\b"),
    "negative length, int8": (lengths(-128, "int8"), r"lengths\[7\]: got -128\b"),
    "negative length, int16": (lengths(-1, "int16"), r"lengths\[7\]: got -1\b"),
    "negative length, int32": (lengths(-(2**31), "int32"), r"lengths\[7\]: got -2147483648\b"),
    "most negative length": (lengths(-(2**63)), r"lengths\[7\]: got -9223372036854775808\b"),
    "length above 2**53": (lengths(2**53 + 1), r"lengths\[7\]: got 9007199254740993\b"),
    "length of 2**63 - 1": (lengths(2**63 - 1), r"lengths\[7\]: got 9223372036854775807\b"),
    "length of 2**63": (lengths(2**63, "uint64"), r"lengths\[7\]: got 9223372036854775808\b"),
    "length of 2**64 - 1": (lengths(2**64 - 1, "uint64"), r"lengths\[7\]: got 18446744073709551615\b"),
    "fewer scores": ({"scores": np.ones(4)}, r"length 4\b.*\b8\b|length 8\b.*\b4\b"),
    "more scores": ({"scores": np.ones(12)}, r"length 12\b.*\b8\b|length 8\b.*\b12\b"),
    "no scores": ({"scores": np.ones(0)}, r"length 0\b.*\b8\b|length 8\b.*\b0\b"),
    "fewer lengths": ({"sequence_lengths": np.arange(7)}, r"lengths: has length 7\b.*\b8\b"),
    "more lengths": ({"sequence_lengths": np.arange(9)}, r"lengths: has length 9\b.*\b8\b"),
    "one length": ({"sequence_lengths": np.arange(1)}, r"lengths: has length 1\b.*\b8\b"),
    "fewer datasets": ({"datasets": ["math"] * 7}, r"^datasets: has length 7\b.*\b8\b"),
    "more datasets": ({"datasets": ["math"] * 9}, r"^datasets: has length 9\b.*\b8\b"),
    "no datasets": ({"datasets": []}, r"^datasets: has length 0\b.*\b8\b"),
    "fewer datasets in an array": ({"datasets": np.array(["math"] * 7)}, r"^datasets: has length 7\b.*\b8\b"),
    "lone surrogate": (names("a\ud800"), r"datasets\[7\]"),
    "lone surrogate in a list": (names(["a", "\udfff"]), r"datasets\[7\]"),
    "lone surrogate in an array": ({"datasets": key_object(["a"] * 7 + ["\ud800"])}, r"datasets\[7\]"),
    "lone surrogate in a str array": ({"datasets": np.array(["a"] * 7 + ["\ud800"])}, r"datasets\[7\]"),
    "no Unicode in a str array": ({"datasets": np.append(np.array(["a"] * 7), no_unicode())}, r"^datasets\[7\]: .*valid Unicode"),
    "no Unicode in an array": ({"datasets": key_object(["a"] * 7 + no_unicode().tolist())}, r"^datasets\[7\]: .*valid Unicode"),
    "no Unicode": (names(no_unicode().tolist()[0]), r"^datasets\[7\]: .*valid Unicode"),
    "no Unicode in a list": (names(["a", no_unicode(3).tolist()[0]]), r"^datasets\[7\]: .*valid Unicode"),
    "NaN maximum": ({"max_possible_score": float("nan")}, "^max_possible_score: got nan"),
    "infinite maximum": ({"max_possible_score": float("inf")}, "^max_possible_score: got inf"),
    "zero maximum": ({"max_possible_score": 0.0}, "^max_possible_score: got -?0"),
    "minus zero maximum": ({"max_possible_score": -0.0}, "^max_possible_score: got -?0"),
    "integer zero maximum": ({"max_possible_score": 0}, "^max_possible_score: got 0"),
    "negative maximum": ({"max_possible_score": -10.0}, "^max_possible_score: got -10"),
    "negative integer maximum": ({"max_possible_score": -10}, "^max_possible_score: got -10"),
    "NumPy NaN maximum": ({"max_possible_score": np.float32("nan")}, "^max_possible_score: got nan"),
    "score beyond 2**53": (scores(2**53 + 1, "int64"), r"^scores\[7\]: got 9007199254740993"),
    "score below -2**53": (scores(-(2**63), "int64"), r"^scores\[7\]: got -9223372036854775808"),
    "score of 2**64 - 1": (scores(2**64 - 1, "uint64"), r"^scores\[7\]: got 18446744073709551615"),
    "huge integer maximum": ({"max_possible_score": 10**400}, "^max_possible_score: "),
}  # fmt: skip

FOREIGN_SCORES = (
    "float16", "longdouble", "complex64", "complex128", "object", "datetime64[s]", "timedelta64[s]", "S3", "U3", "V8",
    ">f8", ">f4", ">i8", ">i4", ">u2",
)  # fmt: skip
FOREIGN_LENGTHS = (
    "float64", "float32", "float16", "bool", "object", "complex128", "timedelta64[s]", "S3", "V8", ">i8", ">i4", ">u2",
)  # fmt: skip

TYPE_ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    **{f"scores of {d}": ({"scores": np.ones(N, "u1").astype(d)}, "^scores: ") for d in FOREIGN_SCORES if d != "V8"},
    **{f"lengths of {d}": ({"sequence_lengths": np.ones(N, "u1").astype(d)}, "lengths: ") for d in FOREIGN_LENGTHS if d != "V8"},
    "scores of void": ({"scores": np.zeros(N, "V8")}, "^scores: "),
    "lengths of void": ({"sequence_lengths": np.zeros(N, "V8")}, "lengths: "),
    "scores of a structure": ({"scores": np.zeros(N, [("a", "f8")])}, "^scores: "),
    "lengths of a structure": ({"sequence_lengths": np.zeros(N, [("a", "i8")])}, "lengths: "),
    "big-endian scores": ({"scores": np.ones(N, ">f8")}, "^scores: .*(byte order|endian)"),
    "big-endian lengths": ({"sequence_lengths": np.ones(N, ">i8")}, "lengths: .*(byte order|endian)"),
    "scores of strings": ({"scores": ["1"] * N}, "^scores: "),
    "scores a string": ({"scores": "1" * N}, "^scores: "),
    "scores None": ({"scores": None}, "^scores: "),
    "lengths a string": ({"sequence_lengths": "1" * N}, "lengths: "),
    "lengths None": ({"sequence_lengths": None}, "lengths: "),
    "fractional lengths": ({"sequence_lengths": [1.0] * N}, "lengths"),
    "datasets a str": ({"datasets": "math"}, "^datasets: "),
    "datasets a str of the right length": ({"datasets": "m" * N}, "^datasets: "),
    "datasets a NumPy str": ({"datasets": np.str_("m" * N)}, "^datasets: "),
    "datasets bytes": ({"datasets": b"m" * N}, "^datasets: "),
    "datasets None": ({"datasets": None}, "^datasets: "),
    "datasets a number": ({"datasets": 8}, "^datasets: "),
    "datasets of integers": ({"datasets": np.arange(N)}, r"^datasets(\[0\])?: "),
    "datasets of floats": ({"datasets": np.ones(N)}, r"^datasets(\[0\])?: "),
    "datasets of bytes": ({"datasets": np.array([b"a"] * N)}, r"^datasets(\[0\])?: "),
    "datasets a set": ({"datasets": {str(i) for i in range(N)}}, "^datasets: "),
    "a number as a dataset": (names(5), r"^datasets\[7\]: "),
    "None as a dataset": (names(None), r"^datasets\[7\]: "),
    "NaN as a dataset": (names(float("nan")), r"^datasets\[7\]: "),
    "bytes as a dataset": (names(b"math"), r"^datasets\[7\]: "),
    "a set as a dataset": (names({"math"}), r"^datasets\[7\]: "),
    "an object as a dataset": (names(object()), r"^datasets\[7\]: "),
    "a number in a list": (names(["math", 5]), r"^datasets\[7\]"),
    "None in a tuple": (names((None,)), r"^datasets\[7\]"),
    "a list in a list": (names([["math"]]), r"^datasets\[7\]"),
    "numbers as a dataset": (names(np.arange(2)), r"^datasets\[7\]"),
    "a number in an object array": ({"datasets": key_object(["a"] * 7 + [5])}, r"^datasets\[7\]: "),
    "None in an object array": ({"datasets": key_object(["a"] * 7 + [None])}, r"^datasets\[7\]: "),
    "maximum a str": ({"max_possible_score": "1"}, "^max_possible_score: "),
    "maximum None": ({"max_possible_score": None}, "^max_possible_score: "),
    "maximum complex": ({"max_possible_score": 1j}, "^max_possible_score: "),
    "maximum an array": ({"max_possible_score": np.ones(N)}, "^max_possible_score: "),
}  # fmt: skip

# Not one-dimensional: which of the two errors it is does not matter.
SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "scores in a column": ({"scores": np.ones((N, 1))}, "^scores: "),
    "scores in a row": ({"scores": np.ones((1, N))}, "^scores: "),
    "scores of no dimension": ({"scores": np.array(1.0)}, "^scores: "),
    "scores a number": ({"scores": 1.0}, "^scores: "),
    "lengths a number": ({"sequence_lengths": 3}, "lengths: "),
    "lengths in a column": ({"sequence_lengths": np.ones((N, 1), int)}, "lengths: "),
    "lengths in rows": ({"sequence_lengths": np.ones((2, 4), int)}, "lengths: "),
    "datasets of no dimension": ({"datasets": np.array("math")}, "^datasets: "),
}

PENALTY_ONLY: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "K that does not divide": ({"num_samples_per_prompt": 3}, ValueError, "num_samples_per_prompt.*(3.*8|8.*3)"),
    "K above N": ({"num_samples_per_prompt": 9}, ValueError, "num_samples_per_prompt.*(8.*9|9.*8)"),
    "K of 0": ({"num_samples_per_prompt": 0}, ValueError, "^num_samples_per_prompt: got 0"),
    "K negative": ({"num_samples_per_prompt": -4}, ValueError, "^num_samples_per_prompt: got -4"),
    "K of 2**64 + 4": ({"num_samples_per_prompt": 2**64 + 4}, ValueError, "num_samples_per_prompt"),
    "K of -2**70": ({"num_samples_per_prompt": -(2**70)}, ValueError, "num_samples_per_prompt"),
    "K a float": ({"num_samples_per_prompt": 4.0}, TypeError, "^num_samples_per_prompt: "),
    "K a str": ({"num_samples_per_prompt": "4"}, TypeError, "^num_samples_per_prompt: "),
    "K None": ({"num_samples_per_prompt": None}, TypeError, "^num_samples_per_prompt: "),
    "step negative": ({"step": -1}, ValueError, "^step: got -1"),
    "step of -2**70": ({"step": -(2**70)}, ValueError, "^step: "),
    "step of 2**70": ({"step": 2**70}, ValueError, "^step: "),
    "step a float": ({"step": 1.0}, TypeError, "^step: "),
    "step a NumPy float": ({"step": np.float64(1)}, TypeError, "^step: "),
    "step a str": ({"step": "1"}, TypeError, "^step: "),
    "step None": ({"step": None}, TypeError, "^step: "),
}  # fmt: skip

BOTH = [
    *(pytest.param(change, ValueError, text, id=name) for name, (change, text) in VALUE_ERRORS.items()),
    *(pytest.param(change, TypeError, text, id=name) for name, (change, text) in TYPE_ERRORS.items()),
    *(pytest.param(change, (TypeError, ValueError), text, id=name) for name, (change, text) in SHAPES.items()),
]  # fmt: skip


def test_the_good_arguments_are_good(tracker: ToggleBudgetTracker) -> None:
    tracker.maybe_apply(**good())
    assert tracker.counts()["math",] == 2 + N // 2


@pytest.mark.parametrize("step", [0, 1], ids=["normal", "penalty"])
@pytest.mark.parametrize(("change", "error", "message"), BOTH)
def test_maybe_apply(
    tracker: ToggleBudgetTracker, change: dict[str, Any], error: Any, message: str, step: int
) -> None:
    with unchanged(tracker), pytest.raises(error, match=f"(?i){message}"):
        tracker.maybe_apply(**(good() | {"step": step} | change))


@pytest.mark.parametrize(("change", "error", "message"), BOTH)
def test_update(
    tracker: ToggleBudgetTracker, change: dict[str, Any], error: Any, message: str
) -> None:
    arguments = good() | change
    arguments["lengths"] = arguments.pop("sequence_lengths")
    del arguments["step"], arguments["num_samples_per_prompt"]
    with unchanged(tracker), pytest.raises(error, match=f"(?i){message}"):
        tracker.update(**arguments)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [pytest.param(*case, id=name) for name, case in PENALTY_ONLY.items()],
)
def test_maybe_apply_in_the_penalty_phase(
    tracker: ToggleBudgetTracker, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    with unchanged(tracker), pytest.raises(error, match=f"(?i){message}"):
        tracker.maybe_apply(**(good() | change))


def test_the_error_is_an_exception_not_a_panic(tracker: ToggleBudgetTracker) -> None:
    """A panic is a BaseException that `except Exception` does not catch."""
    for change, _ in [*VALUE_ERRORS.values(), *TYPE_ERRORS.values(), *SHAPES.values()]:
        with pytest.raises(Exception, match=r".") as caught:
            tracker.maybe_apply(**(good() | change))
        assert not re.search("panic|unwrap|Rust", str(caught.value))


SETTINGS: dict[str, tuple[str, Any, type[Exception]]] = {
    "m negative": ("m", -1, ValueError),
    "m huge": ("m", 2**70, ValueError),
    "m very negative": ("m", -(2**70), ValueError),
    "m a float": ("m", 2.0, TypeError),
    "m a str": ("m", "2", TypeError),
    "m None": ("m", None, TypeError),
    "lambda NaN": ("lambda_", float("nan"), ValueError),
    "lambda infinite": ("lambda_", float("inf"), ValueError),
    "lambda minus infinite": ("lambda_", float("-inf"), ValueError),
    "lambda huge": ("lambda_", 10**400, ValueError),
    "lambda a str": ("lambda_", "0.5", TypeError),
    "lambda None": ("lambda_", None, TypeError),
    "lambda complex": ("lambda_", 0.5j, TypeError),
    "percentile above": ("percentile", 101, ValueError),
    "percentile just above": ("percentile", 100.00000000000001, ValueError),
    "percentile just below": ("percentile", -1e-300, ValueError),
    "percentile negative": ("percentile", -1, ValueError),
    "percentile NaN": ("percentile", float("nan"), ValueError),
    "percentile infinite": ("percentile", float("inf"), ValueError),
    "percentile a str": ("percentile", "80", TypeError),
    "percentile None": ("percentile", None, TypeError),
    "percentile a list": ("percentile", [80.0], TypeError),
    "warm-up negative": ("warmup_steps", -1, ValueError),
    "warm-up huge": ("warmup_steps", 2**70, ValueError),
    "warm-up a float": ("warmup_steps", 1.0, TypeError),
    "warm-up None": ("warmup_steps", None, TypeError),
}


@pytest.mark.parametrize(("name", "value", "error"), SETTINGS.values(), ids=SETTINGS)
def test_settings(
    tracker: ToggleBudgetTracker, name: str, value: Any, error: type[Exception]
) -> None:
    arguments = {"m": 1, "lambda_": 0.5, "percentile": 80.0, "warmup_steps": 0, name: value}
    with pytest.raises(error, match=f"^{name}: "):
        ToggleBudgetTracker(**arguments)
    with unchanged(tracker), pytest.raises(error, match=f"^{name}: "):
        setattr(tracker, name, value)


@pytest.mark.parametrize("estimator", ["nope", "", "EXACT"])
def test_unknown_estimator(estimator: Any) -> None:
    with pytest.raises(ValueError, match=r"^estimator: "):
        ToggleBudgetTracker(1, 0.5, 80.0, 0, estimator=estimator)


@pytest.mark.parametrize("estimator", [5, b"exact", 0.5])
def test_estimator_of_a_wrong_type(estimator: Any) -> None:
    with pytest.raises(TypeError, match=r"^estimator: "):
        ToggleBudgetTracker(1, 0.5, 80.0, 0, estimator=estimator)


@pytest.mark.parametrize(
    "name", ["m", "lambda_", "percentile", "warmup_steps", "enabled", "lengths_per_dataset"]
)
def test_no_attribute_can_be_deleted(tracker: ToggleBudgetTracker, name: str) -> None:
    with unchanged(tracker), pytest.raises((AttributeError, TypeError)):
        delattr(tracker, name)


@pytest.mark.parametrize("name", ["enabled", "lengths_per_dataset"])
def test_what_is_derived_cannot_be_set(tracker: ToggleBudgetTracker, name: str) -> None:
    with unchanged(tracker), pytest.raises(AttributeError):
        setattr(tracker, name, {})


@pytest.mark.parametrize("key", [5, None, b"math", ["math", 5], [None], {"math"}, object(), 1.5])
def test_budget_of_what_is_no_key(tracker: ToggleBudgetTracker, key: Any) -> None:
    with unchanged(tracker), pytest.raises(TypeError, match=r"^dataset"):
        tracker.budget(key)


@pytest.mark.parametrize("name", ["\ud800", no_unicode().tolist()[0]])
def test_budget_of_what_is_no_unicode(tracker: ToggleBudgetTracker, name: str) -> None:
    with unchanged(tracker), pytest.raises(ValueError, match="dataset"):
        tracker.budget(name)


@pytest.mark.parametrize("of", ["repr", "class"])
def test_a_message_about_what_is_no_unicode(tracker: ToggleBudgetTracker, of: str) -> None:
    text = no_unicode().tolist()[0]
    shown = {"repr": text if of == "repr" else "x" * 99, "class": text if of == "class" else "Odd"}
    odd = type(shown["class"], (), {"__repr__": lambda _: shown["repr"]})
    with (
        unchanged(tracker),
        pytest.raises(TypeError, match=r"^datasets\[0\]: got .*expected a str"),
    ):
        tracker.update([odd()], [1], np.ones(1), 1.0)
