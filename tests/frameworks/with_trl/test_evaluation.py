"""Evaluation is neither shaped nor observed, whenever it comes."""

from __future__ import annotations

from pathlib import Path

import expected
from run import GROUP, SETTINGS, STEPS, Recorded, fixed_lengths, fixed_rewards, make_trainer
from trl_grpo import make_dataset


def test_evaluation_changes_nothing(tmp_path: Path) -> None:
    reward = Recorded(fixed_rewards, length=fixed_lengths, **SETTINGS)
    trainer = make_trainer(
        tmp_path,
        reward,
        eval_dataset=make_dataset(1),
        per_device_eval_batch_size=12,
        eval_strategy="steps",
        eval_steps=3,
        eval_on_start=True,
        save_strategy="steps",
        save_steps=3,
    )
    new = reward.toggle.to_bytes()
    trainer.evaluate()
    assert reward.toggle.to_bytes() == new
    trainer.train()
    trained = reward.toggle.to_bytes()
    trainer.evaluate()
    assert reward.toggle.to_bytes() == trained

    evaluated = [call for call in reward.calls if not call["training"]]
    assert {call["step"] for call in evaluated} == {0, 3, 6, STEPS}
    assert any(call["penalty"] and sum(call["rewards"]) for call in evaluated)
    assert all(call["shaped"] == call["rewards"] for call in evaluated)

    calls = [call for call in reward.calls if call["training"]]
    assert [call["step"] for call in calls] == list(range(STEPS))
    assert [call["shaped"] for call in calls] == expected.shaped(calls, **SETTINGS, size=GROUP)
    assert any(call["shaped"] != call["rewards"] for call in calls)


def test_evaluation_logs_no_metrics(tmp_path: Path) -> None:
    reward = Recorded(fixed_rewards, length=fixed_lengths, **SETTINGS)
    trainer = make_trainer(
        tmp_path, reward, eval_dataset=make_dataset(1), per_device_eval_batch_size=12
    )
    metrics = trainer.evaluate()
    assert "eval_reward" in trainer.state.log_history[-1]
    assert not [name for name in {*metrics, *trainer.state.log_history[-1]} if "toggle" in name]
