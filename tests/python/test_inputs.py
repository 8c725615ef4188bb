"""Rollouts from files of every kind that is read: the same columns, or one line that says where."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from typer.testing import CliRunner, Result

from toggle_rs import TraceError, read_traces
from toggle_rs.commands import app
from toggle_rs.inputs import FORMATS, Source, expand, read_rollouts
from toggle_rs.rollouts import COLUMNS, Columns, RolloutColumns, gather

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLE = sorted(EXAMPLES.glob("rollouts_*.jsonl.gz"))
OPTIONS = ["--m", "1", "--lambda", "0.5", "--percentile", "80"]
Row = dict[str, Any]


def assert_equal(got: RolloutColumns, expected: RolloutColumns) -> None:
    for name in COLUMNS:
        a, b = getattr(got, name), getattr(expected, name)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert (got.names, got.repeated, got.torn) == (
        expected.names,
        expected.repeated,
        expected.torn,
    )


def write_jsonl(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_parquet(path: Path, rows: list[Row], **options: Any) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


def sample_rows() -> list[Row]:
    rows = [
        json.loads(line)
        for path in SAMPLE
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    for row in rows:
        row["dataset"] = [row["dataset"]] if isinstance(row["dataset"], str) else row["dataset"]
        for unused in ("logprobs", "request_info", "prompt_tokens"):
            del row[unused]
    return rows


def test_zstd_and_parquet_are_read_like_the_plain_file(tmp_path: Path) -> None:
    rows = sample_rows()
    plain = write_jsonl(tmp_path / "a.jsonl", rows)
    packed = tmp_path / "a.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    parquet = write_parquet(tmp_path / "a.parquet", rows, row_group_size=700)
    expected = read_traces(SAMPLE)
    for path in (plain, packed, parquet):
        assert_equal(read_rollouts([path], Source()), expected)


def test_shards_of_any_kind_gather_as_one_reader_reads_them(tmp_path: Path) -> None:
    rows = sample_rows()[:2000]
    again = [row | {"reward": 0.25, "dataset": ["new"]} for row in rows[300:340]]
    parts = [rows[1200:], rows[:700], again[:7], rows[700:1200], again[7:]]
    lines = [write_jsonl(tmp_path / f"{i}.jsonl", part) for i, part in enumerate(parts)]
    lines[3].write_text(lines[3].read_text() + '{"step": 3, "sam')
    expected = read_traces(lines)
    assert (expected.repeated, expected.torn) == (40, 1)
    mixed = [*lines[:4], write_parquet(tmp_path / "4.parquet", parts[4])]
    assert_equal(read_rollouts(mixed, Source()), expected)
    assert_equal(gather([read_traces([path]) for path in lines]), expected)


def test_rows_without_a_number_are_numbered_as_they_come(tmp_path: Path) -> None:
    columns = {"step": "it", "group": "g", "reward": "r", "length": "n", "dataset": "d"}
    rows = [{"it": i % 3, "g": i // 4, "r": i % 2, "n": i, "d": "ab"[i % 2]} for i in range(24)]
    whole = read_rollouts([write_jsonl(tmp_path / "all", rows)], Source(columns))
    assert whole.repeated == 0
    parts = [
        write_jsonl(tmp_path / "0", rows[:10]),
        write_parquet(tmp_path / "1", rows[10:]),
    ]
    assert_equal(read_rollouts(parts, Source(columns)), whole)


TEXTS = ["one two  three\n", "", " é\tè ", "x"]


def verl_rows() -> list[Row]:
    """As verl 0.9.1 writes them, in its trainer's `_write_generations`."""
    return [
        {
            "input": f"user\nproblem {prompt}\nassistant\n",
            "output": TEXTS[sample],
            "gts": "42",
            "score": float(sample % 2),
            "step": step,
            "uid": f"{step}-{prompt}_{sample}_0",
        }
        for step in (1, 2)
        for prompt in (0, 1, 2)
        for sample in range(4)
    ]


