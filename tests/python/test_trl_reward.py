"""`ToggleReward` by itself, with a stand-in for the trainer; tests/frameworks has the real one."""

from __future__ import annotations

import functools
import math
import pickle
import re
import subprocess
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from toggle_rs import Toggle
from toggle_rs.integrations import trl
from toggle_rs.integrations.trl import ToggleReward

SETTINGS: dict[str, Any] = {"m": 1, "lambda_": 0.5, "percentile": 50}


def given(completions: list[str], **_: Any) -> list[Any]:
    return [None if text == "none" else float(text) for text in completions]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trl, "_gather", lambda own: ([own], 0))


def attached(reward: Any, size: int = 4, *, training: bool = True) -> Any:
    reward.run = SimpleNamespace(model=SimpleNamespace(training=training), num_generations=size)
    return reward


def call(
    reward: Any, step: int, rewards: list[Any], lengths: list[int], **columns: Any
) -> list[Any]:
    columns = {"dataset": ["math"] * len(rewards)} | columns
    result: list[Any] = reward(
        prompts=["p"] * len(rewards),
        completions=["none" if value is None else str(value) for value in rewards],
        completion_ids=[[7] * length for length in lengths],
        trainer_state=SimpleNamespace(global_step=step),
        **columns,
    )
    return result


def test_the_penalty_is_that_of_the_report() -> None:
    reward = attached(ToggleReward(given, **SETTINGS))
    assert call(reward, 0, [1, 1, 1, 0], [10, 20, 30, 99]) == [1, 1, 1, 0]
    assert call(reward, 1, [1, 1, 0, 0], [20, 21, 5, 50]) == [1, 0, 0, 0]
    # Below lambda nothing is masked, nor in the normal phase.
    assert call(reward, 3, [1, 0, 0, 0], [500] * 4) == [1, 0, 0, 0]
    assert call(reward, 4, [1, 1, 1, 1], [500] * 4) == [1, 1, 1, 1]
    reward.settle(5)
    assert reward.toggle.counts() == {("math",): 3 + 2 + 1 + 4}


def test_none_passes_and_does_not_count() -> None:
    reward = attached(ToggleReward(given, **SETTINGS))
    assert call(reward, 0, [1, None, 1, None], [10, 1, 30, 1]) == [1, None, 1, None]
    # Of two that count one is right: at lambda 0.5 that is enough.
    shaped = call(reward, 1, [None, 1, None, 0], [99, 99, 99, 99])
    assert shaped == [None, 0, None, 0]
    assert call(reward, 2, [None] * 4, [1] * 4) == [None] * 4
    reward.settle(3)
    assert reward.toggle.counts() == {("math",): 3}


def test_a_step_in_several_calls_gets_the_budgets_from_before_it() -> None:
    reward = attached(ToggleReward(given, **SETTINGS))
    call(reward, 0, [1] * 4, [10] * 4)
    assert call(reward, 1, [1] * 4, [10, 11, 12, 13]) == [1, 0, 0, 0]
    assert call(reward, 1, [1] * 4, [10, 11, 12, 13]) == [1, 0, 0, 0]
    reward.settle(1)
    assert reward.toggle.counts() == {("math",): 4}
    reward.settle(2)
    assert reward.toggle.counts() == {("math",): 12}


