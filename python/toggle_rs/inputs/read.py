"""Files of several kinds to one set of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toggle_rs import TraceError, read_traces
from toggle_rs.rollouts import COLUMNS, Columns, gather

if TYPE_CHECKING:
    from toggle_rs.rollouts import RolloutColumns

    from .source import Source

_PARQUET: Final = b"PAR1"


def read_rollouts(
    paths: list[Path],
    source: Source,
    *,
    ray_address: str | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> RolloutColumns:
    """Read files in their order: JSON lines, plain, gzip or zstd, and Parquet, told by their bytes.

    Args:
        paths: The files. Where they repeat a sample of a step, the later file counts.
        source: Their columns.
        ray_address: A Ray cluster that reads a file on each of its processors, "auto" or "local"
            among others; without one, this process reads. The result is the same.
        progress: Called with the bytes of the files that were read since its last call.

    Raises:
        TraceError: A row is damaged, or a file holds not one rollout.
        OSError: A file cannot be read.
        ModuleNotFoundError: pyarrow or Ray is needed and not installed.
    """
    is_read_here = ray_address is None and not source.is_reward_open
    if not paths or (is_read_here and not any(map(_is_parquet, paths))):
        return read_traces(paths, columns=source.columns, count=source.count, progress=progress)
    parts: Iterable[Columns]
    if ray_address is None:
        parts = (read_part(path, source) for path in paths)
    else:
        from .on_ray import read_parts  # noqa: PLC0415 - ray may be missing, and is slow to load

        parts = read_parts(paths, source, ray_address)
    done = []
    for path, part in zip(paths, parts, strict=True):
        done.append(part)
        progress(path.stat().st_size)
    return gather(done, is_numbered=source.is_numbered)


def read_part(path: Path, source: Source) -> Columns:
    """One file."""
    if _is_parquet(path):
        from .parquet import read_parquet  # noqa: PLC0415 - pyarrow may be missing, and is slow

        return read_parquet(path, source)
    path.stat()  # What does not exist is no file of the wrong kind.
    if source.is_reward_open and "reward" not in source.columns:
        raise TraceError(
            f"{path}: it is no Parquet file, and of JSON lines the column of rewards has to be "
            "named: --columns reward=NAME"
        )
    rows = read_traces([path], columns=source.columns, count=source.count)
    columns = {name: getattr(rows, name) for name in COLUMNS}
    return Columns(**columns, names=rows.names, repeated=rows.repeated, torn=rows.torn)


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return False  # A pipe, from which a byte read is a byte lost; or nothing at all.
    with path.open("rb") as file:
        return file.read(len(_PARQUET)) == _PARQUET
