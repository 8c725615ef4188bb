"""Parquet files to columns, some rows at a time; needs the extra `parquet`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from toggle_rs import TraceError
from toggle_rs._core import _group_of_text
from toggle_rs.rollouts import Columns, gather

from .source import TRL_COLUMNS

if TYPE_CHECKING:
    from .source import Source

_ROWS: Final = 512
_BUFFER: Final = 1 << 20


class _CellError(ValueError):
    """A value that is none of its column."""


def read_parquet(path: Path, source: Source) -> Columns:
    """The columns of one file.

    Raises:
        TraceError: A column is missing or of the wrong type, or a value is out of range; or the
            file has no rows, or is damaged.
    """
    parts = []
    try:
        # Read as a stream: whole row groups would take memory in proportion to the file.
        with pq.ParquetFile(path, buffer_size=_BUFFER) as file:
            names = _names(path, file.schema_arrow, source)
            row = 0
            for batch in file.iter_batches(_ROWS, columns=list(dict.fromkeys(names.values()))):
                parts.append(_part(path, batch, names, source, row))
                row += len(batch)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        first = str(error).partition("\n")[0]
        raise TraceError(f"{path}: damaged Parquet file: {first}") from error
    if row == 0:
        raise TraceError(f"{path}: no rollouts")
    return gather(parts, is_numbered=source.is_numbered)


def _names(path: Path, schema: pa.Schema, source: Source) -> dict[str, str]:
    """The columns that there must be, the open one found."""
    names = dict(source.columns)
    if "reward" not in names:
        others = [field.name for field in schema if field.name not in TRL_COLUMNS]
        rewards = [name for name in others if pa.types.is_floating(schema.field(name).type)]
        if len(rewards) != 1:
            listed = ", ".join(rewards) or "none"
            raise TraceError(
                f"{path}: which column is the reward? Name it: --columns reward=NAME; "
                f"columns of floats: {listed}"
            )
        names["reward"] = rewards[0]
    for name in names.values():
        if name not in schema.names:
            raise TraceError(f"{path}: column '{name}' is missing")
        if schema.names.count(name) > 1:
            raise TraceError(f"{path}: there are several columns '{name}'")
    return names


def _part(
    path: Path, batch: pa.RecordBatch, names: dict[str, str], source: Source, first: int
) -> Columns:
    readers: dict[str, Callable[[Any], Any]] = {
        "step": _index,
        "sample": _index,
        "group": _group,
        "reward": _reward,
        "length": {"tokens": _tokens, "words": _words, "characters": _characters}[source.count],
        "dataset": _key,
    }
    values: dict[str, list[Any]] = {}
    for column, name in names.items():
        array = batch.column(name)
        if column == "length" and source.count == "tokens" and not array.null_count:
            array = _lengths_of_lists(array)
        values[column] = [
            _cell(readers[column], value, f"{path}, row {first + i}: column '{name}'")
            for i, value in enumerate(array.to_pylist(), 1)
        ]
    return _columns(values, values.get("sample"), values.get("dataset"))


def _cell(read: Callable[[Any], Any], value: Any, place: str) -> Any:
    try:
        return read(value)
    except _CellError as error:
        raise TraceError(f"{place}: {error}") from None


def _lengths_of_lists(array: pa.Array) -> pa.Array:
    """Without a look at what is in the lists."""
    is_list = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
    return array.value_lengths() if is_list else array


def _columns(
    values: dict[str, list[Any]], samples: list[int] | None, keys: list[tuple[str, ...]] | None
) -> Columns:
    rows = len(values["step"])
    numbers = {key: i for i, key in enumerate(dict.fromkeys(keys or [("all",)]))}
    return Columns(
        step=np.array(values["step"], np.int64),
        sample=np.arange(rows) if samples is None else np.array(samples, np.int64),
        group=np.array(values["group"], np.int64),
        dataset=np.array([numbers[key] for key in keys or [("all",)] * rows], np.uint32),
        length=np.array(values["length"], np.int64),
        reward=np.array(values["reward"], np.float64),
        names=tuple(numbers),
    )


def _index(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        return value
    raise _CellError(f"got {_short(value)}, expected an integer >= 0")


def _group(value: Any) -> int:
    """An integer, or a number made of a text or of messages."""
    if isinstance(value, int):
        return _index(value)
    if value is None or isinstance(value, float):  # NaN is what pandas makes of None.
        raise _CellError(f"got {value}, expected an integer or a text")
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return _group_of_text(text)


def _reward(value: Any) -> float:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise _CellError(f"got {_short(value)}, expected a finite number")


def _tokens(value: Any) -> int:
    if isinstance(value, str):
        raise _CellError("got a text, which holds no tokens: count its words or characters")
    return _index(value)


def _words(value: Any) -> int:
    return sum(len(text.split()) for text in _texts(value))


def _characters(value: Any) -> int:
    return sum(map(len, _texts(value)))


def _texts(value: Any) -> list[str]:
    """A text, or the content of messages."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(message, dict) for message in value):
        contents = [message.get("content") for message in value]
        if all(isinstance(content, str | None) for content in contents):
            return [content for content in contents if content is not None]
    raise _CellError(f"got {_short(value)}, expected a text")


def _key(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise _CellError(f"got {_short(value)}, expected a text or a list of texts")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"  # noqa: PLR2004 - a line's worth
