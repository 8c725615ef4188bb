"""A stand-in for the part of open-instruct's loop that the recipe changes, and a run of it.

Written from the source of August 2026: the same names, types and threads, without vLLM and a model.
A Ray actor prepares steps on one background thread, up to `async_steps` ahead of the trainer;
`get_data` and `get_state` run on other threads of the actor.

In one thing it differs: it resumes its prompts as of the last consumed step, where open-instruct
goes on with later ones. So a resumed run gets the groups of an unbroken one, and has to end as that
does.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
from ray.util.queue import Queue

from open_instruct import shape_group
from toggle_rs import Toggle

MAX_POSSIBLE_SCORE = 10.0
DATASETS: list[str | list[str]] = ["math", "code", ["math", "code"], "ifeval"]


@dataclass
class Config:
    num_training_steps: int = 40
    async_steps: int = 8
    num_unique_prompts_rollout: int = 4
    num_samples_per_prompt_rollout: int = 4
    filter_zero_std_samples: bool = True
    active_sampling: bool = True
    mask_truncated_completions: bool = True


@dataclass
class GenerationResult:
    responses: list[list[int]]
    finish_reasons: list[str]
    masks: list[list[int]]
    index: int
    prompt_id: str
    reward_scores: list[float]


@dataclass
class Group:
    result: GenerationResult
    dataset: str | list[str]
    reward_scores: list[float]


@dataclass
class Batch:
    """Parallel lists, one entry a sample."""

    datasets: list[str | list[str]]
    scores: list[float]
    prompt_ids: list[str]
    responses: list[list[int]]
    finish_reasons: list[str]

    def __getitem__(self, indices: list[int]) -> Batch:
        return Batch(*[[column[i] for i in indices] for column in vars(self).values()])


def generate(prompt: int, samples: int) -> GenerationResult:
    """What vLLM and the verifier would answer; of a prompt always the same."""
    rng = np.random.default_rng([7, prompt])
    lengths = np.minimum(rng.lognormal(3.5, 0.8, samples), 120).astype(int).tolist()
    solved = rng.random(samples) < rng.choice([0.0, 0.4, 0.8, 1.0])
    return GenerationResult(
        responses=[[1] * length for length in lengths],
        finish_reasons=["length" if length == 120 else "stop" for length in lengths],
        # Every fifth token is a tool's.
        masks=[[int(i % 5 > 0) for i in range(length)] for length in lengths],
        index=prompt % len(DATASETS),
        prompt_id=f"0_{prompt}",
        reward_scores=(MAX_POSSIBLE_SCORE * solved).tolist(),
    )


def generate_forever(prompts: Queue, results: Queue, samples: int) -> None:
    while True:
        results.put(generate(prompts.get(), samples))


def process_group(
    result: GenerationResult,
    max_possible_score: float,
    filter_zero_std_samples: bool,
    toggle: Toggle | None = None,
    training_step: int = 0,
) -> Group | None:
    dataset_name = DATASETS[result.index]
    reward_scores = result.reward_scores
    if toggle is not None:
        reward_scores = shape_group(
            toggle,
            training_step,
            result.masks,
            reward_scores,
            dataset_name,
            max_possible_score,
        )
    if filter_zero_std_samples and np.std(reward_scores) == 0:
        return None
    return Group(result, dataset_name, reward_scores)


def accumulate_inference_batches(
    inference_results_Q: Queue,  # noqa: N803 - as open-instruct has it
    add_prompt: Callable[[], None],
    config: Config,
    training_step: int,
    toggle: Toggle | None = None,
) -> tuple[Batch | None, int]:
    """The groups of a step that the filter leaves, and the number of all that were used."""
    groups: list[Group] = []
    sampled = used = 0
    while sampled < config.num_unique_prompts_rollout:
        result = inference_results_Q.get()
        used += 1
        add_prompt()
        group = process_group(
            result,
            MAX_POSSIBLE_SCORE,
            config.filter_zero_std_samples,
            toggle=toggle,
            training_step=training_step,
        )
        if group is not None:
            groups.append(group)
        if group is not None or not config.active_sampling:
            sampled += 1
    return (make_batch(groups) if groups else None), used


def make_batch(groups: list[Group]) -> Batch:
    samples = [(group, i) for group in groups for i in range(len(group.reward_scores))]
    return Batch(
        datasets=[group.dataset for group, _ in samples],
        scores=[group.reward_scores[i] for group, i in samples],
        prompt_ids=[group.result.prompt_id for group, _ in samples],
        responses=[group.result.responses[i] for group, i in samples],
        finish_reasons=[group.result.finish_reasons[i] for group, i in samples],
    )


def centered(scores: np.ndarray, prompt_ids: list[str]) -> np.ndarray:
    """Advantages by prompt id: dropped samples leave groups that no reshape fits."""
    _, ids = np.unique(prompt_ids, return_inverse=True)
    return scores - (np.bincount(ids, scores) / np.bincount(ids))[ids]


class DataPreparationActor:
    def __init__(
        self, config: Config, prompts: Queue, results: Queue, initial_state: dict[str, Any] | None
    ) -> None:
        self.config = config
        self.param_prompt_Q = prompts
        self.inference_results_Q = results
        self.next_prompt = 0
        self.used: dict[int, int] = {-1: 0}
        self.prepared_data: dict[int, Any] = {}
        self.current_prepared_step = -1
        self._last_consumed_step = -1
        self.lock = threading.Lock()
        self.training_step = 0
        self._executor: ThreadPoolExecutor | None = None
        self._prep_future: Any = None
        self.toggle = Toggle(m=3, lambda_=0.5, percentile=80, warmup_steps=2)
        self.toggle_states = {-1: self.toggle.to_bytes()}
        if initial_state is not None:
            self.set_state(initial_state)
            self.start()

    def start(self) -> None:
        if self._prep_future is None:
            self._executor = ThreadPoolExecutor(max_workers=1)
            self._prep_future = self._executor.submit(self._data_preparation_loop)

    def _add_prompt(self) -> None:
        self.param_prompt_Q.put(self.next_prompt)
        self.next_prompt += 1

    def _data_preparation_loop(self) -> None:
        used = self.next_prompt
        for _ in range(self.config.async_steps * self.config.num_unique_prompts_rollout):
            self._add_prompt()
        while self.training_step < self.config.num_training_steps:
            while self.training_step - self._last_consumed_step > self.config.async_steps:
                time.sleep(0.01)
            batch, newly_used = accumulate_inference_batches(
                self.inference_results_Q,
                self._add_prompt,
                self.config,
                training_step=self.training_step,
                toggle=self.toggle,
            )
            used += newly_used
            if batch is None:
                continue
            if self.config.mask_truncated_completions:
                batch = batch[[i for i, why in enumerate(batch.finish_reasons) if why == "stop"]]
            if not batch.scores:
                continue
            advantages = centered(np.array(batch.scores), batch.prompt_ids)
            toggle_state = self.toggle.to_bytes()
            with self.lock:
                self.prepared_data[self.training_step] = (batch.prompt_ids, advantages)
                self.toggle_states[self.training_step] = toggle_state
                self.used[self.training_step] = used
                self.current_prepared_step = self.training_step
            self.training_step += 1

    def get_data(self, step: int) -> Any:
        self.start()
        while True:
            if self._prep_future.done():
                self._prep_future.result()
            with self.lock:
                if step <= self.current_prepared_step:
                    data = self.prepared_data[step]
                    self._last_consumed_step = max(self._last_consumed_step, step)
                    self._cleanup_old_steps(step)
                    return data
            time.sleep(0.005)

    def _cleanup_old_steps(self, current_step: int) -> None:
        for step in [step for step in self.prepared_data if step < current_step - 1]:
            del self.prepared_data[step], self.used[step]
        for step in [step for step in self.toggle_states if step < current_step - 1]:
            del self.toggle_states[step]

    def get_state(self) -> dict[str, Any]:
        with self.lock:
            return {
                "training_step": self.training_step,
                "last_consumed_step": self._last_consumed_step,
                "results_used": self.used[self._last_consumed_step],
                "toggle": self.toggle_states[self._last_consumed_step],
            }

    def get_toggle_of_now(self) -> bytes:
        """What a naive `get_state` would save."""
        return self.toggle.to_bytes()

    def set_state(self, state: dict[str, Any]) -> None:
        self._last_consumed_step = state["last_consumed_step"]
        self.training_step = self._last_consumed_step + 1
        self.current_prepared_step = self._last_consumed_step
        self.next_prompt = state["results_used"]
        self.used = {self._last_consumed_step: self.next_prompt}
        self.toggle = Toggle.from_bytes(state["toggle"])
        self.toggle_states = {self._last_consumed_step: state["toggle"]}


def save(path: Path, checkpoint: dict[str, Any]) -> None:
    aside = path.with_suffix(".aside")
    torch.save(checkpoint, aside)
    os.replace(aside, path)  # noqa: PTH105 - the same, and the reader knows it as atomic


def digest(data: Any) -> str:
    prompt_ids, advantages = data
    return hashlib.sha256(repr(prompt_ids).encode() + advantages.tobytes()).hexdigest()


def train(path: Path, config: Config) -> None:
    """Consumes steps and saves a checkpoint after each; goes on from one that is there."""
    checkpoint = torch.load(path) if path.exists() else {"log": [], "actor": None}
    ray.init(address="local", num_cpus=4, include_dashboard=False, object_store_memory=100 * 2**20)
    prompts, results = Queue(), Queue()
    engine = ray.remote(generate_forever).options(num_cpus=0.5)
    engine.remote(prompts, results, config.num_samples_per_prompt_rollout)
    actor = ray.remote(DataPreparationActor).options(max_concurrency=4, num_cpus=0.5)
    data_prep_actor = actor.remote(config, prompts, results, checkpoint["actor"])
    ray.get(data_prep_actor.start.remote())
    for step in range(len(checkpoint["log"]), config.num_training_steps):
        data = ray.get(data_prep_actor.get_data.remote(step))
        while_building = ray.get(data_prep_actor.get_state.remote())
        ahead = min(step + 1 + config.async_steps, config.num_training_steps)
        while (state := ray.get(data_prep_actor.get_state.remote()))["training_step"] < ahead:
            time.sleep(0.005)
        checkpoint["log"].append(
            {
                "data": digest(data),
                "toggle": state["toggle"],
                "toggle_while_building": while_building["toggle"],
                "toggle_of_now": ray.get(data_prep_actor.get_toggle_of_now.remote()),
                "results_used": state["results_used"],
            }
        )
        checkpoint["actor"] = state
        save(path, checkpoint)
        print("consumed", step, flush=True)
    ray.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    train(options.checkpoint, Config(num_training_steps=options.steps))


if __name__ == "__main__":
    main()
