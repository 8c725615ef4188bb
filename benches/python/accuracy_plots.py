"""The accuracy study as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from contenders import HALF_LIFE, OURS, STEP, WINDOW
from errors import Errors
from streams import SIGMA, STREAMS, Drift

# Okabe and Ito: told apart with any kind of colour vision.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
INK, GREY, STRIPE = "#333333", "#8A8A8A", "#F3F1EC"
FLOOR = 1e-5
"""Where an error of 0 is drawn."""
ORDERED = ("sorted", "reversed")
KINDS = {
    "real lengths": (VERMILION, "D"),
    "made lengths": (BLUE, "o"),
    "sorted or reversed": (GREEN, "s"),
}


@dataclass(frozen=True)
class Bar:
    """A row of the picture of errors."""

    name: str
    ours: bool
    errors: dict[str, Errors]
    """By stream."""
    bytes: int | None


def kind_of(stream: str) -> str:
    """Which mark a stream has."""
    if stream in ORDERED:
        return "sorted or reversed"
    return "made lengths" if stream in STREAMS else "real lengths"


def errors(bars: list[Bar], path: Path) -> None:
    """Errors of rank and of value of each estimator, a mark a stream, and memory."""
    figure = Figure(figsize=(10, 5), layout="constrained")
    rank, value, memory = figure.subplots(1, 3, sharey=True, width_ratios=(3, 3, 1.6))
    titles = "rank error, worst of p50 to p99", "error of the value, worst of p50 to p99"
    for which, (axes, title) in enumerate(zip((rank, value), titles, strict=True)):
        for kind, (colour, mark) in KINDS.items():
            points = [
                (max(error[which], FLOOR), row)
                for row, bar in enumerate(bars)
                for stream, error in bar.errors.items()
                if kind_of(stream) == kind
            ]
            if points:
                x, y = zip(*points, strict=True)
                axes.scatter(
                    x, y, 34, color=colour, marker=mark, alpha=0.65, linewidths=0, label=kind
                )
        axes.set_xscale("log")
        axes.set_xlim(FLOOR / 1.6, 13)
        axes.xaxis.set_major_locator(FixedLocator([FLOOR, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(percent))
        axes.set_title(title, fontsize=10, color=INK)
    held = [(bar.bytes or 0) / 1000 for bar in bars]
    memory.barh(range(len(bars)), held, 0.55, color=[BLUE if bar.ours else GREY for bar in bars])
    for row, size in enumerate(held):
        memory.annotate(
            f"{size:,.1f}" if size < 10 else f"{size:,.0f}",
            (size, row),
            (3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=INK,
        )
    memory.set_xlim(0, 1.25 * max(held))
    memory.set_title("memory (kB)", fontsize=10, color=INK)
    for axes in (rank, value, memory):
        bare(axes)
        axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        axes.set_axisbelow(True)
    rank.set_yticks(range(len(bars)), [bar.name for bar in bars])
    for label, bar in zip(rank.get_yticklabels(), bars, strict=True):
        label.set_fontweight("bold" if bar.ours else "normal")
    rank.set_ylim(len(bars) - 0.4, -0.6)
    figure.legend(
        *rank.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    figure.savefig(path, dpi=110)


def percent(x: float, _: int) -> str:
    """A tick of an axis of shares."""
    return "0" if x <= FLOOR else f"{100 * x:g} %"


def bare(axes: Axes) -> None:
    """No frame, quiet ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8.5, length=0)


STEPS = 900
DRIFT = Drift(lambda time: 8.0 + np.interp(time, [0, 0.35, 0.65, 0.6501, 1], [0, -1, -1, 0.2, 0.2]))


def drift(path: Path) -> None:
    """The budget over a run: lengths shrink, stay, and jump when the limit is raised."""
    rng = np.random.default_rng(2)
    q = 0.8
    values = DRIFT(rng, STEPS * STEP)
    steps = np.arange(STEPS)
    end = np.exp(DRIFT.mu(steps / STEPS) + SIGMA * 0.8416)
    shown = {
        "ExactQuantile": (BLUE, "all lengths: exact; GK, KLL and t-digests draw the same line"),
        "P2Quantile": (PURPLE, "P2Quantile"),
        f"WindowQuantile({WINDOW})": (VERMILION, f"WindowQuantile({WINDOW}), 32 steps"),
        f"DecayQuantile({HALF_LIFE})": (GREEN, f"DecayQuantile({HALF_LIFE})"),
    }
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(steps, end, color=INK, linewidth=1.2, linestyle="--", label="the policy's own")
    for contender in OURS:
        if contender.name not in shown:
            continue
        sketch = contender.make(q)
        answers = []
        for start in range(0, len(values), STEP):
            contender.feed(sketch, contender.form(values[start : start + STEP]))
            answers.append(contender.ask(sketch, q))
        colour, label = shown[contender.name]
        axes.plot(steps, answers, color=colour, linewidth=1.5, label=label)
    bare(axes)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_ylim(0, 9000)
    axes.set_xlim(0, STEPS)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("80th percentile of the lengths (tokens)", color=INK)
    axes.set_xlabel("training step of 128 responses", color=INK)
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="upper left")
    figure.savefig(path, dpi=110)
