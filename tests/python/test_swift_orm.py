"""`ToggleORM` with stand-ins of what ms-swift does: its registries and its calls."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from toggle_rs.integrations import trl
from toggle_rs.integrations.swift import ToggleORM

SETTINGS: dict[str, Any] = {"m": 1, "lambda_": 0.5, "percentile": 50}


class Accuracy:
    """As ms-swift's own: completions come first, columns by name."""

    def __call__(self, completions: list[str], solution: list[str], **_: Any) -> list[float]:
        return [float(a == b) for a, b in zip(completions, solution, strict=True)]


@pytest.fixture
def reward(monkeypatch: pytest.MonkeyPatch) -> ToggleORM:
    monkeypatch.setattr(trl, "_gather", lambda own: ([own], 0))
    run: Any = SimpleNamespace(model=SimpleNamespace(training=True), num_generations=2)
    result = ToggleORM(Accuracy(), dataset_column=None, **SETTINGS)
    result.run = run
    return result


def call(reward: Any, step: int, answers: list[str], **columns: Any) -> list[float]:
    result: list[float] = reward(
        answers,
        trainer_state=SimpleNamespace(global_step=step),
        solution=["yes"] * len(answers),
        **columns,
    )
    return result


def test_lengths_are_of_all_turns(reward: ToggleORM) -> None:
    responses = [[[1] * 6, [1] * 4], [1] * 20, [[1] * 30], []]
    ids = ["a", "a", "b", "b"]
    call(reward, 0, ["yes"] * 4, response_token_ids=responses, prompt_id=ids)
    reward.settle(1)
    assert reward.toggle.counts() == {("all",): 4}
    assert reward.toggle.budgets() == {("all",): 15.0}
    shaped = call(reward, 1, ["yes"] * 4, response_token_ids=responses, prompt_id=ids)
    assert shaped == [1, 0, 0, 1]


def test_groups_are_those_of_prompts(reward: ToggleORM) -> None:
    call(reward, 0, ["yes"] * 2, response_token_ids=[[1]] * 2, prompt_id=["a", "a"])
    answers = ["yes", "no", "yes", "no", "no"]
    columns = {"response_token_ids": [[1] * 9] * 5, "prompt_id": ["a", "b", "a", "b", "b"]}
    assert call(reward, 1, answers, **columns) == [0, 0, 0, 0, 0]
    # One right of three, and one right of two.
    columns["prompt_id"] = ["a", "a", "b", "b", "a"]
    assert call(reward, 3, answers, **columns) == [1, 0, 0, 0, 0]
    # Without ids, groups lie side by side.
    columns = {"response_token_ids": [[1] * 99] * 4, "prompt_id": None}
    assert call(reward, 5, ["yes", "no", "no", "no"], **columns) == [0, 0, 0, 0]


def test_what_it_cannot_do_is_said(reward: ToggleORM) -> None:
    with pytest.raises(ValueError, match="response_token_ids: ms-swift did not pass them"):
        call(reward, 0, ["yes"] * 2)
    columns = {"response_token_ids": [[1]] * 2, "prompt_id": ["a", "a"]}
    with pytest.raises(ValueError, match="request_id: one request came back as several samples"):
        call(reward, 0, ["yes"] * 2, request_id=["r", "r"], **columns)
    with pytest.raises(RuntimeError, match="Accuracy: called without trainer_state"):
        reward(["yes"], solution=["yes"])
    reward.settle(9)
    assert reward.toggle.counts() == {}


def test_it_is_registered_without_ms_swift() -> None:
    """Both registries call what they hold: with options of the run, with its args and trainer."""
    orms: dict[str, Any] = {}
    reward = ToggleORM(Accuracy(), **SETTINGS)
    orms["toggle"] = lambda **_: reward
    # It looks for arguments that are options of the run.
    names = set(inspect.signature(orms["toggle"].__init__).parameters) - {"args", "kwargs"}
    assert names == set()
    assert orms["toggle"](args=None) is reward
    assert type(orms["toggle"]()).__name__ == "ToggleORM"
