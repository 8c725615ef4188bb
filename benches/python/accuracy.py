"""How far each estimator is from the exact quantile, beside those of other packages.

    python benches/python/accuracy.py [--docs FOLDER] [--quick] [ROLLOUTS...]

Every stream is seeded; KLL and REQ flip coins of their own, which differ from
run to run. A stream comes in training steps of 128 responses. With rollout
traces as arguments their correct lengths are studied too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import accuracy_report
import memory
from accuracy_report import PERCENTILES, Case, Outcome
from contenders import OURS, PEERS, STEP, Contender
from errors import Errors, at_the_end, in_sample
from streams import DRIFTS, STREAMS, Lengths, drawn_from, real_streams

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))
from rollouts import REAL

REPEATS = {100: 40, 1_000: 40, 10_000: 20, 100_000: 8, 1_000_000: 4}
"""Seeds, by number of values."""
RECENT = 8 * STEP
"""Responses that count as the recent past."""

Truth = Callable[[float, float], Errors]
"""Errors of an answer about a quantile."""


@dataclass(frozen=True)
class Task:
    """A stream of one size."""

    stream: str
    n: int
    real: Lengths | None = None
    """What a stream of real lengths is drawn from."""

    def values(self, repeat: int) -> Lengths:
        """The stream of one seed."""
        rng = np.random.default_rng([zlib.crc32(self.stream.encode()), self.n, repeat])
        if self.real is not None:
            return drawn_from(self.real, rng, self.n)
        return (DRIFTS.get(self.stream) or STREAMS[self.stream])(rng, self.n)

    def truths(self, values: Lengths) -> dict[str, Truth]:
        """What answers are compared with."""
        drift = DRIFTS.get(self.stream)
        truths: dict[str, Truth] = {"whole": partial(in_sample, np.sort(values))}
        if drift:
            truths["recent"] = partial(in_sample, np.sort(values[-RECENT:]))
            truths["now"] = partial(at_the_end, drift)
        return truths


def answers_of(
    contender: Contender, values: Lengths, weigh: bool
) -> tuple[list[float], int | None]:
    """An answer for each percentile, and on demand the bytes that are held for one of them."""
    qs = [p / 100 for p in PERCENTILES]
    sketches = [contender.make(q) for q in (qs if contender.one_quantile else qs[:1])]
    for start in range(0, len(values), STEP):
        block = contender.form(values[start : start + STEP])
        for sketch in sketches:
            contender.feed(sketch, block)
    asked = sketches if contender.one_quantile else sketches * len(qs)
    answers = [contender.ask(sketch, q) for sketch, q in zip(asked, qs, strict=True)]
    del asked, sketch, sketches[1:]
    return answers, memory.dropped(sketches) if weigh else None


def run(task: Task) -> dict[Case, Outcome]:
    """All contenders on one stream."""
    outcomes: dict[Case, Outcome] = {}
    for repeat in range(REPEATS[task.n]):
        values = task.values(repeat)
        truths = task.truths(values)
        for contender in [*OURS, *PEERS]:
            answers, size = answers_of(contender, values, repeat == 0)
            for p, answer in zip(PERCENTILES, answers, strict=True):
                for truth, errors in truths.items():
                    case = Case(task.stream, task.n, contender.name, truth, p)
                    outcome = outcomes.setdefault(case, Outcome(size))
                    outcome.errors.append(errors(answer, p / 100))
    return outcomes


def tasks(files: list[Path], quick: bool) -> list[Task]:
    """The largest first, so that no process is left alone with a long one."""
    real = real_streams(files)
    return [
        Task(name, n, real.get(name))
        for n in sorted(REPEATS, reverse=True)
        for name in [*real, *STREAMS, *DRIFTS]
        if n <= 10_000 or not quick
    ]


def main() -> None:
    """Runs all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rollouts", nargs="*", type=Path, default=REAL)
    parser.add_argument("--docs", type=Path, help="where estimators.md is")
    parser.add_argument("--quick", action="store_true", help="up to 10,000 values")
    options = parser.parse_args()
    start = time.perf_counter()
    todo = tasks(options.rollouts, options.quick)
    os.environ |= memory.SETTING
    outcomes: dict[Case, Outcome] = {}
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        for task, some in zip(todo, pool.map(run, todo), strict=True):
            outcomes |= some
            seconds = time.perf_counter() - start
            print(f"{seconds:5.0f} s  {task.n:>9,}  {task.stream}", file=sys.stderr, flush=True)
    accuracy_report.write(outcomes, options.docs)


if __name__ == "__main__":
    main()
