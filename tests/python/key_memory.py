"""Resident bytes that a key of `Toggle` takes, its name aside; in a process of its own.

python tests/python/key_memory.py KEYS {in-order,random} {never,first}
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np

from toggle_rs import Toggle

Freeze = Literal["never", "first"]
Order = Literal["in-order", "random"]

BLOCK = 4096
DISTINCT = 16
"""Lengths of each key, all of them different."""


def measured(keys: int, order: Order, freeze: Freeze) -> dict[str, float]:
    """Bytes a key by the resident memory, and by what the object says of itself."""
    arguments = [str(keys), order, freeze]
    command = [sys.executable, __file__, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    figures: dict[str, float] = json.loads(result.stdout)
    return figures


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


class Feed:
    """Observes a new length of each of some keys, step by step."""

    def __init__(self, freeze: Freeze) -> None:
        self.toggle = Toggle(m=10, lambda_=0.5, percentile=80.0, freeze=freeze)
        self.rng = np.random.default_rng(0)
        self.step = 0

    def observe(self, kind: str, ids: np.ndarray, turn: int) -> None:
        """One length of each key: all are different, as `turn` sets its range."""
        names = [f"{kind}-{i:09d}" for i in ids.tolist()]
        lengths = self.rng.integers(turn * 2000, (turn + 1) * 2000, len(names))
        self.toggle.observe(names, lengths, np.ones(len(names)), step=self.step)
        self.step += 1


def measure(keys: int, order: Order, freeze: Freeze) -> dict[str, float]:
    """As `measured`, in this process."""
    feed, ids = Feed(freeze), np.arange(keys)
    # What calls leave behind to be used again is no matter of the keys.
    for turn in range(DISTINCT):
        feed.observe("warm-up", np.arange(BLOCK), turn)
    before, own_before = resident(), feed.toggle.nbytes
    if order == "random":
        for turn in range(DISTINCT):
            feed.rng.shuffle(ids)
            for start in range(0, keys, BLOCK):
                feed.observe("problem", ids[start : start + BLOCK], turn)
    else:
        for start in range(0, keys, BLOCK):
            for turn in range(DISTINCT):
                feed.observe("problem", ids[start : start + BLOCK], turn)
    feed.toggle.observe([], [], [], step=feed.step)  # the last ones count now
    name = len("problem-000000000")
    after, own = resident() - before, feed.toggle.nbytes - own_before
    if len(feed.toggle.counts()) != keys + BLOCK:
        raise RuntimeError("keys are missing")
    return {"resident": after / keys - name, "nbytes": own / keys - name}


if __name__ == "__main__":
    in_order = sys.argv[2] == "in-order"
    never = sys.argv[3] == "never"
    figures = measure(
        int(sys.argv[1]), "in-order" if in_order else "random", "never" if never else "first"
    )
    print(json.dumps(figures))
