"""Measured figures in Markdown: tables, and the places where they go."""

from __future__ import annotations

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
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"{path}: no place for {name!r}")
        page = f"{before}{begin}{text}\n{end}{after}"
    path.write_text(page, encoding="utf-8")
