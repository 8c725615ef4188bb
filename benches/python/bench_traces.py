"""Reading rollout traces: toggle-rs against a loop over lines with orjson, and its memory.

The traces are made up, in the form that open-instruct writes, token lists and logprobs included.
orjson refuses a bare NaN, which such traces hold; it is given a copy without.

    python benches/python/bench_traces.py [--megabytes 1000]
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import orjson

from toggle_rs import read_traces

ROUNDS = 3
READ = """
import resource, sys
from toggle_rs import read_traces
rows = len(read_traces(sys.argv[1:]))
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def write(path: Path, megabytes: int) -> None:
    """Traces of this size: 16 prompts a step, 8 responses to each."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        sample = 0
        while file.tell() < megabytes * 10**6:
            length = int(min(rng.lognormal(6.5, 0.8), 8192))
            logprobs = np.log(rng.beta(5, 0.5, length)).tolist()
            if rng.random() < 0.01:
                logprobs[0] = math.nan
            row = {
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
            file.write(json.dumps(row) + "\n")
            sample += 1


def without_nan(source: Path, target: Path) -> None:
    """A copy that orjson takes."""
    with source.open("rb") as lines, target.open("wb") as file:
        file.writelines(line.replace(b"NaN", b"0.0") for line in lines)


def with_orjson(path: Path) -> list[tuple[int, int, int, str, float]]:
    """What replay keeps of each line, in the plainest way."""
    rows = []
    with path.open("rb") as lines:
        for line in lines:
            row = orjson.loads(line)
            length = len(row["response_tokens"])
            rows.append((row["step"], row["prompt_idx"], length, row["dataset"], row["reward"]))
    return rows


def seconds(read: object, *arguments: object) -> tuple[float, float]:
    """Wall and CPU time of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    read(*arguments)  # type: ignore[operator]
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Measure, and print a line for each reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        traces, copy = Path(folder) / "traces.jsonl", Path(folder) / "copy.jsonl"
        write(traces, megabytes)
        without_nan(traces, copy)
        size = traces.stat().st_size / 1e6
        # In turns, so that a busy machine slows down both alike; the fastest round counts.
        rounds = [
            (seconds(read_traces, [traces]), seconds(with_orjson, copy)) for _ in range(ROUNDS)
        ]
        times = {
            name: min(one[place] for one in rounds)
            for place, name in enumerate(("toggle_rs.read_traces", "loop with orjson"))
        }
        for name, (wall, cpu) in times.items():
            print(f"{name:22} {wall:6.2f} s, {cpu:6.2f} s of CPU, {size / wall:6,.0f} MB/s")
        (ours, our_cpu), (theirs, their_cpu) = times.values()
        print(f"{theirs / ours:.1f} times as fast, by CPU time {their_cpu / our_cpu:.1f}")
        command = [sys.executable, "-c", READ, str(traces)]
        rows, peak = subprocess.run(  # noqa: S603 - this interpreter
            command, check=True, capture_output=True, text=True
        ).stdout.split()
        print(f"{size:,.0f} MB of traces, {int(rows):,} rollouts: peak memory {peak} MB")


if __name__ == "__main__":
    main()
