"""A replay equals the reference formula at each step, and its sums equal plain loops."""

from __future__ import annotations

import gzip
import json
import math
import re
import tempfile
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import ReferenceTracker, key_of
from rollouts import REAL
from toggle_rs import P2Quantile, ToggleBudgetTracker, read_traces
from toggle_rs.replay import Replay, ReplayError, estimator_of, replay

PROJECT = Path(__file__).parents[2]
SAMPLE = sorted((PROJECT / "examples").glob("rollouts_*.jsonl.gz"))

Row = dict[str, Any]
Settings = tuple[int, float, float, int]


def row(step: int, prompt: int, sample: int, length: int = 3, **fields: Any) -> Row:
    return {
        "step": step,
        "sample_idx": sample,
        "prompt_idx": prompt,
        "response_tokens": [0] * length,
        "reward": 1.0,
        "dataset": "math",
    } | fields


def lines_of(files: list[Path]) -> list[Row]:
    lines = (line for path in files for line in gzip.decompress(path.read_bytes()).splitlines())
    return [json.loads(line) for line in lines]


def play(rows: list[Row], settings: Settings, max_score: float = 1.0) -> Replay:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rollouts.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        rollouts = read_traces([path])
    return replay(rollouts, ToggleBudgetTracker(*settings), max_score=max_score)


def steps_of(rows: list[Row]) -> Iterator[tuple[int, list[Row]]]:
    """Rows of each step, the samples of a prompt side by side."""
    rows = sorted(rows, key=lambda row: (row["step"], row["prompt_idx"], row["sample_idx"]))
    return ((step, list(rows)) for step, rows in groupby(rows, key=lambda row: row["step"]))


