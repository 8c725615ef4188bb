"""Settings and fixtures of the Python tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from toggle_rs import ToggleBudgetTracker

settings.register_profile(
    "default",
    deadline=None,  # the oracle is slow where a batch is large
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
)
# Twenty times as many: pytest --hypothesis-profile=long
settings.register_profile("long", settings.get_profile("default"), max_examples=2000)
settings.load_profile("default")


@pytest.fixture
def tracker() -> ToggleBudgetTracker:
    """In its penalty phase at odd steps, with lengths of two datasets."""
    result = ToggleBudgetTracker(m=1, lambda_=0.5, percentile=80.0, warmup_steps=0)
    result.update(
        ["math", "code", "math", ["math", "code"]], np.array([10, 20, 40, 30]), np.ones(4), 1.0
    )
    return result
