"""Random batches against the oracle, many of them, from one seed.

python tests/python/long_run.py --batches 100000 --seed 1
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time

import numpy as np

from agreement import check_run
from strategies import Rolled
from toggle_rs import ToggleBudgetTracker

STEPS_PER_RUN = 5


def run(batches: int, seed: int) -> int:
    """Plays at least `batches` steps; returns how many. Raises at the first difference."""
    done = 0
    while done < batches:
        # A run of its own generator: it can be played again without those before it.
        rng = np.random.default_rng([seed, done])
        try:
            check_run(ToggleBudgetTracker, Rolled(rng), STEPS_PER_RUN)
        except Exception as error:
            raise RuntimeError(f"in the run of np.random.default_rng([{seed}, {done}])") from error
        done += STEPS_PER_RUN
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None, help="by default a new one each time")
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    print(f"seed {seed}, NumPy {np.__version__}, Python {sys.version.split()[0]}", flush=True)
    start = time.perf_counter()
    done = run(options.batches, seed)
    print(f"{done} batches equal the oracle bit for bit, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
