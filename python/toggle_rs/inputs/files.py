"""Folders and patterns to files."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_ENDINGS: Final = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson", ".parquet")
"""Files of a folder that are taken."""

_NO_ROLLOUTS: Final = "_metadata.jsonl"
"""open-instruct puts such a file beside its traces."""


def expand(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Files, each once, in order.

    A folder stands for all rollout files in it, a pattern such as `*.jsonl` for all that match, by
    name.

    Raises:
        OSError: A pattern or folder without a file.
    """
    return list(dict.fromkeys(file for path in paths for file in _files(Path(path))))


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        found = [file for file in sorted(path.iterdir()) if file.name.endswith(_ENDINGS)]
        found = [file for file in found if not file.name.endswith(_NO_ROLLOUTS)]
        wanted = "No file that ends in " + ", ".join(_ENDINGS)
    elif path.exists() or not glob.has_magic(str(path)):
        yield path  # What does not exist is named by who opens it.
        return
    else:
        # Not Path.glob: the pattern may be an absolute one.
        found = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207
        wanted = "No file matches"
    found = [file for file in found if not file.is_dir()]
    if not found:
        raise FileNotFoundError(errno.ENOENT, wanted, str(path))
    yield from found
