"""State that survives: bytes, pickle, copy, state dicts, merging, resuming."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import resume
import toggle_rs
from agreement import unchanged
from toggle_rs import CheckpointError, Toggle, ToggleBudgetTracker
from toggle_rs.replay.settings import Freeze

LENGTHS = [3, 3, 4, 100, 4096, 2**53, 0, 7]


def estimators() -> dict[str, Any]:
    made = {name: make() for name, make in resume.ESTIMATORS.items()}
    for estimator in made.values():
        estimator.update(LENGTHS)
    return made


def trackers() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in resume.ESTIMATORS:
        made[f"tracker, {name}"] = resume.tracker(name)
        for freeze in resume.FREEZES:
            made[f"toggle, {name}, freeze {freeze}"] = resume.toggle(name, freeze)
    for state in made.values():
        resume.play(state, 1, range(30))
    return made


TRACKERS = trackers()
STATES = estimators() | TRACKERS
of_any_class = pytest.mark.parametrize("state", STATES.values(), ids=STATES)


def pickled(protocol: int, state: Any) -> Any:
    return pickle.loads(pickle.dumps(state, protocol))  # noqa: S301 - its own bytes


Way = Callable[[Any], Any]
WAYS: dict[str, Way] = {
    "bytes": lambda state: type(state).from_bytes(state.to_bytes()),
    "bytearray": lambda state: type(state).from_bytes(bytearray(state.to_bytes())),
    "memoryview": lambda state: type(state).from_bytes(memoryview(state.to_bytes())),
    "strided": lambda state: type(state).from_bytes(
        memoryview(bytes(b for byte in state.to_bytes() for b in (byte, 0)))[::2]
    ),
    "array": lambda state: type(state).from_bytes(np.frombuffer(state.to_bytes(), np.uint8)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {protocol}": partial(pickled, protocol) for protocol in range(6)},
}


@pytest.mark.parametrize("way", WAYS)
@of_any_class
def test_a_copy_is_equal_and_its_own(state: Any, way: str) -> None:
    before = state.to_bytes()
    other = WAYS[way](state)
    assert type(other) is type(state)
    assert other is not state
    assert other == state
    assert other.to_bytes() == before
    assert repr(other) == repr(state)
    if isinstance(other, (Toggle, ToggleBudgetTracker)):
        assert other.budgets() == state.budgets()
        assert other.counts() == state.counts()
        resume.play(other, 2, range(30, 33))
    else:
        other.update([1])
    assert other != state
    assert state.to_bytes() == before


class Labelled(Toggle):
    """A subclass with an `__init__` and attributes of its own."""

    def __init__(self, **_: Any) -> None:
        self.label = ["mine"]


class LabelledTracker(ToggleBudgetTracker):
    def __init__(self, *_: Any) -> None:
        self.label = ["mine"]


def labelled() -> list[Any]:
    made = [
        Labelled(m=1, lambda_=0.5, percentile=50),
        LabelledTracker(1, 0.5, 50, 0),
    ]
    for state in made:
        resume.play(state, 1, range(5))
    return made


@pytest.mark.parametrize("way", [way for way in WAYS if "pickle" in way or "copy" in way])
def test_subclasses_keep_what_they_added(way: str) -> None:
    for state in labelled():
        other = WAYS[way](state)
        assert type(other) is type(state)
        assert other == state
        assert other.label == ["mine"]
        assert (other.label is state.label) is (way == "copy")


class Careful(Toggle):
    """A subclass with an attribute that cannot be pickled."""

    def __init__(self, **_: Any) -> None:
        self.__setstate__({"label": ["mine"]})

    def __getstate__(self) -> dict[str, Any]:
        return {"label": self.label}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.label = state["label"]
        self.lock = threading.Lock()


@pytest.mark.parametrize("way", [way for way in WAYS if "pickle" in way or "copy" in way])
def test_subclasses_choose_what_is_kept(way: str) -> None:
    state = Careful(m=1, lambda_=0.5, percentile=50)
    resume.play(state, 1, range(5))
    other = WAYS[way](state)
    assert other == state
    assert other.label == ["mine"]
    assert other.lock is not state.lock


def test_subclasses_are_what_is_read(tmp_path: Path) -> None:
    for state in labelled():
        state.save(tmp_path / "state")
        for other in (
            type(state).from_bytes(state.to_bytes()),
            type(state).load(tmp_path / "state"),
        ):
            assert type(other) is type(state)
            assert other == state
            assert vars(other) == {}  # as in pickle, no `__init__` is called


@pytest.mark.parametrize("state", TRACKERS.values(), ids=TRACKERS)
def test_a_state_dict_is_plain_and_comes_back(state: Any) -> None:
    dict_ = state.state_dict()
    assert type(dict_) is dict
    assert all(type(value) in {int, float, str} for value in dict_.values())
    assert (dict_["version"], dict_["class"]) == (1, type(state).__name__)
    assert base64.b64decode(dict_["data"]) == state.to_bytes()
    other = type(state).from_bytes(state.to_bytes())
    resume.play(other, 3, range(30, 35))
    assert other != state
    other.load_state_dict(json.loads(json.dumps(dict_)))
    assert other == state


def test_torch_saves_a_state_dict(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for state in TRACKERS.values():
        path = tmp_path / "checkpoint.pt"
        torch.save({"toggle": state.state_dict()}, path)
        loaded = torch.load(path, weights_only=True)["toggle"]
        assert loaded == state.state_dict()


def doubled(state: Any, times: int) -> Any:
    for _ in range(times):
        state.merge(copy.copy(state))
    return state


def test_no_key_waits_for_more_than_it_can_count() -> None:
    most = Toggle(m=1, lambda_=0.5, percentile=80.0)
    most.observe(["a", "b"], [7, 8], correct=np.ones(2, bool), step=0)
    most.observe([], [], [], step=1)
    doubled(most, 53)
    assert most.counts() == {("a",): 2**53, ("b",): 2**53}
    one = Toggle(m=1, lambda_=0.5, percentile=80.0)
    one.observe(["a"], [7], correct=[True], step=1)
    too_many = r"^lengths: got \d more after \d+, expected"
    for step in (1, 2):
        with unchanged(most), pytest.raises(ValueError, match=too_many):
            most.observe(["a"], [7], correct=[True], step=step)
        with unchanged(most), pytest.raises(ValueError, match=too_many):
            most.apply(step, np.ones(2), [7] * 2, ["a"] * 2, groups=2)
    with unchanged(most), pytest.raises(ValueError, match=r"more after"):
        most.merge(one)
    # It goes on, and other keys with it.
    most.observe(["new"], [7], correct=[True], step=2)
    most.observe([], [], [], step=3)
    assert Toggle.from_bytes(most.to_bytes()) == most


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory")
def test_lengths_that_do_not_fit_are_a_memory_error() -> None:
    program = """
