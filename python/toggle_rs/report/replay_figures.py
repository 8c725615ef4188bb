"""Pictures of a replay."""

from __future__ import annotations

import textwrap
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from toggle_rs.tables import printable

from .style import ACCENT, BAR, COLOURS, INK, SHADE, figure, plain, plain_legend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from toggle_rs.replay import Replay, Step

_DASHES: Final = ("-", "--", ":")
_MOST_LINES: Final = len(COLOURS) * len(_DASHES)
_MOST_ROWS: Final = 6
_LABEL: Final = 30  # Characters; the middle of a longer name is left out.
_SPARSE: Final = 100  # Steps up to which there is room between bars.


def main_picture(replay: Replay) -> Figure:
    """Budgets over the steps, and below them the kept ratio; penalty phases are shaded."""
    picture = figure(5.5, width=10)
    picture.set_facecolor("white")
    above, below = picture.subplots(2, sharex=True, height_ratios=(2.2, 1))
    settings = replay.settings
    title = f"λ = {settings.lambda_:g}, percentile = {settings.percentile:g}, {settings.shared()}"
    picture.suptitle(f"{settings.tracker} on a logged run", x=0.01, ha="left", color=INK)
    names = _names_to_draw(replay)
    _draw_budgets(above, replay, names)
    _draw_kept(below, replay)
    below.set_xlabel("training step", color=INK)
    handles = [*above.get_lines(), Patch(color=SHADE, label=" length-penalty phase")]
    legend = picture.legend(handles=handles, loc="outside right upper", frameon=False)
    plain_legend(legend)
    if len(names) == _MOST_LINES < len(replay.datasets):
        legend.set_title(f"{len(names)} of {len(replay.datasets)} datasets")
    _set_title(picture, above, title)
    return picture


def budgets(replay: Replay) -> Figure:
    """Budget of each dataset over the steps."""
    names = _names_to_draw(replay)
    rows = (len(names) + 2) // 2
    picture = figure(2.8 + 0.22 * rows)
    axes = picture.subplots()
    _draw_budgets(axes, replay, names)
    axes.set_xlabel("training step")
    handles = [*axes.get_lines(), Patch(color=SHADE, label=" penalty phase")]
    plain_legend(
        picture.legend(
            handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize="small"
        )
    )
    return picture


def kept(replay: Replay) -> Figure:
    """Share of responses that are not masked, over the penalty steps."""
    picture = figure(2.4)
    axes = picture.subplots()
    _draw_kept(axes, replay)
    axes.set_xlabel("training step")
    return picture


def lengths(replay: Replay) -> Figure | None:
    """Lengths of correct answers of each dataset, and the budget; None without any."""
    with_any = [(n, d) for n, d in replay.datasets.items() if d.correct_histogram is not None]
    largest = sorted(with_any, key=lambda item: -item[1].rollouts)[:_MOST_ROWS]
    if not largest:
        return None
    picture = figure(0.7 + 1.15 * len(largest))
    rows = picture.subplots(len(largest), squeeze=False)[:, 0]
    for axes, (name, dataset) in zip(rows, largest, strict=True):
        histogram = dataset.correct_histogram
        assert histogram is not None  # noqa: S101 - chosen so above
        axes.stairs(histogram.counts, histogram.edges, fill=True, color=BAR, alpha=0.8)
        if dataset.budget is not None:
            axes.axvline(dataset.budget, color=ACCENT, linewidth=1.6)
            axes.annotate(
                f"budget {dataset.budget:,.0f}",
                (dataset.budget, 1),
                xytext=(3, 0),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                va="top",
                color=ACCENT,
                fontsize="small",
            )
        axes.set_xlim(0)
        if histogram.beyond:
            axes.annotate(
                f"+ {histogram.beyond:,} longer",
                (1, 0.45),
                xycoords="axes fraction",
                ha="right",
                color=INK,
                fontsize="small",
            )
        axes.set_ylabel("answers", fontsize="small")
        axes.set_title(_short(name), loc="left", fontsize="small", color=INK, parse_math=False)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_locator(MaxNLocator(2, integer=True))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.tick_params(labelsize="small")
        plain(axes)
    rows[-1].set_xlabel(f"length of correct answers ({replay.unit})", color=INK)
    return picture


def group_accuracy(replay: Replay) -> Figure:
    """How many groups there are of each accuracy."""
    picture = figure(2.6)
    axes = picture.subplots()
    edges, counts = replay.group_accuracy.edges, replay.group_accuracy.counts
    lambda_ = replay.settings.lambda_
    for (start, end), count in zip(pairwise(edges), counts, strict=True):
        middle, width = (start + end) / 2, end - start
        is_held = middle >= lambda_ - width / 100  # The edges are rounded.
        axes.bar(middle, count, 0.85 * width, color=BAR, alpha=1 if is_held else 0.5)
    if 0 <= lambda_ <= 1:
        axes.axvline(lambda_, color=ACCENT, linewidth=1.6)
        is_right = lambda_ > 0.7  # noqa: PLR2004 - where the text would leave the picture
        axes.annotate(
            f"λ = {lambda_:g}",
            (lambda_, 1),
            xycoords=("data", "axes fraction"),
            va="bottom",
            ha="right" if is_right else "left",
            color=ACCENT,
        )
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xlabel("accuracy of the group")
    axes.set_ylabel("groups")
    plain(axes)
    return picture