class Box:
    """A number, as torch and NumPy have them."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


@pytest.mark.parametrize(
    "values",
    [
        [1, 0, True, False],
        np.array([1.0, 0.0, 1.0, 0.0], np.float32),
        [np.float16(1), np.int8(0), np.True_, np.float64(0)],
        (Box(1.0), Box(0.0), Box(1.0), 0),
        iter([1, 0, 1, 0]),
    ],
)
def test_rewards_of_other_kinds_are_numbers(values: Any) -> None:
    reward = attached(ToggleReward(lambda **_: values, **SETTINGS))
    shaped = call(reward, 0, [0] * 4, [1] * 4)
    assert shaped == [1.0, 0.0, 1.0, 0.0]
    assert {type(value) for value in shaped} == {float}


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (
            [1, 0, math.nan, 0],
            ValueError,
            r"rewards[2]: got nan, expected a finite number, or None",
        ),
        ([1, math.inf, 0, 0], ValueError, "rewards[1]: got inf"),
        ([1, 10**400, 0, 0], ValueError, "rewards[1]: int too large"),
        (["1", 1, 0, 0], TypeError, "rewards[0]: got '1', expected a number or None"),
        ([1, [1], 0, 0], TypeError, "rewards[1]: got [1]"),
        ([1, 1j, 0, 0], TypeError, "rewards[1]: got 1j"),
        ([1, 0, 1], ValueError, "rewards: got 3 values, expected 4, one a completion"),
        ([], ValueError, "rewards: got 0 values"),
    ],
)
def test_a_bad_reward_is_named_and_nothing_changes(
    values: list[Any], error: type[Exception], message: str
) -> None:
    reward = attached(ToggleReward(lambda **_: values, **SETTINGS))
    with pytest.raises(error) as caught:
        call(reward, 0, [0] * 4, [1] * 4)
    assert message in str(caught.value)
    reward.settle(9)
    assert reward.toggle == Toggle(**SETTINGS)


@pytest.mark.parametrize(
    ("options", "columns", "error", "message"),
    [
        ({"length": [1, 2, 3.5, 4]}, {}, TypeError, "length[2]: 'float' object"),
        ({"length": [1, 2, 3]}, {}, ValueError, "length: got 3 values, expected 4"),
        ({"length": [1, 2, -3, 4]}, {}, ValueError, "lengths[2]: got -3"),
        ({"correct": [True, 0.5, True, True]}, {}, TypeError, "correct[1]: got 0.5, expected True"),
        ({"correct": [True, None, True, True]}, {}, TypeError, "correct[1]: got None"),
        ({"correct": [True] * 5}, {}, ValueError, "correct: got 5 values, expected 4"),
        ({}, {"dataset": ["math"] * 3}, ValueError, "dataset: got 3 values, expected 4"),
        ({}, {"dataset": ["math", 3, "math", "math"]}, TypeError, "datasets[1]: got 3 (int)"),
        ({"dataset_column": "source"}, {}, ValueError, "the training data has no column 'source'"),
    ],
)
def test_a_bad_column_is_named_and_nothing_changes(
    options: dict[str, Any], columns: dict[str, Any], error: type[Exception], message: str
) -> None:
    callables: dict[str, Any] = {
        name: value if name == "dataset_column" else (lambda value=value, **_: value)
        for name, value in options.items()
    }
    reward = attached(ToggleReward(given, **SETTINGS, **callables))
    with pytest.raises(error) as caught:
        call(reward, 0, [1] * 4, [1] * 4, **columns)
    assert message in str(caught.value)
    reward.settle(9)
    assert reward.toggle == Toggle(**SETTINGS)


@pytest.mark.parametrize("value", [1.0, None, np.float32(1), np.array(0.5)])
@pytest.mark.parametrize("training", [True, False])
def test_one_number_for_all_is_no_list(value: Any, training: bool) -> None:
    reward = attached(ToggleReward(lambda **_: value, **SETTINGS), training=training)
    message = re.escape(f"reward_func: got {value!r}, expected a list with one entry for each")
    with pytest.raises(TypeError, match=f"^{message}"):
        call(reward, 0, [1] * 4, [1] * 4)
    for name in ("length", "correct"):
        options: dict[str, Any] = {name: lambda **_: value}
        reward = attached(ToggleReward(given, **options, **SETTINGS))
        with pytest.raises(TypeError, match=f"^{name}: got .*, expected a list"):
            call(reward, 0, [1] * 4, [1] * 4)


def test_an_error_inside_of_the_reward_function_is_its_own() -> None:
    def broken(**_: Any) -> Any:
        yield 1.0
        raise TypeError("mine")

    with pytest.raises(TypeError, match="^mine$"):
        call(attached(ToggleReward(broken, **SETTINGS)), 0, [1] * 4, [1] * 4)


def test_groups_of_another_size_are_refused() -> None:
    reward = attached(ToggleReward(given, **SETTINGS), size=3)
    with pytest.raises(ValueError, match="completions: got 4, expected a multiple of num_gen.*=3"):
        call(reward, 0, [1] * 4, [1] * 4)


@pytest.mark.filterwarnings("ignore:scores go down")
def test_length_and_correct_are_called_as_rewards_are() -> None:
    def length(completion_ids: list[list[int]], tools: list[int], **_: Any) -> list[int]:
        return [len(ids) - own for ids, own in zip(completion_ids, tools, strict=True)]

    def correct(rewards: list[float | None], label: list[str], **_: Any) -> list[Any]:
        assert rewards == [0.5, 0.5, -1.0, None]
        return [np.bool_(name == "right") for name in label]

    reward = attached(ToggleReward(given, length=length, correct=correct, **SETTINGS))
    columns = {"tools": [0, 5, 0, 0], "label": ["right", "right", "wrong", "right"]}
    call(reward, 0, [0.5, 0.5, -1, None], [10, 25, 99, 99], **columns)
    reward.settle(1)
    assert reward.toggle.counts() == {("math",): 2}
    assert reward.toggle.budgets() == {("math",): 15.0}
    shaped = call(reward, 1, [0.5, 0.5, -1, None], [16, 20, 99, 99], **columns)
    assert shaped == [0.0, 0.5, -0.0, None]


def test_max_score_says_what_is_correct() -> None:
    reward = attached(ToggleReward(given, max_score=10, **SETTINGS))
    call(reward, 0, [10, 9.9, 11, 0], [10, 20, 30, 40])
    reward.settle(1)
    assert reward.toggle.counts() == {("math",): 2}


def test_a_reward_in_float32_reaches_the_same_score() -> None:
    single: list[Any] = [np.float32(0.7), 0.7, np.float32(0.6999), 0.6999]
    reward = attached(ToggleReward(lambda **_: single, max_score=0.7, **SETTINGS))
    shaped = call(reward, 0, [0] * 4, [1] * 4, max_score=["a column"] * 4)
    assert shaped == [float(value) for value in single]
    reward.settle(1)
    assert reward.toggle.counts() == {("math",): 2}
    with pytest.raises(ValueError, match="max_score: got nan"):
        ToggleReward(given, max_score=math.nan, **SETTINGS)


def test_datasets_have_budgets_of_their_own_or_share_one() -> None:
    columns = {"dataset": ["math", "code", ["math", "code"], "math"]}
    apart = attached(ToggleReward(given, **SETTINGS))
    call(apart, 0, [1] * 4, [1] * 4, **columns)
    apart.settle(1)
    assert apart.toggle.counts() == {("math",): 2, ("code",): 1, ("math", "code"): 1}
    shared = attached(ToggleReward(given, dataset_column=None, **SETTINGS))
    call(shared, 0, [1] * 4, [1] * 4, **columns)
    shared.settle(1)
    assert shared.toggle.counts() == {("all",): 4}


def test_evaluation_gets_what_the_reward_function_returned() -> None:
    reward = attached(ToggleReward(given, **SETTINGS))
    call(reward, 0, [1] * 4, [10] * 4)
    before = pickle.dumps(reward)
    attached(reward, training=False)
    logged: list[Any] = []
    shaped = call(reward, 1, [1, None, 1], [99] * 3, log_metric=lambda *entry: logged.append(entry))
    assert shaped == [1, None, 1]
    assert logged == []
    assert pickle.dumps(reward) == before


def test_the_same_metrics_are_logged_whatever_comes() -> None:
    reward = attached(ToggleReward(given, **SETTINGS))
    names = []
    batches: list[list[Any]] = [[None] * 4, [1, 1, 0, 0], [0] * 4]
    for step, rewards in enumerate(batches):
        logged: dict[str, float] = {}
        call(reward, step, rewards, [5] * 4, log_metric=logged.__setitem__)
        names.append(list(logged))
    assert len(names[0]) == 9
    assert names[0] == names[1] == names[2]


def test_ranks_get_their_own_part_of_what_all_of_them_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of 4 over ranks that have 3, 5 and 0 samples."""
    whole = attached(ToggleReward(given, **SETTINGS))
    ranks = [attached(ToggleReward(given, **SETTINGS)) for _ in range(3)]
    parts = [slice(0, 3), slice(3, 8), slice(8, 8)]
    rng = np.random.default_rng(0)
    masked = 0
    for step in range(6):
        rewards = [1.0, None, 1.0, 1.0, *rng.integers(0, 2, 4).tolist()]
        lengths = rng.integers(1, 100, 8).tolist()
        expected = call(whole, step, rewards, lengths)
        own: list[Any] = []
        monkeypatch.setattr(trl, "_gather", lambda samples, own=own: own.append(samples) or 1 / 0)
        for reward, part in zip(ranks, parts, strict=True):
            with pytest.raises(ZeroDivisionError):
                call(reward, step, rewards[part], lengths[part])
        for i, (reward, part) in enumerate(zip(ranks, parts, strict=True)):
            monkeypatch.setattr(trl, "_gather", lambda _, i=i, own=own: (own, i))
            assert call(reward, step, rewards[part], lengths[part]) == expected[part]
        monkeypatch.setattr(trl, "_gather", lambda samples: ([samples], 0))
        masked += expected != rewards
    assert masked
    assert all(reward.toggle == whole.toggle for reward in ranks)


