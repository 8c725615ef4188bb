"""A GRPO run on the CPU whose rewards and lengths are fixed, and a record of each reward call.

    python run.py FOLDER [--resume] ...

Under a launcher for several processes, each of them records into a file of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import PartialState
from transformers import set_seed
from trl import GRPOConfig, GRPOTrainer

sys.path.append(str(Path(__file__).parents[3] / "examples"))

from toggle_rs.integrations import _trl_callback
from toggle_rs.integrations.trl import ToggleReward
from trl_grpo import make_dataset, make_model, make_tokenizer

STEPS, BATCH, GROUP = 9, 12, 4
SETTINGS: dict[str, Any] = {"m": 2, "lambda_": 0.5, "percentile": 60}


def fixed(step: int) -> tuple[list[float], list[int]]:
    """Rewards and lengths of the whole batch; at odd steps the second half has no right answer."""
    rng = np.random.default_rng([3, step])
    rewards = (rng.random(BATCH) < 0.8).astype(float)
    if step % 2:
        rewards[BATCH // 2 :] = 0
    return rewards.tolist(), rng.lognormal(5, 0.7, BATCH).astype(int).tolist()


def of_this_rank(values: list[Any]) -> list[Any]:
    state = PartialState()
    size = len(values) // state.num_processes
    return values[state.process_index * size :][:size]


def fixed_rewards(trainer_state: Any, **_: Any) -> list[float]:
    return of_this_rank(fixed(trainer_state.global_step)[0])


def fixed_lengths(trainer_state: Any, **_: Any) -> list[int]:
    return of_this_rank(fixed(trainer_state.global_step)[1])


class Recorded(ToggleReward):
    """Writes down what went in and what came out."""

    def __init__(self, *args: Any, path: Path | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.path = path
        self.calls: list[dict[str, Any]] = []

    def __call__(
        self, prompts: list[Any], completions: list[Any], **columns: Any
    ) -> list[float | None]:
        shaped = super().__call__(prompts, completions, **columns)
        batch = {"prompts": prompts, "completions": completions, **columns}
        state = columns["trainer_state"]
        call = {
            "step": state.global_step,
            "training": self.run.model.training if self.run else None,
            "penalty": self.toggle.is_penalty_step(state.global_step),
            "budgets": {name: budget for (name,), budget in sorted(self.toggle.budgets().items())},
            "prompts": prompts,
            "completions": completions,
            "lengths": list(self._length(**batch) if self._length else self._lengths(batch)),
            "datasets": columns["dataset"],
            "rewards": list(self._reward_func(**batch)),
            "shaped": shaped,
        }
        self.calls.append(call)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(call) + "\n")
        return shaped


def make_trainer(folder: Path, reward: Any, **options: Any) -> GRPOTrainer:
    """A trainer of the example's model; options go to its config, callbacks and data to it."""
    set_seed(0)
    tokenizer = make_tokenizer()
    keys = ("callbacks", "eval_dataset", "train_dataset")
    own = {key: options.pop(key) for key in keys if key in options}
    config: dict[str, Any] = {
        "per_device_train_batch_size": BATCH,
        "num_generations": GROUP,
        "max_steps": STEPS,
        "max_completion_length": 12,
        "learning_rate": 0.01,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": True,
    }
    defaults: dict[str, Any] = {"train_dataset": make_dataset(20)}
    if isinstance(reward, ToggleReward):
        defaults["callbacks"] = [reward.callback()]
    return GRPOTrainer(
        model=make_model(tokenizer),
        processing_class=tokenizer,
        reward_funcs=reward,
        args=GRPOConfig(output_dir=str(folder), **config | options),
        **defaults | own,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resume", help="a checkpoint, or `last`")
    parser.add_argument("--kill-at", type=int, help="dies while it scores this step")
    parser.add_argument("--new-callbacks", action="store_true")
    parser.add_argument("--files", action="store_true", help="every state counts as large")
    args = parser.parse_args()
    if args.files:
        _trl_callback.LARGE = 0

    def rewards(trainer_state: Any, **columns: Any) -> list[float]:
        if trainer_state.global_step == args.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return fixed_rewards(trainer_state, **columns)

    state = PartialState(cpu=True)
    args.folder.mkdir(parents=True, exist_ok=True)
    record = args.folder / f"calls-{state.process_index}.jsonl"
    reward = Recorded(rewards, length=fixed_lengths, path=record, **SETTINGS)
    trainer = make_trainer(
        args.folder,
        reward,
        save_strategy="steps",
        save_steps=3,
        per_device_train_batch_size=BATCH // state.num_processes,
        restore_callback_states_from_checkpoint=args.new_callbacks,
    )
    trainer.train(resume_from_checkpoint=True if args.resume == "last" else args.resume)
    (args.folder / f"state-{state.process_index}.bin").write_bytes(reward.toggle.to_bytes())
    # Left to the exit of Python, gloo's threads may find no interpreter and abort the process.
    state.destroy_process_group()


if __name__ == "__main__":
    main()
