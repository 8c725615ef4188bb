"""`ExactQuantile` against a sorted array and `np.quantile`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import INTEGERS, LAYOUTS, Drawn, draw_lengths, examples, laid_out
from toggle_rs import ExactQuantile

QS = (0.0, 1.0, 0.5, 0.8, 0.25, 1 / 3, 0.999, 1e-300, float(np.nextafter(1, 0)))


def hexed(value: float | None) -> str:
    assert type(value) is float
    return value.hex()


def check(sketch: ExactQuantile, values: np.ndarray, qs: Any = QS) -> None:
    """Every answer is that of the sorted values."""
    x = np.sort(np.asarray(values).astype(np.int64))
    assert type(sketch.count) is int
    assert sketch.count == len(x)
    if not len(x):
        assert sketch.min is sketch.max is None
        assert sketch.quantile(0.5) is sketch.percentile(50) is sketch.rank(3) is None
        return
    assert type(sketch.min) is type(sketch.max) is int
    assert (sketch.min, sketch.max) == (x[0], x[-1])
    qs = np.array(qs)
    assert [hexed(sketch.quantile(float(q))) for q in qs] == [
        hexed(float(np.quantile(x, q))) for q in qs
    ]
    ps = np.minimum(qs * 100, 100)
    assert [hexed(sketch.percentile(float(p))) for p in ps] == [
        hexed(float(np.percentile(x, p))) for p in ps
    ]
    for array, answer in ((qs, sketch.quantile(qs)), (ps / 100, sketch.percentile(ps))):
        assert type(answer) is np.ndarray
        assert answer.dtype == np.float64
        assert answer.tobytes() == np.quantile(x, array).tobytes()
    for v in {
        -1.0,
        0.0,
        float(x[0]),
        float(x[-1]),
        float(x[len(x) // 2]),
        float(x[-1]) + 0.5,
        float(x[0]) - 0.5,
    }:
        assert hexed(sketch.rank(v)) == hexed(float(np.searchsorted(x, v, "right") / len(x)))


def test_empty() -> None:
    check(ExactQuantile(), np.zeros(0, int))


@examples(200)
@given(st.data(), st.lists(st.floats(0, 1), max_size=5))
def test_random_updates(data: st.DataObject, qs: list[float]) -> None:
    source = Drawn(data)
    sketch, seen = ExactQuantile(), [np.zeros(0, np.int64)]
    for _ in range(source.integer(1, 5)):
        values = draw_lengths(source, source.one_of((0, 1, 2, 30, 1000)))
        sketch.update(laid_out(values, source.one_of(LAYOUTS)))
        seen.append(values.astype(np.int64))
        check(sketch, np.concatenate(seen), (*QS, *qs))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("n", [0, 1, 100, 5000])
def test_every_array(dtype: str, layout: str, n: int) -> None:
    values = np.random.default_rng(n).integers(0, 128, n).astype(dtype)
    sketch = ExactQuantile()
    sketch.update(laid_out(values, layout))
    check(sketch, values)


@pytest.mark.parametrize(
    "values",
    [
        7,
        0,
        2**53,
        np.int64(7),
        np.uint8(255),
        np.array(7),
        [],
        [3],
        [3, 1, 2, 1],
        (3, 1),
        [np.int64(5), 6],
        [2**53, 0],
        list(range(5000)),
        np.arange(0),
        np.broadcast_to(np.int32(4), 300),
    ],
    ids=lambda values: f"{type(values).__name__}-{str(values)[:12]}",
)
def test_scalars_and_lists(values: Any) -> None:
    sketch = ExactQuantile()
    sketch.update(values)
    check(sketch, np.atleast_1d(np.array(values, np.int64)))


@pytest.mark.parametrize("top", [1, 100, 1000, 30_000, 70_000, 10**6, 2**31, 2**32, 2**40, 2**53])
@pytest.mark.parametrize("n", [1, 10, 1000, 100_000])
def test_every_size_of_value(n: int, top: int) -> None:
    """From the sorted list over the histogram to values too far apart for one."""
    rng = np.random.default_rng([n, top])
    values = rng.integers(0, top, n, endpoint=True)
    values[: n // 2] //= 1000
    sketch = ExactQuantile()
    for block in np.array_split(values, 5):
        sketch.update(block)
    check(sketch, values, np.append(QS, rng.random(20)))


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=40))
def test_percentile_never_falls(values: list[int]) -> None:
    sketch = ExactQuantile()
    sketch.update(values)
    answers = sketch.percentile(np.linspace(0, 100, 400))
    assert answers is not None
    assert (np.diff(answers) >= 0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("constant", [0, 1, 7, 2**31 - 1, 2**53])
def test_constant(constant: int, n: int) -> None:
    sketch = ExactQuantile()
    sketch.update(np.full(n, constant))
    answers = sketch.percentile(np.linspace(0, 100, 333))
    assert answers is not None
    assert set(answers.tolist()) == {float(constant)}


def test_percentile_divides_as_numpy_does() -> None:
    """(100 * p) / 100 is not p: neither is turned into the other and back."""
    values = np.random.default_rng(0).integers(0, 10**6, 997)
    sketch = ExactQuantile()
    sketch.update(values)
    for p in np.linspace(0, 100, 1001):
        assert hexed(sketch.percentile(float(p))) == hexed(float(np.percentile(values, p)))
    for q in np.linspace(0, 1, 1001):
        assert hexed(sketch.quantile(float(q))) == hexed(float(np.quantile(values, q)))


@given(st.lists(st.integers(0, 300)), st.lists(st.integers(0, 2**40)))
def test_merge(left: list[int], right: list[int]) -> None:
    a, b, both = ExactQuantile(), ExactQuantile(), ExactQuantile()
    a.update(left)
    b.update(right)
    both.update(left + right)
    assert a.merge(b) is None  # type: ignore[func-returns-value]  # that it is None is tested
    check(a, np.array(left + right, np.int64))
    check(b, np.array(right, np.int64))
    assert a == both


@given(st.lists(st.integers(0, 50)), st.randoms(use_true_random=False))
def test_equal_means_same_values(values: list[int], random: Any) -> None:
    a, b = ExactQuantile(), ExactQuantile()
    a.update(values)
    shuffled = random.sample(values, len(values))
    for value in shuffled:
        b.update(value)
    assert a == b
    assert (a != b) is False
    b.update(3)
    assert a != b
    assert a != values
    assert a != None  # noqa: E711


def test_equal_whatever_the_layout_in_memory() -> None:
    """A history that was once wide, or that came in small pieces, is no other history."""
    values = np.random.default_rng(1).integers(0, 5000, 20_000)
    whole, pieces, merged = ExactQuantile(), ExactQuantile(), ExactQuantile()
    whole.update(values)
    for piece in np.array_split(values[::-1], 999):
        pieces.update(piece)
        part = ExactQuantile()
        part.update(piece)
        merged.merge(part)
    assert whole == pieces == merged


def test_nbytes_does_not_grow_with_the_count() -> None:
    sketch = ExactQuantile()
    assert 0 < sketch.nbytes < 1000
    sketch.update(np.arange(10_000))
    before = sketch.nbytes
    for _ in range(50):
        sketch.update(np.arange(10_000))
    assert sketch.nbytes == before
    assert before < 200_000


def test_nbytes_of_a_small_history() -> None:
    """At most 8 bytes a distinct value, beside the object itself."""
    sketch = ExactQuantile()
    sketch.update([1000 * i for i in range(100)])
    assert sketch.nbytes <= 2 * 8 * 100 + 300


def filled() -> ExactQuantile:
    sketch = ExactQuantile()
    sketch.update([1, 5, 5, 900])
    return sketch


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (-1, "-1"),
        (2**53 + 1, "9007199254740993"),
        (10**30, ""),
        (-(10**30), ""),
        ([1, 2, -3], r"\[2\]: got -3"),
        ([1, 2**53 + 1], r"\[1\]: got 9007199254740993"),
        ([1, 10**30], r"\[1\]"),
        (np.array([1, 2, -3]), r"\[2\]: got -3"),
        (np.array([1, 2, -3], np.int8)[::-1], r"\[0\]: got -3"),
        (np.array([1, 2**64 - 1], np.uint64), r"\[1\]: got 18446744073709551615"),
    ],
    ids=str,
)
def test_values_out_of_range(values: Any, message: str) -> None:
    sketch = filled()
    with pytest.raises(ValueError, match=f"^values?{message}|^values?.*{message}"):
        sketch.update(values)
    assert sketch == filled()


@pytest.mark.parametrize(
    "values",
    [
        1.0,
        np.float64(1),
        True,
        np.True_,
        None,
        "12",
        b"12",
        1j,
        object(),
        [1, 2.0],
        [1, "2"],
        [1, None],
        [[1]],
        [True],
        np.ones(3),
        np.ones(3, bool),
        np.ones(3, object),
        np.ones(3, ">i8"),
        np.ones(3, "m8[s]"),
        np.array(["1"]),
        {1: 2},
        {1, 2},
    ],
    ids=repr,
)
def test_values_of_a_wrong_type(values: Any) -> None:
    sketch = filled()
    with pytest.raises(TypeError, match=r"^values"):
        sketch.update(values)
    assert sketch == filled()


@pytest.mark.parametrize("values", [np.ones((2, 2), int), np.ones((1, 1), int)], ids=str)
def test_values_of_two_dimensions(values: np.ndarray) -> None:
    sketch = filled()
    with pytest.raises((TypeError, ValueError), match=r"^values"):
        sketch.update(values)
    assert sketch == filled()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e-300, -1.0])
def test_quantile_out_of_range(value: float) -> None:
    for sketch in (filled(), ExactQuantile()):
        for call, name, bad in ((sketch.quantile, "q", value), (sketch.percentile, "p", value)):
            with pytest.raises(ValueError, match=f"^{name}: got"):
                call(bad)
            with pytest.raises(ValueError, match=rf"^{name}\[2\]: got"):
                call(np.array([0.0, 1.0, bad]))


def test_quantile_just_above() -> None:
    with pytest.raises(ValueError, match=r"^q: got 1.0000000000000002"):
        filled().quantile(float(np.nextafter(1, 2)))
    with pytest.raises(ValueError, match=r"^p: got 100.00000000000001"):
        filled().percentile(100.00000000000001)
    with pytest.raises(ValueError, match=r"^p: got 101"):
        filled().percentile(101)


@pytest.mark.parametrize(
    "value", ["0.5", None, 0.5j, object(), ["a"], np.array(["0.5"]), np.array([0.5j])], ids=repr
)
def test_quantile_of_a_wrong_type(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^q"):
        filled().quantile(value)
    with pytest.raises(TypeError, match=r"^p"):
        filled().percentile(value)


def test_rank_of_what_is_no_number() -> None:
    with pytest.raises(ValueError, match="value"):
        filled().rank(float("nan"))
    bad: tuple[Any, ...] = ("1", None, 1j)
    for value in bad:
        with pytest.raises(TypeError, match="value"):
            filled().rank(value)
    assert filled().rank(float("inf")) == 1.0
    assert filled().rank(float("-inf")) == 0.0


def test_merge_with_what_it_cannot() -> None:
    sketch = filled()
    bad: tuple[Any, ...] = (None, 5, [1, 2], object())
    for other in bad:
        with pytest.raises(TypeError):
            sketch.merge(other)
    with pytest.raises(ValueError, match="itself"):
        sketch.merge(sketch)
    assert sketch == filled()


def test_repr() -> None:
    assert repr(filled()).startswith("ExactQuantile(")
    assert "4" in repr(filled())
