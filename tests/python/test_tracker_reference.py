"""The oracle stands on its own feet: hand-made cases, and NumPy itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pairwise
from oracle import Oracle, ReferenceTracker, key_of
from strategies import SUM_EDGES, Drawn, draw_batch, draw_settings


def test_key_of() -> None:
    assert key_of("a") == key_of(["a"]) == key_of(np.str_("a")) == ("a",)
    assert key_of(["a", "b"]) == ("a", "b")


def test_penalty_by_hand() -> None:
    oracle = Oracle(m=2, lambda_=0.5, percentile=50, warmup_steps=0)
    oracle.update(["d"] * 3, np.array([10, 20, 30]), np.ones(3), 1.0)
    scores = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    lengths = np.array([5, 50, 15, 100, 999, 5, 5, 5])
    out, metrics = oracle.maybe_apply(2, scores, lengths, ["d"] * 8, 4, 1.0)
    # 5, 10, 15, 20, 30, 50, 999 were correct. The second group is below lambda.
    assert metrics == {
        "toggle/length_penalty_phase": 1,
        "toggle/budget/d": 20.0,
        "toggle/mask_kept_ratio": 0.75,
    }
    assert out.tolist() == [1, 0, 1, 0, 1, 0, 0, 0]


def test_phases_by_hand() -> None:
    oracle = Oracle(m=2, lambda_=0.5, percentile=50, warmup_steps=6)
    assert [oracle.is_penalty_step(step) for step in range(12)] == [False] * 6 + [
        True, True, False, False, True, True,
    ]  # fmt: skip


@given(st.lists(st.integers(0, 2**53), min_size=1, max_size=50), st.floats(0, 100))
def test_percentile_is_the_contract(lengths: list[int], percentile: float) -> None:
    """`np.percentile` is the formula that the design writes down."""
    x = sorted(lengths)
    last = len(x) - 1
    v = last * (percentile / 100)
    i = math.floor(v)
    if v >= last:
        expected = float(x[-1])
    else:
        g, a, b = v - i, float(x[i]), float(x[i + 1])
        expected = a + (b - a) * g if g < 0.5 else b - (b - a) * (1 - g)
    assert float(np.percentile(lengths, percentile)).hex() == expected.hex()


@pytest.mark.parametrize("size", SUM_EDGES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_pairwise_is_the_sum_of_numpy(size: int, dtype: str) -> None:
    groups = np.random.default_rng(size).random((20, size)).astype(dtype)
    ours = np.array([pairwise.pairwise(group) for group in groups])
    assert ours.dtype == groups.dtype
    assert ours.tobytes() == groups.sum(axis=-1).tobytes()


@given(st.data())
def test_oracle_is_the_literal_reference(data: st.DataObject) -> None:
    """Remembering a percentile changes nothing."""
    source = Drawn(data)
    settings = draw_settings(source)
    oracle, reference = Oracle(**settings), ReferenceTracker(**settings)
    batch = draw_batch(source)
    results = []
    with np.errstate(all="ignore"):
        for tracker in (oracle, reference):
            tracker.lambda_ = batch.lambda_
            # Twice the first samples: the reference asks for a percentile for each.
            n = 2 * batch.num_samples_per_prompt
            arguments = (
                batch.step, batch.scores[:n], batch.sequence_lengths[:n], batch.datasets[:n],
                batch.num_samples_per_prompt, batch.max_possible_score,
            )  # fmt: skip
            results.append(tracker.maybe_apply(*arguments))
    (ours, our_metrics), (theirs, metrics) = results
    assert list(our_metrics.items()) == list(metrics.items())
    assert ours.tobytes() == theirs.tobytes()
