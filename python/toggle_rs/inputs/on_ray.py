"""Files read by the processors of a Ray cluster; needs Ray."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import ray
from ray.exceptions import RayError, RayTaskError

from toggle_rs import TraceError

from .read import read_part

if TYPE_CHECKING:
    from toggle_rs.rollouts import Columns

    from .source import Source


def read_parts(paths: list[Path], source: Source, address: str) -> Iterator[Columns]:
    """The columns of each file, in order. The workers must see the files under the same paths.

    An error is that of the first file that has one, as without Ray. A cluster that this call
    started or joined is left again.
    """
    joined = not ray.is_initialized()
    if joined:
        _join(address)
    try:
        task = ray.remote(read_part)
        # From where this process stands: a worker stands elsewhere.
        jobs = [task.remote(Path(os.path.abspath(path)), source) for path in paths]  # noqa: PTH100 - links stay
        yield from map(_result, paths, jobs)
    finally:
        if joined:
            ray.shutdown()


def _join(address: str) -> None:
    options = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise TraceError(f"no Ray cluster at {address}: {_last_line(error)}") from error


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def _result(path: Path, job: ray.ObjectRef[Columns]) -> Columns:
    try:
        columns: Columns = ray.get(job)
    except RayTaskError as error:
        raise error.cause from None  # What `read_part` raised, without Ray's own lines.
    except RayError as error:
        raise TraceError(f"{path}: Ray could not read it: {_last_line(error)}") from error
    return columns
