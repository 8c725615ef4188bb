"""`toggle-rs inspect`: what a checkpoint holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from toggle_rs.checkpoint import checkpoint_tables, contents, read_checkpoint
from toggle_rs.tables import printable

from . import options as o
from .console import orderly, show, write


def inspect(
    *,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What save() wrote.", show_default=False)
    ],
    rows: Annotated[int, typer.Option("--rows", min=1, help="Keys to show at most.")] = 20,
    json_path: o.Json = None,
) -> None:
    """Show what a checkpoint of a tracker or an estimator holds."""
    with orderly(file):
        held = contents(read_checkpoint(file))
    text = json.dumps(held, indent=1, allow_nan=False) + "\n"
    written = write([(json_path, text)])
    what = f"{printable(str(file))}: {held['class']}, {held['nbytes']:,} bytes in memory"
    show(what, checkpoint_tables(held, rows), written)
