"""Results as pictures and as an HTML page; needs the extra `report`."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from . import page, pages

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure


def write_png(result: Any, path: Path) -> None:
    """Draw the main picture of a replay, a sweep or a simulation."""
    path.write_bytes(_png(pages.picture_of(result)))


def write_html(result: Any, path: Path) -> None:
    """Write one page that needs no other file: figures, tables and pictures."""
    path.write_text(page.html_of(pages.page_of(result)), encoding="utf-8")


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return file.getvalue()
