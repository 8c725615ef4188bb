"""The subcommands of `toggle-rs`: arguments in, text and files out."""

from __future__ import annotations

from typing import Annotated

import typer

from toggle_rs import __version__

from .inspect import inspect
from .replay import replay
from .simulate import simulate
from .sweep import sweep

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"toggle-rs {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Toggle reward shaping for reinforcement learning on language models."""


for command in (replay, sweep, simulate, inspect):
    app.command()(command)