@pytest.mark.parametrize(
    ("count", "lengths"), [("words", [3, 0, 2, 1]), ("characters", [15, 0, 5, 1])]
)
def test_dumps_of_verl(tmp_path: Path, count: Any, lengths: list[int]) -> None:
    rows = verl_rows()
    files = [
        write_jsonl(tmp_path / f"{n}.jsonl", [r for r in rows if r["step"] == n]) for n in (1, 2)
    ]
    got = read_rollouts(expand([tmp_path]), Source.of("verl", {}, count))
    assert files == expand([tmp_path])
    assert got.step.tolist() == [1] * 12 + [2] * 12
    assert got.length.tolist() == lengths * 6
    assert got.reward.tolist() == [0.0, 1.0] * 12
    assert got.names == (("all",),)
    for step in (1, 2):
        groups = got.group[got.step == step].reshape(3, 4)
        assert (groups == groups[:, :1]).all()
        assert len(set(groups[:, 0].tolist())) == 3


def trl_rows(*, is_chat: bool) -> list[Row]:
    """As TRL 1.16 writes them, in `GRPOTrainer.log`."""
    rows = []
    for prompt in (0, 1):
        for sample in range(4):
            asked: Any = f"problem {prompt}"
            told: Any = TEXTS[sample]
            if is_chat:
                asked = [{"role": "user", "content": asked}]
                told = [{"role": "assistant", "content": told}, {"role": "tool", "content": None}]
            rows.append(
                {
                    "step": 7,
                    "prompt": asked,
                    "completion": told,
                    "accuracy_reward": float(sample % 2),
                    "advantage": 0.1,
                }
            )
    return rows


@pytest.mark.parametrize("is_chat", [False, True])
@pytest.mark.parametrize(
    ("count", "lengths"), [("words", [3, 0, 2, 1]), ("characters", [15, 0, 5, 1])]
)
def test_completions_of_trl(
    tmp_path: Path, count: Any, lengths: list[int], *, is_chat: bool
) -> None:
    path = write_parquet(tmp_path / "completions_00007.parquet", trl_rows(is_chat=is_chat))
    got = read_rollouts([path], Source.of("trl", {}, count))
    assert (got.step.tolist(), got.length.tolist()) == ([7] * 8, lengths * 2)
    assert got.reward.tolist() == [0.0, 1.0] * 4
    assert len(set(got.group[:4].tolist())) == len(set(got.group[4:].tolist())) == 1
    assert got.group[0] != got.group[4]


def test_several_rewards_of_trl_need_a_name(tmp_path: Path) -> None:
    rows = [row | {"format_reward": 1.0} for row in trl_rows(is_chat=False)]
    path = write_parquet(tmp_path / "c.parquet", rows)
    with pytest.raises(TraceError, match=r"columns of floats: accuracy_reward, format_reward$"):
        read_rollouts([path], Source.of("trl", {}, "words"))
    source = Source.of("trl", {"reward": "format_reward"}, "words")
    assert read_rollouts([path], source).reward.tolist() == [1.0] * 8


NAMED = dict(zip(FORMATS["open-instruct"], FORMATS["open-instruct"], strict=True))
GOOD: Row = {"step": 0, "sample": 1, "group": 2, "dataset": "a", "reward": 1.0, "length": 3}


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("step", -1, "column 'step': got -1, expected an integer >= 0"),
        ("step", 0.5, "column 'step': got 0.5, expected an integer >= 0"),
        ("step", None, "column 'step': got None, expected an integer >= 0"),
        ("sample", True, "column 'sample': got True, expected an integer >= 0"),
        ("group", None, "column 'group': got None, expected an integer or a text"),
        ("group", 1.0, "column 'group': got 1.0, expected an integer or a text"),
        ("group", float("nan"), "column 'group': got nan, expected an integer or a text"),
        ("group", -5, "column 'group': got -5, expected an integer >= 0"),
        ("reward", float("nan"), "column 'reward': got nan, expected a finite number"),
        ("reward", None, "column 'reward': got None, expected a finite number"),
        ("length", None, "column 'length': got None, expected an integer >= 0"),
        ("length", "text", "column 'length': got a text, which holds no tokens"),
        ("dataset", 3, "column 'dataset': got 3, expected a text or a list of texts"),
        ("dataset", ["a", None], "column 'dataset': got ['a', None], expected a text"),
    ],
)
def test_a_bad_cell_of_parquet_names_file_and_row(
    tmp_path: Path, column: str, value: Any, message: str
) -> None:
    path = write_parquet(tmp_path / "p", [GOOD | {column: value}])
    with pytest.raises(TraceError) as caught:
        read_rollouts([path], Source(NAMED))
    assert str(caught.value).startswith(f"{path}, row 1: {message}")


