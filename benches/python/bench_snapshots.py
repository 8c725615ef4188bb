"""What the state of a `Toggle` costs: bytes, and time to write, read and merge it.

    python benches/python/bench_snapshots.py [--docs] [--keys N] [--ranks N]

Times are of the processor, of the fastest call: what else runs on the machine shows least.
`--ranks` adds `sync` over that many processes, by gloo; it needs torch.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from docs import fill, table
from machine import machine
from toggle_rs import Toggle
from tracker_report import duration

DOCS = Path(__file__).parents[2] / "docs"
SETTINGS: dict[str, Any] = {"m": 10, "lambda_": 0.5, "percentile": 80.0}
LONGEST = 32_768
GROUP = 16
BATCH = 6_400 * GROUP


def lengths_of(rng: np.random.Generator, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Lengths of long answers: a median of 3,000 tokens, cut where generation is."""
    return np.minimum(rng.lognormal(8.0, 0.8, n), LONGEST).astype(np.int64)


def few_keys(rng: np.random.Generator, samples: int) -> Toggle:
    """8 datasets with so many lengths in all."""
    toggle = Toggle(**SETTINGS)
    for start in range(0, samples, BATCH):
        n = min(BATCH, samples - start)
        keys = [f"dataset-{i % 8}" for i in range(n)]
        toggle.observe(keys, lengths_of(rng, n), correct=np.ones(n, np.bool_))
    return toggle


def many_keys(rng: np.random.Generator, keys: int, *, freeze: bool) -> Toggle:
    """A key a problem with a group of lengths; fixed by them, as in the report, or all kept."""
    toggle = Toggle.kimi_k25(**SETTINGS) if freeze else Toggle(**SETTINGS)
    for start in range(0, keys, BATCH // GROUP):
        ids = range(start, min(start + BATCH // GROUP, keys))
        names = [f"problem-{i}" for i in ids for _ in range(GROUP)]
        n = len(names)
        toggle.observe(names, lengths_of(rng, n), correct=np.ones(n, np.bool_), step=start)
    return toggle


def seconds(call: Callable[[], object], repeats: int) -> float:
    """Processor time of the fastest call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def measure(name: str, toggle: Toggle, repeats: int) -> dict[str, Any]:
    """One line of the table."""
    state = toggle.to_bytes()
    other = Toggle.from_bytes(state)
    copies = [Toggle.from_bytes(state) for _ in range(repeats)]
    row: dict[str, Any] = {
        "state": name,
        "keys": len(toggle.counts()),
        "lengths": sum(toggle.counts().values()),
        "bytes": len(state),
        "to_bytes": seconds(toggle.to_bytes, repeats),
        "from_bytes": seconds(lambda: Toggle.from_bytes(state), repeats),
        "merge": seconds(lambda: copies.pop().merge(other), repeats),
    }
    print(row, flush=True)
    return row


def one_rank(rank: int, size: int, folder: str, state: bytes, repeats: int) -> None:
    """Writes the time of `sync` into the folder, on the first rank."""
    from torch import distributed  # noqa: PLC0415 - only for --ranks

    from toggle_rs.integrations.distributed import sync  # noqa: PLC0415

    store = f"file://{folder}/store"
    distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    toggle = Toggle.from_bytes(state)
    took = seconds(lambda: sync(toggle), repeats)
    if rank == 0:
        Path(folder, "seconds").write_text(str(took))
    distributed.destroy_process_group()


def measure_sync(size: int, toggle: Toggle, repeats: int) -> dict[str, Any]:
    """`sync` over processes of this machine, each with this state."""
    from torch import multiprocessing  # noqa: PLC0415 - only for --ranks

    with tempfile.TemporaryDirectory() as folder:
        args = (size, folder, toggle.to_bytes(), repeats)
        multiprocessing.start_processes(one_rank, args, nprocs=size, start_method="spawn")
        row = {"ranks": size, "seconds": float(Path(folder, "seconds").read_text())}
    print(row, flush=True)
    return row


def tables(report: dict[str, Any]) -> dict[str, str]:
    """What goes into docs/distributed.md, by the name of its place."""
    rows = [
        [row["state"], f"{row['lengths']:,}", f"{row['bytes'] / 1e6:.2f} MB"]
        + [duration(row[call]) for call in ("to_bytes", "from_bytes", "merge")]
        for row in report["states"]
    ]
    header = ["", "lengths seen", "bytes", "`to_bytes`", "`from_bytes`", "`merge`"]
    size, took = report["sync"]["ranks"], duration(report["sync"]["seconds"])
    return {
        "states": table(header, rows),
        "sync": f"`sync` over {size} ranks with 8 datasets took {took} on each.",
        "machine": ", ".join(f"{key} {value}" for key, value in report["machine"].items()),
    }


def main() -> None:
    """Runs all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="into docs/; needs --ranks")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--ranks", type=int, help="also time sync over so many processes")
    options = parser.parse_args()
    if options.docs and not options.ranks:
        parser.error("--docs needs --ranks")
    rng = np.random.default_rng(1)
    report: dict[str, Any] = {"machine": machine(*(["torch"] if options.ranks else []))}
    toggle = few_keys(rng, 10_000_000)
    report["states"] = [measure("8 datasets", toggle, 21)]
    if options.ranks:
        report["sync"] = measure_sync(options.ranks, toggle, 21)
    for freeze, name in ((True, "budgets fixed"), (False, "all lengths kept")):
        toggle = many_keys(rng, options.keys, freeze=freeze)
        report["states"].append(measure(f"{options.keys:,} problems, {name}", toggle, 3))
    if options.docs:
        (DOCS / "snapshots.json").write_text(json.dumps(report, indent=1) + "\n")
        fill(DOCS / "distributed.md", tables(report))


if __name__ == "__main__":
    main()
