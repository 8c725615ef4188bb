"""The estimators of toggle_rs and those of other packages, under one face."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import crick
import datasketches
import ddsketch
import fastdigest
import numpy as np
import numpy.typing as npt
from river import stats

from streams import Lengths
from toggle_rs import DecayQuantile, ExactQuantile, GKQuantile, P2Quantile, WindowQuantile

STEP = 128
"""Responses in a training step: the unit of time of what forgets."""
WINDOW = 32 * STEP
HALF_LIFE = 11
"""In steps. A half-life of h steps has the memory of a window of 2 h / ln 2 = 2.9 h steps:
the same mean age of a value, the same noise."""


def integers(block: Lengths) -> Lengths:
    """As they are."""
    return block


def floats(block: Lengths) -> npt.NDArray[np.float64]:
    """For what takes real numbers."""
    return block.astype(np.float64)


def singles(block: Lengths) -> npt.NDArray[np.float32]:
    """For what keeps 32 bits."""
    return block.astype(np.float32)


def listed(block: Lengths) -> list[float]:
    """For what takes one Python number a call."""
    return [float(length) for length in block.tolist()]


@dataclass(frozen=True)
class Contender:
    """One kind of estimator with its settings."""

    name: str
    make: Callable[[float], Any]
    """An empty one, for a quantile."""
    form: Callable[[Lengths], Any] = floats
    """Makes of a block what it takes fastest."""
    feed: Callable[[Any, Any], None] = lambda sketch, block: sketch.update(block)
    ask: Callable[[Any, float], float] = lambda sketch, q: sketch.quantile(q)
    one_quantile: bool = False
    """It follows the quantile that it was made for, and no other."""
    random: bool = False
    """It flips coins that nobody can seed."""


def one_by_one(sketch: Any, block: list[float]) -> None:
    """Feeds what has no batches, its method looked up once."""
    update = sketch.update
    for value in block:
        update(value)


def added_one_by_one(sketch: Any, block: list[float]) -> None:
    """As `one_by_one`, where the method is called `add`."""
    add = sketch.add
    for value in block:
        add(value)


def a_tick_later(sketch: Any, block: Lengths) -> None:
    """A training step."""
    sketch.tick()
    sketch.update(block)


def of_datasketches(sketch: Any, q: float) -> float:
    """The smallest value of which the rank reaches `q`, as `inverted_cdf` has it."""
    return float(sketch.get_quantile(q, inclusive=True))


def gk(epsilon: float) -> Contender:
    """Greenwald-Khanna at some bound."""
    return Contender(f"GKQuantile({epsilon:g})", lambda _: GKQuantile(epsilon))


def kll(k: int) -> Contender:
    """KLL at some size."""
    make = datasketches.kll_doubles_sketch
    return Contender(f"KLL({k})", lambda _: make(k), ask=of_datasketches, random=True)


OURS = [
    Contender("ExactQuantile", lambda _: ExactQuantile(), integers),
    gk(0.001),
    gk(0.01),
    Contender("P2Quantile", P2Quantile, one_quantile=True),
    Contender(f"WindowQuantile({WINDOW})", lambda _: WindowQuantile(WINDOW), integers),
    Contender(
        f"DecayQuantile({HALF_LIFE})", lambda _: DecayQuantile(HALF_LIFE), integers, a_tick_later
    ),
]

PEERS = [
    kll(200),
    Contender(
        "REQ(12)",
        lambda _: datasketches.req_floats_sketch(12),
        singles,
        ask=of_datasketches,
        random=True,
    ),
    Contender(
        "fastdigest(1000)",
        lambda _: fastdigest.TDigest(max_centroids=1000),
        feed=lambda sketch, block: sketch.batch_update(block),
    ),
    Contender("crick(100)", lambda _: crick.TDigest(100)),
    Contender(
        "DDSketch(1 %)",
        lambda _: ddsketch.DDSketch(0.01),
        listed,
        added_one_by_one,
        lambda sketch, q: sketch.get_quantile_value(q),
    ),
    Contender(
        "river P2",
        stats.Quantile,
        listed,
        one_by_one,
        lambda sketch, _: sketch.get(),
        one_quantile=True,
    ),
]
