"""Random runs of a tracker: settings and batches, each a kind of hard case.

One builder serves two sources of choices, hypothesis (which shrinks) and a
NumPy generator (which is fast), so that the long run tests the same property.
Structure is chosen piece by piece; the numbers in an array come from a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

T = TypeVar("T")


def examples(number: int) -> settings:
    """So many of them, in a profile whose own number is 100; in proportion in another."""
    return settings(max_examples=number * settings().max_examples // 100)


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float64", "float32")
SCORE_DTYPES = (*FLOATS, *INTEGERS, "bool")

# Where NumPy's pairwise sum changes its course: eight accumulators from 8 on,
# a tail after them, halves above 128, the halves multiples of eight.
SUM_EDGES = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 127, 128, 129, 135, 136, 137, 255, 256, 257, 264, 300)

LAYOUTS = (
    "contiguous", "offset", "every second", "every third", "reversed", "reversed every second",
    "read-only", "misaligned", "misaligned field", "column",
)  # fmt: skip

# "a|b" and ["a", "b"] are two keys with one metric name.
KEYS: tuple[Any, ...] = (
    "math", "code", ["math"], ["math", "code"], ("code", "math"), "a|b", ["a", "b"], "",
    "größe", "数学", "🧮", "with space", ["", ""], "x" * 300, "nul\0inside",
    ["one", "two", "three"],
)  # fmt: skip


class Name(str):
    """A str by inheritance, as `numpy.str_` is."""

    __slots__ = ()


def fresh(name: Any) -> Any:
    """An equal object that shares nothing with the first."""
    return "".join(list(name)) if isinstance(name, str) else [fresh(part) for part in name]


def object_array(names: list[Any]) -> np.ndarray:
    result = np.empty(len(names), object)
    for i, name in enumerate(names):
        result[i] = name
    return result


ONLY_STR = ("str array", "strided str array", "str subclass")
KEY_FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "shared list": list,
    "fresh list": lambda names: [fresh(name) for name in names],
    "tuple": tuple,
    "object array": object_array,
    "strided object array": lambda names: np.repeat(object_array(names), 3)[1::3],
    "str array": lambda names: np.array(names, np.str_),
    "strided str array": lambda names: np.repeat(np.array(names, np.str_), 2)[::-2][::-1],
    "lists": lambda names: [[name] if isinstance(name, str) else list(name) for name in names],
    "tuples": lambda names: [(name,) if isinstance(name, str) else tuple(name) for name in names],
    "str subclass": lambda names: [Name(name) for name in names],
}


class Source(Protocol):
    """Where the choices come from."""

    def one_of(self, options: Sequence[T]) -> T: ...

    def integer(self, low: int, high: int) -> int: ...

    def rng(self) -> np.random.Generator: ...


class Drawn:
    """Choices of hypothesis: they shrink towards the first option."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def one_of(self, options: Sequence[T]) -> T:
        return self._data.draw(st.sampled_from(options))

    def integer(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.integer(0, 2**32 - 1))


