"""`Toggle` equals the loops of the oracle, with every option and every estimator."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import Drawn
from toggle_rs import Toggle
from toggle_runs import ESTIMATORS, FREEZES, PENALTIES, START_PHASES, check_run

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@given(data=st.data())
def test_any_settings(data: st.DataObject) -> None:
    check_run(Toggle, Drawn(data), calls=data.draw(st.integers(1, 10)))


@pytest.mark.parametrize(
    ("estimator", "freeze", "start_phase", "penalty"),
    [*itertools.product(ESTIMATORS, FREEZES, START_PHASES, PENALTIES)],
)
@settings(max_examples=8)
@given(data=st.data())
def test_every_option_with_every_estimator(
    estimator: str, freeze: str, start_phase: str, penalty: str, data: st.DataObject
) -> None:
    options: dict[str, Any] = {
        "estimator": ESTIMATORS[estimator](),
        "freeze": freeze,
        "start_phase": start_phase,
        "penalty": penalty,
        "m": data.draw(st.sampled_from([1, 2])),
    }
    check_run(Toggle, Drawn(data), calls=8, **options)