def test_rows_are_counted_over_the_whole_file(tmp_path: Path) -> None:
    rows = [GOOD] * 1300 + [GOOD | {"length": -1}]
    path = write_parquet(tmp_path / "p", rows, row_group_size=400)
    with pytest.raises(TraceError, match=r"p, row 1301: column 'length': got -1"):
        read_rollouts([path], Source(NAMED))


def test_a_parquet_file_may_lack_columns_rows_or_its_end(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "p", [{"step": 0}])
    with pytest.raises(TraceError, match=r"p: column 'sample' is missing$"):
        read_rollouts([path], Source(NAMED))
    table = pa.Table.from_pylist([GOOD])
    pq.write_table(table.append_column("step", [[1]]), path)
    with pytest.raises(TraceError, match=r"p: there are several columns 'step'$"):
        read_rollouts([path], Source(NAMED))
    path = write_parquet(tmp_path / "p", [GOOD])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TraceError, match=r"p: damaged Parquet file: "):
        read_rollouts([path], Source(NAMED))
    pq.write_table(pa.Table.from_pylist([GOOD]).slice(0, 0), path)
    good = write_parquet(tmp_path / "q", [GOOD])
    for files in ([path], [good, path]):
        with pytest.raises(TraceError, match=r"p: no rollouts$"):
            read_rollouts(files, Source(NAMED))


def test_groups_named_by_a_text_meet_across_kinds_of_files(tmp_path: Path) -> None:
    row = {"step": 0, "prompt_idx": "½ + ½?", "dataset": "a", "reward": 1.0}
    rows = [row | {"sample_idx": i, "response_tokens": [1, 2]} for i in range(4)]
    half = write_jsonl(tmp_path / "a.jsonl", rows[:2])
    other = write_parquet(tmp_path / "b.parquet", rows[2:])
    assert len(set(read_rollouts([half, other], Source()).group.tolist())) == 1


