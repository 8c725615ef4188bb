"""The rewards that the trainer gets are those that a loop over the groups gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import transfer_queue as tq
from verl.trainer.ppo.v1.utils import MetricsAggregator

from toggle_rs import Shaped, Toggle
from told import Told
from verl_run import (
    OVERRIDES,
    PROMPTS_A_STEP,
    TOGGLE,
    Run,
    answers,
    as_answered,
    config_of,
    dataset_of,
)

METRICS = {f"toggle/{name}" for name in (
    "length_penalty_phase", "kept_ratio", "enforced_group_ratio", "lost_signal_group_ratio",
    "gained_signal_group_ratio", "tokens_over_budget", "budget_min", "budget_median", "budget_max",
)}  # fmt: skip


def prompts_of(step: int) -> list[int]:
    return [*range((step - 1) * PROMPTS_A_STEP, step * PROMPTS_A_STEP)]


def test_the_page_adds_three_lines() -> None:
    assert [line.split("=")[0].lstrip("+").split(".")[1] for line in OVERRIDES] == [
        "v1", "v1", "checkpoint_callback_class",
    ]  # fmt: skip
    assert type(Run(config_of()).buffer).__name__ == "ToggleReplayBuffer"


@pytest.mark.parametrize("penalty", ["zero", "cap_at_zero"])
def test_both_phases_of_a_run(penalty: str) -> None:
    run = Run(config_of(*TOGGLE, f"+trainer.v1.sampler.sampler_kwargs.penalty={penalty}"))
    told = Told(m=1, lambda_=0.5, percentile=70, penalty=penalty)
    masked = set()
    for step in range(1, 13):
        rewards, metrics = run.step()
        assert rewards == {prompt: told.shaped(step, prompt) for prompt in prompts_of(step)}
        assert metrics.keys() == METRICS
        assert metrics["toggle/length_penalty_phase"] == step % 2
        masked |= {prompt for prompt in rewards if rewards[prompt] != as_answered(prompt)}
        told.observe(prompts_of(step))
        assert run.buffer.toggle.counts() == told.counts()
    # All kinds of groups were among them.
    assert {dataset_of(prompt) for prompt in masked} == {"math", "code", "prose"}
    assert {prompt % 5 == 0 for prompt in masked} == {prompt % 2 for prompt in masked} == {0, 1}


def test_verl_takes_its_advantages_from_them() -> None:
    run = Run(config_of(*TOGGLE))
    told = Told(m=1, lambda_=0.5, percentile=70)
    for step in (1, 2):
        run.step()
        told.observe(prompts_of(step))
    run.trainer.global_steps += 1
    run.trainer.prepare_step()
    batch, _ = run.buffer.sample(global_steps=3, partition_id="train", batch_size=PROMPTS_A_STEP)
    run.trainer._compute_advantage(batch, {})  # noqa: SLF001 - what its step calls next
    fields = ["advantages", "response_mask"]
    data = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=fields)
    changed = 0
    for key, advantages, mask in zip(
        batch.keys, data["advantages"], data["response_mask"], strict=True
    ):
        uid, session, _ = key.split("_")
        prompt = run.loop.prompts[uid]
        shaped = told.shaped(3, prompt)
        changed += shaped != as_answered(prompt)
        totals = np.array([sum(rows[-1]) for rows in shaped])
        expected = (totals[int(session)] - totals.mean()) / (totals.std(ddof=1) + 1e-6)
        assert advantages[mask == 1].numpy() == pytest.approx(expected, abs=1e-5)
    assert changed


def test_validation_is_left_alone() -> None:
    run = Run(config_of(*TOGGLE))
    run.step()
    before = run.buffer.toggle.to_bytes()
    prompts = {f"v{prompt}": prompt for prompt in prompts_of(1)}
    tags = [{"is_prompt": True, "status": "pending", "global_steps": 1} for _ in prompts]
    tq.kv_batch_put(keys=[*prompts], partition_id="val", tags=tags)
    run.loop.put(prompts, "val")
    rewards, metrics = run.sample("val")
    assert rewards == {prompt: as_answered(prompt) for prompt in prompts.values()}
    assert not any("toggle" in name for name in metrics)
    assert run.buffer.toggle.to_bytes() == before


def test_rewards_that_come_later_are_refused() -> None:
    run = Run(config_of(*TOGGLE))
    run.loop.without = ("rm_scores",)
    with pytest.raises(ValueError, match="rm_scores: the trajectories have no rewards"):
        run.step()


def test_a_dataset_without_names_has_one_budget() -> None:
    run = Run(config_of(*TOGGLE))
    run.loop.without = ("data_source",)
    run.step()
    correct = [trajectory[-1].correct for i in prompts_of(1) for trajectory in answers(i)]
    assert run.buffer.toggle.counts() == {("unknown",): sum(correct)}


def test_max_score_judges_acc_or_else_the_reward() -> None:
    run = Run(config_of(*TOGGLE, "+trainer.v1.sampler.sampler_kwargs.max_score=2"))
    run.step()
    assert run.buffer.toggle.counts() == {}


def shaped_batches() -> list[Shaped]:
    toggle = Toggle(m=1, lambda_=0.5, percentile=80)
    toggle.observe(["a", "b", "c"], [10, 20, 90], [1.0, 1.0, 1.0], step=0)
    return [toggle.shape(1, np.ones(2), [15, 9], [name] * 2, groups=2) for name in ("a", "b", "c")]


def test_how_verl_puts_the_metrics_of_a_step_together() -> None:
    """As the page says; several batches make a step only where `parameter_sync_step` is above 1."""
    batches = [shaped.metrics for shaped in shaped_batches()]
    aggregator = MetricsAggregator()
    for metrics in batches:
        aggregator.add_step_metrics(metrics, sample_count=2)
    together: dict[str, Any] = aggregator.get_aggregated_metrics()
    assert together.keys() == METRICS
    for name, value in together.items():
        combine = {"toggle/budget_min": min, "toggle/budget_max": max}.get(name, np.mean)
        assert value == pytest.approx(combine([metrics[name] for metrics in batches])), name
