"""verl's group filter looks at what shaping has left."""

from __future__ import annotations

import pytest

from told import Told
from verl_run import (
    ASYNC,
    PROMPTS_A_STEP,
    TOGGLE,
    Run,
    answers,
    as_answered,
    config_of,
    empty_queue,
)

FILTER = ("algorithm.filter_groups.enable=true", "data.gen_batch_size=1")


@pytest.mark.parametrize("mode", ["sync", "colocate_async"])
@pytest.mark.parametrize("metric", ["reward", "solved"])
def test_groups_without_a_signal_go_after_shaping(metric: str, mode: str) -> None:
    overrides = (*TOGGLE, *FILTER, f"algorithm.filter_groups.metric={metric}")
    strict = "trainer.v1.sampler.sampler_kwargs.percentile=20"
    run = Run(config_of(*overrides, strict, *(ASYNC if mode != "sync" else ())))
    told = Told(m=1, lambda_=0.5, percentile=20)
    gained = lost = 0
    left: set[int] = set()
    for step in range(1, 13):
        rewards, metrics = run.step()
        assert rewards == {prompt: told.shaped(step, prompt) for prompt in rewards}
        assert len(rewards) == PROMPTS_A_STEP
        now = run.left() - left
        left |= now
        dropped = {prompt for prompt in now if told.is_filtered(step, prompt, metric)}
        assert not dropped & rewards.keys()
        assert metrics.get("training/filter_groups/evicted_samples", 0) == len(dropped)
        surplus = now - dropped - rewards.keys()
        assert metrics.get("training/filter_groups/discarded_surplus_samples", 0) == len(surplus)
        plain = Told(m=step + 1, lambda_=0.5, percentile=20)
        gained += sum(plain.is_filtered(step, prompt, metric) for prompt in rewards)
        lost += sum(not plain.is_filtered(step, prompt, metric) for prompt in dropped)
        told.observe(now)
        assert run.buffer.toggle.counts() == told.counts()
        assert run.buffer._responses.keys() <= run.waiting().keys()  # noqa: SLF001 - no leak
    assert gained, "groups that the filter would have dropped before shaping"
    assert lost or metric == "solved", "and the other way round"


def test_without_a_filter_nothing_is_dropped() -> None:
    run = Run(config_of(*TOGGLE, "algorithm.filter_groups.metric=solved"))
    for step in (1, 2):
        rewards, metrics = run.step()
        assert not any("evicted" in name for name in metrics)
        assert len(rewards) == PROMPTS_A_STEP, step


def test_the_settings_are_those_that_verl_gives_its_own_buffer() -> None:
    names = (
        "filter_groups_metric", "train_batch_size", "max_inflight_gen_batches",
        "sync_refill_failed_groups", "max_off_policy_threshold", "max_off_policy_strategy",
    )  # fmt: skip
    own = ("trainer.v1.sampler.custom_sampler={path:null,name:null}",)
    for overrides in (
        (),
        FILTER,
        (*FILTER, "algorithm.filter_groups.max_inflight_gen_batches=3"),
        ("trainer.v1.sampler.sync_refill_failed_groups=true", "data.gen_batch_size=1"),
        (*ASYNC, *FILTER, "trainer.v1.sampler.max_off_policy_threshold=2"),
    ):
        ours = Run(config_of(*overrides)).buffer
        theirs = Run(config_of(*overrides, *own, "trainer.checkpoint_callback_class=null")).buffer
        assert [getattr(ours, name) for name in names] == [getattr(theirs, name) for name in names]


def test_stale_groups_count_when_they_are_dropped() -> None:
    run = Run(config_of(*TOGGLE, *ASYNC, "trainer.v1.sampler.max_off_policy_threshold=1"))
    told = Told(m=1, lambda_=0.5, percentile=70)
    run.trainer.on_train_begin()  # a batch ahead, at step 0
    rewards, metrics = run.step()
    assert metrics["training/off_policy/evicted_samples"] == PROMPTS_A_STEP
    assert run.left() == {*range(PROMPTS_A_STEP)} | rewards.keys()
    told.observe(run.left())
    assert run.buffer.toggle.counts() == told.counts()


def test_groups_that_failed_count_only_where_verl_trains_on_them() -> None:
    run = Run(config_of(*TOGGLE, *ASYNC, "data.gen_batch_size=1"))
    run.loop.fails = {0, 3}
    rewards, metrics = run.step()
    assert rewards.keys() == {1, 2, 4, 5, 6, 7}
    assert metrics["training/rollout_failure/evicted_samples"] == 2
    assert run.left() == {*range(8)}
    told = Told(m=1, lambda_=0.5, percentile=70)
    told.observe(rewards)
    assert run.buffer.toggle.counts() == told.counts()

    empty_queue()
    run = Run(config_of(*TOGGLE))
    run.loop.fails = {0, 3}
    rewards, _ = run.step()
    correct = [session[-1].correct for i in rewards for session in answers(i)[: len(rewards[i])]]
    assert [len(rewards[i]) for i in (0, 3)] == [len(answers(i)) - 1 for i in (0, 3)]
    assert sum(run.buffer.toggle.counts().values()) == sum(correct)


def test_groups_are_shaped_by_the_step_that_takes_them() -> None:
    run = Run(config_of(*TOGGLE, *ASYNC))
    told = Told(m=1, lambda_=0.5, percentile=70)
    run.trainer.on_train_begin()
    changed = 0
    for step in range(1, 9):
        ahead = run.buffer.toggle.to_bytes()
        run.buffer.get_sampleable_count(step, "train")
        rewards, _ = run.step()
        prompts = range((step - 1) * PROMPTS_A_STEP, step * PROMPTS_A_STEP)
        assert rewards == {prompt: told.shaped(step, prompt) for prompt in prompts}
        changed += sum(rewards[prompt] != as_answered(prompt) for prompt in prompts)
        told.observe(prompts)
        assert run.buffer.toggle.counts() == told.counts()
        assert run.buffer.toggle.to_bytes() != ahead
        # Those that wait have the rewards of the reward function.
        waiting = run.rewards([key for keys in run.waiting().values() for key in keys])
        expected = range(step * PROMPTS_A_STEP, (step + 1) * PROMPTS_A_STEP)
        assert waiting == {prompt: as_answered(prompt) for prompt in expected}
    assert changed > 5


def test_to_ask_how_many_there_are_changes_nothing() -> None:
    run = Run(config_of(*TOGGLE, *ASYNC, *FILTER))
    run.trainer.on_train_begin()
    before = run.buffer.toggle.to_bytes()
    count = run.buffer.get_sampleable_count(1, "train")
    told = Told(m=1, lambda_=0.5, percentile=70)
    assert count == sum(not told.is_filtered(1, i, "reward") for i in range(PROMPTS_A_STEP))
    assert run.buffer.toggle.to_bytes() == before
