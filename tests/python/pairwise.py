"""The group sum of NumPy, and sums that are as good and not the same.

NumPy adds along a contiguous last axis in a fixed order. Up to 7 numbers: one
after the other. Up to 128: eight accumulators, joined in pairs, then the tail.
Above: two halves, the first a multiple of eight, each summed so.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def one_by_one(values: np.ndarray) -> np.floating:
    total: np.floating = values.dtype.type(-0.0)
    for value in values:
        total = total + value
    return total


def eight_accumulators(values: np.ndarray) -> np.floating:
    """No halves, however many numbers."""
    n = len(values)
    if n < 8:
        return one_by_one(values)
    r = [*values[:8]]
    whole = n - n % 8
    for start in range(8, whole, 8):
        r = [a + b for a, b in zip(r, values[start : start + 8], strict=True)]
    total: np.floating = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
    for value in values[whole:]:
        total = total + value
    return total


def pairwise(values: np.ndarray) -> np.floating:
    """As NumPy does."""
    n = len(values)
    if n <= 128:
        return eight_accumulators(values)
    half = n // 2
    half -= half % 8
    return pairwise(values[:half]) + pairwise(values[half:])


def plain_halves(values: np.ndarray) -> np.floating:
    """The halves not rounded to a multiple of eight."""
    n = len(values)
    if n <= 128:
        return eight_accumulators(values)
    return plain_halves(values[: n // 2]) + plain_halves(values[n // 2 :])


def joined_in_turn(values: np.ndarray) -> np.floating:
    """Eight accumulators, joined from left to right."""
    n = len(values)
    if n > 128:
        half = n // 2 - n // 2 % 8
        return joined_in_turn(values[:half]) + joined_in_turn(values[half:])
    whole = n - n % 8
    r = [*values[: min(8, whole)]]
    for start in range(8, whole, 8):
        r = [a + b for a, b in zip(r, values[start : start + 8], strict=True)]
    return one_by_one(np.array([*r, *values[whole:]], values.dtype))


def exact(values: np.ndarray) -> np.floating:
    total: np.floating = values.dtype.type(math.fsum(values.tolist()))
    return total


# Each with the sizes of group in which it can differ from NumPy's sum.
WRONG_SUMS: dict[str, tuple[Callable[[np.ndarray], np.floating], Callable[[int], bool]]] = {
    "one by one": (one_by_one, lambda n: n >= 8),
    "joined in turn": (joined_in_turn, lambda n: n >= 8),
    "eight accumulators without halves": (eight_accumulators, lambda n: n > 128),
    "plain halves": (plain_halves, lambda n: n > 128 and n // 2 % 8 != 0),
    "exact": (exact, lambda n: n >= 3),
}
