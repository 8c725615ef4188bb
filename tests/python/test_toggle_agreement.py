"""`Toggle` equals the loops of the oracle, with every option and every estimator."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agreement import same_array
from strategies import Drawn, Rolled, Source, examples
from toggle_rs import Toggle
from toggle_runs import (
    ESTIMATORS,
    FREEZES,
    PENALTIES,
    START_PHASES,
    check_run,
    draw_batch,
    draw_settings,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@given(data=st.data())
def test_any_settings(data: st.DataObject) -> None:
    check_run(Toggle, Drawn(data), calls=data.draw(st.integers(1, 10)))


@pytest.mark.parametrize(
    ("estimator", "freeze", "start_phase", "penalty"),
    [*itertools.product(ESTIMATORS, FREEZES, START_PHASES, PENALTIES)],
)
def test_every_option_with_every_estimator(
    estimator: str, freeze: str, start_phase: str, penalty: str
) -> None:
    options = {"freeze": freeze, "start_phase": start_phase, "penalty": penalty}
    for seed in range(8):
        source = Rolled(np.random.default_rng(seed))
        m = source.one_of((1, 2))
        check_run(Toggle, source, calls=8, m=m, estimator=ESTIMATORS[estimator](), **options)


def drawn_state(source: Source, options: dict[str, Any]) -> tuple[Any, Any, int]:
    """Two that have seen the same, and the next step."""
    settings_ = draw_settings(source, **options)
    both = Toggle(**settings_), Toggle(**settings_)
    step = source.integer(0, 3)
    for _ in range(source.integer(0, 3)):
        batch = draw_batch(source)
        for toggle in both:
            toggle.observe(
                batch.datasets, batch.lengths, batch.scores, **batch.correctness(), step=step
            )
        step += source.integer(1, 2)
    return *both, step


@pytest.mark.parametrize("estimator", ESTIMATORS)
@examples(25)
@given(data=st.data())
def test_the_order_of_the_samples_of_a_step_is_of_no_account(
    estimator: str, data: st.DataObject
) -> None:
    check_shuffled(Drawn(data), {"estimator": ESTIMATORS[estimator](), "m": 1})


@pytest.mark.parametrize(
    ("estimator", "freeze", "start_phase", "penalty"),
    [*itertools.product(ESTIMATORS, FREEZES, START_PHASES, PENALTIES)],
)
def test_nor_with_any_option(estimator: str, freeze: str, start_phase: str, penalty: str) -> None:
    options = {"freeze": freeze, "start_phase": start_phase, "penalty": penalty, "m": 1}
    for seed in range(8):
        source = Rolled(np.random.default_rng(seed))
        check_shuffled(source, {"estimator": ESTIMATORS[estimator](), **options})


def check_shuffled(source: Source, options: dict[str, Any]) -> None:
    """Shuffling the samples changes no result but its order; the state not at all."""
    ours, theirs, step = drawn_state(source, options)
    batch = draw_batch(source)
    order = source.rng().permutation(len(batch))
    shuffled = batch.take(order)
    arguments, options = batch.shaping()
    shuffled_arguments, shuffled_options = shuffled.shaping()
    result = ours.apply(step, *arguments, **options)
    other = theirs.apply(step, *shuffled_arguments, **shuffled_options)
    for name in ("scores", "kept", "has_signal", "group_accuracy"):
        assert same_array(getattr(other, name), np.ascontiguousarray(getattr(result, name)[order]))
    assert str(other.metrics) == str(result.metrics)
    assert ours == theirs
    # The next step sees no difference either.
    assert ours.budgets() == theirs.budgets()
    assert ours.counts() == theirs.counts()
    ours.observe([], [], [], step=step + 1)
    theirs.observe([], [], [], step=step + 1)
    assert ours == theirs
    assert ours.budgets() == theirs.budgets()


@pytest.mark.parametrize("estimator", ESTIMATORS)
@examples(25)
@given(data=st.data())
def test_a_step_may_come_a_group_at_a_time(estimator: str, data: st.DataObject) -> None:
    """In many calls, in any order: the same results and the same state as in one."""
    source = Drawn(data)
    whole, parts, step = drawn_state(source, {"estimator": ESTIMATORS[estimator](), "m": 1})
    batch = draw_batch(source)
    arguments, options = batch.shaping()
    result = whole.apply(step, *arguments, **options)
    names = list(dict.fromkeys(batch.plain_groups))
    for i in source.rng().permutation(len(names)).tolist():
        samples = np.array([j for j, g in enumerate(batch.plain_groups) if g == names[i]])
        part = batch.take(samples)
        arguments, options = part.shaping()
        if source.one_of((True, False)):
            shaped = parts.apply(step, *arguments, **options)
        else:
            parts.observe(part.datasets, part.lengths, part.scores, **part.correctness(), step=step)
            # What this very call has recorded does not count yet.
            shaped = parts.shape(step, *arguments, **options)
        for name in ("scores", "kept", "has_signal", "group_accuracy"):
            assert same_array(getattr(shaped, name), getattr(result, name)[samples])
    if names:
        assert parts == whole
    assert parts.budgets() == whole.budgets()
    assert parts.counts() == whole.counts()
