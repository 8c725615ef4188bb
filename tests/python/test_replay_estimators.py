"""Budgets of a replay with each estimator are those of NumPy, or of the estimator itself."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import key_of
from replay_oracle import Row, steps_of
from toggle_rs import P2Quantile, read_traces
from toggle_rs.estimators import estimator_of
from toggle_rs.replay import Settings, replay

SAMPLE = sorted((Path(__file__).parents[2] / "examples").glob("rollouts_*.jsonl.gz"))


def lines_of(files: list[Path]) -> list[Row]:
    lines = (line for path in files for line in gzip.decompress(path.read_bytes()).splitlines())
    return [json.loads(line) for line in lines]


def p2(lengths: list[int], _: list[int]) -> list[float | None]:
    sketch = P2Quantile(0.8)
    sketch.update(lengths)
    return [sketch.quantile(0.8)]


def gk(lengths: list[int], _: list[int]) -> list[int]:
    rank, error = math.ceil(0.8 * len(lengths)), int(0.001 * len(lengths))
    return sorted(lengths)[rank - 1 - error : rank + error]


def decay(lengths: list[int], steps: list[int]) -> list[np.float64]:
    weights = 2.0 ** np.array(steps)
    return [np.percentile(lengths, 80, weights=weights, method="inverted_cdf")]


# From the lengths of a dataset, and the steps at which they came, to its right budgets.
BUDGETS: dict[str, Callable[[list[int], list[int]], Any]] = {
    "exact": lambda lengths, _: [np.percentile(lengths, 80)],
    "p2": p2,
    "gk": gk,
    "window:300": lambda lengths, _: [np.percentile(lengths[-300:], 80)],
    "decay:1": decay,
}


# To Toggle the order of a step's lengths is of no account: P² and a window see another one there.
ANY_ORDER = [name for name in BUDGETS if name[:2] in {"ex", "gk", "de"}]


@pytest.mark.parametrize(
    ("names", "options"),
    [(list(BUDGETS), {}), (ANY_ORDER, {"m": None}), (ANY_ORDER, {"penalty": "cap_at_zero"})],
    ids=["drop-in", "drop-in, always on", "Toggle"],
)
def test_each_estimator_keeps_the_budgets(names: list[str], options: dict[str, Any]) -> None:
    rollouts = read_traces(SAMPLE)
    defaults = Settings(m=5, lambda_=0.5, percentile=80.0, warmup_steps=5)
    settings = dataclasses.replace(defaults, **options)
    results = {
        name: replay(rollouts, dataclasses.replace(settings, estimator=name)).steps
        for name in names
    }
    seen: dict[str, tuple[list[int], list[int]]] = {}
    for i, (step, batch) in enumerate(steps_of(lines_of(SAMPLE))):
        for one in batch:
            lengths, steps = seen.setdefault("|".join(key_of(one["dataset"])), ([], []))
            if one["reward"] >= 1:
                lengths.append(len(one["response_tokens"]))
                steps.append(step)
        for estimator, replayed in results.items():
            budgets = replayed[i].budgets
            assert len(budgets) >= 3
            for name, budget in budgets.items():
                assert budget in BUDGETS[estimator](*seen[name]), (estimator, step, name)
    # None of them is another one in disguise.
    assert len({str(replayed[-1].budgets) for replayed in results.values()}) == len(names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope", "expected exact, p2, gk, window:N or decay:H"),
        ("", "expected exact, p2, gk, window:N or decay:H"),
        ("p2:0.5", "expected exact, p2, gk, window:N or decay:H"),
        ("window", "expected exact, p2, gk, window:N or decay:H"),
        ("window:2.5", "expected exact, p2, gk, window:N or decay:H"),
        ("window:0", "window: got 0, expected an integer"),
        ("window:-1", "window: got -1, expected an integer"),
        (f"window:{2**64}", "window: got 18446744073709551616, expected an integer"),
        ("decay:", "expected exact, p2, gk, window:N or decay:H"),
        ("decay:0", "half_life: got 0, expected a finite number"),
        ("decay:nan", "half_life: got NaN, expected a finite number"),
    ],
)
def test_an_estimator_that_is_none(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"^estimator: got '{re.escape(text)}'.*{message}"):
        estimator_of(text)