import copy, resource
from toggle_rs import ToggleBudgetTracker
tracker = ToggleBudgetTracker(1, 0.5, 80.0, 0)
tracker.update(["a"] * 2, [5, 6], [1.0, 1.0], 1.0)
for _ in range(32):
    tracker.merge(copy.copy(tracker))
resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
try:
    tracker.lengths_per_dataset
except MemoryError as error:
    print(error)
"""
    command = [sys.executable, "-I", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == f"lengths_per_dataset: no memory for {2**33} values\n"


def test_loading_a_state_dict_keeps_the_settings() -> None:
    saved = resume.toggle("exact")
    resume.play(saved, 1, range(10))
    other = Toggle(m=9, lambda_=0.1, percentile=50, min_samples=1, penalty="cap_at_zero")
    settings = other.settings
    other.load_state_dict(saved.state_dict())
    assert other.settings == settings
    assert other.counts() == saved.counts()
    assert other.budgets() != saved.budgets()
    with pytest.raises(ValueError, match="the last observed step"):
        other.observe(["math"], [1], correct=np.array([True]), step=8)

    other_tracker = ToggleBudgetTracker(9, 0.1, 50.0, 0)
    saved_tracker = resume.tracker("exact")
    resume.play(saved_tracker, 1, range(10))
    other_tracker.load_state_dict(saved_tracker.state_dict())
    assert (other_tracker.m, other_tracker.lambda_) == (9, 0.1)
    assert other_tracker.counts() == saved_tracker.counts()


@pytest.mark.parametrize("make", [resume.toggle, resume.tracker])
def test_unlike_estimators_are_refused(make: Any) -> None:
    for one in resume.ESTIMATORS:
        for other in resume.ESTIMATORS:
            state = make(one)
            resume.play(state, 1, range(3))
            before = state.to_bytes()
            if one != other:
                with pytest.raises(CheckpointError, match="for each key, expected"):
                    state.load_state_dict(make(other).state_dict())
                assert state.to_bytes() == before
    wider = Toggle(m=1, lambda_=1, percentile=80, estimator=toggle_rs.GKQuantile(0.1))
    with pytest.raises(CheckpointError, match=r"GKQuantile\(0.02\).*expected GKQuantile\(0.1\)"):
        wider.load_state_dict(resume.toggle("gk").state_dict())


def test_what_is_no_state_dict_changes_nothing() -> None:
    state: Any
    for state in (resume.toggle("exact"), resume.tracker("exact")):
        resume.play(state, 1, range(5))
        before = state.to_bytes()
        good = state.state_dict()
        bad: list[tuple[Any, type[Exception]]] = [
            (None, TypeError),
            (before, TypeError),
            ([("data", good["data"])], TypeError),
            ({}, CheckpointError),
            ({"data": 3}, CheckpointError),
            ({"data": before}, CheckpointError),
            ({"data": good["data"][:-1]}, CheckpointError),
            ({"data": good["data"] + "AAAA"}, CheckpointError),
            ({"data": "\n" + good["data"]}, CheckpointError),
            ({"data": "é"}, CheckpointError),
            ({"data": ""}, CheckpointError),
            ({"data": "\ud800"}, CheckpointError),
        ]
        for dict_, error in bad:
            with pytest.raises(error):
                state.load_state_dict(dict_)
        assert state.to_bytes() == before


@of_any_class
def test_damaged_bytes_are_refused(state: Any) -> None:
    good = state.to_bytes()
    rng = np.random.default_rng(1)
    for at in rng.integers(0, len(good), 100):
        changed = bytearray(good)
        changed[at] ^= 1 << int(rng.integers(0, 8))
        with pytest.raises(CheckpointError):
            type(state).from_bytes(changed)
        with pytest.raises(CheckpointError):
            type(state).from_bytes(good[:at])
    with pytest.raises(CheckpointError):
        type(state).from_bytes(good + b"\0")
    with pytest.raises(
        CheckpointError, match=r"newer toggle-rs: version 2, this one reads up to 1"
    ):
        type(state).from_bytes(good[:8] + b"\2\0" + good[10:])
    other = ToggleBudgetTracker if isinstance(state, Toggle) else Toggle
    with pytest.raises(CheckpointError, match=f"expected {other.__name__}"):
        other.from_bytes(good)


def test_what_is_no_bytes_is_a_type_error() -> None:
    for state in STATES.values():
        for bad in (None, 3, "text", [1, 2]):
            with pytest.raises(TypeError, match="bytes-like"):
                type(state).from_bytes(bad)


def test_equal_states_have_equal_bytes_whatever_the_order_of_the_keys() -> None:
    one, other = (Toggle(m=1, lambda_=0.5, percentile=50) for _ in range(2))
    keys: list[str | list[str]] = ["b", "a", ["a", "b"], "c"]
    for state, order in ((one, keys), (other, keys[::-1])):
        for step in (1, 2):
            correct = np.array([key != "c" for key in order])
            state.observe(order, [7] * 4, correct=correct, step=step)
    assert one == other
    assert one.to_bytes() == other.to_bytes()
    assert list(one.budgets()) != list(other.budgets())


@pytest.mark.parametrize("make", [resume.toggle, resume.tracker])
def test_merging_adds_counts(make: Any) -> None:
    for name in ("exact", "gk", "decay"):
        parts = [make(name) for _ in range(3)]
        for seed, part in enumerate(parts):
            resume.play(part, seed, range(10 + seed))
        counts: dict[Any, int] = {}
        for part in parts:
            for key, count in part.counts().items():
                counts[key] = counts.get(key, 0) + count
        before = [part.to_bytes() for part in parts[1:]]
        merged = copy.copy(parts[0])
        for part in parts[1:]:
            assert merged.merge(part) is None
        assert merged.counts() == counts
        assert [part.to_bytes() for part in parts[1:]] == before
        backwards = copy.copy(parts[2])
        backwards.merge(parts[1])
        backwards.merge(parts[0])
        assert backwards.counts() == counts
        if name == "exact":
            assert backwards == merged
            assert backwards.to_bytes() == merged.to_bytes()


def test_a_merge_that_is_refused_changes_nothing() -> None:
    state: Any
    for name in resume.ESTIMATORS:
        for state in (resume.toggle(name), resume.tracker(name)):
            resume.play(state, 1, range(3))
            before = state.to_bytes()
            other = type(state).from_bytes(before)
            with pytest.raises(ValueError, match="counted twice"):
                state.merge(state)
            for bad in (None, 3, before, resume.ESTIMATORS[name]()):
                with pytest.raises(TypeError, match="other"):
                    state.merge(bad)
            if name in {"p2", "window"}:
                with pytest.raises(TypeError, match="merge is not defined for"):
                    state.merge(other)
            if isinstance(other, ToggleBudgetTracker):
                other.m = 4
            else:
                other = Toggle(**{**state.settings, "m": 4})
            with pytest.raises(ValueError, match=r"other\.m: got 4, expected 3, as here"):
                state.merge(other)
            assert state.to_bytes() == before
    weak, strong = (
        ToggleBudgetTracker(1, 0.5, 50, 0),
        ToggleBudgetTracker(1, np.float64(0.5), 50, 0),
    )
    with pytest.raises(ValueError, match=r"other\.lambda_: got np\.float64\(0\.5\), expected 0\.5"):
        weak.merge(strong)


@pytest.mark.parametrize(
    ("kind", "estimator", "freeze"),
    [("Toggle", name, freeze) for name in resume.ESTIMATORS for freeze in resume.FREEZES]
    + [("ToggleBudgetTracker", name, "") for name in resume.ESTIMATORS],
)
def test_a_fresh_process_goes_on_as_if_nothing_had_happened(
    kind: str, estimator: str, freeze: Freeze | Literal[""], tmp_path: Path
) -> None:
    state: Any
    state = resume.toggle(estimator, freeze) if freeze else resume.tracker(estimator)
    seed = sum(map(ord, kind + estimator + freeze))
    start = int(np.random.default_rng(seed).integers(1, 60))
    resume.play(state, seed, range(start))
    state.save(tmp_path / "state")
    unbroken = resume.play(state, seed, range(start, start + 100))
    command = [
        sys.executable, Path(resume.__file__), kind, tmp_path / "state", seed, start, start + 100,
    ]  # fmt: skip
    resumed = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=True, timeout=120
    )
    assert resumed.stdout == unbroken
