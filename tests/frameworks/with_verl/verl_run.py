"""Real trainers of verl 0.9.1 and a real queue; a stand-in answers for the model.

Prompts are numbers, in their order. What is answered to a prompt is always the same, so that a run
can be told without verl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transfer_queue as tq
from hydra import compose, initialize_config_module
from omegaconf import DictConfig
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
from verl.trainer.ppo.v1 import get_trainer_cls
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

PAGE = Path(__file__).parents[3] / "docs" / "verl.md"
OVERRIDES: list[str] = re.findall(r"^ +'?([^'\s]+=[^'\s]+)'?", PAGE.read_text(), re.MULTILINE)[:3]
"""The lines that the page tells to add."""

TOGGLE = ("trainer.v1.sampler.sampler_kwargs={m:1,lambda_:0.5,percentile:70}",)
ASYNC = (
    "trainer.v1.trainer_mode=colocate_async",
    "trainer.v1.sampler.custom_sampler.name=ToggleReplayBufferAsync",
)

PROMPTS_A_STEP = 6

Rewards = dict[int, list[list[list[float]]]]
"""Of prompt, session, trajectory and token."""


def config_of(*overrides: str, folder: Path | str = "unused") -> DictConfig:
    """verl's own defaults, what the page adds, and what a test wants."""
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose(
            "ppo_trainer",
            [
                *OVERRIDES,
                "algorithm.adv_estimator=grpo",
                "critic.enable=false",
                f"data.train_batch_size={PROMPTS_A_STEP}",
                f"trainer.default_local_dir={folder}",
                *overrides,
            ],
        )


@dataclass
class Trajectory:
    """What the model and its tools wrote, and the rewards of its tokens."""

    mask: list[int]
    rewards: list[float]
    correct: bool
    acc: float | None

    @property
    def tokens(self) -> int:
        return sum(self.mask)


def dataset_of(prompt: int) -> str:
    return ("math", "code", "prose")[prompt % 3]


def answers(prompt: int) -> list[list[Trajectory]]:
    """The sessions of a prompt, each of one trajectory or two."""
    rng = np.random.default_rng([11, prompt])
    solved = rng.choice([0.0, 0.6, 1.0, 1.0])
    sessions = []
    for _ in range(rng.integers(2, 6)):
        correct = bool(rng.random() < solved)
        reward: float
        acc: float | None
        match dataset_of(prompt):
            case "math":  # penalties of another kind have halved its reward
                reward, acc = (0.5, 1.0) if correct else (0.0, 0.0)
            case "code":  # no word of `acc`
                reward, acc = (1.0 if correct else -1.0), None
            case _:  # a reward that tells nothing of correctness
                reward, acc = float(rng.choice([0.25, 1.5])), float(correct)
        session = []
        trajectories = 1 + (prompt % 5 == 0)
        for _ in range(trajectories):
            length = int(rng.integers(1, 30))
            if trajectories == 1 and rng.random() < 0.1:
                length = 0
            rewards = [0.0] * length
            if length:
                rewards[-1] = reward
            if length > 2 and prompt % 2:  # spread over tokens, in numbers that add up exactly
                rewards[-1], rewards[1] = reward / 4, reward * 3 / 4
            mask = [int(i % 5 < 4) for i in range(length)]  # every fifth token is a tool's
            # No tokens, no reward: then only `acc` can tell.
            judged = correct and (length > 0 or acc is not None)
            session.append(Trajectory(mask, rewards, judged, acc))
        sessions.append(session)
    return sessions


class AgentLoop:
    """In place of `AgentLoopManagerTQ`: answers at once, trajectories of all groups mixed."""

    def __init__(self) -> None:
        self.prompts: dict[str, int] = {}
        self.without: tuple[str, ...] = ()
        self.fails: set[int] = set()

    def generate_sequences(self, batch: Any) -> None:
        self.put({uid: int(i) for uid, i in zip(batch["uid"], batch["index"], strict=True)})

    def put(self, prompts: dict[str, int], partition: str = "train") -> None:
        """Trajectories of all prompts; those whose agent loop `fails` lack their last session."""
        self.prompts |= prompts
        rows = [
            (f"{uid}_{session}_{index}", self._fields(uid, prompt, trajectory))
            for uid, prompt in prompts.items()
            for session, trajectories in enumerate(
                answers(prompt)[:-1] if prompt in self.fails else answers(prompt)
            )
            for index, trajectory in enumerate(trajectories)
        ]
        order = np.random.default_rng(len(rows)).permutation(len(rows))
        tq.kv_batch_put(
            keys=[rows[i][0] for i in order],
            partition_id=partition,
            fields=list_of_dict_to_tensordict([rows[i][1] for i in order]),
            tags=[{"status": "success"} for _ in order],
        )
        tags = [
            {"status": "failure" if prompt in self.fails else "finished"}
            for prompt in prompts.values()
        ]
        tq.kv_batch_put(keys=[*prompts], partition_id=partition, tags=tags)

    def _fields(self, uid: str, prompt: int, trajectory: Trajectory) -> dict[str, Any]:
        """As verl's agent loop writes them."""
        length = len(trajectory.mask)
        info = {"solved": float(trajectory.correct)}
        if trajectory.acc is not None:
            info["acc"] = trajectory.acc
        fields = AgentLoopOutput(
            prompt_ids=[1, 2],
            response_ids=[3] * length,
            response_mask=trajectory.mask,
            reward_score=1.0 if length else None,  # it would fail at no tokens
            metrics=AgentLoopMetrics(),
            extra_fields={"reward_extra_info": info},
        ).as_dict()
        rewards = torch.tensor(trajectory.rewards, dtype=torch.float32)
        fields |= {"uid": uid, "data_source": dataset_of(prompt), "rm_scores": rewards}
        return {name: value for name, value in fields.items() if name not in self.without}


