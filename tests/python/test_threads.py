"""Threads share a tracker, and code of the caller runs in the middle of a call.

What could hang or crash runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from toggle_rs import ExactQuantile, ToggleBudgetTracker

THREADS = 8


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def run_in_threads(work: Callable[[int], None], count: int = THREADS) -> None:
    """Runs `work(i)` in threads that start together; raises what they raise."""
    barrier = threading.Barrier(count)
    errors: list[BaseException] = []

    def body(i: int) -> None:
        try:
            barrier.wait()
            work(i)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=body, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if errors:
        raise errors[0]


def test_totals_are_exact() -> None:
    """Each thread records its own share by both methods while it also asks."""
    tracker = ToggleBudgetTracker(m=1, lambda_=0.5, percentile=80.0, warmup_steps=0)
    names = [["math", "code", "a|b"][i % 3] for i in range(256)]
    batches = [np.random.default_rng(i).integers(0, 20_000, (60, 256)) for i in range(THREADS)]
    scores = np.ones(256)

    def work(i: int) -> None:
        for j, lengths in enumerate(batches[i]):
            if j % 2:
                tracker.update(names, lengths, scores, 1.0)
            else:
                out, metrics = tracker.maybe_apply(j + i, scores, lengths, names, 8, 1.0)
                assert set(out.tolist()) <= {0.0, 1.0}
                assert len(metrics) >= 4
            assert tracker.counts()["math",] >= (j + 1) * 86
            assert tracker.budget("code") is not None

    run_in_threads(work)
    everything = np.concatenate(batches)
    for i, name in enumerate(("math", "code", "a|b")):
        expected = np.sort(everything[:, i::3].ravel())
        assert tracker.counts()[name,] == expected.size
        assert tracker.lengths_per_dataset[name,].tobytes() == expected.tobytes()
        assert tracker.budget(name) == float(np.percentile(expected, 80.0))


def test_settings_change_under_way() -> None:
    """A call sees one setting from its start to its end."""
    tracker = ToggleBudgetTracker(m=1, lambda_=0.5, percentile=0.0, warmup_steps=0)
    tracker.update(["d"] * 2, np.array([10, 20]), np.ones(2), 1.0)
    scores, lengths, names = np.full(400, 0.5), np.full(400, 15), ["d"] * 400
    done = threading.Event()

    def work(i: int) -> None:
        if i == 0:
            for j in range(3000):
                tracker.percentile = 100.0 * (j % 2)
            done.set()
            return
        while not done.is_set():
            out, metrics = tracker.maybe_apply(1, scores, lengths, names, 4, 1.0)
            kept = metrics["toggle/budget/d"] == 20.0
            assert metrics["toggle/mask_kept_ratio"] == float(kept)
            assert out.tobytes() == (scores * kept).tobytes()

    run_in_threads(work, 4)


def test_scores_that_another_thread_writes() -> None:
    """The answer is of some state of the scores, or a ValueError; never a crash."""
    tracker = ToggleBudgetTracker(m=1, lambda_=0.5, percentile=50.0, warmup_steps=0)
    n = 200_000
    scores, lengths, names = np.ones(n), np.arange(n), ["d"] * n
    done = threading.Event()

    def work(i: int) -> None:
        if i:
            while not done.is_set():
                scores[:] = np.nan
                scores[:] = 1.0
                lengths[:] = -1
                lengths[:] = 3
            return
        try:
            for step in range(40):
                try:
                    out, metrics = tracker.maybe_apply(step, scores, lengths, names, 4, 1.0)
                except ValueError:
                    continue
                assert len(out) == n
                assert metrics["toggle/length_penalty_phase"] == step % 2
        finally:
            done.set()

    run_in_threads(work, 2)


def test_exact_quantile_is_shared() -> None:
    sketch = ExactQuantile()
    blocks = np.random.default_rng(0).integers(0, 5000, (THREADS, 100, 200))

    def work(i: int) -> None:
        for block in blocks[i]:
            sketch.update(block)
            sketch.quantile(0.5)

    run_in_threads(work)
    whole = ExactQuantile()
    whole.update(blocks.ravel())
    assert sketch == whole


SETUP = """
import faulthandler, threading, sys
from collections import UserList
import numpy as np
from toggle_rs import ExactQuantile, ToggleBudgetTracker
faulthandler.dump_traceback_later(20, exit=True)
tracker = ToggleBudgetTracker(1, 0.5, 50.0, 0)
tracker.update(["a"], np.array([5]), np.ones(1), 1.0)
N = 1_000_000
scores, lengths, names = np.ones(N), np.full(N, 5), ["a"] * N
called = []

def call(step=1, scores=scores, lengths=lengths, names=names, k=1, top=1.0):
    # Whatever comes out, it must be an answer or an Exception, with the counts to match.
    before = sum(tracker.counts().values())
    try:
        out, metrics = tracker.maybe_apply(step, scores, lengths, names, k, top)
    except (TypeError, ValueError) as error:
        print("refused:", error)
        assert sum(tracker.counts().values()) == before
    else:
        print("answered:", len(out), metrics)
        assert set(np.unique(out).tolist()) <= {0.0, 1.0}
"""

HOSTILE = {
    "a key that asks the tracker": """
class Key(UserList):
    def __getitem__(self, i):
        called.append(tracker.budgets())
        return super().__getitem__(i)
    def __iter__(self):
        called.append(tracker.counts())
        return super().__iter__()
names[-1] = Key(["a"])
call()
""",
    "a str that hashes and compares by asking the tracker": """
class Key(str):
    def __hash__(self):
        called.append(tracker.budgets())
        return 0
    def __eq__(self, other):
        called.append(tracker.counts())
        raise RuntimeError("compared")
