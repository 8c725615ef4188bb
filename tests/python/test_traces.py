"""Trace files as columns: the binding. Files of every kind of dirt are the Rust tests' matter."""

from __future__ import annotations

import gzip
import json
import math
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toggle_rs import Rollouts, TraceError, read_traces

Row = dict[str, Any]
SAMPLE = sorted((Path(__file__).parents[2] / "examples").glob("rollouts_*.jsonl.gz"))


def row(step: int, sample: int, **fields: Any) -> Row:
    return {
        "step": step,
        "sample_idx": sample,
        "prompt_idx": sample // 2,
        "response_tokens": [1, 2, 3],
        "reward": 1.0,
        "dataset": "math",
        "logprobs": [math.nan],
    } | fields


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: Row, name: str = "rollouts.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def test_columns_equal_those_of_the_standard_library() -> None:
    got = read_traces(SAMPLE[::-1])
    lines = (line for path in SAMPLE for line in gzip.decompress(path.read_bytes()).splitlines())
    rows = [json.loads(line) for line in lines]
    rows.sort(key=lambda row: (row["step"], row["sample_idx"]))
    assert len(got) == len(rows) == 5120
    for column, field in [("step", "step"), ("sample", "sample_idx"), ("group", "prompt_idx")]:
        values = getattr(got, column)
        assert values.dtype == np.int64
        np.testing.assert_array_equal(values, [row[field] for row in rows])
    np.testing.assert_array_equal(got.reward, [row["reward"] for row in rows])
    np.testing.assert_array_equal(got.length, [len(row["response_tokens"]) for row in rows])
    assert got.reward.dtype == np.float64
    assert got.length.dtype == np.int64
    names = [row["dataset"] for row in rows]
    names = [(name,) if isinstance(name, str) else tuple(name) for name in names]
    assert [got.names[index] for index in got.dataset] == names
    assert (got.repeated, got.torn) == (0, 0)


def test_repeated_and_torn_rows_are_counted(write: Callable[..., Path]) -> None:
    path = write(row(0, 0, reward=0), row(0, 0, reward=0.5))
    path.write_text(path.read_text() + '{"step": 0, "resp')
    got = read_traces([path])
    assert (got.reward.tolist(), got.repeated, got.torn) == ([0.5], 1, 1)
    assert repr(got) == "<Rollouts: 1 rows, 1 datasets>"


def test_words_that_are_no_unicode_are_refused(write: Callable[..., Path]) -> None:
    path = write(row(0, 0))
    (name,) = np.array([0x110000] * 2, "u4").view("U2").tolist()
    columns = {
        "step": "step",
        "group": "prompt_idx",
        "reward": "reward",
        "length": "response_tokens",
    }
    assert len(read_traces([path], columns=columns)) == 1
    for bad in (columns | {name: "x"}, columns | {"step": name}):
        with pytest.raises(ValueError, match="expected valid Unicode"):
            read_traces([path], columns=bad)
    with pytest.raises(ValueError, match="expected valid Unicode"):
        read_traces([path], count=name)


@pytest.mark.parametrize("kind", [str, Path])
def test_a_single_path_is_refused(write: Callable[..., Path], kind: type) -> None:
    path: Any = kind(write(row(0, 0)))
    with pytest.raises(TypeError, match="^paths: got .*, expected a list or tuple of paths$"):
        read_traces(path)


def test_a_damaged_line_is_a_value_error_that_names_file_and_line(
    write: Callable[..., Path],
) -> None:
    path = write(row(0, 0), row(0, 1, reward=math.nan))
    with pytest.raises(TraceError) as caught:
        read_traces([path])
    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == (
        f"{path}, line 2: field 'reward': got NaN, expected a finite number"
    )


def test_files_without_rollouts_are_an_error(write: Callable[..., Path]) -> None:
    for files in ([write(name="a")], [SAMPLE[0], write(name="a")]):
        with pytest.raises(TraceError) as caught:
            read_traces(files)
        assert str(caught.value) == f"{files[-1]}: no rollouts"
    with pytest.raises(TraceError, match=r"^no trace files$"):
        read_traces([])


def test_what_cannot_be_opened_is_an_os_error(tmp_path: Path) -> None:
    absent = tmp_path / "absent.jsonl"
    with pytest.raises(FileNotFoundError) as missing:
        read_traces([absent])
    assert missing.value.filename == str(absent)
    assert missing.value.strerror == "No such file or directory"
    with pytest.raises(IsADirectoryError):
        read_traces([str(tmp_path)])


@pytest.mark.parametrize("paths", ["a/path", [3], None])
def test_paths_are_a_list_of_paths(paths: Any) -> None:
    with pytest.raises(TypeError):
        read_traces(paths)


def test_progress_adds_up_to_the_size_of_the_files() -> None:
    calls: list[int] = []
    read_traces(SAMPLE, progress=calls.append)
    assert sum(calls) == sum(path.stat().st_size for path in SAMPLE)
    assert len(calls) > len(SAMPLE)


def test_an_error_of_the_callback_ends_the_reading() -> None:
    def stop(_: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        read_traces(SAMPLE, progress=stop)


def test_an_interrupt_ends_the_reading() -> None:
    # A shell starts what runs in the background with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            read_traces(SAMPLE, progress=lambda _: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)


def test_rollouts_are_made_by_reading_only() -> None:
    with pytest.raises(TypeError):
        Rollouts()
