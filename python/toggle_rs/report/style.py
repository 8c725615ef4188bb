"""How all pictures look, on paper and on a page that may be dark."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Final

from matplotlib import rc_context
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

# Okabe and Ito: told apart with any kind of colour vision.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK: Final = "#333333"
GRID: Final = "#DDDDDD"
SHADE: Final = "#ECE7DC"
BAR: Final = "#8C8372"
ACCENT: Final = "#B3261E"

_NAMES: Final = {
    INK: "ink",
    GRID: "grid",
    SHADE: "shade",
    BAR: "bar",
    ACCENT: "accent",
    **{colour: f"colour-{i}" for i, colour in enumerate(COLOURS)},
}
"""Colours that the style sheet of a page sets, so that they fit a dark one."""

WIDTH: Final = 4.2
"""Inches: as wide as a phone, at a size of the text that is read there."""


def figure(height: float = 3.0, width: float = WIDTH) -> Figure:
    """An empty picture."""
    return Figure(figsize=(width, height), layout="constrained", facecolor="none")


def plain(axes: Axes, *, grid: str = "y") -> None:
    """Take away what says nothing."""
    axes.set_facecolor("none")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.grid(axis=grid, color=GRID, linewidth=0.6)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(INK)


def plain_legend(legend: Legend) -> None:
    """A dollar in a name is a dollar."""
    for text in legend.get_texts():
        text.set_parse_math(False)
        text.set_color(INK)


def svg(picture: Figure) -> str:
    """A picture as an element of a page: text stays text, colours come from the style sheet."""
    file = io.StringIO()
    # A fixed salt: the same picture, the same bytes.
    with (
        rc_context({"svg.fonttype": "none", "svg.hashsalt": "toggle-rs"}),
        warnings.catch_warnings(),
    ):
        # It is the reader's browser that has the fonts.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        picture.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)  # A page knows them.
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    for colour, name in _NAMES.items():
        text = text.replace(colour.lower(), f"var(--{name})")
    return text
