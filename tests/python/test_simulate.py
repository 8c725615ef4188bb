"""The toy: what each order of the filter does to it, and that its parts are what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from toggle_rs import Toggle
from toggle_rs.commands import app
from toggle_rs.simulate import NOTE, SETTINGS, VARIANTS, Problems, Simulation, Training, simulate
from toggle_rs.simulate.model import LENGTHS, Policy


@pytest.fixture(scope="module")
def verbose() -> Simulation:
    return simulate(Training(steps=300), seeds=2)


def test_filtered_first_toggle_never_acts_where_lambda_means_solved(verbose: Simulation) -> None:
    # With groups of 8 only solved ones reach 0.9.
    assert verbose.curves["filter before"] == verbose.curves["no penalty"]


def test_shaped_first_it_saves_tokens(verbose: Simulation) -> None:
    ends = verbose.ends()
    assert ends["filter after"].tokens < 0.9 * ends["no penalty"].tokens
    assert ends["filter after"].accuracy > ends["no penalty"].accuracy - 0.02
    assert ends["always on"].tokens < ends["filter after"].tokens


def test_where_tokens_help_it_costs_accuracy() -> None:
    ends = simulate(Training(setting="hungry", lambda_=0.6, steps=300), seeds=2).ends()
    for variant in ("always on", "filter before", "filter after"):
        assert ends[variant].accuracy < ends["no penalty"].accuracy - 0.02


def test_where_hardly_a_group_reaches_lambda_it_does_next_to_nothing() -> None:
    ends = simulate(Training(setting="too-hard", steps=100), seeds=2).ends()
    assert ends["filter after"].tokens == pytest.approx(ends["no penalty"].tokens, rel=0.01)


def test_a_training_is_told_by_its_seed(verbose: Simulation) -> None:
    again = simulate(Training(steps=300), seeds=1)
    for variant in VARIANTS:
        tokens = verbose.curves[variant].tokens
        assert again.curves[variant].tokens == tokens[:1]
        assert tokens[0] != tokens[1]


def test_the_ends_are_those_of_the_last_cycle(verbose: Simulation) -> None:
    for variant, end in verbose.ends().items():
        tokens = [np.mean(seed[-20:]) for seed in verbose.curves[variant].tokens]
        assert end.tokens == pytest.approx(np.mean(tokens))
        assert end.tokens_spread == pytest.approx((min(tokens), max(tokens)))


@pytest.mark.parametrize(("setting", "lambda_"), [("verbose", 0.9), ("hungry", 0.6)])
def test_the_table_of_the_guide(setting: str, lambda_: float) -> None:
    page = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text()
    rows = page[page.index(f"| {setting}, lambda {lambda_}") :].splitlines()[:4]
    told = [[cell.strip() for cell in row.split("|")[3:5]] for row in rows]
    ends = simulate(Training(setting=setting, lambda_=lambda_), seeds=5).ends()
    for (tokens, accuracy), end in zip(told, ends.values(), strict=True):
        numbers = [float(n.replace(",", "")) for n in re.findall(r"[\d,]+", tokens)]
        # Another NumPy may draw other answers.
        assert numbers == pytest.approx([end.tokens, *end.tokens_spread], rel=0.05)
        assert float(accuracy.removesuffix(" %")) == pytest.approx(100 * end.accuracy, abs=1)


@pytest.mark.parametrize("name", SETTINGS)
def test_success_rises_with_length_and_saturates(name: str) -> None:
    for problems in SETTINGS[name]:
        success = problems.success()
        gains = np.diff(success)
        assert (gains > 0).all()
        assert (np.diff(gains) < 0).all()
        assert success[-1] < problems.ceiling


def test_the_policy_follows_the_gradient() -> None:
    """Against numerical differences of the expected advantage, all of it on one answer."""
    classes = (Problems("a", 0.9, 500), Problems("b", 0.5, 900))
    policy = Policy(classes)
    before = policy.logits.copy()
    policy.step(np.array([1]), np.array([4]), np.array([2.0]), rate=1.0)
    moved = policy.logits - before
    policy.logits = before.copy()

    def log_chance(logits: np.ndarray) -> float:
        policy.logits = logits
        return float(2.0 * np.log(policy.probabilities()[1, 4]))

    for place in np.ndindex(*before.shape):
        nudge = np.zeros_like(before)
        nudge[place] = 1e-6
        slope = (log_chance(before + nudge) - log_chance(before - nudge)) / 2e-6
        assert moved[place] == pytest.approx(slope, abs=1e-6)
    policy.logits = before
    tokens, accuracy = policy.expected()
    chance = policy.probabilities()
    assert tokens == pytest.approx((chance * LENGTHS).sum() / 2)
    assert accuracy == pytest.approx(sum(chance[i] @ classes[i].success() for i in (0, 1)) / 2)


def test_the_real_toggle_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def note(**settings: Any) -> Toggle:
        made.append(settings)
        return Toggle(**settings)

    monkeypatch.setattr("toggle_rs.simulate.run.Toggle", note)
    simulate(Training(steps=2, m=7, percentile=33), seeds=1)
    assert [settings["m"] for settings in made] == [2**62, 7, 7]
    assert {settings["percentile"] for settings in made} == {33}


def test_the_command_says_what_it_is_and_writes(tmp_path: Path) -> None:
    options = [
        "--steps",
        "30",
        "--seeds",
        "2",
        "--setting",
        "hungry",
        "--json",
        str(tmp_path / "j"),
    ]
    done = CliRunner().invoke(app, ["simulate", *options, "--png", str(tmp_path / "p")])
    assert (done.exit_code, done.stderr) == (0, "")
    assert "a model, not a proof" in done.stdout
    data = json.loads((tmp_path / "j").read_text())
    assert data["note"] == NOTE
    expected = simulate(Training(setting="hungry", steps=30), seeds=2)
    assert data == json.loads(json.dumps(expected.to_json()))
    words = [line.split() for line in done.stdout.splitlines()]
    for variant, end in expected.ends().items():
        assert [*variant.split(), f"{end.tokens:,.0f}"] in [line[:3] for line in words]
    assert (tmp_path / "p").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(
    "options",
    [
        ["--setting", "easy"],
        ["--lambda", "nan"],
        ["--percentile", "101"],
        ["--m", "0"],
        ["--steps", "0"],
        ["--group-size", "1"],
        ["--seeds", "0"],
        ["--m", str(2**70)],
    ],
)
def test_a_bad_option_is_a_usage_error(options: list[str]) -> None:
    done = CliRunner().invoke(app, ["simulate", *options])
    assert (done.exit_code, "Usage:" in done.stderr) == (2, True)
