"""Many settings over one run."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Final

from .layout import Layout
from .outcome import Outcome, flow_of, outcome_of
from .run import play
from .warn import warnings_about

if TYPE_CHECKING:
    from toggle_rs.rollouts import RolloutColumns

    from .settings import Settings

_WORTH_A_PROCESS: Final = 3_000_000
"""Samples to shape, over all settings, from which on more processes pay for their start."""


@dataclass(frozen=True)
class Sweep:
    """The result of `sweep`: one outcome for each pair of lambda and percentile."""

    settings: Settings
    """What all pairs share; its own lambda and percentile are of no account."""
    outcomes: dict[tuple[float, float], Outcome]
    """By (lambda, percentile)."""
    rollouts: int
    warnings: list[str]
    """What in the rollouts makes one doubt the result, a sentence each."""
    unit: str

    def to_json(self) -> dict[str, Any]:
        """All of it as plain objects, for `json.dump`."""
        shared = self.settings.to_json()
        del shared["lambda_"], shared["percentile"]
        return {
            "rollouts": self.rollouts,
            "length_unit": self.unit,
            "settings": shared,
            "warnings": self.warnings,
            "outcomes": self.rows(),
        }

    def rows(self) -> list[dict[str, Any]]:
        """A flat row for each pair."""
        return [
            {"lambda": lambda_, "percentile": percentile, **asdict(outcome)}
            for (lambda_, percentile), outcome in self.outcomes.items()
        ]


def sweep(
    rollouts: RolloutColumns,
    settings: Settings,
    lambdas: Iterable[float],
    percentiles: Iterable[float],
    *,
    unit: str = "tokens",
    jobs: int | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> Sweep:
    """Replay a run with each pair of lambda and percentile.

    Args:
        rollouts: What `read_traces` or `read_rollouts` returns.
        settings: All but lambda and the percentile.
        lambdas: Each once, in the order of the result.
        percentiles: Likewise.
        unit: What the lengths count.
        jobs: Processes; by default one for each core, or one alone where that is quicker.
        progress: Called with the number of pairs done since its last call.

    Raises:
        ReplayError: As `replay`.
    """
    layout = Layout.of(rollouts, settings.max_score)
    pairs = list(dict.fromkeys(product(lambdas, percentiles)))
    if jobs is None:
        is_small = len(pairs) * len(layout) < _WORTH_A_PROCESS
        jobs = 1 if is_small else os.cpu_count() or 1
    todo = [replace(settings, lambda_=lambda_, percentile=p) for lambda_, p in pairs]
    outcomes: list[Outcome] = []
    for outcome in _outcomes(layout, todo, min(jobs, len(pairs))):
        outcomes.append(outcome)
        progress(1)
    return Sweep(
        settings,
        dict(zip(pairs, outcomes, strict=True)),
        len(rollouts),
        list(dict.fromkeys(chain.from_iterable(warnings_about(layout, each) for each in todo))),
        unit,
    )


def _outcomes(layout: Layout, todo: list[Settings], jobs: int) -> Iterable[Outcome]:
    if jobs <= 1:
        yield from (_outcome(layout, settings) for settings in todo)
        return
    # Not forked: the parent may have threads. The trackers hold the GIL, so threads gain nothing.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_keep, initargs=(layout,)) as pool:
        yield from pool.map(_outcome_of_kept, todo)


def _outcome(layout: Layout, settings: Settings) -> Outcome:
    run = play(layout, settings)
    return outcome_of(run, flow_of(run))


_kept: Layout


def _keep(layout: Layout) -> None:
    """Hold the columns of this process; sent once, not with each setting."""
    global _kept  # noqa: PLW0603 - there is no other place in a worker
    _kept = layout


def _outcome_of_kept(settings: Settings) -> Outcome:
    return _outcome(_kept, settings)
