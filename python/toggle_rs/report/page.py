"""One HTML page without any other file, for screens of any width, light or dark."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toggle_rs.tables import printable

from .style import svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from toggle_rs.tables import Table


@dataclass(frozen=True)
class Picture:
    """A picture, what it is called and what it shows."""

    title: str
    figure: Figure
    note: str


@dataclass(frozen=True)
class Page:
    """What a page says."""

    title: str
    subtitle: str
    note: str
    """What the figures cannot tell."""
    warnings: list[str]
    figures: list[tuple[str, str]]
    """The most important ones: name and value."""
    pictures: list[Picture]
    tables: list[Table]
    data: dict[str, Any]
    """All figures, as `--json` writes them."""


def html_of(page: Page) -> str:
    """The page as text."""
    escape = html.escape
    parts = [
        f"<h1>{escape(page.title)}</h1>",
        f'<p class="settings">{escape(page.subtitle)}</p>',
        *(f'<p class="warning">{escape(warning)}</p>' for warning in page.warnings),
    ]
    if page.figures:
        parts += [
            '<dl class="figures">',
            *(
                f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
                for name, value in page.figures
            ),
            "</dl>",
        ]
    parts += [
        f'<p class="note">{escape(page.note)}</p>',
        '<div class="pictures">',
        *map(_figure, page.pictures),
        "</div>",
        *map(_table, page.tables),
        # In a name "</script>" must not end the element, nor "<!--<script>" keep it open.
        '<script type="application/json" id="figures">'
        + json.dumps(page.data, allow_nan=False).replace("<", "\\u003c")
        + "</script>",
    ]
    return _PAGE.format(title=escape(page.title), style=_STYLE, body="\n".join(parts))


def _figure(picture: Picture) -> str:
    title, note = html.escape(picture.title), html.escape(picture.note)
    image = svg(picture.figure).replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
    return f"<figure><h2>{title}</h2>{image}<figcaption>{note}</figcaption></figure>"


def _table(table: Table) -> str:
    def row(cells: list[str], tag: str) -> str:
        kinds = [' class="text"' if i < table.texts else "" for i in range(len(cells))]
        return (
            "<tr>"
            + "".join(
                f"<{tag}{kind}>{html.escape(printable(cell))}</{tag}>"
                for kind, cell in zip(kinds, cells, strict=True)
            )
            + "</tr>"
        )

    return "\n".join(
        [
            f"<section><h2>{html.escape(table.title)}</h2>",
            f'<div class="table"><table><thead>{row(table.header, "th")}</thead><tbody>',
            *(row(cells, "td") for cells in table.rows),
            f'</tbody></table></div><p class="note">{html.escape(table.note)}</p></section>',
        ]
    )


_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
<main>
{body}
</main>
</html>
"""

_STYLE: Final = """
:root {
  color-scheme: light dark;
  --page: #fff; --card: #f6f4ef; --ink: #333; --faint: #666; --grid: #ddd; --shade: #ece7dc;
  --bar: #8c8372; --accent: #b3261e; --colour-0: #0072b2; --colour-1: #d55e00;
  --colour-2: #009e73; --colour-3: #cc79a7; --colour-4: #e69f00; --colour-5: #56b4e9;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #17181a; --card: #222427; --ink: #e4e2dd; --faint: #a5a29b; --grid: #3a3c40;
    --shade: #34312a; --bar: #a89f8d; --accent: #ff8a7f; --colour-0: #4aa8e0;
    --colour-1: #f08a3c; --colour-2: #2fc49a; --colour-3: #e09cc2; --colour-4: #f0b840;
    --colour-5: #8accf2;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
.settings, .note, figcaption { color: var(--faint); font-size: .875rem; }
.warning { border-left: .25rem solid var(--accent); padding: .25rem .75rem; margin: .5rem 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(max(9rem, 17%), 1fr));
  gap: .5rem; margin: 1rem 0; }
.figures div { background: var(--card); border-radius: .5rem; padding: .5rem .75rem;
  display: flex; flex-direction: column; justify-content: space-between; }
dt { color: var(--faint); font-size: .8rem; line-height: 1.3; }
dd { margin: .25rem 0 0; font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.pictures { columns: 27rem; column-gap: 1.5rem; margin: 1.5rem 0; }
figure { margin: 0 0 1.75rem; break-inside: avoid; }
svg { width: 100%; height: auto; display: block; max-width: 40rem; }
svg text { font-family: system-ui, sans-serif !important; }
section { margin: 2rem 0; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .3rem .75rem; text-align: right; border-bottom: 1px solid var(--grid);
  white-space: nowrap; }
th { color: var(--faint); font-weight: 500; }
.text { text-align: left; padding-left: 0; white-space: normal; overflow-wrap: anywhere;
  min-width: 8rem; }
"""
