"""Reading rollout traces beside a loop over lines with orjson, its memory, and a sweep.

The traces are made up, in the form that open-instruct writes, token lists and logprobs included.
orjson refuses a bare NaN, which such traces hold; it is given a copy without.

    python benches/python/bench_traces.py [--docs] [--megabytes 1000]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from docs import fill
from machine import machine
from toggle_rs import read_traces
from toggle_rs.replay import Settings
from toggle_rs.replay.sweep import sweep
from toggle_rs.rollouts import Columns
from traces_report import tables

DOCS = Path(__file__).parents[2] / "docs"

ROUNDS = 3
SHARD = 10_000
"""Rollouts in a file, as open-instruct has it."""
READ = """
import resource, sys
from toggle_rs import read_traces
rows = len(read_traces(sys.argv[1:]))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def write(folder: Path, megabytes: int) -> list[Path]:
    """Traces of this size: 16 prompts a step, 8 responses to each."""
    rng = np.random.default_rng(0)
    shards: list[Path] = []
    left, sample = megabytes * 10**6, 0
    while left > 0:
        shards.append(folder / f"rollouts_{len(shards):06d}.jsonl")
        with shards[-1].open("w") as file:
            while file.tell() < left and sample < SHARD * len(shards):
                file.write(json.dumps(rollout(rng, sample)) + "\n")
                sample += 1
            left -= file.tell()
    return shards


def rollout(rng: np.random.Generator, sample: int) -> dict[str, Any]:
    """A line."""
    length = int(min(rng.lognormal(6.5, 0.8), 8192))
    logprobs = np.log(rng.beta(5, 0.5, length)).tolist()
    if rng.random() < 0.01:
        logprobs[0] = math.nan
    return {
        "step": sample // 128,
        "sample_idx": sample % 128,
        "prompt_idx": sample % 128 // 8,
        "prompt_tokens": rng.integers(0, 150_000, 200).tolist(),
        "response_tokens": rng.integers(0, 150_000, length).tolist(),
        "reward": float(rng.random() < 0.5),
        "advantage": float(rng.normal()),
        "finish_reason": "stop",
        "dataset": ["math", "code"][sample % 16 // 8],
        "ground_truth": "42",
        "request_info": {"num_calls": 0},
        "logprobs": logprobs,
    }


def without_nan(source: Path) -> Path:
    """A copy that orjson takes."""
    copy = source.with_suffix(".copy")
    with source.open("rb") as lines, copy.open("wb") as file:
        file.writelines(line.replace(b"NaN", b"0.0") for line in lines)
    return copy


def with_orjson(shards: list[Path]) -> list[tuple[int, int, int, str, float]]:
    """What replay keeps of each line, in the plainest way."""
    rows = []
    for shard in shards:
        with shard.open("rb") as lines:
            for line in lines:
                row = orjson.loads(line)
                length = len(row["response_tokens"])
                rows.append((row["step"], row["prompt_idx"], length, row["dataset"], row["reward"]))
    return rows


def took(read: Callable[[], object]) -> dict[str, float]:
    """Wall and CPU time of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    read()
    return {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
    }


def measure_reading(megabytes: int) -> dict[str, Any]:
    """Both readers in turns, so that a busy machine slows down both alike; the fastest counts."""
    with tempfile.TemporaryDirectory() as folder:
        shards = write(Path(folder), megabytes)
        copies = list(map(without_nan, shards))
        readers: dict[str, Callable[[], object]] = {
            "`toggle_rs.read_traces`": lambda: read_traces(shards),
            "loop over lines with orjson": lambda: with_orjson(copies),
        }
        rounds = [{name: took(read) for name, read in readers.items()} for _ in range(ROUNDS)]
        command = [sys.executable, "-c", READ, *map(str, shards)]
        rows, peak = subprocess.run(  # noqa: S603 - this interpreter
            command, check=True, capture_output=True, text=True
        ).stdout.split()
    return {
        "megabytes": megabytes,
        "rollouts": int(rows),
        "files": len(shards),
        "peak_megabytes": int(peak),
        "readers": {
            name: min((one[name] for one in rounds), key=lambda times: times["cpu_seconds"])
            for name in readers
        },
    }


def rollouts(n: int, per_step: int) -> Columns:
    """Columns of a run: 8 datasets, groups of 8."""
    rng = np.random.default_rng(0)
    steps, groups = n // per_step, n // 8
    return Columns(
        step=np.repeat(np.arange(steps), per_step),
        sample=np.tile(np.arange(per_step), steps),
        group=np.tile(np.repeat(np.arange(per_step // 8), 8), steps),
        dataset=np.repeat(rng.integers(0, 8, groups), 8).astype(np.uint32),
        length=rng.lognormal(6.5, 0.7, n).astype(np.int64),
        reward=(rng.random(n) < np.repeat(rng.beta(1, 1, groups), 8)).astype(np.float64),
        names=tuple((f"dataset-{i}",) for i in range(8)),
    )


def measure_sweep() -> dict[str, Any]:
    """Ten lambdas times ten percentiles."""
    columns = rollouts(10**6, 1000)
    settings = Settings(lambda_=0.0, percentile=0.0)
    lambdas, percentiles = np.linspace(0.1, 1, 10).tolist(), np.linspace(5, 95, 10).tolist()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = took(lambda: sweep(columns, settings, lambdas, percentiles))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "settings": len(lambdas) * len(percentiles),
        "rollouts": len(columns),
        "processors": os.cpu_count(),
        "seconds": times["seconds"],
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }


def main() -> None:
    """Measure, print, and with `--docs` write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write docs/replay.json and tables")
    parser.add_argument("--megabytes", type=int, default=1000)
    options = parser.parse_args()
    report = {
        "machine": machine("orjson"),
        "reading": measure_reading(options.megabytes),
        "sweep": measure_sweep(),
    }
    shown = tables(report)
    print(*shown.values(), sep="\n\n")
    if options.docs:
        (DOCS / "replay.json").write_text(json.dumps(report, indent=1) + "\n")
        fill(DOCS / "choosing.md", shown)


if __name__ == "__main__":
    main()
