"""What `toggle-rs inspect` shows is what the object says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import toggle_rs
from toggle_rs import Toggle
from toggle_rs.commands import app

GOLDEN = sorted((Path(__file__).parents[1] / "data").glob("snapshot-v1-*"))


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, ["inspect", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_each_class_is_shown(path: Path, tmp_path: Path) -> None:
    name = path.name.split("-")[2]
    state = getattr(toggle_rs, name).from_bytes(path.read_bytes())
    result = run(path, "--json", tmp_path / "held.json")
    assert (result.exit_code, result.stderr) == (0, "")
    # A line is broken where the path is long.
    said = " ".join(result.stdout.split())
    assert f"{name}, {state.nbytes:,} bytes in memory" in said
    held = json.loads((tmp_path / "held.json").read_text())
    assert (held["class"], held["nbytes"]) == (name, state.nbytes)
    if hasattr(state, "budgets"):
        assert {tuple(key["key"]): key["count"] for key in held["keys"]} == state.counts()
        budgets = {tuple(key["key"]): key["budget"] for key in held["keys"] if key["budget"]}
        assert budgets == state.budgets()
        assert held["settings"]["lambda_"] == state.settings["lambda_"] if name == "Toggle" else 0.7
        assert held["settings"]["estimator"].startswith(path.name.split("-")[3] + "(")
    else:
        empty = getattr(toggle_rs, name)(**held["settings"])
        assert repr(empty) == repr(state).replace(f"count={state.count}", "count=0")
        assert (held["count"], held["min"], held["max"]) == (state.count, state.min, state.max)
        for p, value in held["percentiles"].items():
            assert value == state.percentile(float(p))


def test_the_keys_with_most_are_shown(tmp_path: Path) -> None:
    toggle = Toggle(m=1, lambda_=0.5, percentile=50)
    for i in range(30):
        toggle.observe([f"key-{i:02}[red]"] * (i + 1), np.full(i + 1, 10 * i), np.ones(i + 1))
    toggle.save(tmp_path / "toggle")
    result = run(tmp_path / "toggle", "--rows", "2")
    assert [line.split() for line in result.stdout.splitlines() if "key-" in line] == [
        ["key-29[red]", "30", "290"],
        ["key-28[red]", "29", "280"],
    ]
    assert "The 2 keys with most of 30." in result.stdout


def test_what_is_no_checkpoint_is_one_line(tmp_path: Path) -> None:
    data = GOLDEN[0].read_bytes()
    for name, content in {
        "empty": b"",
        "text": b"hello",
        "cut": data[:-3],
        "changed": data[:-6] + b"??" + data[-4:],
        "longer": data + b"x",
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        result = run(path)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"toggle-rs: {path}: not a valid snapshot: ")
        assert result.stderr.count("\n") == 1
    for path in (tmp_path / "absent", tmp_path):
        result = run(path)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"toggle-rs: {path}: ")