def check(result: Replay, rows: list[Row], settings: Settings, max_score: float) -> None:
    """Compare all of a replay with the reference tracker and with sums row by row."""
    lambda_ = settings[1]
    tracker = ReferenceTracker(*settings)
    seen: dict[str, list[Row]] = {}
    phases: dict[str, list[Row]] = {}
    steps = list(steps_of(rows))
    assert [step.step for step in result.steps] == [step for step, _ in steps]
    for got, (step, batch) in zip(result.steps, steps, strict=True):
        k = sum(row["prompt_idx"] == batch[0]["prompt_idx"] for row in batch)
        scores = np.array([row["reward"] for row in batch], dtype=np.float64)
        lengths = np.array([len(row["response_tokens"]) for row in batch])
        datasets = [row["dataset"] for row in batch]
        shaped, metrics = tracker.maybe_apply(step, scores, lengths, datasets, k, max_score)
        assert got.penalty == metrics["toggle/length_penalty_phase"]
        assert got.kept_ratio == metrics.get("toggle/mask_kept_ratio")
        budgets = {name: value for name, value in metrics.items() if "/budget/" in name}
        assert {f"toggle/budget/{name}": n for name, n in got.budgets.items()} == budgets
        accuracy = (scores / max_score).reshape(-1, k).mean(axis=1)
        for i, one in enumerate(batch):
            budget = tracker.budget(one["dataset"])
            over = budget is not None and lengths[i] > budget
            one["kept"] = not got.penalty or accuracy[i // k] < lambda_ or not over
            one["above"] = lengths[i] - budget if got.penalty and over else 0
            one["shaped"] = shaped[i]
            one["penalty"] = got.penalty
            seen.setdefault("|".join(key_of(one["dataset"])), []).append(one)
            phases.setdefault("length penalty" if got.penalty else "normal", []).append(one)
    assert result.rollouts == len(rows)
    assert set(result.datasets) == set(seen)
    for name, ones in seen.items():
        summary = result.datasets[name]
        correct = [one for one in ones if one["reward"] >= max_score]
        assert summary.rollouts == len(ones)
        assert summary.accuracy == len(correct) / len(ones)
        assert summary.budget == tracker.budget(ones[0]["dataset"])
        assert summary.correct_lengths == {
            p: np.percentile([len(one["response_tokens"]) for one in correct], p)
            for p in (10, 50, 80, 90, 100)
            if correct
        }
        kept = [one["kept"] for one in ones if one["penalty"]]
        assert summary.kept_ratio == (np.mean(kept) if kept else None)
        assert summary.tokens_above_budget == pytest.approx(sum(one["above"] for one in correct))
    assert set(result.phases) == set(phases)
    for name, ones in phases.items():
        phase = result.phases[name]
        assert (phase.steps, phase.rollouts) == (len({one["step"] for one in ones}), len(ones))
        for value, of in [
            (phase.accuracy, lambda one: one["reward"] >= max_score),
            (phase.length, lambda one: len(one["response_tokens"])),
            (phase.reward, lambda one: one["reward"]),
            (phase.shaped_reward, lambda one: one["shaped"]),
            (phase.kept_ratio, lambda one: one["kept"]),
        ]:
            assert value == pytest.approx(np.mean([of(one) for one in ones]))


@pytest.mark.parametrize(
    "settings", [(3, 0.5, 80.0, 2), (5, 0.5, 80.0, 5), (1, 0.9, 33.3, 0), (2, 1.5, 0.0, 17)]
)
@pytest.mark.parametrize(
    "files",
    [
        pytest.param(SAMPLE, id="sample"),
        pytest.param(
            REAL,
            id="real",
            marks=pytest.mark.skipif(not REAL, reason="no ../shared/data beside the checkout"),
        ),
    ],
)
def test_a_replay_equals_the_reference(files: list[Path], settings: Settings) -> None:
    result = replay(read_traces(files), ToggleBudgetTracker(*settings))
    assert result.warnings == []
    check(result, lines_of(files), settings, 1.0)


@given(st.data())
def test_any_replay_equals_the_reference(data: st.DataObject) -> None:
    datasets = st.sampled_from(["a", ["a"], ["a", "b"], "c"])
    max_score = data.draw(st.sampled_from([1.0, 10.0, 0.3]))
    # Partial credit, rewards above the maximum, below zero.
    rewards = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 1.0, -0.5, 1.5])
    rows = []
    for step in sorted(data.draw(st.sets(st.integers(0, 9), min_size=1, max_size=6))):
        k = data.draw(st.integers(1, 5))
        prompts = data.draw(st.integers(1, 4))
        order = data.draw(st.permutations(range(k * prompts)))
        for prompt in range(prompts):
            dataset = data.draw(datasets)
            for sample in order[prompt * k : prompt * k + k]:
                length = data.draw(st.integers(0, 12))
                reward = data.draw(rewards) * max_score
                rows.append(row(step, prompt, sample, length, reward=reward, dataset=dataset))
    settings = (
        data.draw(st.integers(1, 3)),
        data.draw(st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0, 2.0])),
        data.draw(st.sampled_from([0.0, 50.0, 80.0, 100.0])),
        data.draw(st.integers(0, 4)),
    )
    shuffled = data.draw(st.permutations(rows))
    check(play(shuffled, settings, max_score), rows, settings, max_score)


def p2(lengths: list[int], _: list[int]) -> list[float | None]:
    sketch = P2Quantile(0.8)
    sketch.update(lengths)
    return [sketch.quantile(0.8)]


def gk(lengths: list[int], _: list[int]) -> list[int]:
    rank, error = math.ceil(0.8 * len(lengths)), int(0.001 * len(lengths))
    return sorted(lengths)[rank - 1 - error : rank + error]


def decay(lengths: list[int], steps: list[int]) -> list[np.float64]:
    weights = 2.0 ** np.array(steps)
    return [np.percentile(lengths, 80, weights=weights, method="inverted_cdf")]


# From the lengths of a dataset, and the steps at which they came, to its right budgets.
BUDGETS: dict[str, Callable[[list[int], list[int]], Any]] = {
    "exact": lambda lengths, _: [np.percentile(lengths, 80)],
    "p2": p2,
    "gk": gk,
    "window:300": lambda lengths, _: [np.percentile(lengths[-300:], 80)],
    "decay:1": decay,
}


