"""Arrays that are not NumPy's: `__array__`, DLPack, torch; read where they lie."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from agreement import same_array, unchanged
from strategies import INTEGERS, SCORE_DTYPES
from toggle_rs import Toggle

N = 6
LENGTHS = [10, 20, 30, 40, 50, 60]
IDS = [3, 1, 3, 1, 3, 1]


class WithArray:
    """Has `__array__` and nothing else; notes how it was asked."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.asked: list[tuple[Any, Any]] = []

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        self.asked.append((dtype, copy))
        return self.values


class WithDlpack:
    """Has DLPack and nothing else."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


# Not `np.ndarray`: before Python 3.12, type checkers do not know it for what `memoryview` takes.
FORMS: dict[str, Callable[[Any], Any]] = {
    "__array__": WithArray,
    "DLPack": WithDlpack,
    "memoryview": memoryview,
}


def toggle() -> Toggle:
    result = Toggle(m=1000, lambda_=0.3, percentile=50.0, start_phase="length_penalty")
    result.observe(["math"] * N, LENGTHS, np.ones(N), step=0)
    return result


def shape(form: Callable[[np.ndarray], Any], scores: np.ndarray, **dtypes: str) -> Any:
    """Every argument in this form, but for `max_score`."""
    lengths = np.array(LENGTHS, dtypes.get("lengths", "int64"))
    return toggle().shape(
        1,
        form(scores),
        form(lengths),
        ["math"] * N,
        groups=form(np.array(IDS, dtypes.get("groups", "int64"))),
        correct=form(np.array([True, False] * (N // 2))),
    )


def same(ours: Any, theirs: Any) -> bool:
    fields = ("scores", "kept", "has_signal", "group_accuracy")
    return all(same_array(getattr(ours, name), getattr(theirs, name)) for name in fields)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("dtype", SCORE_DTYPES)
def test_every_argument_in_every_form(form: Callable[[np.ndarray], Any], dtype: str) -> None:
    scores = np.array([0, 1, 1, 0, 1, 1]).astype(dtype)
    expected = shape(np.asarray, scores)
    assert not expected.kept.all()
    assert same(shape(form, scores), expected)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype_in_every_form(form: Callable[[np.ndarray], Any], dtype: str) -> None:
    scores = np.arange(6.0)
    assert same(shape(form, scores, lengths=dtype, groups=dtype), shape(np.asarray, scores))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_observe_takes_them_too(form: Callable[[np.ndarray], Any]) -> None:
    ours, theirs = toggle(), toggle()
    for t, make in ((ours, form), (theirs, np.asarray)):
        t.observe(
            ["math", "code"] * 3,
            make(np.array(LENGTHS)),
            make(np.array([0.0, 1.0, 2.0] * 2)),
            max_score=make(np.array([1, 2, 1] * 2)),
            step=1,
        )
        t.observe(["math"], make(np.array([7])), correct=make(np.array([True])), step=1)
    assert ours == theirs


@pytest.mark.parametrize("form", [WithArray, WithDlpack])
def test_what_is_wrong_is_refused_in_any_form(form: Callable[[np.ndarray], Any]) -> None:
    t = toggle()
    good: dict[str, Any] = {
        "scores": np.ones(N),
        "lengths": np.array(LENGTHS),
        "groups": np.array(IDS),
    }
    bad: list[tuple[str, np.ndarray, type[Exception]]] = [
        ("scores", np.array([1, 1, 1, 1, 1, np.nan]), ValueError),
        ("scores", np.ones(N, "float16"), TypeError),
        ("scores", np.ones((2, 3)), ValueError),
        ("lengths", np.ones(N), TypeError),
        ("lengths", -np.arange(N), ValueError),
        ("groups", np.ones(N), TypeError),
        ("groups", np.ones(N - 1, int), ValueError),
    ]
    for name, values, error in bad:
        arguments = good | {name: form(values)}
        with unchanged(t), pytest.raises(error, match=f"^{name}"):
            t.apply(1, datasets=["math"] * N, **arguments)


@pytest.mark.parametrize("scores", [WithArray(np.ones(N)), [1.0] * N, (1,) * N], ids=type)
def test_what_is_no_array_comes_out_as_one_in_either_phase(scores: Any) -> None:
    """`scores + bonus` must not mean another thing in the penalty phase."""
    for m in (1000, 1):
        t = Toggle(m=m, lambda_=0.3, percentile=50.0)
        shaped = t.shape(1, scores, LENGTHS, ["math"] * N, groups=6).scores
        assert type(shaped) is np.ndarray
        assert shaped.dtype == np.asarray(scores).dtype
        assert shaped.tolist() == [1] * N


def test_nobody_is_asked_for_a_copy_or_another_dtype() -> None:
    scores: Any = WithArray(np.ones(N, "float32"))
    lengths: Any = WithArray(np.array(LENGTHS, "u2"))
    toggle().shape(1, scores, lengths, ["math"] * N, groups=6)
    for asked in (scores.asked, lengths.asked):
        assert asked == [(None, None)]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_nothing_is_copied_where_the_dtype_allows(form: Callable[[np.ndarray], Any]) -> None:
    """NumPy allocates nothing of the size of an argument while a call runs."""
    n = 200_000
    scores, lengths = np.ones(n), np.arange(n) % 1000
    arguments = form(scores), form(lengths), ["math"] * n
    t = toggle()
    t.shape(1, *arguments, groups=8)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        shaped = t.shape(1, *arguments, groups=8)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert not shaped.kept.all()
    assert peak < n, f"{peak} bytes, an argument has {8 * n}"


# A stand-in for torch: what counts are `Tensor` and `from_numpy`.


class Tensor:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        del dtype, copy
        return self.values

    def __len__(self) -> int:
        return len(self.values)

    def detach(self) -> Tensor:
        return self

    @property
    def ndim(self) -> int:
        return self.values.ndim


@pytest.fixture
def fake_torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("torch")
    vars(module).update(Tensor=Tensor, from_numpy=Tensor)
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.mark.usefixtures("fake_torch")
def test_a_tensor_comes_back_as_tensors() -> None:
    scores = np.array([0, 1, 1, 0, 1, 1], "float32")
    shaped, expected = shape(Tensor, scores), shape(np.asarray, scores)
    for name in ("scores", "kept", "has_signal", "group_accuracy"):
        tensor = getattr(shaped, name)
        assert type(tensor) is Tensor
        assert same_array(tensor.values, getattr(expected, name))
    # What the scores are decides, not the rest.
    lengths = Tensor(np.array(LENGTHS))
    mixed = toggle().shape(1, scores, lengths, ["math"] * N, groups=6)
    assert type(mixed.scores) is type(mixed.kept) is np.ndarray


@pytest.mark.usefixtures("fake_torch")
def test_the_same_tensor_where_the_phase_changes_nothing() -> None:
    tensor = Tensor(np.ones(N))
    shaped = Toggle(m=1000, lambda_=0.3, percentile=50.0).apply(
        0, tensor, LENGTHS, ["math"] * N, groups=6
    )
    assert shaped.scores is tensor
    assert type(shaped.kept) is Tensor


@pytest.mark.parametrize("broken", [None, 5, object()], ids=["None", "a number", "an object"])
def test_a_broken_torch_records_nothing(monkeypatch: pytest.MonkeyPatch, broken: Any) -> None:
    """Found out before anything is recorded, or not minded."""
    module = ModuleType("torch")
    vars(module).update(Tensor=broken)
    for torch in (module, broken):
        monkeypatch.setitem(sys.modules, "torch", torch)
        t = toggle()
        before = t.to_bytes()
        try:
            t.apply(1, np.ones(N), LENGTHS, ["math"] * N, groups=6)
        except TypeError:
            assert t.to_bytes() == before
        else:
            assert t.counts() == {("math",): 2 * N}


# The real one. It is large: these run where it is installed.


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed: its tests are left out")


TORCH_DTYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool")


@pytest.mark.parametrize("dtype", TORCH_DTYPES)
def test_torch_tensors_in_and_out(torch: Any, dtype: str) -> None:
    scores = np.array([0, 1, 1, 0, 1, 1]).astype(dtype)
    shaped, expected = shape(torch.from_numpy, scores), shape(np.asarray, scores)
    for name in ("scores", "kept", "has_signal", "group_accuracy"):
        tensor = getattr(shaped, name)
        assert isinstance(tensor, torch.Tensor)
        assert same_array(tensor.numpy(), getattr(expected, name))
    assert shaped.scores.dtype == getattr(torch, dtype)
    assert shaped.metrics == expected.metrics


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8"])
def test_torch_lengths_and_ids_of_any_integer_dtype(torch: Any, dtype: str) -> None:
    scores = np.arange(6.0)
    expected = shape(np.asarray, scores)
    shaped = shape(torch.from_numpy, scores, lengths=dtype, groups=dtype)
    assert same_array(shaped.scores.numpy(), expected.scores)


def test_torch_views_are_read_where_they_lie(torch: Any) -> None:
    scores = torch.arange(36.0).reshape(6, 6)
    lengths = torch.arange(6, 0, -1) * 10
    for column in (scores[:, 1], scores[2], scores.diagonal(), scores[::2, ::3].flatten()):
        shaped = toggle().shape(1, column, lengths, ["math"] * 6, groups=torch.tensor(6))
        expected = toggle().shape(1, column.numpy(), lengths.numpy(), ["math"] * 6, groups=6)
        assert same_array(shaped.scores.numpy(), expected.scores)
    normal = Toggle(m=1000, lambda_=0.3, percentile=50.0)
    assert normal.shape(0, scores[1], lengths, ["math"] * 6, groups=6).scores.tolist() == [
        6.0, 7.0, 8.0, 9.0, 10.0, 11.0,
    ]  # fmt: skip


def test_torch_results_are_new_memory(torch: Any) -> None:
    scores = torch.ones(N)
    shaped = toggle().shape(1, scores, LENGTHS, ["math"] * N, groups=6)
    shaped.scores[:] = 7.0
    assert scores.tolist() == [1.0] * N


def test_torch_tensors_that_numpy_cannot_read(torch: Any) -> None:
    t = toggle()
    for scores in (
        torch.ones(N, requires_grad=True),
        torch.ones(N, dtype=torch.bfloat16),
        torch.ones(N, dtype=torch.float16),
        torch.ones(N, dtype=torch.complex64),
        torch.ones(N, device="meta"),
        torch.ones(1, N),
        torch.full((N,), float("nan")),
    ):
        with unchanged(t), pytest.raises((TypeError, ValueError), match="^scores"):
            t.apply(1, scores, LENGTHS, ["math"] * N, groups=6)


def test_torch_is_not_imported_for_others(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    del torch
    monkeypatch.delitem(sys.modules, "torch")
    toggle().shape(1, np.ones(N), LENGTHS, ["math"] * N, groups=6)
    assert "torch" not in sys.modules
