"""What all subcommands do alike: read, show, write, fail."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable
from rich.text import Text

from toggle_rs import CheckpointError, TraceError
from toggle_rs.inputs import Source, expand, read_rollouts
from toggle_rs.replay import ReplayError
from toggle_rs.tables import printable

from .options import STDOUT

if TYPE_CHECKING:
    from types import ModuleType

    from toggle_rs.rollouts import RolloutColumns
    from toggle_rs.tables import Table

PLAIN_WIDTH = 120
"""Columns of the output where no terminal says how many there are."""

EXTRAS = {
    "matplotlib": "toggle-rs[report]",
    "pyarrow": "toggle-rs[parquet]",
    "ray": "ray",
}
"""What to install for a package that is loaded only when it is needed."""

_MANY_REPEATED = (
    "{:,} of {:,} rows have the step and the sample of a later one, and do not count: a sample is "
    "a number within its step, not within its group, and the files are to be of one run"
)

ROOMY = 100
"""Columns from which on the columns of a table stand two spaces apart."""


def fail(message: str) -> NoReturn:
    """End with one line on standard error, whatever names of files and damaged data put into it."""
    typer.echo(f"toggle-rs: {printable(message)}", err=True)
    raise typer.Exit(1)


@contextmanager
def orderly(file: Path | None = None) -> Iterator[None]:
    """End with one line where a file is at fault: `file`, where the error does not name it."""
    try:
        yield
    except BrokenPipeError:
        raise  # Whoever reads has had enough, which is no fault.
    except OSError as error:
        name = error.filename or (file and ("standard output" if file == STDOUT else file))
        fail(f"{name}: {error.strerror}" if name else str(error))
    except CheckpointError as error:
        fail(f"{file}: {error}")
    except (TraceError, ReplayError) as error:
        fail(str(error))
    except ModuleNotFoundError as error:
        missing(error)


def missing(error: ModuleNotFoundError) -> NoReturn:
    """End with the extra that has the package."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        raise error
    fail(f'{package} is missing: pip install "{EXTRAS[package]}"')


def report_module() -> ModuleType:
    """What draws; loaded only when it is asked for."""
    try:
        from toggle_rs import report  # noqa: PLC0415  (matplotlib may be missing, and is slow)
    except ModuleNotFoundError as error:
        missing(error)
    return report


@contextmanager
def progress(text: str, total: int, *, of_bytes: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, nothing elsewhere; call what it gives with what was done."""
    if not _is_terminal(sys.stderr):
        yield lambda _: None
        return
    count = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = TextColumn(text), BarColumn(), count, TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)


def read(paths: list[Path], source: Source, ray_address: str | None) -> tuple[RolloutColumns, int]:
    """Rollouts and the number of their files; with a progress bar where someone watches."""
    files = expand(paths)
    total = sum(path.stat().st_size for path in files if path.exists())
    try:
        with progress("Reading", total, of_bytes=True) as advance:
            rollouts = read_rollouts(files, source, ray_address=ray_address, progress=advance)
    except TraceError as error:
        if source == Source() and str(error).endswith("is missing"):
            fail(f"{error}; files other than open-instruct's traces need --format or --columns")
        raise
    if rollouts.repeated > len(rollouts):
        warn([_MANY_REPEATED.format(rollouts.repeated, rollouts.repeated + len(rollouts))])
    return rollouts, len(files)


def heading(rollouts: RolloutColumns, files: int) -> str:
    """What was read, in one line."""
    counts = [
        (len(rollouts), "rollout"),
        (len(set(rollouts.step.tolist())), "step"),
        (files, "file"),
    ]
    text = ", ".join(f"{count:,} {noun}{'s' * (count != 1)}" for count, noun in counts)
    if rollouts.repeated:
        text += f"; {rollouts.repeated:,} repeated by later rows"
    if rollouts.torn:
        text += f"; {rollouts.torn:,} torn last line{'s' * (rollouts.torn != 1)} left out"
    return text


def show(heading: str, tables: Iterable[Table], written: Iterable[Path]) -> None:
    """Print tables, as wide as the terminal, and which files were written.

    They go to standard error where standard output was written to. No text is taken for markup.
    """
    written = list(written)
    aside = STDOUT in written
    is_terminal = _is_terminal(sys.stderr if aside else sys.stdout)
    console = Console(
        stderr=aside, width=None if is_terminal else PLAIN_WIDTH, highlight=False, emoji=False
    )
    with orderly(STDOUT):
        console.print(heading, markup=False)
        for table in tables:
            console.print()
            console.print(_rich(table, gap=1 if console.width < ROOMY else 2))
            if table.note:
                console.print(table.note, style="italic", markup=False)
    for path in written:
        if path != STDOUT:
            typer.echo(f"Wrote {printable(str(path))}", err=aside)


def warn(sentences: Iterable[str]) -> None:
    """Print doubts to standard error."""
    for sentence in sentences:
        typer.echo(f"toggle-rs: warning: {printable(sentence)}", err=True)


def write(files: Iterable[tuple[Path | None, str | Callable[[Path], object]]]) -> list[Path]:
    """Write the files that were asked for: first of all, for a table may meet a closed pipe.

    Each is a text, or what writes it to a path.
    """
    asked = [(path, content) for path, content in files if path]
    for path, content in asked:
        with orderly(path):
            if not isinstance(content, str):
                content(path)
            elif path == STDOUT:
                typer.echo(content, nl=False)
            else:
                path.write_text(content, encoding="utf-8", newline="\n")
    return [path for path, _ in asked]


def _is_terminal(stream: TextIO | None) -> bool:
    """None is a stream that was closed before Python began."""
    return stream is not None and stream.isatty()


def _rich(table: Table, gap: int) -> RichTable:
    rich = RichTable(
        title=table.title,
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, gap - 1, 0, 0),
        pad_edge=False,
    )
    for i, name in enumerate(table.header):
        if i < table.texts:
            rich.add_column(name, overflow="fold")
        else:
            rich.add_column(name, justify="right", no_wrap=True)
    for row in table.rows:
        rich.add_row(*map(Text, map(printable, row)))
    return rich
