"""A sweep is a replay for each pair, whatever the number of processes."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from toggle_rs import read_traces
from toggle_rs.commands import app
from toggle_rs.replay import ReplayError, Settings, replay
from toggle_rs.replay.sweep import sweep
from toggle_rs.rollouts import Columns

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLE = [str(path) for path in sorted(EXAMPLES.glob("rollouts_*.jsonl.gz"))]
LAMBDAS, PERCENTILES = [0.9, 0.5], [50.0, 80.0, 90.0]
SHARED = Settings(lambda_=0.0, percentile=0.0, warmup_steps=5)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    "options",
    [{}, {"m": 3, "filter": "before"}, {"budget_from": "earlier-steps", "freeze": "warmup"}],
)
def test_each_pair_is_a_replay(options: dict[str, Any], jobs: int | None) -> None:
    rollouts = read_traces(SAMPLE)
    settings = dataclasses.replace(SHARED, **options)
    done: list[int] = []
    result = sweep(rollouts, settings, LAMBDAS, PERCENTILES, jobs=jobs, progress=done.append)
    assert list(result.outcomes) == [(a, p) for a in LAMBDAS for p in PERCENTILES]
    assert sum(done) == len(result.outcomes)
    for (lambda_, percentile), outcome in result.outcomes.items():
        each = dataclasses.replace(settings, lambda_=lambda_, percentile=percentile)
        assert outcome == replay(rollouts, each).outcome
    assert len({str(outcome) for outcome in result.outcomes.values()}) == 6


def test_the_figures_of_the_guide() -> None:
    page = " ".join((EXAMPLES.parent / "docs" / "choosing.md").read_text().split())
    outcomes = sweep(read_traces(SAMPLE), SHARED, [0.5], [20.0, 80.0], jobs=1).outcomes
    masked, added, lost = {}, {}, {}
    for (_, percentile), outcome in outcomes.items():
        before, after = outcome.covariance_before, outcome.covariance_after
        assert before is not None
        assert after is not None
        masked[percentile] = f"masks {outcome.masked_ratio:.0%}".replace("%", " %")
        added[percentile] = f"adds {after - before:+.0f}"
        lost[percentile] = f"{outcome.lost_signal_group_ratio:.0%}".replace("%", " %")
    assert f"80th percentile {masked[80]} of the samples and {added[80]} tokens" in page
    assert f"20th percentile {masked[20]} and {added[20]}: it takes" in page
    assert f"the signal from {lost[20]} of the groups" in page


def test_json_csv_and_table_hold_the_same(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("sweep.json", "sweep.csv")]
    arguments = ["sweep", *SAMPLE, "--lambda", "0.9,0.5", "--percentile", "50,80,90"]
    files = ["--json", str(paths[0]), "--csv", str(paths[1])]
    done = CliRunner().invoke(app, [*arguments, "--warmup", "5", *files])
    assert (done.exit_code, done.stderr) == (0, "")
    result = sweep(read_traces(SAMPLE), SHARED, LAMBDAS, PERCENTILES)
    data = json.loads(paths[0].read_text())
    assert data == json.loads(json.dumps(result.to_json()))
    assert [(row["lambda"], row["percentile"]) for row in data["outcomes"]] == list(result.outcomes)
    with paths[1].open() as file:
        rows = [{name: float(n) for name, n in row.items()} for row in csv.DictReader(file)]
    assert rows == data["outcomes"]
    words = [line.split() for line in done.stdout.splitlines()]
    for row in data["outcomes"]:
        start = [f"{row['lambda']:g}", f"{row['percentile']:g}", f"{row['masked_ratio']:.1%}"]
        assert start in [line[:3] for line in words]


@pytest.mark.parametrize(
    "options",
    [
        ["--lambda", "", "--percentile", "80"],
        ["--lambda", "0.5,", "--percentile", "80"],
        ["--lambda", "0.5,half", "--percentile", "80"],
        ["--lambda", "0.5,nan", "--percentile", "80"],
        ["--lambda", "0.5", "--percentile", "80,101"],
        ["--lambda", "0.5", "--percentile", "80", "--m", "0"],
        ["--lambda", "0.5", "--percentile", "80", "--jobs", "0"],
        ["--lambda", "0.5", "--percentile", "80", "--estimator", "decay:0"],
        ["--percentile", "80"],
    ],
)
def test_a_bad_option_is_a_usage_error(options: list[str]) -> None:
    # The file is absent: options are checked before any file is opened.
    done = CliRunner().invoke(app, ["sweep", "absent.jsonl", *options])
    assert done.exit_code == 2
    assert "Usage:" in done.stderr


def test_groups_of_uneven_size_are_the_error_of_a_replay() -> None:
    whole = read_traces(SAMPLE)
    columns = ("step", "sample", "group", "dataset", "length", "reward")
    cut = Columns(**{name: getattr(whole, name)[:-1] for name in columns}, names=whole.names)
    with pytest.raises(ReplayError, match="step 39: groups differ in size"):
        sweep(cut, SHARED, LAMBDAS, PERCENTILES, jobs=2)
    settings = dataclasses.replace(SHARED, budget_from="earlier-steps")
    assert len(sweep(cut, settings, LAMBDAS, PERCENTILES).outcomes) == 6