class Prompts:
    """In place of the dataloader: 0, 1, 2 and so on."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.next = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            index = np.arange(self.next, self.next + self.size)
            self.next += self.size
            raw = np.array([[{"role": "user", "content": str(i)}] for i in index], object)
            yield {"index": index.astype(object), "raw_prompt": raw}

    def state_dict(self) -> dict[str, int]:
        return {"next": self.next}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.next = state["next"]


class Workers:
    """In place of those that hold the model."""

    def save_checkpoint(self, *_: Any, **__: Any) -> None: ...

    def load_checkpoint(self, *_: Any, **__: Any) -> None: ...


class Run:
    """A trainer of verl, as far as its steps need no model."""

    def __init__(self, config: DictConfig) -> None:
        self.config = config
        self.trainer = get_trainer_cls(config.trainer.v1.trainer_mode)(config=config)
        self.loop = self.trainer.agent_loop_manager = AgentLoop()
        size = config.data.get("gen_batch_size") or config.data.train_batch_size
        self.trainer.train_dataloader = Prompts(size)
        self.trainer.train_dataloader_it = None
        self.trainer.actor_rollout_wg = Workers()
        self.trainer._load_checkpoint()  # noqa: SLF001 - part of `init`, which needs a GPU
        self.buffer = self.trainer.replay_buffer
        self.buffer.poll_interval = 0.01

    def step(self) -> tuple[Rewards, dict[str, Any]]:
        """The rewards that the trainer gets, and metrics."""
        self.trainer.global_steps += 1
        self.trainer.prepare_step()
        return self.sample()

    def sample(self, partition: str = "train") -> tuple[Rewards, dict[str, Any]]:
        batch, metrics = self.buffer.sample(
            global_steps=self.trainer.global_steps,
            partition_id=partition,
            batch_size=PROMPTS_A_STEP,
        )
        rewards = self.rewards(batch.keys, partition)
        tq.kv_clear(keys=batch.keys, partition_id=partition)
        return rewards, metrics

    def waiting(self) -> dict[str, list[str]]:
        """Of each group in the queue, the keys of its trajectories."""
        items = (tq.kv_list("train") or {}).get("train", {})
        groups: dict[str, list[str]] = {
            key: [] for key, tag in items.items() if tag.get("is_prompt")
        }
        for key in items:
            uid = key.split("_")[0]
            if key != uid and uid in groups:
                groups[uid].append(key)
        return groups

    def left(self) -> set[int]:
        """The prompts whose groups have been in the queue and no longer are."""
        return {prompt for uid, prompt in self.loop.prompts.items() if uid not in self.waiting()}

    def rewards(self, keys: list[str], partition: str = "train") -> Rewards:
        rows = tq.kv_batch_get(keys=keys, partition_id=partition, select_fields=["rm_scores"])
        found: dict[tuple[int, ...], list[float]] = {}
        for key, row in zip(keys, rows["rm_scores"], strict=True):
            assert row.dtype == torch.float32
            uid, nth, index = key.split("_")
            found[self.loop.prompts[uid], int(nth), int(index)] = row.tolist()
        result: Rewards = {}
        for (prompt, session, _), row in sorted(found.items()):
            sessions = result.setdefault(prompt, [])
            if len(sessions) == session:
                sessions.append([])
            sessions[session].append(row)
        return result


def empty_queue() -> None:
    for partition, items in (tq.kv_list() or {}).items():
        if items:
            tq.kv_clear(keys=[*items], partition_id=partition)


def as_answered(prompt: int) -> list[list[list[float]]]:
    return [[trajectory.rewards for trajectory in session] for session in answers(prompt)]
