"""A replay as a picture and as an HTML page; needs the extra `report`."""

from __future__ import annotations

import base64
import html
import io
from itertools import groupby
from typing import TYPE_CHECKING, Final

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from .tables import replay_tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes

    from .replay import Replay, Step
    from .tables import Table

# Okabe and Ito: told apart with any kind of colour vision.
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES: Final = ("-", "--", ":")
_MOST_LINES: Final = len(_COLOURS) * len(_DASHES)
_LABEL: Final = 30  # Characters; the middle of a longer name is left out.
_SPARSE: Final = 100  # Steps up to which there is room between bars.
_PENALTY: Final = "#ECE7DC"
_BAR: Final = "#8C8372"
_INK: Final = "#333333"


def write_png(replay: Replay, path: Path) -> None:
    """Draw budgets and kept ratio over the steps into a PNG file."""
    path.write_bytes(_png(replay))


def write_html(replay: Replay, path: Path) -> None:
    """Write one page that needs no other file: tables and picture."""
    picture = base64.b64encode(_png(replay)).decode()
    body = "\n".join(map(_html_table, replay_tables(replay)))
    page = _PAGE.format(settings=html.escape(str(replay.settings)), picture=picture, body=body)
    path.write_text(page, encoding="utf-8")


def draw(replay: Replay) -> Figure:
    """Draw budgets over the steps, and below them the kept ratio; penalty phases are shaded."""
    figure = Figure(figsize=(10, 5.5), layout="constrained")
    budgets, kept = figure.subplots(2, sharex=True, height_ratios=(2.2, 1))
    figure.suptitle(f"Toggle on a logged run   ({replay.settings})", x=0.01, ha="left", color=_INK)
    for axes in (budgets, kept):
        for start, end in _penalty_spans(replay.steps):
            axes.axvspan(start, end, color=_PENALTY, linewidth=0, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(colors=_INK)
    _draw_budgets(figure, budgets, replay)
    _draw_kept(kept, replay.steps)
    return figure


def _draw_budgets(figure: Figure, axes: Axes, replay: Replay) -> None:
    names = _names_to_draw(replay)
    for index, name in enumerate(names):
        points = [(step.step, step.budgets[name]) for step in replay.steps if name in step.budgets]
        axes.plot(
            [step for step, _ in points],
            [budget for _, budget in points],
            color=_COLOURS[index % len(_COLOURS)],
            linestyle=_DASHES[index // len(_COLOURS) % len(_DASHES)],
            linewidth=2,
            marker="o" if len(points) == 1 else None,
            # Matplotlib leaves out a label that is empty or begins with "_".
            label=" " + (name if len(name) <= _LABEL else f"{name[:14]}…{name[-15:]}"),
        )
    drawn = (step.budgets.get(name, 0) for step in replay.steps for name in names)
    highest = max(drawn, default=100)
    axes.set_ylim(0, 1.05 * highest + 1)
    axes.set_ylabel(f"budget ({replay.unit})", color=_INK)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    handles = [*axes.get_lines(), Patch(color=_PENALTY, label=" length-penalty phase")]
    legend = figure.legend(handles=handles, loc="outside right upper", frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)  # A dollar in a name is a dollar.
    if len(names) == _MOST_LINES < len(replay.datasets):
        legend.set_title(f"{len(names)} of {len(replay.datasets)} datasets")


def _names_to_draw(replay: Replay) -> list[str]:
    """The datasets with most rollouts, from the largest budget to the smallest."""
    budgets = {
        name: dataset.budget
        for name, dataset in replay.datasets.items()
        if dataset.budget is not None
    }
    names = sorted(budgets, key=lambda name: -replay.datasets[name].rollouts)[:_MOST_LINES]
    return sorted(names, key=lambda name: -budgets[name])


def _draw_kept(axes: Axes, steps: list[Step]) -> None:
    penalised = [step for step in steps if step.kept_ratio is not None]
    axes.bar(
        [step.step for step in penalised],
        [step.kept_ratio or 0 for step in penalised],
        width=0.7 if len(steps) <= _SPARSE else 1,
        color=_BAR,
    )
    axes.set_ylim(0, 1)
    axes.set_ylabel("responses kept", color=_INK)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("training step", color=_INK)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.set_xlim(steps[0].step - 0.5, steps[-1].step + 0.5)


def _penalty_spans(steps: list[Step]) -> Iterator[tuple[float, float]]:
    """From where to where the penalty phases last, half a step wider at both ends."""
    for penalty, phase in groupby(steps, key=lambda step: step.penalty):
        if penalty:
            numbers = [step.step for step in phase]
            yield numbers[0] - 0.5, numbers[-1] + 0.5


def _png(replay: Replay) -> bytes:
    file = io.BytesIO()
    draw(replay).savefig(file, format="png", dpi=150)
    return file.getvalue()


def _html_table(table: Table) -> str:
    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "\n".join(
        [
            f"<h2>{html.escape(table.title)}</h2>",
            f"<table>{row(table.header, 'th')}",
            *(row(cells, "td") for cells in table.rows),
            f"</table><p>{html.escape(table.note)}</p>",
        ]
    )


_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Toggle on a logged run</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #333; max-width: 60rem; margin: 2rem auto;
       padding: 0 1rem; }}
img {{ width: 100%; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; display: block;
        overflow-x: auto; }}
th, td {{ padding: .25rem .75rem; text-align: right; border-bottom: 1px solid #ddd; }}
th:first-child, td:first-child {{ text-align: left; padding-left: 0; }}
p {{ color: #666; font-size: .875rem; }}
</style>
<h1>Toggle on a logged run</h1>
<p>{settings}</p>
{body}
<h2>Budgets and responses kept</h2>
<img alt="Budget in tokens and share of responses kept, by training step"
     src="data:image/png;base64,{picture}">
</html>
"""
