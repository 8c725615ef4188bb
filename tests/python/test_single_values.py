"""`update` with one number is `update` with an array of it, for every estimator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import resume
import toggle_rs
import toggle_runs
from toggle_oracle import new_estimator
from toggle_rs import DecayQuantile, ExactQuantile, GKQuantile, P2Quantile, WindowQuantile

COUNTING: dict[str, Callable[[], Any]] = {
    "exact": ExactQuantile,
    "window": lambda: WindowQuantile(7),
    "decay": lambda: DecayQuantile(2.0),
}
SKETCHES: dict[str, Callable[[], Any]] = {
    "p2": lambda: P2Quantile(0.8),
    "gk": lambda: GKQuantile(0.1),
}
ALL = COUNTING | SKETCHES
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def test_the_tests_go_through_every_estimator() -> None:
    every = {name for name in toggle_rs.__all__ if name.endswith("Quantile")}
    for kinds in (ALL, resume.ESTIMATORS, toggle_runs.ESTIMATORS):
        made = (make() for make in kinds.values())
        objects = (new_estimator(one, 80.0) if isinstance(one, str) else one for one in made)
        assert {type(one).__name__ for one in objects} == every


class Whole(int):
    """An int that says so itself."""


class Real(float):
    """A float that says it is another one."""

    def __float__(self) -> float:
        return 13.0


@pytest.mark.parametrize("kind", SKETCHES)
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53))
)
def test_numbers_one_by_one(kind: str, values: list[float]) -> None:
    one_by_one, arrays = ALL[kind](), ALL[kind]()
    for value in values:
        one_by_one.update(value)
        arrays.update(np.array([value]))
    assert one_by_one.to_bytes() == arrays.to_bytes()
    if values:
        assert math.copysign(1, one_by_one.min) == math.copysign(1, arrays.min)


@pytest.mark.parametrize("kind", COUNTING)
@given(values=st.lists(st.integers(0, 2**53)))
def test_lengths_one_by_one(kind: str, values: list[int]) -> None:
    one_by_one, arrays = ALL[kind](), ALL[kind]()
    for value in values:
        one_by_one.update(value)
        arrays.update(np.array([value], np.int64))
    assert one_by_one.to_bytes() == arrays.to_bytes()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("value", [Whole(6), np.int8(7), np.uint64(8), np.array(9), 0, 2**53])
def test_what_stands_for_an_integer(kind: str, value: Any) -> None:
    single, listed = ALL[kind](), ALL[kind]()
    single.update(value)
    listed.update(np.array([int(value)]))
    assert single.to_bytes() == listed.to_bytes()


@pytest.mark.parametrize("kind", SKETCHES)
@pytest.mark.parametrize(
    "value", [Real(2.5), np.float32(0.1), np.float64(0.3), np.array(-2.5), -0.0, 1e300, 5e-324, -1]
)
def test_what_stands_for_a_number(kind: str, value: Any) -> None:
    single, listed = ALL[kind](), ALL[kind]()
    single.update(value)
    listed.update(np.array([value]))
    assert single.to_bytes() == listed.to_bytes()


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "NaN": (math.nan, ValueError, r"^values\[0\]: got NaN, expected a finite number$"),
    "infinite": (-math.inf, ValueError, r"^values\[0\]: got -inf, expected a finite number$"),
    "int beyond 2**53": (2**53 + 1, ValueError, r"^values\[0\]: got 9007199254740993, "),
    "int far below": (-(2**53) - 1, ValueError, r"^values\[0\]: got -9007199254740993, "),
    "int of 65 bits": (2**64, TypeError, "^values: "),
    "int beyond float": (10**400, TypeError, "^values: "),
    "True": (True, TypeError, "^values: .*bool"),
    "np.True_": (np.True_, TypeError, "^values: .*bool"),
    "str": ("5", TypeError, "^values: "),
    "None": (None, TypeError, "^values: "),
    "complex": (1j, TypeError, "^values: "),
}


@pytest.mark.parametrize("kind", SKETCHES)
@pytest.mark.parametrize(("value", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refused_number(kind: str, value: Any, error: type[Exception], message: str) -> None:
    sketch = ALL[kind]()
    sketch.update([1.0, 2.0])
    before = sketch.to_bytes()
    with pytest.raises(error, match=message):
        sketch.update(value)
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("kind", COUNTING)
@pytest.mark.parametrize("value", [-1, 2**53 + 1, 2**64, 10**400, -(10**4000)])
def test_an_integer_that_is_no_length(kind: str, value: int) -> None:
    sketch = ALL[kind]()
    with pytest.raises(ValueError, match=r"^values: got .*, expected a length in 0..=2\*\*53$"):
        sketch.update(value)
    assert sketch.count == 0


def test_a_bool_is_no_number_of_things() -> None:
    with pytest.raises(TypeError, match=r"^window: got True \(bool\), expected an integer"):
        WindowQuantile(True)
    decay = DecayQuantile(2.0)
    with pytest.raises(TypeError, match="^steps: got True"):
        decay.tick(True)
    assert decay.ticks == 0


@pytest.mark.parametrize("kind", COUNTING)
@pytest.mark.parametrize("value", [True, 5.0, 5.5, math.nan, np.float64(6), "5", None])
def test_what_is_no_integer(kind: str, value: Any) -> None:
    sketch = ALL[kind]()
    with pytest.raises(TypeError, match="^values: "):
        sketch.update(value)
    assert sketch.count == 0
