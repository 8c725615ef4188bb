"""The recipes for frameworks without a hook: on data of their shapes, and as the page has them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from toggle_rs import Toggle

PROJECT = Path(__file__).parents[2]
RECIPES = PROJECT / "examples" / "recipes"


def recipe(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"recipe_{name}", RECIPES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_code_that_runs() -> None:
    page = (PROJECT / "docs" / "other_frameworks.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block, name in zip(blocks, ("skyrl", "openrlhf", "nemo_rl"), strict=True):
        assert block in (RECIPES / f"{name}.py").read_text()


@pytest.fixture
def toggle() -> Toggle:
    """Its budget is 10 at step 1, a step of the penalty."""
    result = Toggle(m=1, lambda_=0.5, percentile=50)
    result.observe(["math"] * 3, [9, 10, 11], [1.0, 1.0, 1.0], step=0)
    return result


def test_skyrl(toggle: Toggle) -> None:
    shape_output = recipe("skyrl").shape_output
    shared = [0.0, 0.0, 1.0]
    output: dict[str, Any] = {
        "rewards": [1.0, shared, 1.0, [0.25, 0.75], shared, 0.0],
        "loss_masks": [[1] * 10, [1] * 11, [1] * 12 + [0] * 9, [1, 0], [0] * 40, [1] * 99],
        "stop_reasons": None,
    }
    shaped, metrics = shape_output(toggle, 1, output, ["a", "b", "a", "b", "b", "c"], "math")
    assert shaped["rewards"] == [1.0, [0.0, 0.0, 0.0], 0.0, [0.25, 0.75], shared, 0.0]
    assert shared == [0.0, 0.0, 1.0]
    assert output["rewards"][2] == 1.0
    assert shaped["stop_reasons"] is None
    assert metrics["toggle/length_penalty_phase"] == 1
    assert toggle.counts() == {("math",): 8}


def experience(reward: float, score: float, tokens: int, dtype: Any = np.float32) -> Any:
    return SimpleNamespace(
        rewards=np.array([reward], dtype),
        scores=np.array([score], dtype),
        action_mask=np.array([[1] * tokens + [0] * 7]),
    )


def test_openrlhf(toggle: Toggle) -> None:
    shape_experiences = recipe("openrlhf").shape_experiences
    group = [
        experience(0.5, 1, 10),
        experience(0.5, 1, 11),
        experience(1, 1, 99, np.int64),
        experience(0, 0, 5),
    ]
    shape_experiences(toggle, 1, group, "math")
    assert [float(one.rewards.item()) for one in group] == [0.5, 0.0, 0.0, 0.0]
    assert [float(one.scores.item()) for one in group] == [1.0, 0.0, 0.0, 0.0]
    assert all(one.rewards.dtype.kind == "f" for one in group)
    assert toggle.counts() == {("math",): 6}
    unsolved = [experience(1, 1, 99), experience(0, 0, 99), experience(0, 0, 99)]
    shape_experiences(toggle, 1, unsolved, "math")
    assert [float(one.rewards.item()) for one in unsolved] == [1.0, 0.0, 0.0]


def test_nemo_rl(toggle: Toggle) -> None:
    shape_batch = recipe("nemo_rl").shape_batch

    def log(*tokens: int) -> list[dict[str, Any]]:
        turns = [{"role": "user", "token_ids": [1] * 50}]
        for count in tokens:
            turns += [
                {"role": "assistant", "token_ids": [1] * count},
                {"role": "environment", "token_ids": [1] * 50},
            ]
        return turns

    before = np.array([1.0, 1.0, 1.0, 0.0], np.float32)
    batch: dict[str, Any] = {
        "total_reward": before,
        "message_log": [log(5, 5), log(5, 6), log(99), log(1)],
        "task_name": ["math"] * 4,
    }
    metrics = shape_batch(toggle, 1, batch, 2)
    assert batch["total_reward"].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert batch["total_reward"].dtype == np.float32
    assert before.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert metrics["toggle/kept_ratio"] == 0.5
    assert toggle.counts() == {("math",): 6}