def flow(replay: Replay) -> Figure:
    """What becomes of the groups of the penalty steps, from top to bottom."""
    groups = replay.flow
    is_before = replay.settings.filter == "before"
    bars = [
        ("all groups", groups.groups, BAR),
        ("signal as logged", groups.signal_before, COLOURS[5]),
        ("seen by Toggle" + (" (filtered)" if is_before else ""), groups.shaped, BAR),
        ("held to the budget", groups.enforced, BAR),
        ("a masked response", groups.masked, COLOURS[1]),
        ("signal gained", groups.gained, COLOURS[2]),
        ("signal lost", groups.lost, COLOURS[1]),
        ("signal at the end", groups.signal_after, COLOURS[5]),
    ]
    picture = figure(2.9)
    axes = picture.subplots()
    names = [name for name, _, _ in bars]
    drawn = axes.barh(
        names, [count for _, count, _ in bars], color=[colour for _, _, colour in bars]
    )
    axes.bar_label(drawn, labels=[f"{count:,}" for _, count, _ in bars], color=INK, padding=3)
    axes.invert_yaxis()
    axes.set_xlim(0, max(groups.groups, 1) * 1.15)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("groups of the penalty steps")
    plain(axes, grid="x")
    return picture


def _draw_budgets(axes: Axes, replay: Replay, names: list[str]) -> None:
    _shade(axes, replay.steps)
    for index, name in enumerate(names):
        points = [(step.step, step.budgets[name]) for step in replay.steps if name in step.budgets]
        axes.plot(
            [step for step, _ in points],
            [budget for _, budget in points],
            color=COLOURS[index % len(COLOURS)],
            linestyle=_DASHES[index // len(COLOURS) % len(_DASHES)],
            linewidth=2,
            marker="o" if len(points) == 1 else None,
            # Matplotlib leaves out a label that is empty or begins with "_".
            label=" " + _short(name),
        )
    drawn = (step.budgets.get(name, 0) for step in replay.steps for name in names)
    axes.set_ylim(0, 1.05 * max(drawn, default=100) + 1)
    axes.set_ylabel(f"budget ({replay.unit})")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    _over_steps(axes, replay.steps)
    plain(axes)


def _set_title(picture: Figure, axes: Axes, text: str) -> None:
    """In lines that are no wider than the axes, which depends on what else is drawn."""
    title = axes.set_title(text, loc="left", color=INK, fontsize="small")
    picture.draw_without_rendering()
    room = axes.bbox.width / title.get_window_extent().width
    if room < 1:
        title.set_text(textwrap.fill(text, int(0.95 * room * len(text))))


def _draw_kept(axes: Axes, replay: Replay) -> None:
    steps = replay.steps
    _shade(axes, steps)
    penalised = [step for step in steps if step.kept_ratio is not None]
    axes.bar(
        [step.step for step in penalised],
        [step.kept_ratio or 0 for step in penalised],
        width=0.7 if len(steps) <= _SPARSE else 1,
        color=BAR,
    )
    axes.set_ylim(0, 1)
    axes.set_ylabel("responses kept")
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    _over_steps(axes, steps)
    plain(axes)


def _over_steps(axes: Axes, steps: list[Step]) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.set_xlim(steps[0].step - 0.5, steps[-1].step + 0.5)


def _shade(axes: Axes, steps: list[Step]) -> None:
    for start, end in _penalty_spans(steps):
        axes.axvspan(start, end, color=SHADE, linewidth=0, zorder=0)


def _penalty_spans(steps: list[Step]) -> Iterator[tuple[float, float]]:
    """From where to where the penalty phases last, half a step wider at both ends."""
    for penalty, phase in groupby(steps, key=lambda step: step.penalty):
        if penalty:
            numbers = [step.step for step in phase]
            yield numbers[0] - 0.5, numbers[-1] + 0.5


def _names_to_draw(replay: Replay) -> list[str]:
    """The datasets with most rollouts, from the largest budget to the smallest."""
    known = {
        name: dataset.budget
        for name, dataset in replay.datasets.items()
        if dataset.budget is not None
    }
    names = sorted(known, key=lambda name: -replay.datasets[name].rollouts)[:_MOST_LINES]
    return sorted(names, key=lambda name: -known[name])


def _short(name: str) -> str:
    name = printable(name)
    return name if len(name) <= _LABEL else f"{name[:14]}…{name[-15:]}"
