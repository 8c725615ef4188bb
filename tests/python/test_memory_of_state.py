"""What the state of a run takes: by its own account, and by the process's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from toggle_rs import ExactQuantile, ToggleBudgetTracker

MIB = 2**20


def test_a_dataset_with_every_length_up_to_256_ki() -> None:
    sketch = ExactQuantile()
    for _ in range(3):
        sketch.update(np.random.default_rng(0).permutation(262_144))
    assert sketch.nbytes <= 2.2 * MIB


@pytest.mark.parametrize("spread", [1, 7, 300, 2**20])
def test_a_distinct_length_takes_16_bytes_at_most(spread: int) -> None:
    values = np.random.default_rng(1).permutation(100_000) * spread
    sketch, empty = ExactQuantile(), ExactQuantile().nbytes
    for start in range(0, len(values), 50):
        block = values[start : start + 50]
        sketch.update(np.repeat(block, 3))
        # What the list and the directory take by themselves is not of a length.
        assert sketch.nbytes - empty <= 16 * (start + len(block)) + 1024, start


MANY_DATASETS = """
import numpy as np
from toggle_rs import ToggleBudgetTracker

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))

rng = np.random.default_rng(2)
tracker = ToggleBudgetTracker(1, 0.5, 80.0, 0)
before = resident()
for turn in range(20):
    for first in range(0, 10_000, 1000):
        names = [f"dataset-{first + i}" for i in range(1000) for _ in range(100)]
        lengths = np.minimum(rng.lognormal(8.0, 0.8, 100_000), 32_768).astype(np.int64)
        tracker.update(names, lengths, np.ones(100_000), 1.0)
assert set(tracker.counts().values()) == {2000}
print(tracker.nbytes, resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_ten_thousand_datasets_of_2000_lengths() -> None:
    command = [sys.executable, "-I", "-c", MANY_DATASETS]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    own, resident = map(int, run.stdout.split())
    assert own < 300e6
    assert resident < 300e6


def test_nbytes_of_a_tracker_follows_its_datasets() -> None:
    tracker = ToggleBudgetTracker(1, 0.5, 80.0, 0)
    empty = tracker.nbytes
    tracker.update(["a"] * 1000, np.arange(1000), np.ones(1000), 1.0)
    assert tracker.nbytes > empty + 1000
