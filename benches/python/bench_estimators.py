"""Nanoseconds a value of batched updates: our estimators beside those of other packages.

    python benches/python/bench_estimators.py [--docs FOLDER] [--json PATH] [--rounds N]

All take turns in each round, with blocks of 4,096 lengths in the form that each
takes fastest, made beforehand. Each round starts from an empty estimator. A
figure is the least of all rounds, since other work on the machine only adds.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import datasketches
import numpy as np
from river import stats

from contenders import OURS, PEERS, WINDOW, Contender, gk, kll, listed, of_datasketches, one_by_one
from docs import fill, table
from errors import in_sample
from machine import machine
from streams import STREAMS, Lengths, lognormal

BLOCK = 4096
BLOCKS = 64
Q = 0.8
PERCENTILES = (50, 80, 90, 99)
SEEDS = 24
"""Streams over which errors are averaged."""
DISTRIBUTIONS = ("lognormal", "capped", "constant")
PEER_PACKAGES = ("crick", "datasketches", "ddsketch", "fastdigest", "river")

Nanoseconds = dict[str, float]


class Entry(NamedTuple):
    """A row of the table."""

    contender: Contender
    beside: str | None = None
    """Which of ours does the same work."""
    blocks: int = BLOCKS
    """Fewer for what takes one value a call."""


def entries() -> list[Entry]:
    """Ours, then each peer beside the one of ours that does its work."""
    ours = {contender.name.partition("(")[0]: contender for contender in reversed(OURS)}
    gk_name = ours["GKQuantile"].name
    peers = {contender.name: contender for contender in PEERS}
    river_window = Contender(
        f"river RollingQuantile({WINDOW})",
        lambda q: stats.RollingQuantile(q, WINDOW),
        listed,
        one_by_one,
    )
    kll_of_floats = Contender(
        "KLL(200), float32",
        lambda _: datasketches.kll_floats_sketch(200),
        lambda block: block.astype(np.float32),
        ask=of_datasketches,
    )
    river = peers.pop("river P2")
    slow = {"DDSketch(1 %)": 2, "crick(100)": 16}
    return [
        *(Entry(contender) for contender in ours.values()),
        Entry(
            replace(
                ours["P2Quantile"], name="P2Quantile, a value a call", form=listed, feed=one_by_one
            ),
            None,
            8,
        ),
        Entry(river, "P2Quantile", 8),
        Entry(river_window, f"WindowQuantile({WINDOW})", 8),
        Entry(kll_of_floats, gk_name),
        *(Entry(peer, gk_name, slow.get(name, BLOCKS)) for name, peer in peers.items()),
    ]


def least(entries: list[Entry], blocks: list[Lengths], rounds: int) -> Nanoseconds:
    """Nanoseconds a value, the least over the rounds."""
    forms = [[entry.contender.form(block) for block in blocks[: entry.blocks]] for entry in entries]
    best = {entry.contender.name: float("inf") for entry in entries}
    for _ in range(rounds):
        for (contender, *_), formed in zip(entries, forms, strict=True):
            sketch, feed = contender.make(Q), contender.feed
            start = time.perf_counter()
            for block in formed:
                feed(sketch, block)
            seconds = time.perf_counter() - start
            best[contender.name] = min(best[contender.name], seconds / len(formed) / BLOCK * 1e9)
    return best


def blocks_of(distribution: str) -> list[Lengths]:
    """A stream in blocks."""
    values = STREAMS[distribution](np.random.default_rng(1), BLOCKS * BLOCK)
    return np.split(values, BLOCKS)


def measured_error(contender: Contender) -> float:
    """Worst rank error over the percentiles, the mean over seeded lognormal streams."""
    worst = []
    for seed in range(SEEDS):
        values = lognormal(np.random.default_rng([2, seed]), BLOCKS * BLOCK)
        sketch = contender.make(Q)
        for block in np.split(values, BLOCKS):
            contender.feed(sketch, contender.form(block))
        ordered = np.sort(values)
        answers = ((contender.ask(sketch, p / 100), p / 100) for p in PERCENTILES)
        worst.append(max(in_sample(ordered, answer, q).rank for answer, q in answers))
    return float(np.mean(worst))


def matched(make: Callable[[float], Contender], size: float, error: float) -> Contender:
    """The setting whose measured error is this one; the error goes with 1 / `size`."""
    tried = {}
    for _ in range(8):
        contender = make(size)
        tried[contender.name] = (found := measured_error(contender)), contender
        if abs(found / error - 1) < 0.03:
            break
        size *= found / error
    return min(tried.values(), key=lambda pair: abs(np.log(pair[0] / error)))[1]


def bench_equal_error(rounds: int) -> list[dict[str, Any]]:
    """GK and KLL set so that they err alike: from our default, then from theirs."""
    blocks = blocks_of("lognormal")
    rows = []
    for fixed, make, size in [
        (gk(0.001), lambda k: kll(round(k)), 4000.0),
        (kll(200), lambda inverse: gk(float(f"{1 / inverse:.3g}")), 100.0),
        (kll(2000), lambda inverse: gk(float(f"{1 / inverse:.3g}")), 1000.0),
    ]:
        pair = [fixed, matched(make, size, measured_error(fixed))]
        speed = least([Entry(contender) for contender in pair], blocks, rounds)
        for contender in sorted(pair, key=lambda contender: contender.random):
            error = measured_error(contender)
            rows.append(
                {"estimator": contender.name, "rank error": error, "ns": speed[contender.name]}
            )
            print(f"{contender.name:<24} {error:9.3%}  {speed[contender.name]:6.1f} ns", flush=True)
    return rows


def bench_speed(rounds: int) -> dict[str, Nanoseconds]:
    """Nanoseconds a value, by distribution."""
    result = {}
    for distribution in DISTRIBUTIONS:
        result[distribution] = least(entries(), blocks_of(distribution), rounds)
        print(f"\n{distribution}")
        for name, nanoseconds in result[distribution].items():
            print(f"{name:<28} {nanoseconds:8.1f} ns", flush=True)
    return result


def speed_table(speed: dict[str, Nanoseconds]) -> str:
    """Rows of estimators, columns of distributions: nanoseconds, and how many times ours."""

    def cells(entry: Entry) -> list[str]:
        result = []
        for distribution in DISTRIBUTIONS:
            own = speed[distribution][entry.contender.name]
            result.append(f"{own:.1f}" if own < 100 else f"{own:,.0f}")
            times = own / speed[distribution][entry.beside] if entry.beside else 0
            result.append(f"{times:.1f}" if times else "")
        return result

    columns = [cell for name in DISTRIBUTIONS for cell in (name, "times ours")]
    return table(
        ["ns a value", "beside", *columns],
        ([entry.contender.name, entry.beside or "", *cells(entry)] for entry in entries()),
    )


def main() -> None:
    """Runs all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, help="where estimators.md is")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    where = machine(*PEER_PACKAGES)
    print(", ".join(f"{key} {value}" for key, value in where.items()))
    before = os.getloadavg()[0]
    speed = bench_speed(options.rounds)
    print("\nAt equal rank error, lognormal")
    equal = bench_equal_error(options.rounds)
    load = f"load average {before:.1f} at the start, {os.getloadavg()[0]:.1f} at the end"
    print(load)
    if options.json:
        report = {"machine": where, "load": load, "ns a value": speed, "equal error": equal}
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    if options.docs:
        rows = ([r["estimator"], f"{r['rank error']:.3%}", f"{r['ns']:.1f}"] for r in equal)
        texts = {
            "speed": speed_table(speed),
            "equal error": table(["", "rank error", "ns a value"], rows),
            "speed machine": ", ".join([*(f"{k} {v}" for k, v in where.items()), load]),
        }
        fill(options.docs / "estimators.md", texts)


if __name__ == "__main__":
    main()
