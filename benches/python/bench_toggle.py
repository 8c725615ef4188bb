"""Calls of `Toggle` by number of keys and by form of the group ids, and the memory of a key.

    python benches/python/bench_toggle.py [--docs] [--memory] [--rounds N]

Each figure is the CPU time of the fastest call, with 16 batches in rotation: so what else
runs on the machine shows least. Where something is recorded, each call brings new lengths.
`--memory` feeds a million keys, in fresh processes; that takes minutes. `--docs` measures all
of it, into docs/toggle.json and docs/guide.md.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
import uuid
import warnings
from collections.abc import Callable
from functools import partial
from itertools import count, product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from docs import fill
from machine import machine
from toggle_report import ORDERS, tables
from toggle_rs import Toggle

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))
from key_memory import Freeze, Order, measured

PROJECT = Path(__file__).parents[2]
SAMPLES, GROUP = 4096, 8
BATCHES = 16
HISTORY = 200_000
LONGEST = 32_767
MEMORY_KEYS = 1_000_000


Call: TypeAlias = Callable[[Any], object]


class Batch(NamedTuple):
    """The columns of a batch; half of the samples are correct."""

    scores: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int64]
    datasets: list[str]

    def at(self, order: npt.NDArray[np.int64]) -> Batch:
        """The samples in another order."""
        names = [self.datasets[i] for i in order.tolist()]
        return Batch(self.scores[order], self.lengths[order], names)


def lognormal(rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    """Lengths of answers: a median of 1,100 tokens, cut where generation is."""
    return np.minimum(rng.lognormal(7.0, 1.0, n), LONGEST).astype(np.int64)


def names_of(keys: int) -> list[str]:
    """A name for each key."""
    return [f"dataset-{i}" for i in range(keys)]


def batches_of(rng: np.random.Generator, names: list[str], run: int) -> list[Batch]:
    """Batches of runs of so many samples of a key that is drawn at random."""
    result = []
    for _ in range(BATCHES):
        ids = np.repeat(rng.integers(0, len(names), SAMPLES // run), run).tolist()
        scores = (rng.random(SAMPLES) < 0.5).astype(np.float64)
        result.append(Batch(scores, lognormal(rng, SAMPLES), [names[i] for i in ids]))
    return result


def with_history(rng: np.random.Generator, names: list[str], freeze: Freeze = "never") -> Toggle:
    """One that has seen lengths of all keys at step 0, and is at step 1: a penalty step."""
    toggle = Toggle(m=1, lambda_=0.5, percentile=80.0, freeze=freeze)
    keys = [names[i % len(names)] for i in range(HISTORY)]
    toggle.observe(keys, lognormal(rng, HISTORY), np.ones(HISTORY), step=0)
    toggle.observe([], [], [], step=1)
    return toggle


def least(make: Callable[[], Call], prepare: Callable[[int], Any], rounds: int) -> float:
    """Seconds of the fastest call, each with what was prepared for it.

    Each round has a call of its own, so that what is recorded does not pile up, and leaves the
    first one out, which may find nothing to take in of a step before.
    """
    best = float("inf")
    for _ in range(rounds):
        call = make()
        call(prepare(-1))
        for turn in range(BATCHES):
            argument = prepare(turn)
            start = time.thread_time()
            call(argument)
            best = min(best, time.thread_time() - start)
    return best


def shape_of(toggle: Toggle) -> Call:
    """It stays at the step where it is."""
    return lambda b: toggle.shape(1, b.scores, b.lengths, b.datasets, groups=GROUP)


def apply_of(toggle: Toggle) -> Call:
    """Each call is a step."""
    toggle, steps = copy.copy(toggle), count(2)
    return lambda b: toggle.apply(next(steps), b.scores, b.lengths, b.datasets, groups=GROUP)


def observe_of(toggle: Toggle) -> Call:
    """Each call is a step."""
    toggle, steps = copy.copy(toggle), count(2)
    return lambda b: toggle.observe(b.datasets, b.lengths, b.scores, step=next(steps))


CALLS = {"shape": shape_of, "apply": apply_of, "observe": observe_of}


def bench_calls(rounds: int) -> list[dict[str, Any]]:
    """The three calls, by what is kept, number of keys, and how many samples share one."""
    rows = []
    rng = np.random.default_rng(1)
    freezes: tuple[Freeze, ...] = ("never", "first")
    for freeze, keys in product(freezes, (8, 10_000)):
        names = names_of(keys)
        for run, what in ((GROUP, "group"), (1, "sample")):
            batches = batches_of(rng, names, run)
            toggle = with_history(rng, names, freeze)

            def batch(turn: int, batches: list[Batch] = batches) -> Batch:
                return batches[turn]._replace(lengths=lognormal(rng, SAMPLES))

            seconds = {
                name: least(partial(call_of, toggle), batch, rounds)
                for name, call_of in CALLS.items()
            }
            rows.append({"freeze": freeze, "keys": keys, "key of": what, "seconds": seconds})
            times = "  ".join(f"{name} {s * 1e6:6.1f} us" for name, s in seconds.items())
            print(f"freeze={freeze!r}  {keys:>6,} keys, one a {what:<6}  {times}", flush=True)
    return rows


def fresh(ids: list[str]) -> list[str]:
    """The same ids, each a str object of its own that nobody has hashed yet."""
    return ["".join((name[:3], name[3:])) for name in ids]


FORMS: dict[str, Callable[[list[int], list[str]], Any]] = {
    "int64 array": lambda numbers, _: np.array(numbers, np.int64),
    "list of int": lambda numbers, _: numbers,
    "list of str, shared objects": lambda _, names: names,
    "object array of str": lambda _, names: np.array(names, object),
    "str array": lambda _, names: np.array(names, np.str_),
    "list of str, fresh objects": lambda _, names: fresh(names),
}
"""Forms of the ids, from a number and a name for each sample."""


def bench_groups(rounds: int) -> list[dict[str, Any]]:
    """`shape` with 8 keys, by the form of `groups`."""
    rng = np.random.default_rng(2)
    names = names_of(8)
    toggle = with_history(rng, names)
    batches = batches_of(rng, names, GROUP)
    numbers = np.repeat(np.arange(SAMPLES // GROUP), GROUP)
    uids = [str(uuid.UUID(bytes=rng.bytes(16))) for _ in range(SAMPLES // GROUP)]

    def shape(arguments: tuple[Batch, Any]) -> None:
        batch, groups = arguments
        toggle.shape(1, batch.scores, batch.lengths, batch.datasets, groups=groups)

    # K takes shuffled samples for groups that they are not: how long that takes tells what the
    # order of the samples costs, and so what the ids do.
    forms = {f"K = {GROUP}": lambda *_: GROUP, **FORMS}
    orders = dict(zip(ORDERS, (np.arange(SAMPLES), rng.permutation(SAMPLES)), strict=True))
    rows: list[dict[str, Any]] = []
    for form, make in forms.items():
        seconds = {}
        for how, order in orders.items():
            ids = numbers[order].tolist()
            columns = [batch.at(order) for batch in batches]
            id_names = [uids[i] for i in ids]
            groups = make(ids, id_names)

            def prepare(
                turn: int,
                columns: list[Batch] = columns,
                groups: Any = groups,
                is_fresh: bool = form.endswith("fresh objects"),
            ) -> tuple[Batch, Any]:
                return columns[turn], fresh(groups) if is_fresh else groups

            seconds[how] = least(lambda: shape, prepare, rounds)
        rows.append({"form": form, "seconds": seconds})
    for row in rows:
        times = "  ".join(f"{how} {s * 1e6:6.1f} us" for how, s in row["seconds"].items())
        print(f"{row['form']:<28} {times}", flush=True)
    return rows


def bench_memory() -> list[dict[str, Any]]:
    """Bytes a key, of a million keys with 16 different lengths each."""
    rows: list[dict[str, Any]] = []
    cases: list[tuple[Freeze, Order]] = [
        ("never", "in-order"),
        ("never", "random"),
        ("first", "random"),
    ]
    for freeze, order in cases:
        figures = measured(MEMORY_KEYS, order, freeze)
        rows.append({"freeze": freeze, "order": order, **figures})
        bytes_a_key = "  ".join(f"{what} {size:.0f}" for what, size in figures.items())
        print(f"freeze={freeze!r}, {order}: {bytes_a_key} bytes a key", flush=True)
    return rows


def main() -> None:
    """Runs it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--docs", action="store_true", help="all of it, into docs/toggle.json and docs/guide.md"
    )
    parser.add_argument("--memory", action="store_true", help="of a million keys, too")
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # about the steps: `shape` stays at one
    report: dict[str, Any] = {"machine": machine()}
    print(", ".join(f"{key} {value}" for key, value in report["machine"].items()))
    print(f"\n{SAMPLES:,} samples, K = {GROUP}")
    report["calls"] = bench_calls(options.rounds)
    print("\n`shape`, 8 keys, by groups")
    report["groups"] = bench_groups(options.rounds)
    if options.memory or options.docs:
        print(f"\n{MEMORY_KEYS:,} keys, 16 lengths each; name aside")
        report["memory"] = bench_memory()
    if options.docs:
        (PROJECT / "docs" / "toggle.json").write_text(json.dumps(report, indent=1) + "\n")
        fill(PROJECT / "docs" / "guide.md", tables(report))


if __name__ == "__main__":
    main()
