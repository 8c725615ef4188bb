"""What the callback does where a checkpoint is not the usual one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerCallback

import expected
from run import GROUP, SETTINGS, Recorded, fixed_lengths, fixed_rewards, make_trainer
from toggle_rs import CheckpointError, Toggle
from toggle_rs.integrations import _trl_callback

SAVING: dict[str, Any] = {"save_strategy": "steps", "save_steps": 2, "max_steps": 4}


def make_reward(**settings: Any) -> Recorded:
    return Recorded(fixed_rewards, length=fixed_lengths, **SETTINGS | settings)


def saved_state(checkpoint: Path) -> dict[str, Any]:
    state = json.loads((checkpoint / "trainer_state.json").read_text())
    return dict(state["stateful_callbacks"]["ToggleCallback(fixed_rewards)"])


def test_a_checkpoint_without_a_state_begins_anew_and_says_so(tmp_path: Path) -> None:
    make_trainer(tmp_path, fixed_rewards, **SAVING).train()
    shutil.rmtree(tmp_path / "checkpoint-4")
    reward = make_reward()
    trainer = make_trainer(tmp_path, reward, **SAVING)
    with pytest.warns(UserWarning, match="no state of ToggleCallback.*budgets begin at step 2"):
        trainer.train(resume_from_checkpoint=True)
    assert [call["step"] for call in reward.calls] == [2, 3]
    # And it can save.
    toggle = Toggle(**SETTINGS)
    toggle.load_state_dict(saved_state(tmp_path / "checkpoint-4")["toggle"])
    assert toggle == reward.toggle


def test_settings_may_change_and_estimators_may_not(tmp_path: Path) -> None:
    first = make_reward()
    make_trainer(tmp_path, first, **SAVING).train()
    counts = first.toggle.counts()
    second = make_reward(m=7)
    again = SAVING | {"max_steps": 6}
    make_trainer(tmp_path, second, **again).train(resume_from_checkpoint=True)
    assert second.toggle.settings["m"] == 7
    assert all(second.toggle.counts()[name] >= count for name, count in counts.items())
    assert second.calls[0]["budgets"] == pytest.approx(
        {name: budget for (name,), budget in first.toggle.budgets().items()}
    )
    third = make_trainer(tmp_path, make_reward(estimator="gk"), **again)
    with pytest.raises(CheckpointError, match="ExactQuantile"):
        third.train(resume_from_checkpoint=True)


def test_a_state_that_is_large_lies_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_trl_callback, "LARGE", 0)
    first = make_reward()
    make_trainer(tmp_path / "one", first, **SAVING).train()
    saved = Path(saved_state(tmp_path / "one" / "checkpoint-4")["file"])
    assert saved.parent == (tmp_path / "one" / "checkpoint-4").resolve()
    assert Toggle.load(saved) == first.toggle
    # The output goes elsewhere, the checkpoint stays.
    second = make_reward()
    trainer = make_trainer(tmp_path / "two", second, **SAVING | {"max_steps": 6})
    trainer.train(resume_from_checkpoint=str(saved.parent))
    assert [call["step"] for call in second.calls] == [4, 5]
    assert second.calls[0]["budgets"] == {k: v for (k,), v in first.toggle.budgets().items()}
    # It is lost.
    saved.unlink()
    trainer = make_trainer(tmp_path / "one", make_reward(), **SAVING | {"max_steps": 6})
    with pytest.raises(FileNotFoundError, match=f"checkpoint-4/{saved.name}.*copy it there"):
        trainer.train(resume_from_checkpoint=True)


class Preempted(TrainerCallback):  # type: ignore[misc]
    """The machine is taken away: does what the handler of SIGTERM does, without its wait."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.saves: Any = None

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Completions are scored, and nothing is learnt from them yet."""
        if state.global_step == self.step:
            self.saves.jit_manager.is_checkpoint_requested = True
            self.saves.on_pre_optimizer_step(args, state, control)


class PreemptedLater(Preempted):
    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """It is saved at the end of the step, before other callbacks hear of that."""
        del args, control
        if state.global_step == self.step:
            self.saves.jit_manager.is_checkpoint_requested = True


@pytest.mark.parametrize(("stop", "saved"), [(Preempted(3), 3), (PreemptedLater(2), 3)])
def test_a_checkpoint_in_the_midst_of_a_step_has_what_was_before_it(
    tmp_path: Path, stop: Preempted, saved: int
) -> None:
    whole = make_reward()
    make_trainer(tmp_path / "whole", whole, max_steps=6).train()

    first = make_reward()
    options = {"max_steps": 6, "enable_jit_checkpoint": True}
    trainer = make_trainer(tmp_path, first, callbacks=[first.callback(), stop], **options)
    stop.saves = next(
        callback
        for callback in trainer.callback_handler.callbacks
        if type(callback).__name__ == "JITCheckpointCallback"
    )
    trainer.train()
    assert [call["step"] for call in first.calls] == list(range(stop.step + 1))

    second = make_reward()
    trainer = make_trainer(tmp_path, second, **options)
    trainer.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{saved}"))
    assert [call["step"] for call in second.calls] == list(range(saved, 6))
    calls = [*first.calls[:saved], *second.calls]
    assert [call["shaped"] for call in calls] == expected.shaped(calls, **SETTINGS, size=GROUP)
    assert second.toggle == whole.toggle
