"""Names of datasets and ids of groups, in every form, beside what a dict makes of them."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agreement import unchanged
from strategies import KEY_FORMS, Name, fresh, object_array
from toggle_rs import Toggle, ToggleBudgetTracker

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N = 4000

STEMS: dict[str, Callable[[int], str]] = {
    "short": lambda i: f"{i}",
    "eight and more": lambda i: f"dataset-{i}",
    "equal ends": lambda i: f"dataset-{i}-{i:05}-dataset",
    "long": lambda i: f"{i}-" + "x" * 60,
    "long, equal but for the middle": lambda i: "x" * 30 + f"{i:05}" + "x" * 30,
    "wide": lambda i: f"größe-数学-{i}",
}
"""Names by number: of lengths that are kept and compared in different ways."""

ORDERS: dict[str, Callable[[int, np.random.Generator], list[int]]] = {
    "in groups": lambda distinct, rng: np.repeat(rng.integers(0, distinct, N // 8), 8).tolist(),
    "at random": lambda distinct, rng: rng.integers(0, distinct, N).tolist(),
    "in turn": lambda distinct, _: (np.arange(N) % distinct).tolist(),
    # What is read about an object is given up where hardly any comes again.
    "new ones first": lambda distinct, _: [min(i, max(N - i, 0)) % distinct for i in range(N)],
}


def drawn(stem: str, distinct: int, order: str) -> tuple[list[str], np.random.Generator]:
    """N names of so many, and what else to draw with."""
    rng = np.random.default_rng(distinct)
    known = [STEMS[stem](i) for i in range(distinct)]
    return [known[i] for i in ORDERS[order](distinct, rng)], rng


def new_toggle() -> Toggle:
    return Toggle(m=1, lambda_=0.5, percentile=80.0, start_phase="length_penalty")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("distinct", [1, 3, 70, 600, 3000])
@pytest.mark.parametrize("stem", STEMS)
def test_every_form_counts_what_a_dict_counts(stem: str, distinct: int, order: str) -> None:
    names, rng = drawn(stem, distinct, order)
    lengths = rng.integers(0, 1000, N)
    expected = Counter((name,) for name in names)
    longest: dict[tuple[str], int] = {}
    for name, length in zip(names, lengths.tolist(), strict=True):
        longest[name,] = max(longest.get((name,), 0), length)
    toggle = Toggle(m=1, lambda_=0.5, percentile=100.0)
    for turn, make in enumerate(KEY_FORMS.values()):
        toggle.observe(make(names), lengths, np.ones(N), step=turn)
        assert toggle.counts() == {key: (turn + 1) * count for key, count in expected.items()}
        # In order of appearance, and no length went to another key.
        assert list(toggle.counts()) == list(expected)
        assert toggle.budgets() == longest


ID_FORMS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "fresh": lambda ids: [fresh(name) for name in ids],
    "subclass": lambda ids: [Name(name) for name in ids],
    "mixed": lambda ids: [Name(name) if i % 3 else fresh(name) for i, name in enumerate(ids)],
    "object array": object_array,
    "strided object array": lambda ids: np.repeat(object_array(ids), 3)[1::3],
    "str array": lambda ids: np.array(ids, np.str_),
    "wider str array": lambda ids: np.array(ids, "U100"),
    "str array of foreign byte order": lambda ids: np.array(ids, np.str_).astype(">U80"),
    "reversed str array": lambda ids: np.array(ids, np.str_)[::-1].copy()[::-1],
    "every second of a str array": lambda ids: np.repeat(np.array(ids, np.str_), 2)[::2],
    "misaligned str array": lambda ids: _misaligned(np.array(ids, np.str_)),
}


def _misaligned(array: np.ndarray) -> np.ndarray:
    records = np.zeros(len(array), np.dtype([("pad", "u1"), ("id", array.dtype)]))
    records["id"] = array
    return records["id"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("distinct", [1, 3, 70, 600, 3000])
@pytest.mark.parametrize("stem", STEMS)
def test_every_form_groups_as_a_dict_does(stem: str, distinct: int, order: str) -> None:
    ids, rng = drawn(stem, distinct, order)
    correct = rng.random(N) < 0.5
    sizes, solved = Counter(ids), Counter(np.array(ids, object)[correct])
    expected = np.array([solved[name] / sizes[name] for name in ids])
    for form, make in ID_FORMS.items():
        shaped = new_toggle().shape(
            0, correct.astype(float), np.ones(N, int), ["a"] * N, groups=make(ids)
        )
        assert shaped.group_accuracy.tobytes() == expected.tobytes(), form


# Refusals


def foreign(text: str) -> str:
    """With a code point beyond the last one, as NumPy makes a str of any bytes."""
    points = [*map(ord, text), 0x110000]
    (result,) = np.array([points], "u4").view(f"U{len(points)}")[0].tolist()
    return str(result)


BAD: dict[str, tuple[Callable[[str], Any], type[Exception], str]] = {
    "a lone surrogate": (lambda name: name + "\ud800", ValueError, "valid Unicode"),
    "a lone surrogate in front": (lambda name: "\udfff" + name, ValueError, "valid Unicode"),
    "a lone surrogate in a subclass": (
        lambda name: Name(name + "\ud800"), ValueError, "valid Unicode",
    ),
    "no Unicode": (foreign, ValueError, "valid Unicode"),
    "bytes": (lambda name: name.encode(), TypeError, "str"),
    "None": (lambda _: None, TypeError, "got None"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["list", "tuple", "object array"])
@pytest.mark.parametrize("at", [0, 1, 500, N - 1])
@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("case", BAD)
def test_a_bad_name_among_known_ones(case: str, stem: str, at: int, form: str) -> None:
    """It begins as a known one does, that stands before it."""
    make, error, message = BAD[case]
    name = STEMS[stem](7)
    names: list[Any] = [fresh(name) for _ in range(N)]
    ones = np.ones(N)
    toggle, tracker = new_toggle(), ToggleBudgetTracker(1, 0.5, 80.0, 0)
    toggle.observe(names, ones.astype(int), ones, step=0)
    tracker.update(names, ones.astype(int), ones, 1.0)
    names[at] = make(name)
    names[(at + 1) % N] = "a new name"
    given = KEY_FORMS[{"list": "shared list"}.get(form, form)](names)
    refused = pytest.raises(error, match=rf"^datasets\[{at}\]: .*{message}")
    lengths = ones.astype(int)
    with unchanged(toggle):
        with refused:
            toggle.shape(1, ones, lengths, given, groups=8)
        with refused:
            toggle.apply(1, ones, lengths, given, groups=8)
        with refused:
            toggle.observe(given, lengths, ones, step=1)
    with unchanged(tracker):
        with refused:
            tracker.update(given, lengths, ones, 1.0)
        with refused:
            tracker.maybe_apply(1, ones, lengths, given, 8, 1.0)
    in_groups = pytest.raises(error, match=rf"^groups\[{at}\]: ")
    if at > 0:  # else it is not known that they are str
        with unchanged(toggle), in_groups:
            toggle.shape(1, ones, lengths, ["a"] * N, groups=given)


def test_an_object_that_was_never_written_is_none() -> None:
    names = object_array(["a"] * 8)
    ctypes.memset(names.ctypes.data + 7 * names.itemsize, 0, names.itemsize)
    for array, at in ((names, 7), (names[::-1], 0), (names[4:], 3)):
        n = len(array)
        arguments = (0, np.ones(n), np.ones(n, int))
        with pytest.raises(TypeError, match=rf"^datasets\[{at}\]: got None"):
            new_toggle().shape(*arguments, array, groups=n)
        with pytest.raises(TypeError, match=rf"^groups\[{at}\]: got None"):
            new_toggle().shape(*arguments, ["a"] * n, groups=array)


def test_numpy_str_of_one_number_beyond_unicode_is_refused_as_others_are() -> None:
    """Of those NumPy cannot even make a str."""
    names = np.array([97, 0x110000], "u4").view("U1")
    toggle, tracker = Toggle(m=1, lambda_=0.5, percentile=50), ToggleBudgetTracker(1, 0.5, 50, 0)
    with unchanged(toggle), pytest.raises(ValueError, match=r"^datasets\[1\]: .* valid Unicode"):
        toggle.observe(names, [1, 1], [1.0, 1.0], step=1)
    with unchanged(tracker), pytest.raises(ValueError, match=r"\[1\]: .* valid Unicode"):
        tracker.maybe_apply(1, np.ones(2), np.ones(2, int), names, 1, 1.0)


def test_numpy_str_beyond_unicode_are_ids_by_their_code_points() -> None:
    points = np.array([[97, 0x110000], [97, 0x110001], [97, 0x110000], [97, 0]], "u4")
    ids = points.view("U2")[:, 0]
    correct = np.array([True, True, False, False])
    shaped = new_toggle().shape(0, correct.astype(float), [1] * 4, ["a"] * 4, groups=ids)
    assert shaped.group_accuracy.tolist() == [0.5, 1.0, 0.5, 0.0]


def test_empty_ids_are_one_group() -> None:
    correct = np.array([True, False, False, False])
    for ids in ([""] * 4, np.array([""] * 4), np.zeros(4, "U0"), np.zeros(4, "U5")):
        shaped = new_toggle().shape(0, correct.astype(float), [1] * 4, ["a"] * 4, groups=ids)
        assert shaped.group_accuracy.tolist() == [0.25] * 4


def test_a_list_of_one_name_is_that_name() -> None:
    toggle = new_toggle()
    names: list[Any] = ["a", ["a"], ("a",), [Name("a")], Name("a"), ["a", "b"], ("a", "b"), []]
    toggle.observe(names, [1] * 8, np.ones(8), step=0)
    assert toggle.counts() == {("a",): 5, ("a", "b"): 2, (): 1}
    bad: Any
    for bad in (["\ud800"], ("\ud800",), [b"a"], ["a", "\ud800"], [["a"]]):
        with unchanged(toggle), pytest.raises((ValueError, TypeError), match=r"^datasets\[1\]: "):
            toggle.observe(["new", bad], [1] * 2, np.ones(2), step=1)
