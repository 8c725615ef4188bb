"""The tracker equals the oracle, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agreement import check_history, check_run, check_step
from long_run import run
from oracle import Oracle
from pairwise import WRONG_SUMS
from strategies import (
    INTEGERS,
    KEY_FORMS,
    LAYOUTS,
    MAX_SCORES,
    SCORE_DTYPES,
    SUM_EDGES,
    Batch,
    Drawn,
    Rolled,
    draw_datasets,
    examples,
    laid_out,
)  # fmt: skip
from toggle_rs import ToggleBudgetTracker

# Some settings are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@examples(300)
@given(st.data(), st.integers(1, 4))
def test_runs(data: st.DataObject, steps: int) -> None:
    check_run(ToggleBudgetTracker, Drawn(data), steps)


def test_many_batches() -> None:
    """The long run, a short piece of it; see `long_run.py`."""
    assert run(1_000, seed=20260711) == 1_000


def one_batch(seed: int, n: int, group: int) -> Batch:
    rng = np.random.default_rng(seed)
    return Batch(
        step=1,
        scores=(rng.random(n) < 0.6) * 1.0,
        sequence_lengths=np.minimum(rng.lognormal(4, 1, n), 120).astype(np.int64),
        datasets=[
            ("math", "code", "logic")[i] for i in np.repeat(rng.integers(0, 3, n // group), group)
        ],
        num_samples_per_prompt=group,
        max_possible_score=1.0,
        lambda_=0.5,
    )


def check_batch(batch: Batch, percentile: float = 80.0) -> None:
    arguments: dict[str, Any] = {
        "m": 1,
        "lambda_": batch.lambda_,
        "percentile": percentile,
        "warmup_steps": 0,
    }
    tracker, oracle = ToggleBudgetTracker(**arguments), Oracle(**arguments)
    # The first step is of the normal phase, the second of the penalty phase.
    for batch.step in (0, 1):
        check_step(tracker, oracle, batch)
    check_history(tracker, oracle)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", SCORE_DTYPES)
def test_every_layout_of_scores(dtype: str, layout: str) -> None:
    batch = one_batch(1, 96, 8)
    batch.scores = laid_out(batch.scores.astype(dtype), layout)
    check_batch(batch)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_layout_of_lengths(dtype: str, layout: str) -> None:
    batch = one_batch(2, 96, 8)
    batch.sequence_lengths = laid_out(batch.sequence_lengths.astype(dtype), layout)
    check_batch(batch)


def test_broadcast_arrays() -> None:
    batch = one_batch(3, 96, 8)
    batch.scores = np.broadcast_to(np.float64(1), 96)
    batch.sequence_lengths = np.broadcast_to(np.int32(7), 96)
    check_batch(batch)


@pytest.mark.parametrize("form", KEY_FORMS)
def test_every_form_of_names(form: str) -> None:
    for seed in range(20):
        batch = one_batch(seed, 96, 8)
        batch.datasets = draw_datasets(Rolled(np.random.default_rng(seed)), 96, 8, form)
        check_batch(batch)


@pytest.mark.parametrize(
    "max_score", MAX_SCORES, ids=lambda value: f"{type(value).__name__}-{value}"
)
@pytest.mark.parametrize("dtype", SCORE_DTYPES)
def test_every_kind_of_max_possible_score(dtype: str, max_score: Any) -> None:
    """Python numbers are weak beside an array, NumPy scalars are not."""
    rng = np.random.default_rng(5)
    top = float(max_score)
    for group in (1, 3, 8, 20):
        batch = one_batch(4, 10 * group, group)
        batch.max_possible_score = max_score
        # In floating point: the maximum rounded to float32, to float64, and what is next to it.
        near = np.array(
            [
                top,
                np.float32(top),
                np.nextafter(top, 0),
                np.nextafter(np.float32(top), 0),
                top / 3,
                0,
            ]
        )
        batch.scores = rng.choice(near, 10 * group).astype(dtype)
        accuracy = (batch.scores / max_score).reshape(-1, group).mean(axis=-1)
        for at in accuracy[:4]:
            for batch.lambda_ in (
                float(at),
                float(np.nextafter(float(at), -1)),
                float(np.nextafter(float(at), 9e9)),
            ):
                check_batch(batch)


def scores_at_the_edge(group: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Groups of partial credit, and their accuracy."""
    scores = np.random.default_rng(group).random((60 if group > 100 else 200) * group).astype(dtype)
    return scores, scores.reshape(-1, group).mean(axis=-1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("group", SUM_EDGES)
def test_order_of_the_group_sum(group: int, dtype: str) -> None:
    """With lambda at a group's accuracy the last bit of the sum decides the mask.

    Each group has a batch of its own, with lambda at its accuracy and next above it.
    For each wrong sum some of these batches come out otherwise, which is shown
    here too: a tracker that sums in another order fails.
    """
    scores, accuracy = scores_at_the_edge(group, dtype)
    lengths = np.full(group, 5)
    noticed = dict.fromkeys(WRONG_SUMS, False)
    tracker = ToggleBudgetTracker(m=1, lambda_=0.5, percentile=50.0, warmup_steps=0)
    # A budget that no sample meets: the accuracy alone decides.
    tracker.update(["d"], np.array([1]), np.ones(1), 1.0)
    for own, mean in zip(scores.reshape(-1, group), accuracy, strict=True):
        above = np.nextafter(mean, np.array(2, dtype))
        for lambda_, kept in ((mean, False), (above, True)):
            tracker.lambda_ = float(lambda_)
            out, metrics = tracker.maybe_apply(1, own, lengths, ["d"] * group, group, 1.0)
            assert out.tobytes() == (own * kept).tobytes()
            assert metrics["toggle/mask_kept_ratio"] == float(kept)
            for name, (wrong, _) in WRONG_SUMS.items():
                wrong_mean = wrong(own) / own.dtype.type(group)
                noticed[name] |= bool(wrong_mean < lambda_) != kept
    assert noticed == {name: differs(group) for name, (_, differs) in WRONG_SUMS.items()}


def test_float32_is_summed_in_float32() -> None:
    scores, accuracy = scores_at_the_edge(64, "float32")
    wide = scores.astype(np.float64).reshape(-1, 64).mean(axis=-1).astype(np.float32)
    assert (wide < accuracy).any()
    assert (wide > accuracy).any()
    for own, mean in zip(scores.reshape(-1, 64), accuracy, strict=True):
        batch = one_batch(0, 64, 64)
        batch.scores, batch.lambda_ = own, float(mean)
        batch.sequence_lengths = np.arange(64)
        check_batch(batch)


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8"])
def test_every_kind_of_lambda(dtype: str, kind: type) -> None:
    """Beside a float32 accuracy a Python float is rounded, a np.float64 widens it."""
    batch = one_batch(6, 300, 3)
    batch.scores = (batch.scores * np.random.default_rng(6).integers(1, 8, 300)).astype(dtype)
    batch.max_possible_score = np.float32(7) if dtype == "int8" else 7.0
    for at in (batch.scores / batch.max_possible_score).reshape(-1, 3).mean(axis=-1)[:20]:
        for near in (float(at), np.nextafter(float(at), -1), np.nextafter(float(at), 2)):
            batch.lambda_ = kind(near)
            check_batch(batch)


@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sign_of_zero(dtype: str, group: int) -> None:
    """A masked negative reward becomes -0.0, as `scores * mask` makes it."""
    batch = one_batch(0, 8, group)
    batch.scores = np.array([-0.0, 0.0, -1.0, 1.0, 1.0, -1.0, -0.0, 0.5], dtype)
    batch.sequence_lengths = np.arange(8)
    batch.lambda_ = -9.0
    check_batch(batch, percentile=0.0)


def test_scores_and_lengths_are_one_array() -> None:
    both = np.array([1, 0, 3, 1, 1, 7, 0, 1])
    batch = one_batch(0, 8, 4)
    batch.scores = batch.sequence_lengths = both
    check_batch(batch, percentile=50.0)


def test_no_budget_keeps() -> None:
    batch = one_batch(0, 8, 4)
    batch.scores = np.full(8, 0.9)
    check_batch(batch)
    assert ToggleBudgetTracker(1, 0.5, 80, 0).maybe_apply(*batch.arguments())[1] == {
        "toggle/length_penalty_phase": 1,
        "toggle/mask_kept_ratio": 1.0,
    }


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_empty_batch() -> None:
    batch = one_batch(0, 8, 4)
    batch.scores, batch.sequence_lengths, batch.datasets = np.zeros(0), np.zeros(0, np.int64), []
    check_batch(batch)


def test_budget_of_a_length_that_only_64_bits_hold() -> None:
    batch = one_batch(0, 8, 4)
    batch.sequence_lengths = 2**53 - np.arange(8)
    for percentile in (0, 33.3, 50, 99, 100):
        check_batch(batch, percentile)


def test_two_keys_with_one_metric_name() -> None:
    batch = one_batch(0, 12, 4)
    for batch.datasets in ([["a", "b"]] * 4 + ["a|b"] * 8, ["a|b"] * 4 + [["a", "b"]] * 8):
        batch.scores = np.ones(12)
        check_batch(batch)