def test_memory_stays_flat_in_the_size_of_a_parquet_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = 3000
    columns: dict[str, Any] = {name: np.arange(rows) for name in ("step", "group")}
    columns["reward"] = np.ones(rows)
    tokens = pa.array(rng.integers(0, 2**40, rows * 8000))
    columns["length"] = pa.ListArray.from_arrays(np.arange(0, rows * 8000 + 1, 8000), tokens)
    path = tmp_path / "p"
    pq.write_table(pa.table(columns), path, row_group_size=200)
    assert path.stat().st_size > 120e6
    code = """
import resource, sys
from pathlib import Path
from toggle_rs.inputs import Source, read_rollouts
import pyarrow.parquet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
names = {name: name for name in ("step", "group", "reward", "length")}
assert read_rollouts([Path(sys.argv[1])], Source(names)).length.tolist() == [8000] * 3000
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 100  # megabytes


def test_folders_and_patterns_stand_for_their_files(tmp_path: Path) -> None:
    names = ["b.jsonl", "a.jsonl.gz", "c.parquet", "[x].jsonl", "run_metadata.jsonl", "notes.txt"]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "d.jsonl").mkdir()
    taken = [tmp_path / name for name in ("[x].jsonl", "a.jsonl.gz", "b.jsonl", "c.parquet")]
    assert expand([tmp_path]) == taken
    assert expand([tmp_path / "*.jsonl*"]) == [*taken[:3], tmp_path / "run_metadata.jsonl"]
    # A file of that name comes before the pattern; each file comes once, where it comes first.
    assert expand([tmp_path / "[x].jsonl", taken[2], tmp_path]) == [
        taken[0],
        taken[2],
        taken[1],
        taken[3],
    ]
    assert expand([tmp_path / "absent.jsonl"]) == [tmp_path / "absent.jsonl"]
    for empty in (tmp_path / "d.jsonl", tmp_path / "*.csv"):
        with pytest.raises(FileNotFoundError) as caught:
            expand([empty])
        assert caught.value.filename == str(empty)


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, ["replay", *map(str, arguments), *OPTIONS])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_the_command_reads_them_and_names_the_unit(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "1.jsonl", verl_rows())
    result = run(tmp_path, "--format", "verl", "--count", "words")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("24 rollouts, 2 steps, 1 file\n")
    assert "in words" in result.stdout
    assert "tokens" not in result.stdout
    path = write_jsonl(tmp_path / "2.jsonl", [{"a": 1, "b": 2, "c": 1, "d": 3}])
    names = "step=a,group=b,reward=c,length=d"
    assert run(path, "--columns", names).stdout.startswith("1 rollout, 1 step, 1 file\n")
    names = "step=b,group=a"
    assert run(tmp_path / "1.jsonl", "--format", "verl", "--columns", names).exit_code == 2


def test_json_lines_as_of_trl_need_the_name_of_the_reward(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "1.jsonl", verl_rows())
    result = run(path, "--format", "trl", "--count", "words")
    assert result.exit_code == 1
    assert result.stderr.rstrip().endswith("named: --columns reward=NAME")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "verl"], "format verl holds texts and no tokens"),
        (["--format", "trl"], "format trl holds texts and no tokens"),
        (["--format", "nope"], "'nope'"),
        (["--count", "tokens"], "'tokens'"),
        (["--columns", "step=a"], "columns: group is missing"),
        (["--columns", "steps=a"], "columns: got 'steps'"),
        (["--columns", "step=a,step=b"], "is not a list such as"),
        (["--columns", "step"], "is not a list such as"),
        (["--columns", "step="], "is not a list such as"),
    ],
)
def test_a_bad_option_is_a_usage_error(options: list[str], message: str) -> None:
    result = run("absent.jsonl", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("module", ["pyarrow", "ray"])
def test_a_missing_package_is_one_line(tmp_path: Path, module: str) -> None:
    path = write_parquet(tmp_path / "p", [GOOD])
    code = f"import sys; sys.modules[{module!r}] = None; from toggle_rs.cli import main; main()"
    ray = ["--ray", "local"] if module == "ray" else []
    done = subprocess.run(
        [sys.executable, "-c", code, "replay", str(path), *OPTIONS, *ray],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"toggle-rs: {module} is missing: pip install")
    assert done.stderr.count("\n") == 1


def test_columns_of_python_have_the_length_of_their_rows() -> None:
    whole = read_traces(SAMPLE)
    columns = Columns(**{name: getattr(whole, name) for name in COLUMNS}, names=whole.names)
    assert len(columns) == len(whole)


@pytest.mark.parametrize(
    ("columns", "count", "message"),
    [
        ({"step": "a"}, "tokens", "columns: the field of 'group' is missing"),
        ({"steps": "a"}, "tokens", "columns: the field of 'step' is missing"),
        (NAMED | {"x": "y"}, "tokens", "columns: got 'x', expected step, sample"),
        (NAMED, "bytes", "count: got 'bytes', expected tokens, words or characters"),
    ],
)
def test_read_traces_checks_its_columns(columns: dict[str, str], count: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_traces(SAMPLE, columns=columns, count=count)
