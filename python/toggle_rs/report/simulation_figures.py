"""Pictures of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from toggle_rs.tables import seeds

from .style import BAR, COLOURS, INK, figure, plain, plain_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from toggle_rs.simulate import Simulation

_LINES: Final = {
    "no penalty": (BAR, "-"),
    "always on": (COLOURS[1], "-"),
    "filter before": (COLOURS[4], "--"),
    "filter after": (COLOURS[0], "-"),
}


_WIDE: Final = 0.05
"""Range from which on ticks lie a percent apart at least, and need no decimals."""


def main_picture(simulation: Simulation) -> Figure:
    """Tokens and accuracy side by side."""
    picture = figure(4.2, width=10)
    picture.set_facecolor("white")
    training = simulation.training
    picture.suptitle(
        f"A toy, not a proof: GRPO on a policy over lengths, setting “{training.setting}”, "
        f"λ = {training.lambda_:g}, percentile = {training.percentile:g}, m = {training.m}, "
        f"K = {training.group_size}, {seeds(simulation)}",
        x=0.01,
        ha="left",
        color=INK,
        fontsize="medium",
    )
    tokens, accuracy = picture.subplots(1, 2)
    _draw(tokens, simulation, "tokens")
    _draw(accuracy, simulation, "accuracy")
    plain_legend(
        picture.legend(
            handles=tokens.get_lines(), loc="outside lower left", ncols=len(_LINES), frameon=False
        )
    )
    return picture


def curves(simulation: Simulation, field: str) -> Figure:
    """Tokens, or accuracy, over the steps."""
    picture = figure(3.2)
    axes = picture.subplots()
    _draw(axes, simulation, field)
    plain_legend(picture.legend(loc="outside lower left", ncols=2, frameon=False, fontsize="small"))
    return picture


def _draw(axes: Axes, simulation: Simulation, field: str) -> None:
    for variant, curve in simulation.curves.items():
        colour, dash = _LINES[variant]
        runs = np.array(getattr(curve, field))
        steps = np.arange(runs.shape[1])
        axes.fill_between(
            steps, runs.min(axis=0), runs.max(axis=0), color=colour, alpha=0.2, linewidth=0
        )
        axes.plot(steps, runs.mean(axis=0), dash, color=colour, linewidth=2, label=variant)
    axes.set_xlim(0, simulation.training.steps)
    axes.set_xlabel("training step")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if field == "tokens":
        axes.set_ylabel("tokens of an answer")
        axes.set_ylim(0)
        axes.yaxis.set_major_formatter("{x:,.0f}")
    else:
        axes.set_ylabel("accuracy")
        low, high = axes.get_ylim()
        decimals = 0 if high - low > _WIDE else None
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=decimals))
        axes.yaxis.set_major_locator(MaxNLocator(6))
    plain(axes)
