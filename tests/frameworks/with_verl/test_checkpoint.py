"""What the callback saves, a new process loads, and goes on as if it had never stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toggle_rs import CheckpointError, Toggle
from toggle_rs.integrations.verl import STATE, ToggleReplayBuffer, ToggleReplayBufferAsync
from verl_run import ASYNC, TOGGLE, Run, config_of, empty_queue

GOES_ON = Path(__file__).with_name("goes_on.py")


def save(run: Run) -> None:
    run.trainer._save_checkpoint()  # noqa: SLF001 - what `fit` calls


@pytest.mark.parametrize("resume", ["auto", "resume_path"])
def test_a_new_process_goes_on(resume: str, queue: str, tmp_path: Path) -> None:
    whole = Run(config_of(*TOGGLE))
    rewards = [whole.step()[0] for _ in range(6)]

    first = Run(config_of(*TOGGLE, folder=tmp_path))
    assert [first.step()[0] for _ in range(3)] == rewards[:3]
    save(first)
    state = tmp_path / "global_step_3" / STATE
    assert Toggle.load(state) == first.buffer.toggle

    overrides = [*TOGGLE]
    folder = tmp_path
    if resume == "resume_path":
        overrides += [
            "trainer.resume_mode=resume_path",
            f"trainer.resume_from_path={tmp_path}/global_step_3",
        ]
        folder = tmp_path / "other"
    command = [sys.executable, str(GOES_ON), queue, str(folder), *overrides]
    told = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1]
    )
    assert told["loaded"] == state.read_bytes().hex()
    assert [{int(k): v for k, v in step.items()} for step in told["rewards"]] == rewards[3:]
    assert told["state"] == whole.buffer.toggle.to_bytes().hex()


def test_asynchronous_groups_that_wait_are_counted_once(tmp_path: Path) -> None:
    whole = Run(config_of(*TOGGLE, *ASYNC))
    whole.trainer.on_train_begin()
    rewards = [whole.step()[0] for _ in range(6)]

    empty_queue()
    first = Run(config_of(*TOGGLE, *ASYNC, folder=tmp_path))
    first.trainer.on_train_begin()
    for _ in range(3):
        first.step()
    save(first)
    first.step()  # lost: the run is killed here
    empty_queue()

    again = Run(config_of(*TOGGLE, *ASYNC, folder=tmp_path))
    again.loop.prompts |= first.loop.prompts
    assert [again.step()[0] for _ in range(3)] == rewards[3:]
    assert again.buffer.toggle == whole.buffer.toggle


def test_the_settings_of_a_resumed_run_are_its_own(tmp_path: Path) -> None:
    first = Run(config_of(*TOGGLE, folder=tmp_path))
    first.step()
    save(first)
    again = Run(config_of(folder=tmp_path))  # m = 10
    again.step()
    assert again.buffer.toggle.settings["m"] == 10
    assert sum(again.buffer.toggle.counts().values()) > sum(first.buffer.toggle.counts().values())


def test_a_checkpoint_without_a_state_is_told(tmp_path: Path) -> None:
    first = Run(config_of(*TOGGLE, folder=tmp_path))
    first.step()
    save(first)
    state = tmp_path / "global_step_1" / STATE
    good = state.read_bytes()
    state.write_bytes(good[:-1])
    with pytest.raises(CheckpointError):
        Run(config_of(*TOGGLE, folder=tmp_path)).step()
    empty_queue()
    state.unlink()
    again = Run(config_of(*TOGGLE, folder=tmp_path))
    with pytest.warns(UserWarning, match="does not exist: budgets begin with nothing"):
        again.step()


def test_what_cannot_work_is_refused_at_the_start() -> None:
    sampler = "trainer.v1.sampler"
    colocated = (
        "reward.reward_model.enable=true",
        "reward.reward_model.enable_resource_pool=false",
    )
    for overrides, error, match in (
        (("trainer.v1.trainer_mode=colocate_async",), ValueError, "ToggleReplayBufferAsync"),
        ((*ASYNC, "trainer.v1.trainer_mode=sync"), ValueError, "takes ToggleReplayBuffer$"),
        (colocated, ValueError, "enable_resource_pool"),
        (("algorithm.filter_groups={enable:true,metric:null}",), ValueError, "metric: must be set"),
        ((f"{sampler}.sampler_kwargs.m=-1",), ValueError, "m"),
        ((f"+{sampler}.sampler_kwargs.lamda=1",), TypeError, "lamda"),
        ((f"+{sampler}.sampler_kwargs.estimator=mean",), ValueError, "window:N or decay:H"),
        ((f"{sampler}.custom_sampler.path=null",), ValueError, "custom_sampler: expected"),
    ):
        with pytest.raises(error, match=match):
            Run(config_of(*overrides))


def test_every_estimator_has_a_name() -> None:
    for text in ("exact", "p2", "gk", "'window:500'", "'decay:2.5'"):
        run = Run(config_of(*TOGGLE, f"+trainer.v1.sampler.sampler_kwargs.estimator={text}"))
        run.step()
        assert run.buffer.toggle.counts()


def test_the_asynchronous_buffer_is_both() -> None:
    _, second, third, *_ = ToggleReplayBufferAsync.__mro__
    assert (second, third.__name__) == (ToggleReplayBuffer, "ReplayBufferAsync")
