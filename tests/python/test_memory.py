"""Arrays are read in place: a large call needs no memory beside its result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from key_memory import measured

MB = 1_000_000
# Room for what the interpreter and the allocator do by themselves.
LIMIT = MB

# Measures one call in a fresh process: by tracemalloc, which sees what Python
# and NumPy allocate, and by the peak of the resident memory, which sees Rust too.
MEASURE = """
import gc, json, sys, tracemalloc
import numpy as np
from toggle_rs import ExactQuantile, ToggleBudgetTracker

def status(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))

def peak_of(call):
    call(small=True)  # code pages, caches
    gc.collect()
    tracemalloc.start()
    tracemalloc.reset_peak()
    traced = tracemalloc.get_traced_memory()[0]
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts from here
    resident = status("VmRSS")
    result = call(small=False)
    traced = tracemalloc.get_traced_memory()[1] - traced
    out = {"resident": status("VmHWM") - resident, "traced": traced}
    tracemalloc.stop()
    return result, out

def names_of(form, n):
    if form == "fresh list":
        return ["".join(["ma", "th"]) if i % 2 else "".join(["co", "de"]) for i in range(n)]
    if form == "list of lists":
        a, b = ["math"], ["math", "code"]
        return [a, b] * (n // 2)
    names = ["math", "code"] * (n // 2)
    return np.array(names, object) if form == "object array" else names

n = 12_500_000  # 100 MB of float64
"""

TRACKER = """
kind, step, dtype, form = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
stride = {"strided": 2, "reversed": -2, "contiguous": 1}[kind]
scores = np.zeros(n * abs(stride), dtype)[::stride]
scores[:] = np.arange(n) % 5 != 0
lengths = np.zeros(n * abs(stride), np.int64)[::stride]
lengths[:] = np.arange(n) % 30_000
names = names_of(form, n)
tracker = ToggleBudgetTracker(1, 0.5, 80.0, 0)

def call(small):
    m = 8000 if small else n
    if small:
        # The histogram of the lengths belongs to the state.
        every = np.repeat(np.arange(30_000), 2)
        tracker.update(list(names[:2]) * 30_000, every, np.ones(60_000), 1.0)
    return tracker.maybe_apply(step, scores[:m], lengths[:m], names[:m] if small else names, 8, 1.0)

(result, metrics), out = peak_of(call)
print(json.dumps(out | {"returned": 0 if result.base is scores.base else result.nbytes}))
"""

QUANTILE = """
sketch = ExactQuantile()
values = np.zeros(2 * n, np.int64)[::2]
values[:] = np.arange(n) % 30_000
_, out = peak_of(lambda small: sketch.update(values[: 60_000 if small else n]))
assert sketch.count == n + 60_000
print(json.dumps(out | {"returned": 0}))
"""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(),
    reason="the peak is reset through /proc, which only Linux has",
)


def measure(code: str, *arguments: str) -> dict[str, int]:
    result = subprocess.run(
        [sys.executable, "-c", MEASURE + code, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    used: dict[str, int] = json.loads(result.stdout)
    return used


@pytest.mark.parametrize(
    ("layout", "step", "dtype", "names"),
    [
        ("strided", 0, "float64", "list"),
        ("strided", 1, "float64", "list"),
        ("reversed", 1, "float64", "list"),
        ("strided", 1, "float32", "list"),
        ("strided", 1, "int64", "list"),
        ("strided", 1, "float64", "object array"),
        ("strided", 1, "float64", "fresh list"),
        ("strided", 1, "float64", "list of lists"),
        ("contiguous", 1, "float64", "list"),
    ],
)
def test_a_large_step(layout: str, step: int, dtype: str, names: str) -> None:
    used = measure(TRACKER, layout, str(step), dtype, names)
    assert (used["returned"] > 0) == bool(step)
    for what in ("traced", "resident"):
        assert used[what] - used["returned"] < LIMIT, f"{what}: {used}"


def test_a_large_update_of_a_quantile() -> None:
    used = measure(QUANTILE)
    assert used["traced"] < LIMIT, used
    assert used["resident"] < LIMIT, used


@pytest.mark.parametrize("order", ["in-order", "random"])
def test_a_key_with_few_lengths(order: Literal["in-order", "random"]) -> None:
    """16 lengths take 128 bytes; the rest is the key, its place in the table, and malloc's."""
    assert measured(50_000, order, "never")["resident"] <= 300


def test_a_key_whose_budget_is_fixed() -> None:
    assert measured(50_000, "random", "first")["resident"] <= 130
