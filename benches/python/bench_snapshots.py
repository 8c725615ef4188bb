"""Bytes of a snapshot and time to write, read and merge it, for few keys and for a million.

    python benches/python/bench_snapshots.py [--json PATH] [--keys N] [--ranks N]

`--ranks` adds `sync` over that many processes, by gloo; it needs torch.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from machine import machine
from toggle_rs import Toggle

SETTINGS: dict[str, Any] = {"m": 10, "lambda_": 0.5, "percentile": 80.0}
LONGEST = 32_768
BATCH = 100_000


def lengths_of(rng: np.random.Generator, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Lengths of long answers: a median of 3,000 tokens, cut where generation is."""
    return np.minimum(rng.lognormal(8.0, 0.8, n), LONGEST).astype(np.int64)


def few_keys(rng: np.random.Generator, samples: int = 10_000_000) -> Toggle:
    """8 datasets with 10^7 lengths in all."""
    toggle = Toggle(**SETTINGS)
    keys = [f"dataset-{i % 8}" for i in range(BATCH)]
    for _ in range(samples // BATCH):
        toggle.observe(keys, lengths_of(rng, BATCH), correct=np.ones(BATCH, np.bool_))
    return toggle


def many_keys(rng: np.random.Generator, keys: int, *, freeze: bool) -> Toggle:
    """A key a problem, with 16 lengths each; frozen by them, as in the report, or all kept."""
    toggle = Toggle.kimi_k25(**SETTINGS) if freeze else Toggle(**SETTINGS)
    correct = np.ones(BATCH // 16 * 16, np.bool_)
    for start in range(0, keys, BATCH // 16):
        names = [
            f"problem-{i}" for i in range(start, min(start + BATCH // 16, keys)) for _ in range(16)
        ]
        n = len(names)
        toggle.observe(names, lengths_of(rng, n), correct=correct[:n], step=start)
    return toggle


def seconds(call: Callable[[], object], repeats: int) -> float:
    """The median of some calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(name: str, toggle: Toggle, repeats: int) -> dict[str, Any]:
    """One line of the table."""
    state = toggle.to_bytes()
    other = Toggle.from_bytes(state)
    copies = [Toggle.from_bytes(state) for _ in range(repeats)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "toggle.bin"
        row: dict[str, Any] = {
            "state": name,
            "lengths": sum(toggle.counts().values()),
            "memory": toggle.nbytes,
            "bytes": len(state),
            "to_bytes": seconds(toggle.to_bytes, repeats),
            "from_bytes": seconds(lambda: Toggle.from_bytes(state), repeats),
            "merge": seconds(lambda: copies.pop().merge(other), repeats),
            "save": seconds(lambda: toggle.save(path), repeats),
            "load": seconds(lambda: Toggle.load(path), repeats),
        }
    times = "  ".join(
        f"{key} {row[key] * 1e3:,.1f} ms"
        for key in ("to_bytes", "from_bytes", "merge", "save", "load")
    )
    print(
        f"{name:<38} {row['lengths']:>10,} lengths  {row['memory'] / 1e6:8.2f} MB in memory  "
        f"{row['bytes'] / 1e6:8.3f} MB  {times}",
        flush=True,
    )
    return row


def one_rank(rank: int, size: int, store: str, state: bytes, repeats: int) -> None:
    """Prints the median time of `sync`, on the first rank."""
    from torch import distributed  # noqa: PLC0415 - only for --ranks

    from toggle_rs.integrations.distributed import sync  # noqa: PLC0415

    distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=size
    )
    toggle = Toggle.from_bytes(state)
    sync(toggle)
    took = seconds(lambda: sync(toggle), repeats)
    if rank == 0:
        print(f"  sync over {size} ranks: {took * 1e3:,.1f} ms", flush=True)
    distributed.destroy_process_group()


def bench_sync(size: int, state: bytes, repeats: int) -> None:
    """`size` processes of this machine, each with this state."""
    from torch import multiprocessing  # noqa: PLC0415 - only for --ranks

    with tempfile.TemporaryDirectory() as folder:
        args = (size, f"{folder}/store", state, repeats)
        multiprocessing.start_processes(one_rank, args, nprocs=size, start_method="spawn")


def main() -> None:
    """Runs all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--ranks", type=int, help="also time sync over so many processes")
    options = parser.parse_args()
    report: dict[str, Any] = {"machine": machine(), "states": []}
    print(", ".join(f"{key} {value}" for key, value in report["machine"].items()))
    rng = np.random.default_rng(1)
    states: list[tuple[str, Callable[[], Toggle], int]] = [
        ("8 datasets", lambda: few_keys(rng), 21),
        (f"{options.keys:,} keys, frozen", lambda: many_keys(rng, options.keys, freeze=True), 5),
        (
            f"{options.keys:,} keys, 16 lengths each",
            lambda: many_keys(rng, options.keys, freeze=False),
            5,
        ),
    ]
    for name, make, repeats in states:
        toggle = make()
        report["states"].append(measure(name, toggle, repeats))
        if options.ranks:
            bench_sync(options.ranks, toggle.to_bytes(), repeats)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
