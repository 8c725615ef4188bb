"""A replay equals its definition at each step, for every option."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay_oracle import (
    Row,
    covariance,
    groups_of,
    has_signal,
    name_of,
    reference_agrees,
    replay_by_definition,
    row,
    steps_of,
)
from rollouts import REAL
from toggle_rs import read_traces
from toggle_rs.replay import Replay, ReplayError, Settings, replay
from toggle_rs.rollouts import Columns
from toggle_rs.tables import replay_tables

T = TypeVar("T")

PROJECT = Path(__file__).parents[2]
SAMPLE = sorted((PROJECT / "examples").glob("rollouts_*.jsonl.gz"))
PLAIN = Settings(m=1, lambda_=0.5, percentile=80.0)


@cache
def lines_in(path: Path) -> list[Row]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def lines_of(files: list[Path]) -> list[Row]:
    return [dict(line) for path in files for line in lines_in(path)]


def play(rows: list[Row], settings: Settings = PLAIN) -> Replay:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rollouts.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return replay(read_traces([path]), settings)


def check(result: Replay, rows: list[Row], settings: Settings) -> None:
    """Compare all of a replay with loops over the rows."""
    steps, budgets = replay_by_definition(rows, settings)
    if settings.is_drop_in and settings.m is not None:
        assert reference_agrees(settings, steps)
    assert len(result.steps) == len(steps)
    for got, expected in zip(result.steps, steps, strict=True):
        assert (got.step, got.penalty) == (expected.step, expected.penalty)
        assert (got.kept_ratio, got.budgets) == (expected.kept_ratio, expected.budgets)
    assert result.rollouts == len(rows)
    check_datasets(result, rows, settings, budgets.of)
    phases: dict[str, list[Row]] = {}
    for step in steps:
        phases.setdefault("length penalty" if step.penalty else "normal", []).extend(step.rows)
    check_phases(result, phases, settings)
    penalised = phases.get("length penalty", [])
    groups = [group for _, batch in steps_of(penalised) for group in groups_of(batch)]
    check_groups(result, groups, settings)


def check_datasets(
    result: Replay, rows: list[Row], settings: Settings, budget: Callable[[str], float | None]
) -> None:
    seen: dict[str, list[Row]] = {}
    for one in rows:
        seen.setdefault(name_of(one), []).append(one)
    penalised = {step.step for step in result.steps if step.penalty}
    assert set(result.datasets) == set(seen)
    for name, ones in seen.items():
        summary = result.datasets[name]
        correct = [one for one in ones if one["reward"] >= settings.max_score]
        lengths = [len(one["response_tokens"]) for one in correct]
        assert summary.rollouts == len(ones)
        assert summary.accuracy == len(correct) / len(ones)
        assert summary.budget == budget(name)
        assert summary.correct_lengths == {
            p: np.percentile(lengths, p) for p in (10, 50, 80, 90, 100) if correct
        }
        # What a filter took before is not masked.
        kept = [one["kept"] or not one["seen"] for one in ones if one["step"] in penalised]
        assert summary.kept_ratio == (np.mean(kept) if kept else None)
        assert summary.tokens_above_budget == pytest.approx(sum(one["above"] for one in correct))
        histogram = summary.correct_histogram
        assert (histogram is None) == (not correct)
        if histogram is not None:
            assert histogram.edges[-1] == max(math.ceil(np.percentile(lengths, 99)), 1)
            assert histogram.beyond == sum(length > histogram.edges[-1] for length in lengths)
            assert sum(histogram.counts) == len(correct) - histogram.beyond
            half = histogram.edges[20]
            assert sum(histogram.counts[:20]) == sum(length < half for length in lengths)


def check_phases(result: Replay, phases: dict[str, list[Row]], settings: Settings) -> None:
    assert set(result.phases) == set(phases)
    for name, ones in phases.items():
        phase = result.phases[name]
        assert (phase.steps, phase.rollouts) == (len({one["step"] for one in ones}), len(ones))
        measures: list[tuple[float, Callable[[Row], Any]]] = [
            (phase.accuracy, lambda one: one["reward"] >= settings.max_score),
            (phase.length, lambda one: len(one["response_tokens"])),
            (phase.reward, lambda one: one["reward"]),
            (phase.shaped_reward, lambda one: one["shaped"]),
        ]
        for value, of in measures:
            assert value == pytest.approx(np.mean([of(one) for one in ones]))
        kept = [one["kept"] or not one["seen"] for one in ones]
        assert phase.kept_ratio == pytest.approx(np.mean(kept))


def check_groups(result: Replay, groups: list[list[Row]], settings: Settings) -> None:
    before = [has_signal([one["reward"] for one in group]) for group in groups]
    after = [has_signal([one["shaped"] for one in group]) for group in groups]
    pairs = list(zip(before, after, strict=True))
    assert dataclasses.asdict(result.flow) == {
        "groups": len(groups),
        "signal_before": sum(before),
        "shaped": sum(before) if settings.filter == "before" else len(groups),
        "enforced": sum(group[0]["enforced"] for group in groups),
        "masked": sum(not all(one["kept"] for one in group) for group in groups),
        "gained": sum(now and not then for then, now in pairs),
        "lost": sum(then and not now for then, now in pairs),
        "signal_after": sum(after),
    }
    rows = [one for group in groups for one in group]
    outcome, flow = result.outcome, result.flow
    assert outcome.rollouts == len(rows)
    above = sum(one["above"] for one in rows if one["reward"] >= settings.max_score)
    assert outcome.tokens_above_budget == pytest.approx(above)
    ratios = [
        (outcome.masked_ratio, sum(not one["kept"] for one in rows), len(rows)),
        (outcome.enforced_group_ratio, flow.enforced, len(groups)),
        (outcome.gained_signal_group_ratio, flow.gained, len(groups)),
        (outcome.lost_signal_group_ratio, flow.lost, len(groups)),
    ]
    for ratio, part, whole in ratios:
        assert ratio == (part / whole if whole else None)
    for got, score in [
        (outcome.covariance_before, "reward"),
        (outcome.covariance_after, "shaped"),
    ]:
        if rows:
            assert got == pytest.approx(covariance(groups, score), rel=1e-9, abs=1e-9)
        else:
            assert got is None


OPTIONS: list[dict[str, Any]] = [
    {},
    {"m": 1, "lambda_": 0.9, "percentile": 33.3, "warmup_steps": 0},
    {"m": 2, "lambda_": 1.5, "percentile": 0.0, "warmup_steps": 17},
    {"m": None},
    {"filter": "before"},
    {"m": None, "filter": "before", "warmup_steps": 3},
    {"budget_from": "earlier-steps"},
    {"budget_from": "earlier-steps", "filter": "before", "start_phase": "length_penalty"},
    {"start_phase": "length_penalty"},
    {"freeze": "first", "min_samples": 30},
    {"freeze": "first", "budget_from": "earlier-steps", "m": None},
    {"freeze": "warmup", "warmup_steps": 7},
    {"freeze": "warmup", "warmup_steps": 7, "budget_from": "earlier-steps", "min_samples": 200},
    {"min_samples": 100},
    {"penalty": "cap_at_zero"},
    {
        "penalty": "cap_at_zero",
        "budget_from": "earlier-steps",
        "max_score": 0.5,
        "filter": "before",
    },
]


@pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda options: ",".join(map(str, options.values())) or "none"
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
def test_a_replay_equals_its_definition(files: list[Path], options: dict[str, Any]) -> None:
    defaults = Settings(m=3, lambda_=0.5, percentile=80.0, warmup_steps=2)
    settings = dataclasses.replace(defaults, **options)
    check(replay(read_traces(files), settings), lines_of(files), settings)


@given(st.data())
def test_any_replay_equals_its_definition(data: st.DataObject) -> None:
    def pick(*values: T) -> T:
        return data.draw(st.sampled_from(values))

    settings = Settings(
        m=pick(1, 2, 3, None),
        lambda_=pick(0.0, 0.25, 0.5, 0.8, 1.0, 2.0),
        percentile=pick(0.0, 50.0, 80.0, 100.0),
        warmup_steps=data.draw(st.integers(0, 4)),
        start_phase=pick("normal", "normal", "length_penalty"),
        freeze=pick("never", "never", "first", "warmup"),
        min_samples=pick(1, 1, 2, 5),
        penalty=pick("zero", "zero", "cap_at_zero"),
        budget_from=pick("same-step", "earlier-steps"),
        filter=pick("before", "after"),
        max_score=pick(1.0, 10.0, 0.3),
    )
    datasets = st.sampled_from(["a", ["a"], ["a", "b"], "c"])
    # Partial credit, rewards above the maximum, below zero.
    rewards = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 1.0, -0.5, 1.5])
    rows = []
    for step in sorted(data.draw(st.sets(st.integers(0, 9), min_size=1, max_size=6))):
        k = data.draw(st.integers(1, 5))
        prompts = data.draw(st.integers(1, 4))
        order = data.draw(st.permutations(range(k * prompts)))
        for prompt in range(prompts):
            dataset = data.draw(datasets)
            samples = order[prompt * k : prompt * k + k]
            if not settings.is_drop_in:
                samples = samples[: data.draw(st.integers(1, k))]
            for sample in samples:
                length = data.draw(st.integers(0, 12))
                reward = data.draw(rewards) * settings.max_score
                rows.append(row(step, prompt, sample, length, reward=reward, dataset=dataset))
    check(play(data.draw(st.permutations(rows)), settings), rows, settings)


def test_groups_of_uneven_size_are_an_error_that_names_step_and_sizes() -> None:
    rows = [row(step, sample // 4, sample) for step in (6, 7) for sample in range(12)]
    assert play(rows).rollouts == 24
    expected = r"^step 7: groups differ in size \(1 of 3 samples, 2 of 4 samples\)"
    with pytest.raises(ReplayError, match=expected):
        play(rows[:-1])
    settings = dataclasses.replace(PLAIN, budget_from="earlier-steps")
    check(play(rows[:-1], settings), rows[:-1], settings)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"response_tokens": 2**53 + 1}, "step 7: a length of 9007199254740993 is too large"),
        ({"reward": -1e101}, r"step 7: a reward of 1e\+101 is too large"),
    ],
)
def test_what_no_tracker_takes_is_an_error_that_names_the_step(fields: Row, message: str) -> None:
    with pytest.raises(ReplayError, match=message):
        play([row(6, 0, 0), row(7, 0, 0) | fields])


def test_the_ends_of_the_clock_are_reached() -> None:
    last = 9 * 10**17
    for options in ({}, {"m": None}, {"min_samples": 2}, {"budget_from": "earlier-steps"}):
        settings = dataclasses.replace(PLAIN, m=2**59, warmup_steps=2**59, lambda_=1.0)
        settings = dataclasses.replace(settings, **options)
        rows = [row(step, 0, sample, sample) for step in (0, last) for sample in range(4)]
        check(play(rows, settings), rows, settings)


def test_thousands_of_datasets_are_summed_up_in_linear_time() -> None:
    problems = 20_000
    columns: dict[str, Any] = {
        "step": np.repeat(np.arange(100), problems // 25),
        "sample": np.tile(np.arange(problems // 25), 100),
        "group": np.tile(np.repeat(np.arange(problems // 100), 4), 100),
        "dataset": np.repeat(np.arange(problems), 4).astype(np.uint32),
        "length": np.arange(4 * problems) % 1000,
        "reward": np.ones(4 * problems),
    }
    names = tuple((f"problem-{i}",) for i in range(problems))
    settings = dataclasses.replace(PLAIN, m=None, freeze="first", budget_from="earlier-steps")
    start = time.process_time()
    result = replay(Columns(**columns, names=names), settings)
    assert time.process_time() - start < 20  # Quadratic, it would take minutes.
    assert len(result.datasets) == problems
    (table, *_) = replay_tables(result)
    assert len(table.rows) == 30
    assert "The 30 with most rollouts of 20,000 datasets." in table.note


def test_names_that_are_one_when_joined_are_an_error() -> None:
    rows = [row(0, 0, 0, dataset="a|b"), row(0, 1, 1, dataset=["a", "b"])]
    with pytest.raises(ReplayError, match="two datasets have one name"):
        play(rows)


@pytest.mark.parametrize(
    ("rows", "max_score", "words"),
    [
        ([row(0, 0, 0, reward=9.0)], 10.0, "no reward reaches the maximum score 10 "),
        (
            [row(0, 0, 0), row(0, 1, 1, reward=0)],
            0.5,
            "1 of 2 rewards exceed the maximum score 0.5",
        ),
        ([row(0, 0, 0), row(0, 1, 1, reward=-1)], 1.0, "1 of 2 rewards are below 0"),
        ([row(0, 0, 0), row(0, 0, 1, dataset="code")], 1.0, "some groups mix datasets"),
    ],
)
def test_what_makes_one_doubt_the_result_is_said(
    rows: list[Row], max_score: float, words: str
) -> None:
    (warning,) = play(rows, dataclasses.replace(PLAIN, m=None, max_score=max_score)).warnings
    assert words in warning


def test_doubts_about_the_settings_are_said() -> None:
    rows = [row(0, sample // 4, sample, reward=float(sample % 4 > 0)) for sample in range(120)]
    always = dataclasses.replace(PLAIN, m=None)
    for settings, said in [
        (dataclasses.replace(always, lambda_=1.2), "lambda_=1.2 is above every accuracy"),
        (dataclasses.replace(always, lambda_=0.9, filter="before"), "only fully solved ones reach"),
        (dataclasses.replace(always, warmup_steps=1), "no logged step is a length-penalty step"),
        (always, "probably logged behind a zero-variance filter"),
    ]:
        assert any(said in warning for warning in play(rows, settings).warnings), said
    rows[1]["reward"] = 0.5
    assert any("lie between 0 and 1" in warning for warning in play(rows, always).warnings)
    rows[1]["reward"] = -1.0
    capped = dataclasses.replace(always, penalty="cap_at_zero")
    assert any("are below 0" in warning for warning in play(rows, always).warnings)
    assert not any("are below 0" in warning for warning in play(rows, capped).warnings)
    rows[1]["reward"] = 0.0
    assert play([*rows, *(row(0, 99, 200 + i) for i in range(4))], always).warnings[1:] == []


def test_json_has_the_agreed_shape() -> None:
    rows = [row(step, 0, sample, 3 + sample) for step in (0, 1) for sample in (0, 1)]
    result = play(rows, dataclasses.replace(PLAIN, percentile=50.0)).to_json()
    result = json.loads(json.dumps(result, allow_nan=False))
    histogram = result["datasets"]["math"].pop("correct_histogram")
    assert (sum(histogram["counts"]), len(histogram["edges"])) == (4, 41)
    normal = {
        "steps": 1,
        "rollouts": 2,
        "accuracy": 1.0,
        "length": 3.5,
        "reward": 1.0,
        "shaped_reward": 1.0,
        "kept_ratio": 1.0,
    }
    assert result == {
        "rollouts": 4,
        "length_unit": "tokens",
        "settings": {
            "lambda_": 0.5,
            "percentile": 50.0,
            "m": 1,
            "warmup_steps": 0,
            "estimator": "exact",
            "start_phase": "normal",
            "freeze": "never",
            "min_samples": 1,
            "penalty": "zero",
            "budget_from": "same-step",
            "filter": "after",
            "max_score": 1.0,
            "tracker": "ToggleBudgetTracker",
        },
        "warnings": [],
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
        "phases": {
            "normal": normal,
            "length penalty": {**normal, "shaped_reward": 0.5, "kept_ratio": 0.5},
        },
        "flow": {
            "groups": 1,
            "signal_before": 0,
            "shaped": 1,
            "enforced": 1,
            "masked": 1,
            "gained": 1,
            "lost": 0,
            "signal_after": 1,
        },
        "penalty_steps": {
            "rollouts": 2,
            "masked_ratio": 0.5,
            "enforced_group_ratio": 1.0,
            "gained_signal_group_ratio": 1.0,
            "lost_signal_group_ratio": 0.0,
            "tokens_above_budget": 0.5,
            "covariance_before": 0.0,
            "covariance_after": -0.5,
        },
        "group_accuracy": {
            "edges": [-0.25, 0.25, 0.75, 1.25],
            "counts": [0, 0, 2],
            "beyond": 0,
        },
    }
