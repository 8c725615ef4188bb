"""A run of the stand-in loop that is killed and resumed, beside one that is not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from open_instruct_loop import DATASETS, MAX_POSSIBLE_SCORE, Config, generate
from toggle_rs import Toggle

LOOP = Path(__file__).with_name("open_instruct_loop.py")
STEPS = 30
KILLED_AFTER = (0, 7, 18)
SAMPLES = Config.num_samples_per_prompt_rollout

Log = list[dict[str, Any]]


def run(checkpoint: Path, killed_after: int | None = None) -> int:
    """Trains to the end, or is killed: the trainer, and with it Ray and the actor."""
    command = [sys.executable, str(LOOP), str(checkpoint), "--steps", str(STEPS)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        if killed_after is not None:
            assert process.stdout is not None
            assert f"consumed {killed_after}\n" in process.stdout
            time.sleep(random.uniform(0.0, 0.2))
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return process.returncode


def log_of(checkpoint: Path) -> Log:
    log: Log = torch.load(checkpoint)["log"]
    return log


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Log:
    checkpoint = tmp_path_factory.mktemp("unbroken") / "checkpoint"
    assert run(checkpoint) == 0
    return log_of(checkpoint)


def test_the_state_at_the_consumed_step_survives_kills(unbroken: Log, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    for killed_after in KILLED_AFTER:
        assert run(checkpoint, killed_after) == -signal.SIGKILL
        assert killed_after < len(log_of(checkpoint)) < STEPS
    assert run(checkpoint) == 0
    same = ("data", "toggle", "toggle_while_building", "results_used")
    for step, (entry, expected) in enumerate(zip(log_of(checkpoint), unbroken, strict=True)):
        for name in same:
            assert entry[name] == expected[name], f"{name} at step {step}"


def test_the_state_at_the_consumed_step_is_that_of_its_groups_and_no_more(unbroken: Log) -> None:
    counts: Counter[tuple[str, ...]] = Counter()
    counted = 0
    for entry in unbroken:
        for prompt in range(counted, entry["results_used"]):
            result = generate(prompt, SAMPLES)
            name = DATASETS[result.index]
            key = (name,) if isinstance(name, str) else tuple(name)
            counts[key] += sum(score >= MAX_POSSIBLE_SCORE for score in result.reward_scores)
        counted = entry["results_used"]
        assert Toggle.from_bytes(entry["toggle"]).counts() == dict(counts)
        assert entry["toggle_while_building"] == entry["toggle"]


def test_a_state_of_now_would_count_the_steps_ahead_twice(unbroken: Log) -> None:
    """What the two tests above would miss if the loop were not ahead."""
    for step, entry in enumerate(unbroken[: STEPS - Config.async_steps]):
        assert entry["toggle_of_now"] == unbroken[step + Config.async_steps]["toggle"]


def test_the_run_did_what_it_is_a_test_of(unbroken: Log) -> None:
    groups = [generate(prompt, SAMPLES) for prompt in range(unbroken[-1]["results_used"])]
    kept = STEPS * Config.num_unique_prompts_rollout
    assert len(groups) > kept, "the filter dropped groups"
    without_signal = sum(len(set(group.reward_scores)) == 1 for group in groups)
    assert len(groups) - kept < without_signal, "some of them had a signal after shaping"
    assert any("length" in group.finish_reasons for group in groups), "samples were dropped"
