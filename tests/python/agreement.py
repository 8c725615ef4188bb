"""Plays one run against the tracker and the oracle and compares every bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from oracle import Metrics, Oracle
from strategies import Batch, Source, draw_batch, draw_percentile, draw_settings


def exact(metrics: Metrics) -> list[tuple[str, type, str]]:
    """Keys in order, Python types, and values to the last bit."""
    return [
        (name, type(value), value.hex() if isinstance(value, float) else str(value))
        for name, value in metrics.items()
    ]


def same_array(ours: np.ndarray, theirs: np.ndarray) -> bool:
    return (
        type(ours) is np.ndarray
        and ours.dtype == theirs.dtype
        and ours.shape == theirs.shape
        and ours.tobytes() == theirs.tobytes()
    )


def check_step(tracker: Any, oracle: Oracle, batch: Batch) -> None:
    """One `maybe_apply` on both: result, metrics, and what was given."""
    before = (batch.scores.tobytes(), batch.sequence_lengths.tobytes())
    with np.errstate(all="ignore"):
        expected, expected_metrics = oracle.maybe_apply(*batch.arguments())
    scores, metrics = tracker.maybe_apply(*batch.arguments())
    assert exact(metrics) == exact(expected_metrics)
    if expected is batch.scores:
        assert scores is batch.scores
    else:
        assert scores is not batch.scores
        assert not np.shares_memory(scores, batch.scores)
        assert scores.flags.writeable
        assert same_array(scores, expected), f"{scores!r} != {expected!r}"
    assert before == (batch.scores.tobytes(), batch.sequence_lengths.tobytes())


def check_history(tracker: Any, oracle: Oracle) -> None:
    """What was recorded, to the last length."""
    assert tracker.counts() == oracle.counts()
    budgets, expected = tracker.budgets(), oracle.budgets()
    assert budgets.keys() == expected.keys()
    for key, budget in expected.items():
        assert type(budgets[key]) is float
        assert budgets[key].hex() == budget.hex()
        assert tracker.budget(key).hex() == budget.hex()
    lengths = tracker.lengths_per_dataset
    assert lengths.keys() == oracle.lengths_per_dataset.keys()
    for key, recorded in oracle.lengths_per_dataset.items():
        assert same_array(lengths[key], np.sort(np.array(recorded, np.int64)))


def check_run(make: Callable[..., Any], source: Source, steps: int) -> None:
    """A run of some steps, its lambda and percentile changing on the way."""
    settings = draw_settings(source)
    tracker, oracle = make(**settings), Oracle(**settings)
    for _ in range(steps):
        batch = draw_batch(source)
        tracker.lambda_ = oracle.lambda_ = batch.lambda_
        if source.integer(0, 4) == 0:
            tracker.percentile = oracle.percentile = draw_percentile(source)
        check_step(tracker, oracle, batch)
    check_history(tracker, oracle)


def state_of(tracker: Any) -> Any:
    """All that a tracker knows, in a form that compares to the last byte."""
    if hasattr(tracker, "to_bytes"):
        return tracker.to_bytes()
    return (
        tracker.m,
        tracker.lambda_,
        tracker.percentile,
        tracker.warmup_steps,
        tracker.counts(),
        tracker.budgets(),
        {key: lengths.tobytes() for key, lengths in tracker.lengths_per_dataset.items()},
    )


@contextmanager
def unchanged(tracker: Any) -> Iterator[None]:
    """Fails when what happens inside leaves a trace."""
    before = state_of(tracker)
    yield
    assert state_of(tracker) == before
