"""The figures of docs/estimators.md on merging `GKQuantile`: what order does to its memory."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from toggle_rs import GKQuantile

PAGE = Path(__file__).parents[2] / "docs" / "estimators.md"
PARTS, SIZE = 8192, 128


def sketch_of(epsilon: float, lengths: np.ndarray) -> GKQuantile:
    sketch = GKQuantile(epsilon)
    sketch.update(lengths)
    return sketch


def one_after_the_other(parts: list[GKQuantile]) -> GKQuantile:
    first, *others = parts
    for other in others:
        first.merge(other)
    return first


def as_a_tree(parts: list[GKQuantile]) -> GKQuantile:
    while len(parts) > 1:
        for one, other in zip(parts[::2], parts[1::2], strict=True):
            one.merge(other)
        parts = parts[::2]
    return parts[0]


@pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.001])
def test_tuples(epsilon: float) -> None:
    row = re.search(rf"^\| {epsilon} \|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    assert row is not None
    told = [int(cell.replace(",", "")) for cell in row[1].split("|")]
    drawn = np.random.default_rng(0).lognormal(8, 0.8, (PARTS, SIZE))
    lengths = np.minimum(np.round(drawn), 32_768)
    found = [
        sketch_of(epsilon, lengths.ravel()),
        one_after_the_other([sketch_of(epsilon, part) for part in lengths]),
        as_a_tree([sketch_of(epsilon, part) for part in lengths]),
    ]
    assert all(sketch.count == PARTS * SIZE for sketch in found)
    # Other versions of NumPy may draw a few lengths otherwise.
    assert told == pytest.approx([sketch.tuples for sketch in found], rel=0.03, abs=2)