def test_each_estimator_keeps_the_budgets() -> None:
    rollouts = read_traces(SAMPLE)
    results = {
        name: replay(
            rollouts, ToggleBudgetTracker(5, 0.5, 80.0, 5, estimator=estimator_of(name))
        ).steps
        for name in BUDGETS
    }
    seen: dict[str, tuple[list[int], list[int]]] = {}
    for i, (step, batch) in enumerate(steps_of(lines_of(SAMPLE))):
        for one in batch:
            lengths, steps = seen.setdefault("|".join(key_of(one["dataset"])), ([], []))
            if one["reward"] >= 1:
                lengths.append(len(one["response_tokens"]))
                steps.append(step)
        for estimator, replayed in results.items():
            budgets = replayed[i].budgets
            assert len(budgets) >= 3
            for name, budget in budgets.items():
                assert budget in BUDGETS[estimator](*seen[name]), (estimator, step, name)
    # None of them is another one in disguise.
    assert len({str(replayed[-1].budgets) for replayed in results.values()}) == len(BUDGETS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope", "expected exact, p2, gk, window:N or decay:H"),
        ("", "expected exact, p2, gk, window:N or decay:H"),
        ("p2:0.5", "expected exact, p2, gk, window:N or decay:H"),
        ("window", "invalid literal"),
        ("window:2.5", "invalid literal"),
        ("window:0", "window: got 0, expected an integer"),
        ("window:-1", "window: got -1, expected an integer"),
        (f"window:{2**64}", "window: got 18446744073709551616, expected an integer"),
        ("decay:", "could not convert string to float"),
        ("decay:0", "half_life: got 0, expected a finite number"),
        ("decay:nan", "half_life: got NaN, expected a finite number"),
    ],
)
def test_an_estimator_that_is_none(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"^estimator: got '{re.escape(text)}'.*{message}"):
        estimator_of(text)


def test_groups_of_uneven_size_are_an_error_that_names_step_and_sizes() -> None:
    rows = [row(step, sample // 4, sample) for step in (6, 7) for sample in range(12)]
    assert play(rows, (1, 0.5, 80.0, 0)).rollouts == 24
    expected = r"^step 7: groups differ in size \(1 of 3 samples, 2 of 4 samples\)"
    with pytest.raises(ReplayError, match=expected):
        play(rows[:-1], (1, 0.5, 80.0, 0))


def test_names_that_are_one_when_joined_are_an_error() -> None:
    rows = [row(0, 0, 0, dataset="a|b"), row(0, 1, 1, dataset=["a", "b"])]
    with pytest.raises(ReplayError, match="two datasets have one name"):
        play(rows, (1, 0.5, 80.0, 0))


@pytest.mark.parametrize(
    ("rows", "max_score", "words"),
    [
        ([row(0, 0, 0, reward=9.0)], 10.0, "no reward reaches the maximum score 10 "),
        (
            [row(0, 0, 0), row(0, 1, 1, reward=0)],
            0.5,
            "1 of 2 rewards exceed the maximum score 0.5",
        ),
        ([row(0, 0, 0), row(0, 0, 1, dataset="code")], 1.0, "some groups mix datasets"),
    ],
)
def test_what_makes_one_doubt_the_result_is_said(
    rows: list[Row], max_score: float, words: str
) -> None:
    (warning,) = play(rows, (1, 0.5, 80.0, 0), max_score).warnings
    assert words in warning


def test_json_has_the_agreed_shape() -> None:
    rows = [row(step, 0, sample, 3 + sample) for step in (0, 1) for sample in (0, 1)]
    result = play(rows, (1, 0.5, 50.0, 0)).to_json()
    assert json.loads(json.dumps(result)) == {
        "rollouts": 4,
        "steps": [
            {
                "step": 0,
                "length_penalty_phase": 0,
                "mask_kept_ratio": None,
                "budgets": {"math": 3.5},
            },
            {
                "step": 1,
                "length_penalty_phase": 1,
                "mask_kept_ratio": 0.5,
                "budgets": {"math": 3.5},
            },
        ],
        "datasets": {
            "math": {
                "rollouts": 4,
                "accuracy": 1.0,
                "correct_lengths": {"10": 3.0, "50": 3.5, "80": 4.0, "90": 4.0, "100": 4.0},
                "budget": 3.5,
                "kept_ratio": 0.5,
                "tokens_above_budget": 0.5,
            }
        },
    }
