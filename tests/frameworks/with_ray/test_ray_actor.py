"""The recipe of an actor that holds one `Toggle` for many rollout workers, on a local cluster."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from ray.exceptions import RayActorError

from ray_actor import ToggleActor
from toggle_rs import Toggle

# Its workers would import this module by its name, and verl has installed a package `tests`.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

GROUPS = 6
STEPS = 8
CONSUMED, PREPARED = 2, 5

Group = tuple[np.ndarray, list[int], str]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(address="local", num_cpus=4, include_dashboard=False, object_store_memory=100 * 2**20)
    yield
    ray.shutdown()


def new_toggle() -> Toggle:
    return Toggle(m=2, lambda_=0.5, percentile=80.0)


def rollout(step: int, group: int) -> Group:
    """Scores, lengths and dataset of a group; always the same."""
    rng = np.random.default_rng([step, group])
    lengths = rng.lognormal(5, 1, 4).astype(int).tolist()
    return (rng.random(4) < 0.7).astype(float), lengths, ["math", "code"][group % 2]


@ray.remote(max_retries=3)  # type: ignore[untyped-decorator]
def worker(actor: Any, step: int, group: int, dies_once: Path | None = None) -> list[float]:
    """Rolls out a group and has it shaped; may die after that, as a preempted node would."""
    scores, _ = ray.get(actor.shape.remote(step, group, *rollout(step, group)))
    if dies_once is not None and not dies_once.exists():
        dies_once.touch()
        os._exit(1)
    result: list[float] = scores.tolist()
    return result


def run_step(actor: Any, step: int) -> tuple[list[list[float]], bytes]:
    """The shaped scores of a step, and the state to keep beside them."""
    scores = ray.get([worker.remote(actor, step, group) for group in range(GROUPS)])
    return scores, ray.get(actor.state.remote())


def unbroken() -> dict[int, tuple[list[list[float]], bytes]]:
    """The same in this process, a group after the other."""
    toggle, steps = new_toggle(), {}
    for step in range(STEPS):
        scores = []
        for group in range(GROUPS):
            given, lengths, dataset = rollout(step, group)
            shaped = toggle.apply(step, given, lengths, [dataset] * 4, groups=4)
            scores.append(shaped.scores.tolist())
        steps[step] = scores, toggle.to_bytes()
    return steps


def by_ray(actor: Any) -> None:
    ray.kill(actor)


def by_sigkill(actor: Any) -> None:
    os.kill(ray.get(actor.pid.remote()), signal.SIGKILL)


def wait_until_dead(actor: Any) -> None:
    """`ray.kill` does not wait: a call or two may still be answered."""
    with pytest.raises(RayActorError):  # noqa: PT012 - whichever call it is
        while True:
            ray.get(actor.state.remote())


class WithPid(ToggleActor):
    def pid(self) -> int:
        return os.getpid()


@pytest.mark.parametrize("kill", [by_ray, by_sigkill])
def test_an_actor_killed_and_restored_counts_nothing_twice(kill: Callable[[Any], None]) -> None:
    expected = unbroken()
    new_actor = ray.remote(WithPid).options(num_cpus=0.1)
    actor = new_actor.remote(new_toggle().to_bytes())
    prepared = {step: run_step(actor, step) for step in range(PREPARED + 1)}
    assert prepared == {step: expected[step] for step in prepared}

    # Half of the next step is in when the actor dies; three steps wait to be consumed.
    ray.get([worker.remote(actor, PREPARED + 1, group) for group in range(GROUPS // 2)])
    kill(actor)
    wait_until_dead(actor)

    actor = new_actor.remote(prepared[CONSUMED][1])
    assert ray.get(actor.state.remote()) == expected[CONSUMED][1]
    for step in range(CONSUMED + 1, STEPS):
        assert run_step(actor, step) == expected[step]
    counts = Toggle.from_bytes(ray.get(actor.state.remote())).counts()
    assert sum(counts.values()) == sum(
        int(rollout(step, group)[0].sum()) for step in range(STEPS) for group in range(GROUPS)
    )


def test_a_group_of_a_retried_worker_is_counted_once(tmp_path: Path) -> None:
    expected = unbroken()
    actor = ray.remote(ToggleActor).options(num_cpus=0.1).remote(new_toggle().to_bytes())
    for step in range(3):
        died = [tmp_path / f"{step}-{group}" for group in range(GROUPS)]
        jobs = [worker.remote(actor, step, group, died[group]) for group in range(GROUPS)]
        assert (ray.get(jobs), ray.get(actor.state.remote())) == expected[step]
        assert all(path.exists() for path in died)


def test_a_group_of_a_step_that_is_over_is_refused() -> None:
    actor = ray.remote(ToggleActor).options(num_cpus=0.1).remote(new_toggle().to_bytes())
    ray.get(actor.shape.remote(1, 0, *rollout(1, 0)))
    before = ray.get(actor.state.remote())
    with pytest.raises(ValueError, match="step"):
        ray.get(actor.shape.remote(0, 0, *rollout(0, 0)))
    ray.get(actor.shape.remote(1, 0, *rollout(1, 0)))
    assert ray.get(actor.state.remote()) == before


def test_a_group_without_signal_is_told() -> None:
    actor = ray.remote(ToggleActor).options(num_cpus=0.1).remote(new_toggle().to_bytes())
    shape: Callable[..., Any] = lambda step, scores: ray.get(  # noqa: E731 - shorter
        actor.shape.remote(step, len(scores), np.array(scores), [10, 20, 30, 90], "math")
    )
    assert shape(0, [1.0, 1.0, 1.0, 1.0])[1] is False
    assert shape(0, [1.0, 1.0, 0.0, 0.0])[1] is True
    # Over budget in a fully solved group: now there is a signal.
    scores, has_signal = shape(2, [1.0, 1.0, 1.0, 1.0])
    assert (scores.tolist(), has_signal) == ([1.0, 1.0, 1.0, 0.0], True)