names[-1] = Key("a")
call()
tracker.budget(Key("a"))
""",
    "a key that frees the scores": """
class Key(UserList):
    def __getitem__(self, i):
        scores.resize(0, refcheck=False)
        lengths.resize(0, refcheck=False)
        return super().__getitem__(i)
    def __iter__(self):
        scores.resize(0, refcheck=False)
        lengths.resize(0, refcheck=False)
        return super().__iter__()
names[0] = Key(["a"])
call()
""",
    "a key that empties the list of names": """
class Key(UserList):
    def __getitem__(self, i):
        names.clear()
        return super().__getitem__(i)
    def __iter__(self):
        names.clear()
        return super().__iter__()
names[0] = Key(["a"])
call()
""",
    "a key that grows the list of names": """
class Key(UserList):
    def __getitem__(self, i):
        if len(names) < 2 * N:
            names.extend(["b"] * N)
        return super().__getitem__(i)
    __iter__ = None
names[0] = Key(["a"])
call()
""",
    "a key that replaces the names in an array": """
array = np.empty(N, object)
array[:] = "a"
class Key(UserList):
    def __getitem__(self, i):
        array[:] = None
        array.resize(0, refcheck=False)
        return super().__getitem__(i)
    def __iter__(self):
        return iter([self[0]])
array[0] = Key(["a"])
call(names=array)
""",
    "a step that frees the scores": """
class Step:
    def __index__(self):
        scores.resize(0, refcheck=False)
        lengths.resize(0, refcheck=False)
        names.clear()
        return 1
call(step=Step())
""",
    "a group size that frees the scores": """
class K:
    def __index__(self):
        scores.resize(0, refcheck=False)
        lengths.resize(0, refcheck=False)
        return 1
call(k=K())
""",
    "a maximum that frees the scores": """
class Top:
    def __float__(self):
        scores.resize(0, refcheck=False)
        lengths.resize(0, refcheck=False)
        return 1.0
call(top=Top())
""",
    "a key that raises": """
class Key(UserList):
    def __getitem__(self, i):
        raise KeyboardInterrupt
    def __iter__(self):
        raise KeyboardInterrupt
    def __len__(self):
        return 1
names[-1] = Key(["a"])
before = tracker.counts()
try:
    call()
except KeyboardInterrupt:
    print("interrupted")
assert tracker.counts() == before
""",
    "a key that lies about its length": """
class Key(UserList):
    def __len__(self):
        return 2**62
names[-1] = Key(["a"])
call()
""",
    "scores that free the lengths when they become an array": """
class Scores:
    def __array__(self, dtype=None, copy=None):
        lengths.resize(0, refcheck=False)
        return scores
call(scores=Scores())
""",
    "lengths that free the scores when they become an array": """
class Lengths:
    def __array__(self, dtype=None, copy=None):
        scores.resize(0, refcheck=False)
        return lengths
call(lengths=Lengths())
""",
    "a length in a list that frees the scores": """
class Length:
    def __index__(self):
        scores.resize(0, refcheck=False)
        return 5
call(lengths=[5] * (N - 1) + [Length()])
""",
    "a dtype of a maximum that frees the scores": """
class Top(float):
    @property
    def dtype(self):
        scores.resize(0, refcheck=False)
        lengths.resize(0, refcheck=False)
        return np.dtype("float64")
call(top=Top(1.0))
""",
    "no key, but a repr that asks the tracker": """
class NoKey:
    def __repr__(self):
        called.append(tracker.counts())
        return "?"
for names[-1] in (NoKey(), ["a", NoKey()]):
    call()
""",
    "a lone surrogate whose repr asks the tracker": """
class Name(str):
    def __repr__(self):
        called.append(tracker.counts())
        return "?"
names[-1] = Name("\\ud800")
call()
""",
    "a repr that lets other threads in": """
import time
class NoKey:
    def __repr__(self):
        time.sleep(0.2)
        return "?"
names[-1] = NoKey()
thread = threading.Thread(target=call)
thread.start()
for _ in range(100):
    tracker.counts()
    time.sleep(0.005)
thread.join()
""",
    "garbage collected under way, whose end asks the tracker": """
import gc
class Loop:
    def __init__(self):
        self.me = self
    def __del__(self):
        called.append(tracker.budgets())
        called.append(tracker.maybe_apply(1, np.ones(1), np.ones(1, int), ["b"], 1, 1.0))
tracker.update([f"d{i}" for i in range(300)], np.arange(300), np.ones(300), 1.0)
gc.set_threshold(1, 1, 1)
small = ([f"d{i}" for i in range(300)], np.arange(300), np.ones(300))
for i in range(200):
    Loop()
    tracker.maybe_apply(i, small[2], small[1], small[0], 1, 1.0)
    Loop()
    tracker.counts()
    Loop()
    tracker.budgets()
    Loop()
    tracker.lengths_per_dataset
    Loop()
    repr(tracker)
assert called
""",
    "a list that holds itself": """
key = []
key.append(key)
names[-1] = key
call()
""",
    "quantiles merged both ways at once": """
a, b = ExactQuantile(), ExactQuantile()
sys.setswitchinterval(1e-6)
def work(x, y):
    for _ in range(20_000):
        x.merge(y)
        x == y
threads = [threading.Thread(target=work, args=pair) for pair in ((a, b), (b, a))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert a.count == b.count == 0
""",
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
def test_hostile_callers(code: str) -> None:
    """No deadlock, no read of freed memory: the process ends well."""
    result = subprocess.run(
        [sys.executable, "-c", SETUP + code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "panic" not in result.stderr
