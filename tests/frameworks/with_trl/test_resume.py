"""Killed and resumed, a run ends as the unbroken one; in processes of their own."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import expected
from run import GROUP, SETTINGS, STEPS

HERE = Path(__file__).parent
KILLED_AT, CHECKPOINT = 7, 6
Call = dict[str, Any]


def run(folder: Path, *options: str, ranks: int = 1) -> subprocess.CompletedProcess[str]:
    launcher = []
    if ranks > 1:
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    return subprocess.run(
        [sys.executable, *launcher, str(HERE / "run.py"), str(folder), *options],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


def calls_of(folder: Path, rank: int = 0) -> list[Call]:
    lines = (folder / f"calls-{rank}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken")
    done = run(folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_unbroken_run_follows_the_rule(unbroken: Path) -> None:
    calls = calls_of(unbroken)
    assert [call["step"] for call in calls] == list(range(STEPS))
    assert [call["shaped"] for call in calls] == expected.shaped(calls, **SETTINGS, size=GROUP)
    assert any(call["shaped"] != call["rewards"] for call in calls[CHECKPOINT:])


@pytest.mark.parametrize("options", [[], ["--new-callbacks"], ["--new-callbacks", "--files"]])
def test_killed_and_resumed_it_is_the_unbroken_run(
    unbroken: Path, tmp_path: Path, options: list[str]
) -> None:
    killed = run(tmp_path / "first", *options, f"--kill-at={KILLED_AT}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    checkpoint = tmp_path / "first" / f"checkpoint-{CHECKPOINT}"
    saved = json.loads((checkpoint / "trainer_state.json").read_text())["stateful_callbacks"]
    files = [path.name for path in checkpoint.glob("toggle-*.bin")]
    if "--files" in options:
        assert list(saved["ToggleCallback(rewards)"]) == ["args", "attributes", "file"]
        assert len(files) == 1
        # The folder goes elsewhere, and the run goes on there.
        folder = tmp_path / "second"
        shutil.move(tmp_path / "first", folder)
        again = str(folder / checkpoint.name)
    else:
        assert list(saved["ToggleCallback(rewards)"]) == ["args", "attributes", "toggle"]
        assert files == []
        folder, again = tmp_path / "first", "last"
    before = len(calls_of(folder))
    assert before == KILLED_AT
    resumed = run(folder, *options, f"--resume={again}")
    assert resumed.returncode == 0, resumed.stderr
    assert "budgets begin" not in resumed.stderr

    whole, broken = calls_of(unbroken), calls_of(folder)
    assert broken[:before] == whole[:before]
    # All of it: what the model wrote, its fixed lengths and rewards, phases, budgets, and results.
    assert broken[before:] == whole[CHECKPOINT:]
    assert (folder / "state-0.bin").read_bytes() == (unbroken / "state-0.bin").read_bytes()


def test_two_ranks_with_half_groups_give_what_one_process_gives(
    unbroken: Path, tmp_path: Path
) -> None:
    done = run(tmp_path, ranks=2)
    assert done.returncode == 0, done.stderr
    whole = calls_of(unbroken)
    halves = list(zip(calls_of(tmp_path, 0), calls_of(tmp_path, 1), strict=True))
    assert len(halves) == len(whole) == STEPS
    for call, (first, second) in zip(whole, halves, strict=True):
        for key in ("prompts", "datasets", "lengths", "rewards", "shaped"):
            assert first[key] + second[key] == call[key]
        assert first["budgets"] == second["budgets"] == call["budgets"]
        # A group lies half on either rank.
        assert len(first["shaped"]) % GROUP == GROUP // 2
    assert any(sum(second["rewards"]) == 0 < sum(first["rewards"]) for first, second in halves)
    states = {(tmp_path / f"state-{rank}.bin").read_bytes() for rank in range(2)}
    assert states == {(unbroken / "state-0.bin").read_bytes()}
    # Both ranks resume from what the first one wrote.
    shutil.rmtree(tmp_path / f"checkpoint-{STEPS}")
    again = run(tmp_path, "--resume=last", "--new-callbacks", ranks=2)
    assert again.returncode == 0, again.stderr
    states = {(tmp_path / f"state-{rank}.bin").read_bytes() for rank in range(2)}
    assert states == {(unbroken / "state-0.bin").read_bytes()}
