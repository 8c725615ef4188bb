"""Named streams of response lengths, each a function of a seeded generator and a size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from toggle_rs import read_traces

Lengths = npt.NDArray[np.int64]
Stream = Callable[[np.random.Generator, int], Lengths]

LONGEST = 32_768
"""Where generation is cut off in the capped stream."""
SIGMA = 0.8
MU = 8.0
"""Of the logarithm of a length: a median of 2,981 tokens."""


def lognormal(rng: np.random.Generator, n: int) -> Lengths:
    """Lengths as a reasoning model has them, without a limit."""
    return rng.lognormal(MU, SIGMA, n).astype(np.int64)


def capped(rng: np.random.Generator, n: int) -> Lengths:
    """The same, of which 15 % run into the limit."""
    lengths = np.minimum(lognormal(rng, n), LONGEST)
    lengths[rng.random(n) < 0.15] = LONGEST
    return lengths


def two_modes(rng: np.random.Generator, n: int) -> Lengths:
    """Three short answers (about 400) for each long one (about 8,100), hardly any between."""
    return rng.lognormal(np.where(rng.random(n) < 0.75, 6.0, 9.0), 0.3).astype(np.int64)


def constant(_: np.random.Generator, n: int) -> Lengths:
    """One length throughout."""
    return np.full(n, 4096)


def rising(rng: np.random.Generator, n: int) -> Lengths:
    """Lognormal lengths, sorted."""
    return np.sort(lognormal(rng, n))


def falling(rng: np.random.Generator, n: int) -> Lengths:
    """Lognormal lengths, sorted in reverse."""
    return rising(rng, n)[::-1].copy()


STREAMS: dict[str, Stream] = {
    "lognormal": lognormal,
    "capped": capped,
    "two modes": two_modes,
    "constant": constant,
    "sorted": rising,
    "reversed": falling,
}
"""Those of which every part is asked about as a whole."""


@dataclass(frozen=True)
class Drift:
    """Lognormal lengths whose median moves as the policy learns."""

    mu: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
    """Mean of the logarithm, by the time from 0 to 1."""

    def __call__(self, rng: np.random.Generator, n: int) -> Lengths:
        """The stream from its start to its end."""
        return rng.lognormal(self.mu(np.linspace(0, 1, n)), SIGMA).astype(np.int64)

    def now(self, q: float) -> float:
        """The quantile of what comes at the end of the stream."""
        return float(np.floor(np.exp(self._end().inv_cdf(q))))

    def rank_now(self, length: float) -> float:
        """The share of what comes at the end of the stream that is <= `length`."""
        return self._end().cdf(np.log(np.floor(length) + 1))

    def _end(self) -> NormalDist:
        return NormalDist(float(self.mu(np.ones(1))[0]), SIGMA)


DRIFTS: dict[str, Drift] = {
    "shrinking": Drift(lambda time: MU - time),
    "growing": Drift(lambda time: MU - 1 + time),
    "jump": Drift(lambda time: np.where(time < 0.9, MU, MU - 1)),
}
"""To 37 % of the median, back up from there, and down at once after nine tenths."""


def real_streams(files: Iterable[Path]) -> dict[str, Lengths]:
    """Lengths of the correct responses in rollout traces, by dataset, in order of arrival."""
    paths = list(files)
    if not paths:
        return {}
    rollouts = read_traces(paths)
    correct = rollouts.reward >= 1.0
    return {
        "|".join(name): rollouts.length[correct & (rollouts.dataset == i)].astype(np.int64)
        for i, name in enumerate(rollouts.names)
    }


def drawn_from(lengths: Lengths, rng: np.random.Generator, n: int) -> Lengths:
    """The lengths themselves as far as they reach, else draws from them."""
    return lengths[:n] if n <= len(lengths) else rng.choice(lengths, n)
