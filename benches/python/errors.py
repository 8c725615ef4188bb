"""How far an answer is from the exact quantile."""

from __future__ import annotations

from math import ceil, floor
from typing import NamedTuple

import numpy as np

from streams import Drift, Lengths


class Errors(NamedTuple):
    """Both are shares: 0.01 is one percent."""

    rank: float
    """Ranks to the nearest right one, by the number of values."""
    value: float
    """Distance to `numpy.percentile`, by that."""


def in_sample(ordered: Lengths, answer: float, q: float) -> Errors:
    """Errors of an answer about sorted values.

    Right is any rank that one of NumPy's rules may give: (n - 1) q, rounded up
    or down. An answer between two values is at the ranks of both, one that
    occurs several times at all of its ranks.
    """
    first, end = (int(np.searchsorted(ordered, answer, side)) for side in ("left", "right"))
    first, last = (first, end - 1) if first < end else (first - 1, first)
    virtual = (len(ordered) - 1) * q
    gap = max(first - ceil(virtual), floor(virtual) - last, 0)
    exact = float(np.percentile(ordered, 100 * q))
    return Errors(gap / len(ordered), abs(answer - exact) / exact)


def at_the_end(drift: Drift, answer: float, q: float) -> Errors:
    """Errors of an answer about the distribution that a stream has come to."""
    exact = drift.now(q)
    return Errors(abs(drift.rank_now(answer) - q), abs(answer - exact) / exact)
