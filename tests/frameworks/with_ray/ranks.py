"""Processes with a gloo group among them, and what the tests let each of them do.

A module of its own: each process imports it.
"""

from __future__ import annotations

import multiprocessing as mp
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from torch import distributed

from toggle_rs import Toggle, ToggleBudgetTracker
from toggle_rs.integrations.distributed import sync
from torch_ranks import resume_on_rank, shape_on_rank

SECONDS = 120


class Ranks:
    """`size` processes that run functions together, until closed."""

    def __init__(self, size: int, store: Path) -> None:
        self.size = size
        context = mp.get_context("spawn")
        pipes = [context.Pipe() for _ in range(size)]
        self.pipes = [here for here, _ in pipes]
        self.processes = [
            context.Process(target=serve, args=(rank, size, str(store), there), daemon=True)
            for rank, (_, there) in enumerate(pipes)
        ]
        for process in self.processes:
            process.start()

    def run(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """What `function(rank, size, *args)` returned on each rank; fails where one hangs."""
        for pipe in self.pipes:
            pipe.send((function, args))
        results = []
        for rank, pipe in enumerate(self.pipes):
            if not pipe.poll(SECONDS):
                raise TimeoutError(f"rank {rank} hangs")
            good, result = pipe.recv()
            if not good:
                raise RuntimeError(f"on rank {rank}: {result}")
            results.append(result)
        return results

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()


def serve(rank: int, size: int, store: str, pipe: Any) -> None:
    distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=size
    )
    while True:
        function, args = pipe.recv()
        try:
            pipe.send((True, function(rank, size, *args)))
        except Exception:  # noqa: BLE001 - the test shall see whatever it was
            pipe.send((False, traceback.format_exc()))


Step = tuple[list[str], "np.ndarray[Any, np.dtype[np.int64]]"]


def data_of(rank: int, seed: int, steps: int = 5) -> list[Step]:
    """Keys and lengths of correct responses, step by step; the test knows them as well.

    Some ranks see nothing at all, some steps are empty, and one name is this rank's alone.
    """
    rng = np.random.default_rng([seed, rank])
    names = ["math", "code", f"only-{rank}"]
    most = 0 if rng.random() < 0.25 else 40
    sizes = [int(rng.integers(0, most + 1)) for _ in range(steps)]
    return [
        ([names[i] for i in rng.integers(0, 3, n)], rng.lognormal(5, 1, n).astype(np.int64))
        for n in sizes
    ]


def make(name: str, settings: dict[str, Any]) -> Any:
    """A tracker with these settings, or nothing that is one."""
    if name == "Toggle":
        return Toggle(**{"m": 1, "lambda_": 0.5, "percentile": 80.0} | settings)
    if name == "ToggleBudgetTracker":
        return ToggleBudgetTracker(1, 0.5, 80.0, 0, **settings)
    return None


# What each rank does.


def sync_each_step(
    rank: int, _size: int, name: str, settings: dict[str, Any], seed: int
) -> list[tuple[bytes, bytes, bytes]]:
    """After each step: two merged states, one got right after the other, and the rank's own."""
    tracker = make(name, settings)
    states = []
    for step, (keys, lengths) in enumerate(data_of(rank, seed)):
        if name == "Toggle":
            tracker.observe(keys, lengths, np.ones(len(keys)), step=step)
        else:
            tracker.update(keys, lengths, np.ones(len(keys)), 1.0)
        first, second = sync(tracker).to_bytes(), sync(tracker).to_bytes()
        states.append((first, second, tracker.to_bytes()))
    return states


def samples_of(rank: int, step: int) -> tuple[Any, Any, list[str]]:
    """Scores, lengths and keys of two groups of four."""
    rng = np.random.default_rng([rank, step])
    scores = (rng.random(8) < 0.7).astype(np.float64)
    return scores, rng.lognormal(5, 1, 8).astype(np.int64), ["math"] * 4 + [f"only-{rank}"] * 4


def shape_steps(rank: int, _size: int, merged: bytes, steps: range) -> tuple[list[Any], bytes]:
    """The recipe: resumed, then the shaped scores of some steps and the state to save."""
    toggle = resume_on_rank(merged, rank)
    scores = [
        shape_on_rank(toggle, step, *samples_of(rank, step), 4).scores.tolist() for step in steps
    ]
    return scores, sync(toggle).to_bytes()


def sync_states(rank: int, size: int, states: list[bytes], in_group: int) -> bytes | str:
    """The merged state of the first ranks' states; the others are not in the group."""
    group = distributed.new_group(range(in_group)) if in_group < size else None
    tracker = Toggle.from_bytes(states[rank])
    try:
        return sync(tracker, group).to_bytes()
    except ValueError as error:
        return f"{error}"


def error_of_sync(rank: int, _size: int, trackers: list[tuple[str, dict[str, Any]]]) -> str:
    """How `sync` ends where the ranks have these, one each."""
    try:
        sync(make(*trackers[rank]))
    except Exception as error:  # noqa: BLE001 - the test shall see whatever it was
        return f"{type(error).__name__}: {error}"
    return "no error"
