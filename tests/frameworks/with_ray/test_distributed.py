"""`sync` against what one tracker, or NumPy, makes of the data of all ranks."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from typing import Any

import numpy as np
import pytest

import ranks as on
from ranks import Ranks, data_of, make, samples_of
from toggle_rs import DecayQuantile, Toggle, ToggleBudgetTracker, WindowQuantile
from toggle_rs.integrations.distributed import sync

SEEDS = range(12)
CLASSES: dict[str, Any] = {"Toggle": Toggle, "ToggleBudgetTracker": ToggleBudgetTracker}

Lengths = dict[tuple[str, ...], list[int]]


def lengths_of(size: int, seed: int, steps: int) -> Lengths:
    """All lengths that any rank has observed in the first steps."""
    result: Lengths = {}
    for rank in range(size):
        for keys, lengths in data_of(rank, seed)[:steps]:
            for key, length in zip(keys, lengths.tolist(), strict=True):
                result.setdefault((key,), []).append(length)
    return result


def observed_by_one(size: int, seed: int, settings: dict[str, Any]) -> Toggle:
    """One tracker that has seen what all ranks have, step by step."""
    whole: Toggle = make("Toggle", settings)
    for step, data in enumerate(zip(*(data_of(rank, seed) for rank in range(size)), strict=True)):
        for keys, lengths in data:
            whole.observe(keys, lengths, np.ones(len(keys)), step=step)
    return whole


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("seed", SEEDS)
def test_sync_gives_what_one_tracker_would_have_seen(ranks: Ranks, name: str, seed: int) -> None:
    by_rank = ranks.run(on.sync_each_step, name, {}, seed)
    for step, states in enumerate(zip(*by_rank, strict=True)):
        merged = {state for first, second, _ in states for state in (first, second)}
        assert len(merged) == 1, "equal on every rank, and the second time"
        tracker = CLASSES[name].from_bytes(merged.pop())
        expected = lengths_of(ranks.size, seed, step + 1)
        assert tracker.counts() == {key: len(lengths) for key, lengths in expected.items()}
        assert tracker.budgets() == {
            key: np.percentile(np.array(lengths), 80.0) for key, lengths in expected.items()
        }


@pytest.mark.parametrize("seed", SEEDS)
def test_the_own_tracker_of_a_rank_is_only_read(ranks: Ranks, seed: int) -> None:
    by_rank = ranks.run(on.sync_each_step, "Toggle", {}, seed)
    for rank, states in enumerate(by_rank):
        alone = make("Toggle", {})
        for step, (keys, lengths) in enumerate(data_of(rank, seed)):
            alone.observe(keys, lengths, np.ones(len(keys)), step=step)
            assert states[step][2] == alone.to_bytes()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_merged_tracker_goes_on_as_if_it_had_seen_all(ranks: Ranks, seed: int) -> None:
    merged = Toggle.from_bytes(ranks.run(on.sync_each_step, "Toggle", {}, seed)[0][-1][0])
    whole = observed_by_one(ranks.size, seed, {})
    # Both still hold back what was observed at the last step.
    assert merged == whole
    args = (4, np.ones(4), np.array([1, 50, 200, 5000]), ["math"] * 4)
    assert (
        merged.shape(*args, groups=4).scores.tolist()
        == whole.shape(*args, groups=4).scores.tolist()
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_of_budgets_fixed_on_several_ranks_the_earliest_then_smallest_stays(
    ranks: Ranks, seed: int
) -> None:
    merged = ranks.run(on.sync_each_step, "Toggle", {"freeze": "first"}, seed)[0][-1][0]
    fixed: dict[tuple[str, ...], tuple[int, float]] = {}
    for rank in range(ranks.size):
        own: dict[tuple[str, ...], tuple[int, float]] = {}
        for step, (keys, lengths) in enumerate(data_of(rank, seed)):
            for key in set(keys):
                seen = lengths[np.array(keys) == key]
                own.setdefault((key,), (step, float(np.percentile(seen, 80.0))))
        for name, candidate in own.items():
            fixed[name] = min(fixed.get(name, candidate), candidate)
    # A budget is fixed once its step is over, and the last one is not.
    last = len(data_of(0, seed)) - 1
    budgets = Toggle.from_bytes(merged).budgets()
    for name, (step, budget) in fixed.items():
        if step < last:
            assert budgets[name] == budget


@pytest.mark.parametrize("seed", SEEDS)
def test_greenwald_khanna_keeps_its_bound(ranks: Ranks, seed: int) -> None:
    merged = {
        states[-1][0]
        for states in ranks.run(on.sync_each_step, "Toggle", {"estimator": "gk"}, seed)
    }
    assert len(merged) == 1
    toggle = Toggle.from_bytes(merged.pop())
    for key, lengths in lengths_of(ranks.size, seed, 5).items():
        budget = toggle.budget(key)
        assert budget is not None
        wanted = np.ceil(0.8 * len(lengths))
        ranks_of_budget = (
            np.sum(np.array(lengths) < budget) + 1,
            np.sum(np.array(lengths) <= budget),
        )
        slack = 0.001 * len(lengths)
        assert ranks_of_budget[0] - slack <= wanted <= ranks_of_budget[1] + slack


@pytest.mark.parametrize("seed", SEEDS)
def test_decayed_budgets_are_those_of_one_tracker(ranks: Ranks, seed: int) -> None:
    settings = {"estimator": DecayQuantile(3.0)}
    by_rank = ranks.run(on.sync_each_step, "Toggle", settings, seed)
    merged = {states[-1][0] for states in by_rank}
    assert len(merged) == 1, "bit for bit, though sums of weights depend on their order"
    budgets = Toggle.from_bytes(merged.pop()).budgets()
    expected = observed_by_one(ranks.size, seed, settings).budgets()
    assert budgets == pytest.approx(expected, rel=1e-12)


def test_the_recipe_shapes_as_one_process_and_resumes_with_any_number_of_ranks(
    ranks: Ranks,
) -> None:
    # One process begins, the ranks go on.
    whole = make("Toggle", {})
    for step in range(4):
        whole.apply(step, *samples_of(9, step), groups=4)
    by_rank = ranks.run(on.shape_steps, whole.to_bytes(), range(4, 10))
    for step in range(4, 10):
        scores, lengths, keys = zip(*(samples_of(r, step) for r in range(ranks.size)), strict=True)
        args = (np.concatenate(scores), np.concatenate(lengths), list(chain(*keys)))
        shaped = whole.apply(step, *args, groups=4).scores
        assert list(chain(*(scores[step - 4] for scores, _ in by_rank))) == shaped.tolist()
    assert {state for _, state in by_rank} == {whole.to_bytes()}


def test_a_group_is_merged_and_a_rank_outside_is_told(ranks: Ranks) -> None:
    states, whole = [], make("Toggle", {})
    for rank in range(ranks.size):
        toggle = make("Toggle", {})
        toggle.observe(["math"], np.array([rank]), np.ones(1), step=0)
        states.append(toggle.to_bytes())
        if rank < ranks.size - 1:
            whole.observe(["math"], np.array([rank]), np.ones(1), step=0)
    *inside, outside = ranks.run(on.sync_states, states, ranks.size - 1)
    assert inside == [whole.to_bytes()] * (ranks.size - 1)
    assert outside == "group: this process is not in it"


T, B = "Toggle", "ToggleBudgetTracker"
UNLIKE = "ValueError: tracker: that of rank {last} cannot be merged: other."
NO_MERGE = "TypeError: tracker: that of rank 1 cannot be merged: merge is not defined for "
WINDOW = WindowQuantile(100)
NONE = "has none to merge, expected a Toggle or ToggleBudgetTracker"


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ((T, {}), (T, {"m": 5}), UNLIKE + "m: got 5, expected 1"),
        ((T, {}), (T, {"percentile": 90.0}), UNLIKE + "percentile"),
        ((T, {}), (T, {"estimator": "gk"}), UNLIKE + "estimator"),
        ((B, {}), (B, {"estimator": "gk"}), UNLIKE + "estimator"),
        ((T, {"estimator": "p2"}), (T, {"estimator": "p2"}), NO_MERGE),
        ((T, {"estimator": WINDOW}), (T, {"estimator": WINDOW}), NO_MERGE),
        ((T, {}), (B, {}), f"TypeError: tracker: rank 0 has a {T}, rank {{last}} a {B}"),
        ((B, {}), (T, {}), f"TypeError: tracker: rank 0 has a {B}, rank {{last}} a {T}"),
        ((T, {}), ("None", {}), "TypeError: tracker: rank {last} " + NONE),
        (("None", {}), (T, {}), "TypeError: tracker: rank 0 " + NONE),
    ],
)
def test_every_rank_gets_the_same_error_and_none_hangs(
    ranks: Ranks, first: tuple[str, Any], last: tuple[str, Any], expected: str
) -> None:
    trackers = [first] * (ranks.size - 1) + [last]
    errors = set(ranks.run(on.error_of_sync, trackers))
    assert len(errors) == 1
    assert errors.pop().startswith(expected.format(last=ranks.size - 1))
    assert ranks.run(on.error_of_sync, [(T, {})] * ranks.size) == ["no error"] * ranks.size


def test_without_a_process_group_torch_says_so() -> None:
    with pytest.raises(ValueError, match="process group has not been initialized"):
        sync(make("Toggle", {}))


def in_a_new_process(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_nothing_imports_torch_or_ray_before_it_is_needed() -> None:
    code = """
import sys
import toggle_rs.integrations.distributed
print({"torch", "ray"} & {*sys.modules})
"""
    assert in_a_new_process(code) == "set()\n"


def test_without_torch_one_line_says_what_to_install() -> None:
    code = """
import sys
sys.modules["torch"] = None
from toggle_rs import Toggle
from toggle_rs.integrations.distributed import sync
try:
    sync(Toggle(m=1, lambda_=0.5, percentile=80))
except ModuleNotFoundError as error:
    print(error)
"""
    assert in_a_new_process(code) == (
        "toggle_rs.integrations.distributed needs torch: pip install 'toggle-rs[distributed]'\n"
    )
