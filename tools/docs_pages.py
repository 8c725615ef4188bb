"""Pages of the documentation that live in the project's root: one text, two places to read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

PROJECT = Path(__file__).parents[1]
PAGES = ("DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md")


def on_files(files: Files, *, config: MkDocsConfig) -> None:
    """Add them, with their links as they are from `docs/`."""
    for name in PAGES:
        text = (PROJECT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        for page in PAGES:
            text = text.replace(f"]({page}", f"]({page.lower()}")
        files.append(File.generated(config, name.lower(), content=text))
