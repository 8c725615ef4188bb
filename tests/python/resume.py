"""Random runs that can be broken off and resumed; run as a script, it resumes one.

What a step does depends on the seed and the number of the step alone.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np

from toggle_rs import (
    DecayQuantile,
    ExactQuantile,
    GKQuantile,
    P2Quantile,
    Toggle,
    ToggleBudgetTracker,
    WindowQuantile,
)
from toggle_rs.replay.settings import Freeze

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "exact": ExactQuantile,
    "p2": lambda: P2Quantile(0.8),
    "gk": lambda: GKQuantile(0.02),
    "window": lambda: WindowQuantile(100),
    "decay": lambda: DecayQuantile(3.7),
}
FREEZES: tuple[Freeze, ...] = get_args(Freeze)
# Names and lists of names; some come late, some never with a correct response.
KEYS: tuple[Any, ...] = ("math", "code", ["math", "code"], "größe", "")


def toggle(estimator: str, freeze: Freeze = "never") -> Toggle:
    return Toggle(
        m=3,
        lambda_=0.4,
        percentile=80,
        warmup_steps=20,
        estimator=ESTIMATORS[estimator](),
        freeze=freeze,
        min_samples=5,
    )


def tracker(estimator: str) -> ToggleBudgetTracker:
    return ToggleBudgetTracker(3, np.float64(0.4), 80.0, 20, estimator=ESTIMATORS[estimator]())


def batch(seed: int, step: int) -> tuple[list[Any], np.ndarray, np.ndarray, np.ndarray]:
    """Keys, lengths, scores and correctness of a step: eight groups of four."""
    rng = np.random.default_rng((seed, step))
    known = min(len(KEYS), 2 + step // 10)
    keys = [KEYS[i] for i in rng.integers(0, known, 8) for _ in range(4)]
    lengths = np.minimum(rng.lognormal(5 + step / 100, 0.8, 32), 32_768).astype(np.int64)
    correct = (rng.random(32) < 0.5) & np.array([key != "" for key in keys])
    scores = np.where(correct, 1.0, rng.random(32) / 4).astype(np.float32)
    return keys, lengths, scores, correct


def play(state: Any, seed: int, steps: range) -> str:
    """A digest of all that the steps give back, bit for bit."""
    digest = hashlib.sha256()
    for step in steps:
        keys, lengths, scores, correct = batch(seed, step)
        if isinstance(state, Toggle):
            # In two calls, so that some lengths wait while others come.
            half = keys[:16], lengths[:16]
            state.observe(*half, correct=correct[:16], step=step)
            shaped = state.apply(step, scores, lengths, keys, groups=4, correct=correct)
            arrays = [shaped.scores, shaped.kept, shaped.has_signal, shaped.group_accuracy]
            numbers: dict[Any, Any] = shaped.metrics
        else:
            array, numbers = state.maybe_apply(step, scores, lengths, keys, 4, 1.0)
            arrays = [array]
        for array in arrays:
            digest.update(np.asarray(array).tobytes())
        answers = (numbers, state.budgets(), state.counts())
        for answer in answers:
            # Keys may be in another order after a resume.
            digest.update(repr(sorted(answer.items())).encode())
    digest.update(state.to_bytes())
    return digest.hexdigest()


def main() -> None:
    kind, path, seed, start, stop = sys.argv[1:]
    kinds: dict[str, type[Toggle | ToggleBudgetTracker]] = {
        "Toggle": Toggle,
        "ToggleBudgetTracker": ToggleBudgetTracker,
    }
    state = kinds[kind].load(Path(path))
    sys.stdout.write(play(state, int(seed), range(int(start), int(stop))))


if __name__ == "__main__":
    main()
