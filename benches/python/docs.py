"""Measured figures in Markdown: tables, and the places where they go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path


def table(header: list[str], rows: Iterable[list[str]]) -> str:
    """A Markdown table; all columns but the first hold numbers."""
    lines = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def fill(path: Path, texts: Mapping[str, str]) -> None:
    """Puts each text between its comments, `<!-- name -->` and `<!-- /name -->`."""
    page = path.read_text(encoding="utf-8")
    for name, text in texts.items():
        marks = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.S)
        page, found = marks.subn(lambda match, text=text: f"{match[1]}{text}\n{match[2]}", page)
        if found != 1:
            raise ValueError(f"{path}: {found} places for {name!r}, expected 1")
    path.write_text(page, encoding="utf-8")
