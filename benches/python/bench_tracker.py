"""Whole calls of the drop-in beside the reference formula and NumPy's best, in one run.

    python benches/python/bench_tracker.py [--docs] [--rounds N] [--quick]

Each figure is the CPU time of the fastest call, with 64 batches in rotation: so what else
runs on the machine shows least. A batch with fresh names is made anew before each call,
outside the time taken.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from docs import fill
from machine import machine
from numpy_forms import BlockedTracker, HistogramTracker, Make
from toggle_rs import ExactQuantile, ToggleBudgetTracker
from tracker_report import page_tables, readme_tables

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))
from oracle import ReferenceTracker

PROJECT = Path(__file__).parents[2]
GROUP = 8
BATCHES = 64
SETTINGS = (1, 0.5, 80.0, 0)
LONGEST = 32_767
MOST_ROWS = 64
"""Of histograms in NumPy: for 10,000 datasets they would take 2.6 GB."""
FORMS = ("list, shared str", "list, fresh str", "list of lists", "object array")

Batch = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], Any]


def lognormal(rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    """Lengths of answers: a median of 1,100 tokens, cut where generation is."""
    return np.minimum(rng.lognormal(7.0, 1.0, n), LONGEST).astype(np.int64)


def names_of(form: str, ids: list[int]) -> Any:
    """A name for each sample, equal within a group, in one of the forms."""
    names = [f"dataset-{i}" for i in range(max(ids) + 1)]
    shared = [names[i] for i in ids]
    if form == "list, fresh str":
        return [f"dataset-{i}" for i in ids]
    if form == "list of lists":
        # As open-instruct has them: one list object for the K samples of a prompt.
        return [name for i in ids[::GROUP] for name in [[names[i]]] * GROUP]
    return np.array(shared, object) if form == "object array" else shared


def batches_of(rng: np.random.Generator, n: int, datasets: int, form: str) -> list[Batch]:
    """Batches in which half of the samples are correct."""
    result: list[Batch] = []
    for _ in range(BATCHES):
        ids = np.repeat(rng.integers(0, datasets, n // GROUP), GROUP).tolist()
        scores = (rng.random(n) < 0.5).astype(np.float64)
        result.append((scores, lognormal(rng, n), names_of(form, ids)))
    return result


def with_history(
    make: Make, lengths: npt.NDArray[np.int64], datasets: int, form: str, times: int = 1
) -> Any:
    """A tracker that has seen these lengths, so many times, dealt over the datasets."""
    tracker = make(*SETTINGS)
    for start in range(0, len(lengths), 100_000):
        block = lengths[start : start + 100_000]
        ids = (np.arange(len(block)) % datasets).tolist()
        names: list[Any] = [f"dataset-{i}" for i in range(datasets)]
        if form == "list of lists":
            names = [[name] for name in names]
        named = [names[i] for i in ids]
        for _ in range(times):
            tracker.maybe_apply(0, np.ones(len(block)), block, named, 1, 1.0)
    return tracker


def refreshed(batch: Batch, form: str) -> Batch:
    """The same batch with str objects that nobody has hashed yet."""
    if form != "list, fresh str":
        return batch
    scores, lengths, names = batch
    return scores, lengths, ["".join((name[:3], name[3:])) for name in names]


def time_calls(
    trackers: dict[str, Callable[[], Any]], batches: list[Batch], form: str, rounds: int, calls: int
) -> dict[str, float]:
    """Least seconds of a penalty step for each tracker, made anew for each round."""
    times: dict[str, list[float]] = {name: [] for name in trackers}
    for turn in range(rounds):
        for name, make in trackers.items():
            tracker = make()
            for i in range(calls):
                scores, lengths, names = refreshed(batches[(turn * calls + i) % BATCHES], form)
                start = time.thread_time()
                tracker.maybe_apply(1, scores, lengths, names, GROUP, 1.0)
                times[name].append(time.thread_time() - start)
    return {name: min(values) for name, values in times.items()}


def check_equal(trackers: dict[str, Any], batch: Batch) -> None:
    """A form that computed something else would be no peer."""
    results = [t.maybe_apply(1, *batch, GROUP, 1.0) for t in trackers.values()]
    for scores, metrics in results:
        assert scores.tobytes() == results[0][0].tobytes()  # noqa: S101
        assert list(metrics.items()) == list(results[0][1].items())  # noqa: S101


def bench_steps(rounds: int, quick: bool) -> list[dict[str, Any]]:
    """A step at 10^4 lengths of history, over sizes, datasets and forms of names."""
    rows = []
    rng = np.random.default_rng(1)
    history = lognormal(rng, 10_000)
    for n, datasets, form in product((128, 4096, 65_536), (1, 8, 64, 10_000), FORMS):
        batches = batches_of(rng, n, datasets, form)
        makers: dict[str, Make] = {"toggle-rs": ToggleBudgetTracker}
        if datasets <= MOST_ROWS:
            makers |= {"NumPy blocks": BlockedTracker, "NumPy histogram": HistogramTracker}

        def maker(make: Make, d: int = datasets, f: str = form) -> Callable[[], Any]:
            return lambda: with_history(make, history, d, f)

        check_equal({name: maker(make)() for name, make in makers.items()}, batches[0])
        row = time_calls(
            {name: maker(make) for name, make in makers.items()},
            batches,
            form,
            max(1, rounds // (4 if n > 10_000 else 1)),
            BATCHES if n <= 10_000 else 16,
        )
        # Minutes a step where it is large, and the same for each form of names.
        if form == FORMS[0] and n <= (128 if quick else 4096) and datasets <= MOST_ROWS:
            reference = {"reference": maker(ReferenceTracker)}
            row |= time_calls(reference, batches, form, 1, 1 if n > 128 else 3)
        rows.append({"samples": n, "datasets": datasets, "names": form, "seconds": row})
        print_step(rows[-1])
    return rows


def print_step(row: dict[str, Any]) -> None:
    """One line: the time of ours, of each peer, and how many times ours that is."""
    ours = row["seconds"]["toggle-rs"]
    peers = "  ".join(
        f"{name} {seconds * 1e6:,.0f} us ({seconds / ours:,.0f}x)"
        for name, seconds in row["seconds"].items()
        if name != "toggle-rs"
    )
    where = f"{row['samples']:>6,} samples {row['datasets']:>2} datasets  {row['names']:<16}"
    print(f"{where}  toggle-rs {ours * 1e6:9,.1f} us  {peers}", flush=True)


def bench_history(rounds: int) -> list[dict[str, Any]]:
    """A step of 4,096 samples (128 for the reference) and 8 datasets, by lengths seen before."""
    rng = np.random.default_rng(2)
    form = FORMS[0]
    lengths = lognormal(rng, 10_000_000)
    rows = []
    cases: list[tuple[str, Make, int, int, int]] = [
        ("toggle-rs", ToggleBudgetTracker, 4096, 10_000, 1),
        ("toggle-rs", ToggleBudgetTracker, 4096, 10_000_000, 1),
        ("toggle-rs", ToggleBudgetTracker, 4096, 10_000_000, 10),
        ("reference", ReferenceTracker, 128, 10_000, 1),
        ("reference", ReferenceTracker, 128, 1_000_000, 1),
    ]
    for name, form_of, samples, count, times in cases:
        # Made once: 10^8 lengths take a while.
        tracker = with_history(form_of, lengths[:count], 8, form, times)
        batches = batches_of(rng, samples, 8, form)
        turns, calls = (rounds, BATCHES) if name == "toggle-rs" else (1, 3)
        made = cache(lambda tracker=tracker: tracker)
        seconds = time_calls({name: made}, batches, form, turns, calls)[name]
        rows.append(
            {"name": name, "samples": samples, "history": count * times, "seconds": seconds}
        )
        print(
            f"{name:<9} {samples:>5,} samples after {count * times:>11,}: {seconds * 1e6:11,.1f} us"
        )
    return rows


def bench_others(rounds: int) -> list[dict[str, Any]]:
    """A step of 4,096 samples and 8 datasets, by datasets that are not in the batch."""
    rng = np.random.default_rng(4)
    history = lognormal(rng, 10_000)
    batches = batches_of(rng, 4096, 8, FORMS[0])
    rows = []
    for others in (1, 1000, 1_000_000):
        tracker = with_history(ToggleBudgetTracker, history, 8, FORMS[0])
        names = [f"other-{i}" for i in range(others)]
        tracker.update(names, lognormal(rng, others), np.ones(others), 1.0)
        made = cache(lambda tracker=tracker: tracker)
        seconds = time_calls({"": made}, batches, FORMS[0], rounds, BATCHES)[""]
        rows.append({"others": others, "seconds": seconds})
        print(f"4,096 samples beside {others:>9,} other datasets: {seconds * 1e6:6.1f} us")
    return rows


def bench_update(rounds: int) -> dict[str, float]:
    """Nanoseconds a value of `ExactQuantile.update`, beside a bare `np.bincount`."""
    rng = np.random.default_rng(3)
    blocks = [lognormal(rng, 4096) for _ in range(BATCHES)]
    sketch, histogram = ExactQuantile(), np.zeros(LONGEST + 1, np.int64)

    def bare(block: npt.NDArray[np.int64]) -> None:
        counts = np.bincount(block)
        histogram[: len(counts)] += counts

    def scattered(block: npt.NDArray[np.int64]) -> None:
        np.add.at(histogram, block, 1)

    result: dict[str, float] = {}
    calls: dict[str, Callable[[npt.NDArray[np.int64]], None]] = {
        "ExactQuantile.update": sketch.update,
        "np.bincount": bare,
        "np.add.at": scattered,
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(20 * rounds):
        for name, call in calls.items():
            start = time.thread_time()
            for block in blocks:
                call(block)
            times[name].append((time.thread_time() - start) / (BATCHES * 4096) * 1e9)
    for name, values in times.items():
        result[name] = min(values)
        print(f"{name:<22} {result[name]:6.2f} ns a value")
    return result


def main() -> None:
    """Runs all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="into docs/tracker.json and its pages")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="the slow reference at 128 only")
    options = parser.parse_args()
    report: dict[str, Any] = {"machine": machine()}
    print(", ".join(f"{key} {value}" for key, value in report["machine"].items()))
    print("\nExactQuantile.update, blocks of 4,096 lognormal lengths")
    report["update"] = bench_update(options.rounds)
    print("\nA penalty step, K = 8, by history")
    report["history"] = bench_history(options.rounds)
    print("\nA penalty step, K = 8, by datasets that are not in it")
    report["others"] = bench_others(options.rounds)
    print("\nA penalty step, K = 8, at 10^4 lengths of history")
    report["steps"] = bench_steps(options.rounds, options.quick)
    if options.docs:
        (PROJECT / "docs" / "tracker.json").write_text(json.dumps(report, indent=1) + "\n")
        fill(PROJECT / "README.md", readme_tables(report))
        fill(PROJECT / "docs" / "performance.md", page_tables(report))


if __name__ == "__main__":
    main()
