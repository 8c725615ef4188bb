"""docs/img/speed.png, from the figures that the benchmarks have left in docs/.

python benches/python/plot.py
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from tracker_report import DATASETS, SHOWN

DOCS = Path(__file__).parents[2] / "docs"
OURS = "#1f6f5c"
OTHERS = "#b9bec6"
LEFT_OUT = "a value a call"


def steps(axes: Axes) -> None:
    """A step of the drop-in, by its size."""
    report = json.loads((DOCS / "tracker.json").read_text(encoding="utf-8"))
    rows = [
        row
        for row in report["steps"]
        if row["datasets"] == DATASETS and row["names"] == "list, shared str"
    ]
    labels, values, colours = [], [], []
    for row in reversed(rows):
        for name in reversed(SHOWN):
            if name in row["seconds"]:
                labels.append(f"{row['samples']:,} samples, {name}")
                values.append(row["seconds"][name] * 1e6)
                colours.append(OURS if name == "toggle-rs" else OTHERS)
    bars(axes, labels, values, colours)
    axes.set_xlabel(f"µs a length-penalty step, {DATASETS} datasets (log)", fontsize=9)


def lengths(axes: Axes) -> None:
    """A length, by estimator."""
    report = json.loads((DOCS / "speed.json").read_text(encoding="utf-8"))
    speed = {
        name: figures["filled"]
        for name, figures in report["ns a value"]["lognormal"].items()
        if LEFT_OUT not in name
    }
    names = sorted(speed, key=speed.__getitem__, reverse=True)
    # A peer has one of ours that does the same work.
    colours = [OTHERS if report["beside"][name] else OURS for name in names]
    bars(axes, names, [speed[name] for name in names], colours)
    axes.set_xlabel("ns a length, lognormal, batches of 4,096 (log)", fontsize=9)


def bars(axes: Axes, labels: list[str], values: list[float], colours: list[str]) -> None:
    """Horizontal bars with their figures."""
    drawn = axes.barh(labels, values, color=colours)
    axes.bar_label(drawn, [shown(value) for value in values], padding=3, fontsize=8)
    axes.set_xscale("log")
    axes.margins(x=0.18)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def shown(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    """Draws it."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    steps(left)
    lengths(right)
    figure.savefig(DOCS / "img" / "speed.png", dpi=140)


if __name__ == "__main__":
    main()