class Rolled:
    """Choices of one NumPy generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def one_of(self, options: Sequence[T]) -> T:
        return options[int(self._rng.integers(len(options)))]

    def integer(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high, endpoint=True))

    def rng(self) -> np.random.Generator:
        return self._rng


@dataclass
class Batch:
    """The arguments of one `maybe_apply`, and a lambda that is close to them."""

    step: int
    scores: np.ndarray
    sequence_lengths: np.ndarray
    datasets: Any
    num_samples_per_prompt: int
    max_possible_score: Any
    lambda_: float

    def arguments(self) -> tuple[Any, ...]:
        return (
            self.step, self.scores, self.sequence_lengths, self.datasets,
            self.num_samples_per_prompt, self.max_possible_score,
        )  # fmt: skip


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    """The same values in another place: the array equals `values`, always."""
    n, dtype = len(values), values.dtype
    if layout == "contiguous":
        return values.copy()
    if layout == "offset":
        return np.concatenate([values[:1], values, values[:1]])[1 : n + 1] if n else values.copy()
    if layout == "read-only":
        result = values.copy()
        result.flags.writeable = False
        return result
    if layout == "misaligned":
        result = np.empty(n * dtype.itemsize + 1, np.uint8)[1:].view(dtype)
    elif layout == "misaligned field":
        result = np.zeros(n, np.dtype([("pad", "u1"), ("value", dtype), ("tail", "u2")]))["value"]
    elif layout == "column":
        result = np.zeros((n, 3), dtype)[:, 1]
    else:
        stride = {"every second": 2, "every third": 3, "reversed": -1, "reversed every second": -2}[
            layout
        ]
        # What lies between is as far from the values as it can be: a wrong stride shows.
        between = 1 if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind in "iu" else np.inf
        result = np.full(n * abs(stride), between, dtype)[::stride]
    result[...] = values
    return result


def draw_scores(source: Source, n: int, dtype: np.dtype, top: float) -> np.ndarray:
    """Scores of a dtype, `top` being that of a correct response."""
    rng = source.rng()
    if dtype.kind == "b":
        return rng.random(n) < source.one_of((0.5, 0.9, 1.0))
    if dtype.kind == "f":
        kinds = float_scores(rng, n, dtype, top)
    else:
        kinds = integer_scores(rng, n, dtype, int(min(max(top, 1), 100)))
    with np.errstate(all="ignore"):
        return kinds[source.one_of(list(kinds))]().astype(dtype)


def integer_scores(
    rng: np.random.Generator, n: int, dtype: np.dtype, top: int
) -> dict[str, Callable[[], np.ndarray]]:
    # Beyond 2**53 an integer is not exact where it is divided, and refused.
    low, high = max(np.iinfo(dtype).min, -(2**53)), min(np.iinfo(dtype).max, 2**53)
    return {
        "zero or max": lambda: (rng.random(n) < 0.6) * top,
        "around max": lambda: rng.integers(max(low, -top), top + 2, n),
        "all values": lambda: rng.integers(low, high, n, dtype, endpoint=True),
    }


def float_scores(
    rng: np.random.Generator, n: int, dtype: np.dtype, top: float
) -> dict[str, Callable[[], np.ndarray]]:
    info, exact_top = np.finfo(dtype), dtype.type(top)
    near = [
        np.nextafter(exact_top, dtype.type(0)), exact_top,
        np.nextafter(exact_top, dtype.type(np.inf)), 0.0,
    ]  # fmt: skip
    extremes = [info.tiny, -info.tiny, info.smallest_subnormal, info.max, -info.max, top, 0.0]
    return {
        "zero or max": lambda: (rng.random(n) < 0.6) * top,
        "partial": lambda: np.minimum(rng.random(n) * 1.3 * top, top),
        "tenths": lambda: rng.integers(0, 11, n) / 10 * top,
        "signed": lambda: rng.normal(0.3, 1.0, n) * top,
        "signs and zeros": lambda: rng.choice(np.array([-top, -0.0, 0.0, top]), n),
        "around max": lambda: rng.choice(np.array(near), n),
        "wide": lambda: rng.normal(size=n) * 10.0 ** rng.integers(-12, 13, n) * top,
        "extreme": lambda: rng.choice(
            np.array(extremes), n, p=[0.15, 0.1, 0.15, 0.01, 0.01, 0.38, 0.2]
        ),
    }


def draw_lengths(source: Source, n: int) -> np.ndarray:
    rng = source.rng()
    dtype = np.dtype(source.one_of(("int64", *INTEGERS)))
    kind = source.one_of(("lognormal", "few values", "one value", "ramp", "huge"))
    top = min(np.iinfo(dtype).max, 2**53)
    values: np.ndarray
    if kind == "few values":
        values = rng.integers(0, 8, n)
    elif kind == "one value":
        values = np.full(n, rng.integers(0, 100))
    elif kind == "ramp":
        values = np.arange(n) * 3
    elif kind == "huge":
        values = top - rng.integers(0, min(top, 1000), n)
    else:
        values = rng.lognormal(6.0, 1.0, n)
    return np.minimum(values, top).astype(dtype)


def draw_datasets(source: Source, n: int, group: int, form: str | None = None) -> Any:
    """Names of one of the forms, equal within a group or not."""
    rng = source.rng()
    form = form or source.one_of(list(KEY_FORMS))
    pool = [source.one_of(KEYS) for _ in range(source.integer(1, 5))]
    if form in ONLY_STR:
        pool = [key if isinstance(key, str) else "|".join(key) for key in pool]
    per = source.one_of((group, 1))
    ids = np.repeat(rng.integers(0, len(pool), n // per + 1), per)[:n].tolist()
    return KEY_FORMS[form]([pool[i] for i in ids])


def draw_group_size(source: Source) -> int:
    kind = source.one_of(("small", "small", "small", "edge", "any"))
    if kind == "small":
        return source.integer(1, 20)
    return source.one_of(SUM_EDGES) if kind == "edge" else source.integer(1, 300)


MAX_SCORES: tuple[Any, ...] = (
    1.0, 10.0, 1, 10, 3, 0.1, 0.7, 7.3, 1e-3, 123456.789,
    np.float64(10.0), np.float32(1.0), np.float32(0.1), np.int64(10), np.uint8(7),
)  # fmt: skip


def draw_lambda(source: Source, scores: np.ndarray, group: int, max_score: Any) -> float:
    """A plain value, or the accuracy of a group, or a neighbour of it."""
    kind = source.one_of(("at", "below", "above", "at float32", "plain"))
    if kind == "plain" or not len(scores):
        return source.one_of((0.5, 0.9, 0.0, 1.0, -1.0, 2.0, 0.1, 1 / 3))
    with np.errstate(all="ignore"):
        accuracy = (scores / max_score).reshape(-1, group).mean(axis=-1)
        value = float(accuracy[source.integer(0, len(accuracy) - 1)])
        if kind == "at float32":
            value = float(np.float32(value))
    if kind in ("below", "above"):
        value = float(np.nextafter(value, -np.inf if kind == "below" else np.inf))
    return value if np.isfinite(value) else 0.5


def draw_batch(source: Source) -> Batch:
    group = draw_group_size(source)
    n = group * source.integer(1, max(1, min(12, 600 // group)))
    max_score = source.one_of(MAX_SCORES)
    dtype = np.dtype(source.one_of(("float64", "float32", *SCORE_DTYPES)))
    scores = draw_scores(source, n, dtype, float(max_score))
    lengths = draw_lengths(source, n)
    return Batch(
        step=source.one_of((source.integer(0, 40), source.integer(0, 2**62))),
        scores=laid_out(scores, source.one_of(LAYOUTS)),
        sequence_lengths=laid_out(lengths, source.one_of(LAYOUTS)),
        datasets=draw_datasets(source, n, group),
        num_samples_per_prompt=group,
        max_possible_score=max_score,
        lambda_=draw_lambda(source, scores, group, max_score),
    )


def draw_settings(source: Source) -> dict[str, Any]:
    return {
        "m": source.one_of((1, 2, 3, 7, 1000)),
        "lambda_": 0.5,
        "percentile": draw_percentile(source),
        "warmup_steps": source.one_of((0, 1, 5)),
    }


def draw_percentile(source: Source) -> float:
    return source.one_of(
        (80.0, 50, 0, 100, 90.0, 33.3, 99.9, 1e-9, 100 / 3, source.integer(0, 1000) / 10)
    )