def test_without_a_step_or_a_trainer_it_says_why() -> None:
    reward = ToggleReward(given, **SETTINGS)
    with pytest.raises(RuntimeError, match="given: its callback is missing: pass callbacks="):
        call(reward, 0, [1] * 4, [1] * 4)
    with pytest.raises(
        RuntimeError, match="given: called without trainer_state.*Asynchronous GRPO"
    ):
        attached(reward)(prompts=["p"], completions=["1"], completion_ids=[[1]], dataset=["math"])


async def asynchronous(**_: Any) -> list[float]:
    return []


class Callable:
    def __call__(self, completions: list[str], **_: Any) -> list[Any]:
        return given(completions)


class AsyncCallable:
    async def __call__(self, **_: Any) -> list[float]:
        return []


@pytest.mark.parametrize("function", [3, None, asynchronous, AsyncCallable()])
def test_what_is_no_reward_function_is_refused(function: Any) -> None:
    with pytest.raises(TypeError, match=r"^reward_func: got .*, expected"):
        ToggleReward(function, **SETTINGS)


@pytest.mark.parametrize(
    ("function", "name"),
    [(given, "given"), (functools.partial(given), "given"), (Callable(), "Callable")],
)
def test_its_name_is_that_of_the_function_also_when_pickled(function: Any, name: str) -> None:
    reward = attached(ToggleReward(function, **SETTINGS))
    call(reward, 0, [1] * 4, [10] * 4)
    twin = pickle.loads(pickle.dumps(reward))  # noqa: S301 - its own bytes
    assert reward.__name__ == twin.__name__ == name
    assert twin.run is None
    # What waited to be counted goes with it.
    assert call(attached(twin), 1, [1] * 4, [11] * 4) == [0] * 4


