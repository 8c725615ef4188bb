"""Shards read by a local Ray cluster: the columns, results and errors of one process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import ray

from toggle_rs import TraceError
from toggle_rs.inputs import FORMATS, Source, read_rollouts
from toggle_rs.replay import Settings, replay
from toggle_rs.rollouts import COLUMNS

EXAMPLES = Path(__file__).parents[3] / "examples"
SHARDS = sorted(EXAMPLES.glob("rollouts_*.jsonl.gz"))
SETTINGS = Settings(m=5, lambda_=0.5, percentile=80.0, warmup_steps=5)


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=100 * 2**20)
    yield
    ray.shutdown()


def shard(path: Path, samples: range, **fields: object) -> Path:
    row = {"dataset": "new", "step": 3, "prompt_idx": 0, "response_tokens": [1, 2], "reward": 0.5}
    lines = [json.dumps(row | {"sample_idx": sample} | fields) for sample in samples]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_columns_and_replay_are_those_of_one_process(tmp_path: Path) -> None:
    # A run that was resumed.
    torn = shard(tmp_path / "a.jsonl", range(8))
    torn.write_text(torn.read_text() + '{"step": 9')
    shards = [torn, SHARDS[1], SHARDS[0], shard(tmp_path / "b.jsonl", range(4, 6))]
    alone = read_rollouts(shards, Source())
    spread = read_rollouts(shards, Source(), ray_address="local")
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(spread, name), getattr(alone, name))
    assert (spread.names, spread.repeated, spread.torn) == (alone.names, 10, 1)
    assert (alone.repeated, alone.torn) == (10, 1)
    spread = read_rollouts(SHARDS, Source(), ray_address="local")
    expected = replay(read_rollouts(SHARDS, Source()), SETTINGS)
    assert replay(spread, SETTINGS) == expected


def test_groups_named_by_texts_meet_across_shards(tmp_path: Path) -> None:
    source = Source(FORMATS["open-instruct"] | {"group": "prompt"})
    shards = [
        shard(tmp_path / f"{i}.jsonl", range(2 * i, 2 * i + 2), prompt="What?") for i in range(3)
    ]
    alone = read_rollouts(shards, source)
    spread = read_rollouts(shards, source, ray_address="local")
    assert len(set(spread.group.tolist())) == 1
    np.testing.assert_array_equal(spread.group, alone.group)


def test_the_first_error_is_that_of_one_process(tmp_path: Path) -> None:
    bad = shard(tmp_path / "bad.jsonl", range(2), reward=None)
    worse = shard(tmp_path / "worse.jsonl", range(2), step=-1)
    for shards in ([SHARDS[0], bad, worse], [worse, SHARDS[0]]):
        with pytest.raises(TraceError) as alone:
            read_rollouts(shards, Source())
        with pytest.raises(TraceError) as spread:
            read_rollouts(shards, Source(), ray_address="local")
        assert type(spread.value) is type(alone.value)
        assert str(spread.value) == str(alone.value)
    with pytest.raises(FileNotFoundError) as caught:
        read_rollouts([SHARDS[0], tmp_path / "absent"], Source(), ray_address="local")
    assert caught.value.filename == str(tmp_path / "absent")
    with pytest.raises(TraceError, match="empty: no rollouts"):
        read_rollouts([shard(tmp_path / "empty", range(0))], Source(), ray_address="local")
