"""The command line: exit codes, messages, files written."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import toggle_rs
from toggle_rs import Toggle, read_traces
from toggle_rs.commands import app
from toggle_rs.replay import Settings, replay

PROJECT = Path(__file__).parents[2]
SAMPLE = [str(path) for path in sorted((PROJECT / "examples").glob("rollouts_*.jsonl.gz"))]
OPTIONS = ["--m", "5", "--lambda", "0.5", "--percentile", "80", "--warmup", "5"]


def line(sample: int = 0, prompt: int = 0) -> str:
    return (
        f'{{"step": 0, "sample_idx": {sample}, "prompt_idx": {prompt}, "response_tokens": [1], '
        '"reward": 1, "dataset": "math"}\n'
    )


LINE = line()


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    # Anything but an orderly exit would be a traceback for the user.
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_the_tables_hold_the_replay() -> None:
    result = run("replay", *SAMPLE, *OPTIONS)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("5,120 rollouts, 40 steps, 2 files\n")
    assert "math|competition     1,280" in result.stdout
    words = [line.split() for line in result.stdout.splitlines()]
    assert ["normal", "20", "2,560"] in [line[:3] for line in words]
    assert ["length", "penalty", "20", "2,560"] in [line[:4] for line in words]


def test_json_png_and_report_are_written(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("replay.json", "replay.png", "report.html")]
    options = zip(("--json", "--png", "--report"), paths, strict=True)
    result = run("replay", *SAMPLE, *OPTIONS, *(word for option in options for word in option))
    assert result.exit_code == 0
    data, png, page = (path.read_bytes() for path in paths)
    assert [step["step"] for step in json.loads(data)["steps"]] == list(range(40))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert b"math|competition" in page
    assert b"<svg" in page
    assert b"http" not in page  # It needs no network.


def test_a_dash_is_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    both, alone = run("replay", *SAMPLE, *OPTIONS, "--json", "-"), run("replay", *SAMPLE, *OPTIONS)
    assert (both.exit_code, both.stderr) == (0, alone.stdout)
    settings = Settings(m=5, lambda_=0.5, percentile=80, warmup_steps=5)
    assert json.loads(both.stdout) == replay(read_traces(SAMPLE), settings).to_json()
    sweep = ["sweep", *SAMPLE, *OPTIONS]
    result = run(*sweep, "--csv", "-", "--json", "figures.json")
    assert result.stdout.startswith("lambda,percentile,")
    assert result.stdout.count("\n") == 2
    assert result.stderr.endswith("Wrote figures.json\n")
    assert len(json.loads(run("simulate", "--steps", "1", "--json", "-").stdout)["ends"]) == 4
    Toggle(m=1, lambda_=0.5, percentile=50).save("toggle.bin")
    assert json.loads(run("inspect", "toggle.bin", "--json", "-").stdout)["class"] == "Toggle"
    for words in (["--png", "-"], ["--report", "-"], ["--json", "-", "--csv", "-"]):
        result = run(*sweep, *words)
        assert (result.exit_code, result.stdout) == (2, "")
    assert not Path("-").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pipe that closes")
def test_a_closed_pipe_is_no_message() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    to_stdout = command("replay", *SAMPLE, *OPTIONS, "--json", "-")
    done = subprocess.run(to_stdout, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk_is_one_line() -> None:
    for words, name in (
        ((), "standard output"),
        (("--json", "-"), "standard output"),
        (("--json", "/dev/full"), "/dev/full"),
    ):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                command("replay", *SAMPLE, *OPTIONS, *words),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        message = f"toggle-rs: {name}: No space left on device\n"
        assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_a_stream_may_be_closed_from_the_start() -> None:
    words = command("replay", *SAMPLE, *OPTIONS, "--json", "-")
    for shut in ("2>&-", ">&- 2>&-", ">&-"):
        shell = ["sh", "-c", f'"$@" {shut}', "sh", *words]
        done = subprocess.run(shell, capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False)
        assert bool(done.stdout) == (shut == "2>&-")


def test_no_name_is_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "[red]x:smile:"
    Path(name).write_text(LINE.replace("math", name))
    result = run("replay", name, *OPTIONS, "--json", "[bold]:+1:.json")
    assert name in result.stdout
    assert result.stdout.endswith("Wrote [bold]:+1:.json\n")
    Toggle(m=1, lambda_=0.5, percentile=50).save(name)
    assert run("inspect", name).stdout.startswith(name + ": Toggle, ")
    assert run("replay", name, *OPTIONS).stderr.startswith(f"toggle-rs: {name}, line 1: ")
    for words in (["--columns", name], ["--estimator", name], ["--count", name], [f"--{name}"]):
        assert name in run("replay", "absent", *OPTIONS, *words).stderr


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(LINE, encoding="utf-8-sig")
    assert run("replay", path, *OPTIONS).stdout.startswith("1 rollout, 1 step, 1 file\n")


def test_names_of_any_kind_and_number_are_drawn(tmp_path: Path) -> None:
    rollouts, picture = tmp_path / "rollouts.jsonl", tmp_path / "replay.png"
    names = ["", "_hidden", "$x^{$", "<b>", "[red]", *(f"long-{'name-' * 9}{i}" for i in range(30))]
    with rollouts.open("w") as file:
        for i, name in enumerate(names):
            file.write(line(sample=i, prompt=i).replace('"math"', json.dumps(name)))
    options = [*OPTIONS, "--warmup", "0", "--start-phase", "length_penalty"]
    result = run("replay", rollouts, *options, "--png", picture)
    assert (result.exit_code, result.stderr) == (0, "")
    assert picture.stat().st_size > 0
    assert "[red]" in result.stdout


def test_a_dataset_does_not_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(LINE.replace('"math"', r'"ma\u001b[31mth\n\u0007"'))
    result = run("replay", path, *OPTIONS)
    assert result.exit_code == 0
    assert r"ma\x1b[31mth\n\x07 " in result.stdout


def test_the_estimator_keeps_the_budgets_and_is_named(tmp_path: Path) -> None:
    path, page = tmp_path / "replay.json", tmp_path / "report.html"
    options: list[str | Path] = ["--estimator", "window:300", "--json", path, "--report", page]
    assert run("replay", *SAMPLE, *OPTIONS, *options).exit_code == 0
    settings = Settings(m=5, lambda_=0.5, percentile=80, warmup_steps=5, estimator="window:300")
    assert json.loads(path.read_text()) == replay(read_traces(SAMPLE), settings).to_json()
    assert "warm-up = 5, window:300" in page.read_text()


def test_each_option_of_toggle_reaches_it(tmp_path: Path) -> None:
    path = tmp_path / "replay.json"
    words = ["--start-phase", "length_penalty", "--freeze", "first", "--min-samples", "20"]
    words += ["--penalty", "cap_at_zero", "--budget-from", "earlier-steps", "--filter", "before"]
    result = run("replay", *SAMPLE, *OPTIONS, *words, "--max-score", "0.5", "--json", path)
    assert result.exit_code == 0
    settings = Settings(
        m=5,
        lambda_=0.5,
        percentile=80,
        warmup_steps=5,
        start_phase="length_penalty",
        freeze="first",
        min_samples=20,
        penalty="cap_at_zero",
        budget_from="earlier-steps",
        filter="before",
        max_score=0.5,
    )
    assert json.loads(path.read_text()) == replay(read_traces(SAMPLE), settings).to_json()
    assert "Toggle: λ = 0.5, percentile = 80, m = 5" in result.stdout


def test_the_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"toggle-rs {toggle_rs.__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["replay", "--help"]])
def test_help(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 0
    assert "Usage: toggle-rs" in result.stdout or "Usage: root" in result.stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--percentile", "101"],
        ["--percentile", "-1"],
        ["--percentile", "nan"],
        ["--lambda", "nan"],
        ["--lambda", "inf"],
        ["--lambda", "half"],
        ["--m", "0"],
        ["--m", "-3"],
        ["--m", "2.5"],
        ["--m", str(2**64)],
        ["--warmup", "-1"],
        ["--max-score", "0"],
        ["--max-score", "-1"],
        ["--max-score", "nan"],
        ["--max-score", "inf"],
        ["--min-samples", "0"],
        ["--start-phase", "penalty"],
        ["--freeze", "always"],
        ["--penalty", "one"],
        ["--budget-from", "later-steps"],
        ["--filter", "between"],
        ["--estimator", "nope"],
        ["--estimator", "window:0"],
        ["--estimator", "decay:nan"],
        ["--estimator", "decay:1.7e308"],
        ["--m", str(2**63)],
        ["--warmup", str(2**63)],
        ["--nothing"],
    ],
)
def test_a_bad_option_is_a_usage_error(options: list[str]) -> None:
    # The file is absent: options are checked before any file is opened.
    result = run("replay", "absent.jsonl", *OPTIONS, *options)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


@pytest.mark.parametrize(
    "arguments", [[], OPTIONS, [*SAMPLE, *OPTIONS[2:]], [*SAMPLE, *OPTIONS[:2]], ["nothing"]]
)
def test_a_missing_argument_is_a_usage_error(arguments: list[str]) -> None:
    assert run("replay", *arguments).exit_code == 2
    assert run("nothing").exit_code == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "{path}: no rollouts"),
        (LINE.encode()[:-20], "{path}: no rollouts"),
        (b"[]\n", "{path}, line 1: expected object but found array at column 1"),
        (
            (LINE + LINE.replace('"reward": 1', '"reward": NaN')).encode(),
            "{path}, line 2: field 'reward': got NaN, expected a finite number",
        ),
        (LINE.encode() + b"\xff\n", "{path}, line 2: not UTF-8 at column 1"),
        (gzip.compress(LINE.encode())[:-4], "{path}, line 2: damaged gzip stream"),
        (
            (LINE + line(sample=1, prompt=1) + line(sample=2, prompt=1)).encode(),
            "step 0: groups differ in size (1 of 1 samples, 1 of 2 samples)",
        ),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "[bold]rollouts.jsonl"
    path.write_bytes(content)
    result = run("replay", path, *OPTIONS)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("toggle-rs: " + message.replace("{path}", str(path)))
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["replay", *OPTIONS], ["inspect"]])
def test_a_name_that_does_not_print_is_still_one_line(command: list[str]) -> None:
    name = "no\nsuch\tfile\x07\u2028é"
    result = run(*command, name)
    assert result.exit_code == 1
    shown = r"no\nsuch\tfile\x07\u2028é"
    assert result.stderr == f"toggle-rs: {shown}: No such file or directory\n"


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    absent = tmp_path / "absent" / "file"
    result = run("replay", absent, *OPTIONS)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"toggle-rs: {absent}: No such file or directory\n"
    for option in ("--json", "--png", "--report"):
        result = run("replay", *SAMPLE, *OPTIONS, option, absent)
        assert result.exit_code == 1
        assert result.stderr == f"toggle-rs: {absent}: No such file or directory\n"


def test_doubts_are_said_and_the_replay_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_text(LINE + LINE + LINE[:40])
    result = run("replay", path, *OPTIONS, "--max-score", "10")
    assert result.exit_code == 0
    assert result.stderr.startswith("toggle-rs: warning: no reward reaches the maximum score 10")
    assert result.stdout.startswith(
        "1 rollout, 1 step, 1 file; 1 repeated by later rows; 1 torn last line left out\n"
    )


def test_a_sample_counted_within_its_group_is_doubted(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_text("".join(line(sample=i, prompt=p) for p in range(3) for i in range(2)))
    result = run("replay", path, *OPTIONS)
    assert result.exit_code == 0
    assert result.stderr.startswith("toggle-rs: warning: 4 of 6 rows have the step and the sample ")


def test_files_that_are_no_traces_lead_to_the_option(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_text('{"iteration": 0}\n')
    said = run("replay", path, *OPTIONS).stderr
    assert said.startswith(f"toggle-rs: {path}, line 1: field ")
    assert said.endswith("files other than open-instruct's traces need --format or --columns\n")
    named = "step=it,group=group,reward=reward,length=length"
    assert "--columns" not in run("replay", path, *OPTIONS, "--columns", named).stderr


def test_a_fraction_for_a_percentile_is_doubted() -> None:
    said = run("replay", *SAMPLE, "--m", "5", "--lambda", "0.5", "--percentile", "0.8").stderr
    assert said == "toggle-rs: warning: percentile=0.8 is below 1: percentiles go from 0 to 100\n"


@pytest.mark.parametrize(
    ("module", "arguments", "extra"),
    [
        ("typer", ["--help"], "cli"),
        ("rich", ["--help"], "cli"),
        ("matplotlib", ["replay", *SAMPLE, *OPTIONS, "--png", "x.png"], "report"),
    ],
)
def test_a_missing_extra_is_one_line(
    tmp_path: Path, module: str, arguments: list[str], extra: str
) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from toggle_rs.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-I", "-c", code, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (1, "")
    message = f'toggle-rs: {module} is missing: pip install "toggle-rs[{extra}]"\n'
    assert result.stderr == message


def command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("toggle-rs")), *arguments]


def test_the_installed_command_runs() -> None:
    done = subprocess.run(command("replay", *SAMPLE, *OPTIONS), capture_output=True, check=True)
    assert done.stdout.startswith(b"5,120 rollouts")
    assert done.stderr == b""  # No progress bar: this is no terminal.


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_module_is_the_command() -> None:
    options = ["replay", *map(str, SAMPLE), *OPTIONS]
    module = [sys.executable, "-I", "-m", "toggle_rs"]
    ways = [command(*options), [*module, *options]]
    first, second = [subprocess.run(way, capture_output=True, check=True) for way in ways]
    assert first.stdout == second.stdout != b""


def test_a_terminal_gets_a_progress_bar() -> None:
    pty = importlib.import_module("pty")  # There is none on Windows.
    terminal, end = pty.openpty()
    with subprocess.Popen(
        command("replay", *SAMPLE, *OPTIONS),
        stdout=subprocess.DEVNULL,
        stderr=end,
        env={**os.environ, "TERM": "xterm"},
    ) as process:
        os.close(end)
        shown = b""
        # Linux reports the end of what a terminal shows as an error.
        with os.fdopen(terminal, "rb", buffering=0) as screen, contextlib.suppress(OSError):
            while chunk := screen.read(4096):
                shown += chunk
    assert process.returncode == 0
    assert b"Reading" in shown


@pytest.fixture
def made(tmp_path: Path) -> Callable[[], list[bytes]]:
    def make() -> list[bytes]:
        script = PROJECT / "examples" / "make_rollouts.py"
        subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)
        return [path.read_bytes() for path in sorted(tmp_path.iterdir())]

    return make


def test_the_sample_is_what_its_script_makes(made: Callable[[], list[bytes]]) -> None:
    shipped = [Path(path).read_bytes() for path in SAMPLE]
    assert sum(map(len, shipped)) < 300_000
    # Another build of zlib may pack the same lines in other bytes.
    assert list(map(gzip.decompress, made())) == list(map(gzip.decompress, shipped))
