"""A real trainer through both phases, against the rule in NumPy."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from trl import RLOOConfig, RLOOTrainer

import expected
from run import BATCH, GROUP, SETTINGS, STEPS, Recorded, make_trainer
from toggle_rs.integrations.trl import ToggleReward
from trl_grpo import has_letter, make_dataset, make_model, make_tokenizer

NAMES = {
    "length_penalty_phase",
    "kept_ratio",
    "enforced_group_ratio",
    "lost_signal_group_ratio",
    "gained_signal_group_ratio",
    "tokens_over_budget",
    "budget_min",
    "budget_median",
    "budget_max",
}


def check(calls: list[expected.Call], size: int = GROUP) -> None:
    """Against the rule; and the run was one that tells something."""
    assert [call["shaped"] for call in calls] == expected.shaped(calls, **SETTINGS, size=size)
    assert {call["penalty"] for call in calls} == {False, True}
    masked = [call["step"] for call in calls if call["shaped"] != call["rewards"]]
    assert masked
    assert all((step // SETTINGS["m"]) % 2 == 1 for step in masked)


def test_training_goes_through_both_phases(tmp_path: Path) -> None:
    reward = Recorded(has_letter, **SETTINGS)
    trainer = make_trainer(tmp_path, reward)
    trainer.train()
    assert [call["step"] for call in reward.calls] == list(range(STEPS))
    check(reward.calls)
    # One prompt twice in a batch is two groups.
    assert any(len(set(call["prompts"])) < BATCH // GROUP for call in reward.calls)
    logs = [log for log in trainer.state.log_history if "reward" in log]
    assert len(logs) == STEPS
    for log, call in zip(logs, reward.calls, strict=True):
        assert {f"toggle/{name}" for name in NAMES} <= set(log)
        assert log["toggle/length_penalty_phase"] == call["penalty"]
        assert log["rewards/has_letter/mean"] == pytest.approx(sum(call["shaped"]) / BATCH)
    # What the last step has shown is counted, too.
    correct = [sum(call["rewards"]) for call in reward.calls]
    assert sum(reward.toggle.counts().values()) == sum(correct)


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        # One generation for six steps of the optimizer.
        (
            {"gradient_accumulation_steps": 1, "steps_per_generation": 3, "num_iterations": 2},
            [0, 6, 12, 18],
        ),
        ({"gradient_accumulation_steps": 2, "num_iterations": 3}, [0, 3, 6, 9, 12]),
        # Several generations at one step: both get the budgets from before it.
        (
            {"gradient_accumulation_steps": 2, "steps_per_generation": 1},
            [step for step in range(8) for _ in range(2)],
        ),
    ],
)
def test_the_step_is_the_trainers(
    tmp_path: Path, options: dict[str, Any], steps: list[int]
) -> None:
    reward = Recorded(has_letter, **SETTINGS)
    batch = BATCH // options.get("steps_per_generation", options["gradient_accumulation_steps"])
    trainer = make_trainer(
        tmp_path,
        reward,
        max_steps=steps[-1] + 1,
        per_device_train_batch_size=batch,
        max_completion_length=8,
        **options,
    )
    trainer.train()
    assert [call["step"] for call in reward.calls] == steps
    assert all(len(call["rewards"]) == BATCH for call in reward.calls)
    check(reward.calls)


def test_rloo_takes_it_too(tmp_path: Path) -> None:
    reward = Recorded(has_letter, **SETTINGS)
    tokenizer = make_tokenizer()
    RLOOTrainer(
        model=make_model(tokenizer),
        processing_class=tokenizer,
        reward_funcs=reward,
        train_dataset=make_dataset(20),
        callbacks=[reward.callback()],
        args=RLOOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=BATCH,
            num_generations=GROUP,
            max_steps=8,
            beta=0.0,
            max_completion_length=12,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
        ),
    ).train()
    check(reward.calls)


def test_a_second_run_begins_anew(tmp_path: Path) -> None:
    reward = Recorded(has_letter, **SETTINGS)
    for _ in range(2):
        reward.calls.clear()
        make_trainer(tmp_path, reward, max_steps=4).train()
        assert reward.calls[0]["budgets"] == {}
        check(reward.calls)


def test_copies_keep_the_budgets_and_leave_the_trainer(tmp_path: Path) -> None:
    reward = ToggleReward(has_letter, **SETTINGS)
    make_trainer(tmp_path, reward, max_steps=2).train()
    assert reward.run is not None
    for twin in (pickle.loads(pickle.dumps(reward)), copy.deepcopy(reward)):  # noqa: S301
        assert twin.__name__ == "has_letter"
        assert twin.toggle == reward.toggle
        assert twin.toggle.budgets()
        assert twin.toggle is not reward.toggle
        assert twin.run is None


def test_a_trainer_without_the_callback_is_told(tmp_path: Path) -> None:
    reward = ToggleReward(has_letter, **SETTINGS)
    trainer = make_trainer(tmp_path, reward, callbacks=None)
    with pytest.raises(RuntimeError, match=r"has_letter: its callback is missing: pass callbacks="):
        trainer.train()


def test_two_rewards_of_one_name_are_refused(tmp_path: Path) -> None:
    rewards = [ToggleReward(has_letter, **SETTINGS) for _ in range(2)]
    callbacks = [reward.callback() for reward in rewards]
    trainer = make_trainer(tmp_path, rewards, callbacks=callbacks)
    with pytest.raises(ValueError, match="callbacks: two rewards have the name 'has_letter'"):
        trainer.train()
