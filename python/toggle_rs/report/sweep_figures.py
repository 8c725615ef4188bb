"""Heat maps of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.colors import Normalize, TwoSlopeNorm

from .style import INK, WIDTH, figure

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from toggle_rs.replay.outcome import Outcome
    from toggle_rs.replay.sweep import Sweep

_MOST_NUMBERS: Final = 12
"""Columns up to which each cell has room for its number."""

MAPS: Final[dict[str, tuple[str, str]]] = {
    "masked_ratio": ("samples masked", "YlOrBr"),
    "lost_signal_group_ratio": ("groups that lose their signal", "YlOrBr"),
    "covariance_added": ("covariance with length, added by shaping", "PuOr_r"),
}
"""Figures that are drawn: what they are, and in which colours."""


def main_picture(sweep: Sweep) -> Figure:
    """Masked share and covariance side by side."""
    picture = figure(4.2, width=10)
    picture.set_facecolor("white")
    picture.suptitle(
        f"{sweep.settings.tracker} on a logged run: {sweep.settings.shared()}",
        x=0.01,
        ha="left",
        color=INK,
        fontsize="medium",
    )
    for axes, field in zip(
        picture.subplots(1, 2), ("masked_ratio", "covariance_added"), strict=True
    ):
        _draw(axes, sweep, field)
        title = MAPS[field][0] + ("" if field == "masked_ratio" else f" ({sweep.unit})")
        axes.set_title(title, loc="left", color=INK, fontsize="medium")
    return picture


def heat_map(sweep: Sweep, field: str) -> Figure:
    """One figure over lambda and percentile."""
    rows = len({lambda_ for lambda_, _ in sweep.outcomes})
    picture = figure(min(1.2 + 0.42 * max(rows, 2), WIDTH))
    _draw(picture.subplots(), sweep, field)
    return picture


def _draw(axes: Axes, sweep: Sweep, field: str) -> None:
    lambdas = sorted({lambda_ for lambda_, _ in sweep.outcomes})
    percentiles = sorted({percentile for _, percentile in sweep.outcomes})
    values = np.array(
        [[_value(sweep.outcomes[lambda_, p], field) for p in percentiles] for lambda_ in lambdas],
        dtype=np.float64,  # None, where no step is shaped, becomes NaN.
    )
    _, colours = MAPS[field]
    is_share = field != "covariance_added"
    mesh = axes.pcolormesh(values, cmap=colours, norm=_norm(values, is_share=is_share))
    text: Callable[[float], str] = "{:.1%}".format if is_share else "{:+,.0f}".format
    if len(percentiles) <= _MOST_NUMBERS:
        lights = mesh.to_rgba(values)[..., :3] @ (0.299, 0.587, 0.114)
        for (y, x), value in np.ndenumerate(values):
            axes.annotate(
                "–" if np.isnan(value) else text(value),  # noqa: RUF001 - an en dash
                (x + 0.5, y + 0.5),
                ha="center",
                va="center",
                fontsize="small",
                color="#000000" if lights[y, x] > 0.5 else "#FFFFFF",  # noqa: PLR2004 - half
            )
    else:
        bar = axes.figure.colorbar(mesh, ax=axes)
        bar.ax.tick_params(colors=INK)
        bar.ax.yaxis.set_major_formatter(lambda value, _: text(value))
        bar.outline.set_visible(False)
    _ticks(axes.set_xticks, percentiles)
    _ticks(axes.set_yticks, lambdas)
    axes.set_xlabel("percentile of the lengths", color=INK)
    axes.set_ylabel("λ (accuracy)", color=INK)
    axes.tick_params(colors=INK, length=0)
    axes.spines[:].set_visible(False)


def _value(outcome: Outcome, field: str) -> float | None:
    if field != "covariance_added":
        share: float | None = getattr(outcome, field)
        return share
    before, after = outcome.covariance_before, outcome.covariance_after
    return None if before is None or after is None else after - before


def _norm(values: np.ndarray, *, is_share: bool) -> Normalize:
    largest = float(np.nanmax(np.abs(values), initial=0)) or 1.0
    return Normalize(0, largest) if is_share else TwoSlopeNorm(0, -largest, largest)


def _ticks(set_ticks: Callable[..., object], values: list[float]) -> None:
    every = -(-len(values) // _MOST_NUMBERS)
    places = range(0, len(values), every)
    set_ticks([place + 0.5 for place in places], [f"{values[place]:g}" for place in places])
