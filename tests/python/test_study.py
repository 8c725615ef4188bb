"""The measure of the accuracy study, against the positions of the values themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "benches" / "python"))
from docs import fill
from errors import in_sample

# NumPy's rules that answer with positions floor or ceil of (n - 1) q, or between them.
Rule = Literal["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"]
RULES: tuple[Rule, ...] = get_args(Rule)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.sampled_from([50, 80, 90, 99]))
def test_what_numpy_answers_is_right(lengths: list[int], p: int) -> None:
    ordered = np.sort(np.array(lengths))
    for rule in RULES:
        answer = float(np.percentile(ordered, p, method=rule))
        assert in_sample(ordered, answer, p / 100).rank == 0


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=60),
    st.sampled_from([50, 80, 90, 99]),
    st.integers(0, 51),
    st.booleans(),
)
def test_errors_are_distances(lengths: list[int], p: int, answer: int, between: bool) -> None:
    ordered = np.sort(np.array(lengths))
    given_answer = answer + 0.5 * between
    virtual = (len(ordered) - 1) * (p / 100)
    right = {int(np.floor(virtual)), int(np.ceil(virtual))}
    at = {i for i, x in enumerate(ordered) if x == given_answer}
    # Between two values, or beyond the first or the last: at both places.
    at = at or {int((ordered < given_answer).sum()) - 1, int((ordered < given_answer).sum())}
    gap = min(abs(i - j) for i in at for j in right)
    error = in_sample(ordered, given_answer, p / 100)
    assert error.rank == gap / len(ordered)
    exact = np.percentile(ordered, p)
    assert error.value == pytest.approx(abs(given_answer - exact) / exact)


def test_a_place_is_filled_again_and_a_missing_one_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- one -->\nold\n<!-- /one -->\nb\n")
    for _ in range(2):
        fill(page, {"one": "| new |"})
    assert page.read_text() == "a\n<!-- one -->\n| new |\n<!-- /one -->\nb\n"
    with pytest.raises(ValueError, match="no place for 'two'"):
        fill(page, {"two": ""})