def test_settings_are_those_of_toggle() -> None:
    settings = Toggle.kimi_k25(m=3, lambda_=0.5, percentile=80).settings
    assert ToggleReward(given, dataset_column="problem", **settings).toggle.settings == settings
    with pytest.raises(TypeError, match="lamda"):
        ToggleReward(given, lamda=0.5, **SETTINGS)
    with pytest.raises(ValueError, match="percentile"):
        ToggleReward(given, **SETTINGS | {"percentile": 101})
    with pytest.raises(TypeError, match="^max_score: got '1', expected a number"):
        ToggleReward(given, max_score="1", **SETTINGS)  # type: ignore[arg-type]  # is refused
    with pytest.raises(ValueError, match="^max_score: given beside correct"):
        ToggleReward(given, max_score=10, correct=lambda **_: [], **SETTINGS)


def test_it_warns_as_toggle_does() -> None:
    reward = attached(ToggleReward(given, **SETTINGS | {"lambda_": 0.9}))
    with pytest.warns(UserWarning, match="fully solved groups only"):
        call(reward, 0, [1] * 4, [1] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(reward, 1, [1] * 4, [1] * 4)


def in_a_new_process(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_importing_imports_no_framework() -> None:
    code = """
import sys
import toggle_rs, toggle_rs.integrations.trl, toggle_rs.integrations.swift
print({"torch", "trl", "transformers", "accelerate", "swift", "ray", "verl"} & {*sys.modules})
"""
    assert in_a_new_process(code) == "set()\n"


def test_without_trl_one_line_says_what_to_install() -> None:
    code = """
import sys
sys.modules["transformers"] = None
from toggle_rs.integrations.trl import ToggleReward
try:
    ToggleReward(print, m=1, lambda_=0.5, percentile=80).callback()
except ModuleNotFoundError as error:
    print(error)
"""
    message = "toggle_rs.integrations.trl needs trl: pip install 'toggle-rs[trl]'\n"
    assert in_a_new_process(code) == message
