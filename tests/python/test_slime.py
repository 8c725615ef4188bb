"""The hooks of slime, called as its rollout manager calls them, with stand-ins for its classes."""

from __future__ import annotations

import copy
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from toggle_rs import Toggle
from toggle_rs.integrations.slime import ToggleDataSource, log_rollout, post_process_rewards

SETTINGS = {"m": 1, "lambda_": 0.5, "percentile": 70}


@dataclass
class Sample:
    """What slime's own has of what is used."""

    group_index: int | None
    index: int | None
    response_length: int
    reward: Any
    loss_mask: list[int] | None = None
    rollout_id: int | None = None
    metadata: dict[str, str] = field(default_factory=dict)

    def get_reward_value(self, args: Any) -> float:
        value: float = self.reward[args.reward_key] if args.reward_key else self.reward
        return value

    @property
    def effective_response_length(self) -> int:
        return self.response_length if self.loss_mask is None else sum(self.loss_mask)


def args_of(**changes: Any) -> SimpleNamespace:
    defaults = {
        "toggle": SETTINGS, "advantage_estimator": "grpo", "rewards_normalization": True,
        "grpo_std_normalization": True, "reward_key": None, "save": None, "load": None,
    }  # fmt: skip
    return SimpleNamespace(**defaults | changes)


def rollout(number: int) -> list[Sample]:
    """Groups of uneven size, mixed; every third sample has tool tokens, some fan out in two."""
    rng = np.random.default_rng([3, number])
    samples = []
    for group in range(6):
        solved = rng.choice([0.0, 0.6, 1.0])
        for i in range(rng.integers(2, 6)):
            reward = float(rng.random() < solved)
            for _ in range(1 + (group == 0)):
                length = int(rng.integers(0, 60))
                sample = Sample(100 * number + group, 10 * group + i, length, reward)
                sample.metadata = {"source_name": ["math", "code"][group % 2]}
                if i % 3 == 0:
                    sample.loss_mask = [int(token % 4 > 0) for token in range(length)]
                samples.append(sample)
    return [samples[i] for i in rng.permutation(len(samples))]


def generate(args: Any, number: int) -> tuple[list[float], list[float]]:
    """As `RolloutManager.generate`: the log comes first."""
    samples = rollout(number)
    assert log_rollout(number, args, samples, {}, 1.0) is False
    return post_process_rewards(args, samples)


def normalised(rewards: np.ndarray, args: Any) -> np.ndarray:
    if not args.rewards_normalization:
        return rewards
    centred: np.ndarray = rewards - rewards.mean()
    if args.grpo_std_normalization and args.advantage_estimator == "grpo":
        centred /= centred.std(ddof=1) + 1e-6
    return centred


def told(lengths: dict[str, list[int]], number: int, args: Any) -> tuple[list[float], list[float]]:
    """A rollout group by group; adds what it has seen to the lengths."""
    samples = rollout(number)
    raw = [sample.reward for sample in samples]
    result = [0.0] * len(samples)
    seen: list[tuple[str, int]] = []
    for group in {sample.group_index for sample in samples}:
        answers: dict[Any, list[int]] = {}
        for row, sample in enumerate(samples):
            if sample.group_index == group:
                answers.setdefault(sample.index, []).append(row)
        source = samples[next(iter(answers.values()))[0]].metadata["source_name"]
        rewards, tokens = [], []
        for rows in answers.values():
            rewards.append(samples[rows[-1]].reward)
            tokens.append(sum(samples[row].effective_response_length for row in rows))
        known = lengths.get(source)
        seen += [(source, n) for n, reward in zip(tokens, rewards, strict=True) if reward >= 1]
        if number % 2 and known and sum(rewards) / len(rewards) >= 0.5:
            budget = np.percentile(known, 70)
            rewards = [r if n <= budget else 0.0 for r, n in zip(rewards, tokens, strict=True)]
        for rows, value in zip(answers.values(), normalised(np.array(rewards), args), strict=True):
            for row in rows:
                result[row] = value
    for source, n in seen:
        lengths.setdefault(source, []).append(n)
    return raw, result


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"grpo_std_normalization": False},
        {"advantage_estimator": "reinforce_plus_plus_baseline"},
        {"rewards_normalization": False},
    ],
)
def test_both_phases_of_a_run(changes: dict[str, Any]) -> None:
    args = args_of(**changes)
    lengths: dict[str, list[int]] = {}
    unshaped = args_of(**changes, toggle={"m": 0, "lambda_": 0.5, "percentile": 70})
    differ = 0
    for number in range(8):
        raw, rewards = generate(args, number)
        expected_raw, expected = told(lengths, number, args)
        assert raw == expected_raw
        assert rewards == pytest.approx(expected, abs=1e-5)
        assert rewards != raw or not args.rewards_normalization
        differ += rewards != generate(unshaped, number)[1]
        counts = {(name,): len(known) for name, known in lengths.items()}
        assert args.toggle_run.toggle.counts() == counts
    assert differ >= 3


def test_the_number_of_the_rollout_is_needed() -> None:
    with pytest.raises(ValueError, match="--custom-rollout-log-function-path"):
        post_process_rewards(args_of(), rollout(0))


