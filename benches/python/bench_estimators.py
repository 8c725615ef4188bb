"""Nanoseconds a value of batched updates: our estimators beside those of other packages.

    python benches/python/bench_estimators.py [--docs] [--rounds N]

All take turns in each round, with blocks of 4,096 lengths in the form that each
takes fastest, made beforehand. Each round feeds the stream to an empty estimator
and then once more: the second time is what a long run sees. Of each block the
fastest of all rounds counts, since other work on the machine only adds.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from river import stats

from contenders import OURS, PEERS, WINDOW, Contender, gk, kll, listed, one_by_one
from docs import fill
from errors import in_sample
from estimators_report import DISTRIBUTIONS, tables
from machine import machine
from streams import STREAMS, Lengths, lognormal

BLOCK = 4096
BLOCKS = 64
Q = 0.8
PERCENTILES = (50, 80, 90, 99)
SEEDS = 60
"""Streams over which errors are averaged."""
COINS = 4
"""Times that what flips coins gets each stream."""
STEPS = 8
"""Blocks of which the steps are made."""
SMALL = 128
"""A training step of one dataset: so many lengths, then a question."""
DOCS = Path(__file__).parents[2] / "docs"
PEER_PACKAGES = ("crick", "datasketches", "ddsketch", "fastdigest", "river")


Nanoseconds = npt.NDArray[np.float64]


class Speed(NamedTuple):
    """Nanoseconds a value."""

    empty: float
    """Into an empty estimator."""
    filled: float
    """Into one that has seen the same values."""


class Entry(NamedTuple):
    """A row of the table."""

    contender: Contender
    beside: str | None = None
    """Which of ours does the same work."""
    blocks: int = BLOCKS
    """Fewer for what takes one value a call."""


def entries() -> list[Entry]:
    """Ours, then each peer beside the one of ours that does its work."""
    ours = {contender.name: contender for contender in OURS}
    peers = {contender.name: contender for contender in PEERS}
    river = peers.pop("river P2")
    slow = {"DDSketch(1 %)": 2, "crick(100)": 16}
    return [
        *(Entry(contender) for contender in ours.values()),
        *(Entry(peer, "GKQuantile(0.001)", slow.get(name, BLOCKS)) for name, peer in peers.items()),
        Entry(river, "P2Quantile", 8),
        Entry(
            Contender(
                f"river RollingQuantile({WINDOW})",
                lambda q: stats.RollingQuantile(q, WINDOW),
                listed,
                one_by_one,
            ),
            f"WindowQuantile({WINDOW})",
            8,
        ),
        Entry(
            replace(
                ours["P2Quantile"],
                name="P2Quantile, a value a call",
                form=listed,
                feed=one_by_one,
            ),
            "P2Quantile",
            8,
        ),
    ]


def least(entries: list[Entry], blocks: list[Lengths], rounds: int) -> dict[str, Speed]:
    """Nanoseconds a value: of each block the least over the rounds, then the mean."""
    forms = [[entry.contender.form(block) for block in blocks[: entry.blocks]] for entry in entries]
    best: dict[str, Nanoseconds] = {}
    for _ in range(rounds):
        for (contender, *_), formed in zip(entries, forms, strict=True):
            times = timed(contender, contender.make(Q), formed)
            best[contender.name] = np.minimum(times, best.get(contender.name, np.inf))
    return {name: Speed(*times.mean(axis=1).tolist()) for name, times in best.items()}


def timed(contender: Contender, sketch: Any, formed: list[Any]) -> Nanoseconds:
    """Nanoseconds a value of each block, in a pass for each field of `Speed`."""
    feed, times = contender.feed, []
    for block in formed * len(Speed._fields):
        start = time.perf_counter()
        feed(sketch, block)
        times.append(time.perf_counter() - start)
    return np.reshape(times, (len(Speed._fields), -1)) / BLOCK * 1e9


def blocks_of(distribution: str) -> list[Lengths]:
    """A stream in blocks."""
    values = STREAMS[distribution](np.random.default_rng(1), BLOCKS * BLOCK)
    return np.split(values, BLOCKS)


@cache
def seeded() -> list[tuple[list[Lengths], Lengths]]:
    """Lognormal streams in blocks, and sorted."""
    rngs = (np.random.default_rng([2, seed]) for seed in range(SEEDS))
    streams = (lognormal(rng, BLOCKS * BLOCK) for rng in rngs)
    return [(np.split(values, BLOCKS), np.sort(values)) for values in streams]


def measured_error(contender: Contender) -> float:
    """Worst rank error over the percentiles, the mean over seeded streams."""
    worst = []
    for blocks, ordered in seeded() * (COINS if contender.random else 1):
        sketch = contender.make(Q)
        for block in blocks:
            contender.feed(sketch, contender.form(block))
        answers = ((contender.ask(sketch, p / 100), p / 100) for p in PERCENTILES)
        worst.append(max(in_sample(ordered, answer, q).rank for answer, q in answers))
    return float(np.mean(worst))


def matched(
    make: Callable[[float], Contender], size: float, error: float
) -> tuple[Contender, float]:
    """A setting whose measured error is about this one, and its own; it goes with 1 / `size`."""
    tried = []
    for _ in range(6):
        contender = make(size)
        found = measured_error(contender)
        tried.append((abs(np.log(found / error)), found, contender))
        if tried[-1][0] < 0.02:
            break
        size *= found / error
    _, found, contender = min(tried, key=lambda one: one[0])
    return contender, found


def bench_equal_error(rounds: int) -> list[dict[str, Any]]:
    """GK and KLL set so that they err alike: from our default, then from theirs."""
    blocks = blocks_of("lognormal")
    rows = []
    for fixed, make, size in [
        (gk(0.001), lambda k: kll(round(k)), 1200.0),
        (kll(200), lambda inverse: gk(float(f"{1 / inverse:.3g}")), 170.0),
    ]:
        error = measured_error(fixed)
        pair = [(fixed, error), matched(make, size, error)]
        speed = least([Entry(contender) for contender, _ in pair], blocks, rounds)
        for contender, error in sorted(pair, key=lambda one: one[0].random):
            ns = speed[contender.name].filled
            rows.append({"estimator": contender.name, "rank error": error, "ns": ns})
            print(f"{contender.name:<24} {error:9.3%}  {ns:6.1f} ns", flush=True)
    return rows


def bench_speed(rounds: int) -> dict[str, dict[str, Speed]]:
    """Nanoseconds a value, by distribution."""
    result = {}
    for distribution in DISTRIBUTIONS:
        result[distribution] = least(entries(), blocks_of(distribution), rounds)
        print(f"\n{distribution}")
        for name, (empty, filled) in result[distribution].items():
            print(f"{name:<28} {filled:8.1f} ns, from empty {empty:8.1f} ns", flush=True)
    return result


def bench_steps(rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds to record 128 lengths and ask for the quantile, by distribution."""
    result: dict[str, dict[str, float]] = {}
    contenders = [*OURS, *PEERS]
    for distribution in DISTRIBUTIONS:
        blocks = np.split(np.concatenate(blocks_of(distribution)[:STEPS]), STEPS * BLOCK // SMALL)
        best: dict[str, Nanoseconds] = {}
        for _, contender in product(range(rounds), contenders):
            sketch, times = contender.make(Q), []
            for block in map(contender.form, blocks):
                start = time.perf_counter()
                contender.feed(sketch, block)
                contender.ask(sketch, Q)
                times.append(time.perf_counter() - start)
            best[contender.name] = np.minimum(times, best.get(contender.name, np.inf))
        result[distribution] = {name: float(t.mean() * 1e6) for name, t in best.items()}
        print(f"\n{SMALL} lengths and a question, {distribution}")
        for name, took in result[distribution].items():
            print(f"{name:<28} {took:8.2f} us", flush=True)
    return result


def main() -> None:
    """Runs all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="into docs/speed.json and its page")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    report: dict[str, Any] = {"machine": machine(*PEER_PACKAGES)}
    print(", ".join(f"{key} {value}" for key, value in report["machine"].items()))
    before = os.getloadavg()[0]
    report["beside"] = {entry.contender.name: entry.beside for entry in entries()}
    report["ns a value"] = {
        distribution: {name: figures._asdict() for name, figures in names.items()}
        for distribution, names in bench_speed(options.rounds).items()
    }
    report["a step"] = bench_steps(options.rounds)
    print("\nAt equal rank error, lognormal")
    report["equal error"] = bench_equal_error(options.rounds)
    report["load"] = f"load average {before:.1f} at the start, {os.getloadavg()[0]:.1f} at the end"
    print(report["load"])
    if options.docs:
        (DOCS / "speed.json").write_text(json.dumps(report, indent=1) + "\n")
        fill(DOCS / "estimators.md", tables(report))


if __name__ == "__main__":
    main()