@pytest.mark.parametrize(
    ("toggle", "error", "match"),
    [
        (None, ValueError, "args.toggle: missing"),
        ({"m": 1}, TypeError, "lambda_"),
        ({**SETTINGS, "m": -1}, ValueError, "m"),
        ({**SETTINGS, "max_score": "1"}, TypeError, "^max_score: got '1', expected a number"),
        ({**SETTINGS, "max_score": float("nan")}, ValueError, "^max_score: got nan"),
        ({**SETTINGS, "estimator": 5}, ValueError, "window:N or decay:H"),
    ],
)
def test_settings_are_checked(toggle: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        log_rollout(0, args_of(toggle=toggle))


def test_samples_without_a_group_are_refused() -> None:
    args = args_of()
    log_rollout(0, args)
    before = args.toggle_run.toggle.to_bytes()
    with pytest.raises(ValueError, match="group_index of sample 1 is missing"):
        post_process_rewards(args, [Sample(0, 0, 5, 1.0), Sample(None, 1, 5, 1.0)])
    assert args.toggle_run.toggle.to_bytes() == before


@pytest.mark.filterwarnings("ignore:scores go down")
def test_rewards_in_a_dict_and_samples_without_an_index() -> None:
    args = args_of(reward_key="score", rewards_normalization=False, toggle={**SETTINGS, "m": 1})
    rewards = [{"score": 0.5, "acc": True}, {"score": 0.5, "acc": True}, {"score": -1.0, "acc": 0}]
    samples = [Sample(7, None, n, r) for n, r in zip([10, 90, 90], rewards, strict=True)]
    log_rollout(0, args)
    assert post_process_rewards(args, samples) == ([0.5, 0.5, -1.0], [0.5, 0.5, -1.0])
    assert args.toggle_run.toggle.counts() == {("unknown",): 2}
    log_rollout(1, args)
    # The budget is 66; zero is above a negative reward.
    assert post_process_rewards(args, samples) == ([0.5, 0.5, -1.0], [0.5, 0.0, 0.0])


def test_parts_of_a_response_have_a_rollout_id() -> None:
    args = args_of(rewards_normalization=False)
    parts = [Sample(0, i, 10, 1.0, rollout_id=i // 2) for i in range(4)]
    log_rollout(0, args)
    post_process_rewards(args, parts)
    assert args.toggle_run.toggle.counts() == {("unknown",): 2}
    assert args.toggle_run.toggle.budget("unknown") == 20


@pytest.fixture
def slime(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Its modules; what it logs, and what its data source is told."""
    calls: list[Any] = []

    class RolloutDataSourceWithBuffer:
        def __init__(self, args: Any) -> None:
            self.args = args
            self.buffer = ["a", "b"]

        def __len__(self) -> int:
            return 3

        def get_samples(self, count: int) -> list[int]:
            return [*range(count)]

        def save(self, rollout_id: int) -> None:
            calls.append(("save", rollout_id))

        def load(self, rollout_id: int | None = None) -> None:
            calls.append(("load", rollout_id))

    parts: dict[str, dict[str, Any]] = {
        "data": {"get_source": lambda sample: "of " + sample.metadata["source_name"]},
        "metric_utils": {"compute_rollout_step": lambda _, rollout_id: rollout_id * 10},
        "logging_utils": {
            "log": lambda _, metrics, step_key: calls.append((metrics, step_key)),
        },
    }
    for name in ("slime", "slime.utils", "slime.rollout"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name, content in parts.items():
        module = ModuleType(f"slime.utils.{name}")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(sys.modules["slime.utils"], name, module, raising=False)
    module = ModuleType("slime.rollout.data_source")
    vars(module).update(RolloutDataSourceWithBuffer=RolloutDataSourceWithBuffer)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return calls


def test_slime_names_the_datasets_and_gets_the_metrics(slime: list[Any]) -> None:
    args = args_of()
    for number in range(3):
        generate(args, number)
    assert args.toggle_run.toggle.counts().keys() == {("of math",), ("of code",)}
    for number, (metrics, step_key) in enumerate(slime):
        assert step_key == "rollout/step"
        assert metrics.pop("rollout/step") == 10 * number
        assert len(metrics) == 9
        assert all(name.startswith("toggle/") for name in metrics)
    assert len(slime) == 3


def test_the_data_source_is_slimes(slime: list[Any]) -> None:
    source = ToggleDataSource(args_of())
    assert (len(source), source.get_samples(2), source.buffer) == (3, [0, 1], ["a", "b"])
    source.load(None)
    assert slime == [("load", None)]
    with pytest.raises(AttributeError, match="no_such"):
        _ = source.no_such
    copy.copy(source)


@pytest.mark.usefixtures("slime")
def test_a_resumed_run_goes_on_as_one_that_was_not_broken(tmp_path: Path) -> None:
    whole = args_of()
    rewards = [generate(whole, number) for number in range(6)]

    first = args_of(save=str(tmp_path))
    source = ToggleDataSource(first)
    assert [generate(first, number) for number in range(4)] == rewards[:4]
    source.save(2)  # rollout 3 is there already, for the trainer is one behind

    again = args_of(load=str(tmp_path), toggle={**SETTINGS, "percentile": 70.0})
    ToggleDataSource(again).load(2)
    assert [generate(again, number) for number in (3, 4, 5)] == rewards[3:]
    assert again.toggle_run.toggle == whole.toggle_run.toggle


@pytest.mark.usefixtures("slime")
def test_a_state_that_is_not_there_is_none(tmp_path: Path) -> None:
    args = args_of(save=str(tmp_path), load=str(tmp_path))
    source = ToggleDataSource(args)
    source.load(5)
    assert args.toggle_run.toggle.counts() == {}
    source.save(0)  # nothing was generated: the state of now
    assert Toggle.load(tmp_path / "rollout" / "toggle_0.bin") == args.toggle_run.toggle


def test_few_states_are_kept() -> None:
    args = args_of()
    for number in range(40):
        generate(args, number)
    assert [*args.toggle_run.states] == [*range(24, 40)]
