"""Toggle inside of verl: a replay buffer that shapes what it samples, and a checkpoint callback.

Written against verl 0.9.1. A replay buffer is the one place of verl that sees whole groups together
with the training step, and that comes before its group filter; what it overrides is verl's own
extension point `trainer.v1.sampler.custom_sampler`, and the methods behind its `sample`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toggle_rs import Toggle
from toggle_rs.integrations._responses import (
    Response,
    changed,
    group_of,
    observe,
    responses_of,
    shape,
    shared_scores,
    toggle_of,
)

try:
    import torch
    import transfer_queue as tq
    from omegaconf import OmegaConf
    from tensordict import TensorDict
    from verl.trainer.ppo.checkpoint_callback import CheckpointCallback
    from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer, ReplayBufferAsync
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"toggle_rs.integrations.verl needs {error.name}: pip install 'toggle-rs[verl]'",
        name=error.name,
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ToggleCheckpointCallback", "ToggleReplayBuffer", "ToggleReplayBufferAsync"]

STATE = "toggle.bin"
"""The name of the state in a checkpoint's folder `global_step_N`."""

_VALIDATION = "val"
_FIELDS = ["rm_scores", "response_mask", "data_source", "extra_fields"]


class ToggleReplayBuffer(ReplayBuffer):  # type: ignore[misc]  # verl has no types
    """Shapes each group when it is sampled for training; for `trainer_mode: sync`.

    `trainer.v1.sampler.sampler_kwargs` are the arguments of `Toggle`, with the estimator as text
    ("exact", "p2", "gk", "window:N" or "decay:H"), and `max_score` (1.0): what a correct response
    has as `acc`, or as reward where there is no `acc`. verl copies a plain number into `acc`.

    Budgets are by `data_source`, lengths the tokens that the model made. A group is counted once,
    when it leaves the queue: sampled, or dropped by a filter. Until then its rewards in the queue
    are those of the reward function, so neither an asynchronous step nor a resumed run shapes or
    counts it twice. Validation is left alone.

    verl gives a custom sampler none of the settings of its filter: they are read here, from
    `algorithm.filter_groups` and `trainer.v1.sampler`. The filter goes by the shaped rewards of the
    groups that shaping changes, and by its own metric for the others.

    Attributes:
        toggle: The budgets, and what they have seen.

    Raises:
        ValueError: Settings out of range, another `trainer_mode`, or rewards that would only be
            there after sampling.
    """

    def __init__(self, *, trainer_mode: str, sampler_kwargs: Any, **kwargs: Any) -> None:
        """Takes what verl's trainer passes to its own replay buffer."""
        if (trainer_mode == "sync") == isinstance(self, ReplayBufferAsync):
            expected = "ToggleReplayBuffer" + "Async" * (trainer_mode != "sync")
            raise ValueError(f"trainer_mode: {trainer_mode!r} takes {expected}")
        settings = OmegaConf.to_container(sampler_kwargs, resolve=True)
        self.toggle, self._max_score = toggle_of(settings)
        self._responses: dict[str, list[Response]] = {}
        self._step = 0  # verl's first is 1
        super().__init__(
            trainer_mode=trainer_mode,
            sampler_kwargs=sampler_kwargs,
            **(_filter_settings(sampler_kwargs, trainer_mode) | kwargs),
        )

    def sample(
        self, global_steps: int, partition_id: str, batch_size: int
    ) -> tuple[Any, dict[str, Any]]:
        """As verl's own, with shaped rewards and the metrics of `Shaped`."""
        batch, metrics = super().sample(global_steps, partition_id, batch_size)
        if partition_id != _VALIDATION:
            responses = self._take(partition_id, dict.fromkeys(map(group_of, batch.keys)))
            shaped = shape(self.toggle, global_steps, responses)
            _zero(partition_id, changed(responses, shaped))
            metrics |= shaped.metrics
        return batch, metrics

    def _terminal_eviction_reasons(self, global_steps: int, partition_id: str) -> Any:
        """What verl asks first each time that it looks at the queue."""
        if partition_id != _VALIDATION:
            if self._step == 0:
                self._resume(global_steps - 1)
            self._step = global_steps
        return super()._terminal_eviction_reasons(global_steps, partition_id)

    def _dapo_filtered_keys(self, partition_id: str) -> tuple[set[str], Counter[float]]:
        """The groups without a signal, and the values that their responses share."""
        unshaped: tuple[set[str], Counter[float]] = super()._dapo_filtered_keys(partition_id)
        if partition_id == _VALIDATION or self.filter_groups_metric is None:
            return unshaped
        # None where the responses of a group differ.
        shared = dict(self._dapo_classification_cache[partition_id])
        responses = self._read(partition_id, self.finished_keys[partition_id])
        shared |= shared_scores(responses, shape(self.toggle, self._step, responses))
        dropped = {uid: value for uid, value in shared.items() if value is not None}
        return {*dropped}, Counter(dropped.values())

    def _clear_groups(self, partition_id: str, uids: set[str]) -> None:
        """Drops groups: without a signal, stale, surplus, or failed. The latter do not count."""
        if partition_id != _VALIDATION:
            finished = sorted(uids & self.finished_keys[partition_id])
            self._take(partition_id, finished)
        super()._clear_groups(partition_id, uids)

    def _read(self, partition_id: str, uids: Iterable[str]) -> list[Response]:
        """The responses of groups. A finished group stays as it is, so it is read once."""
        uids = list(uids)
        new: dict[str, list[Response]] = {uid: [] for uid in uids if uid not in self._responses}
        keys = [key for key in self.partitions[partition_id] if group_of(key) in new]
        if keys:
            for response in _read_queue(partition_id, keys, self._max_score):
                new[response.group].append(response)
        self._responses |= new
        return [response for uid in uids for response in self._responses[uid]]

    def _take(self, partition_id: str, uids: Iterable[str]) -> list[Response]:
        """The responses of groups that leave the queue: here each is counted, once."""
        uids = list(uids)
        responses = self._read(partition_id, uids)
        for uid in uids:
            del self._responses[uid]
        observe(self.toggle, self._step, responses)
        return responses

    def _resume(self, step: int) -> None:
        """Loads what the callback has saved at the step that the run goes on from, if it does."""
        if step == 0:
            return
        trainer = _select(self.sampler_kwargs, "trainer")
        folder = trainer.resume_from_path
        if trainer.resume_mode != "resume_path":
            folder = Path(trainer.default_local_dir) / f"global_step_{step}"
        path = Path(folder) / STATE
        if not path.exists():
            warnings.warn(f"{path} does not exist: budgets begin with nothing", stacklevel=2)
            return
        # The settings are those of this run.
        self.toggle.load_state_dict(Toggle.load(path).state_dict())


class ToggleReplayBufferAsync(ToggleReplayBuffer, ReplayBufferAsync):  # type: ignore[misc]
    """`ToggleReplayBuffer` for `trainer_mode: colocate_async` and `separate_async`.

    A group is shaped by the step that trains on it, not by the one that made it.
    """


class ToggleCheckpointCallback(CheckpointCallback):  # type: ignore[misc]
    """Saves the state of the replay buffer's `toggle` into the folder of each checkpoint."""

    def __init__(self, config: Any = None) -> None:
        """Takes verl's configuration.

        Raises:
            ValueError: It names no custom sampler, so nothing would be shaped.
        """
        if not OmegaConf.select(config, "trainer.v1.sampler.custom_sampler.path"):
            raise ValueError("trainer.v1.sampler.custom_sampler: expected a ToggleReplayBuffer")
        super().__init__(config)

    def on_save(self, trainer: Any, checkpoint_dir: str, **_: Any) -> None:
        """Called by the trainer, on its driver, after it has saved the rest."""
        trainer.replay_buffer.toggle.save(Path(checkpoint_dir) / STATE)


def _read_queue(partition_id: str, keys: list[str], max_score: float) -> list[Response]:
    data = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=_FIELDS)
    if "rm_scores" not in data:
        raise ValueError("rm_scores: the trajectories have no rewards when they are sampled")
    extra_fields = _plain(data.get("extra_fields", [{}] * len(keys)))
    return responses_of(
        keys,
        np.array([row.sum().item() for row in data["rm_scores"]], np.float32),
        [(fields.get("reward_extra_info") or {}).get("acc") for fields in extra_fields],
        [int(row.sum()) for row in data["response_mask"]],
        [str(name) for name in _plain(data.get("data_source", ["unknown"] * len(keys)))],
        max_score,
    )


def _plain(column: Any) -> list[Any]:
    """The values of a column that holds no tensors; verl may have wrapped each of them."""
    return [getattr(value, "data", value) for value in column]


def _zero(partition_id: str, responses: list[Response]) -> None:
    """Writes rewards of 0: either penalty leaves a reward as it is, or makes it 0.

    So all tokens of a trajectory get 0, wherever its reward was.
    """
    keys = [key for response in responses for key in response.keys]
    if not keys:
        return
    rows = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=["rm_scores"])
    zeros = torch.nested.as_nested_tensor(
        [torch.zeros_like(row) for row in rows["rm_scores"]], layout=torch.jagged
    )
    fields = TensorDict({"rm_scores": zeros}, batch_size=len(keys))
    tq.kv_batch_put(keys=keys, partition_id=partition_id, fields=fields)


def _select(sampler_kwargs: Any, key: str) -> Any:
    """From the whole configuration: verl passes its `trainer.v1.sampler.sampler_kwargs`."""
    return OmegaConf.select(sampler_kwargs, "....." + key)


def _filter_settings(sampler_kwargs: Any, trainer_mode: str) -> dict[str, Any]:
    """What `PPOTrainer._build_replay_buffer` gives to verl's own replay buffer only."""
    reward_model = _select(sampler_kwargs, "reward.reward_model")
    if reward_model.enable and not reward_model.enable_resource_pool:
        raise ValueError(
            "reward.reward_model.enable_resource_pool: must be true, for a colocated reward model "
            "gives its rewards after sampling"
        )
    filter_groups = _select(sampler_kwargs, "algorithm.filter_groups") or {}
    metric = None
    if filter_groups.get("enable"):
        metric = filter_groups.get("metric")
        if not metric:
            raise ValueError("algorithm.filter_groups.metric: must be set")
    refill = bool(_select(sampler_kwargs, "trainer.v1.sampler.sync_refill_failed_groups"))
    settings = {"filter_groups_metric": metric, "sync_refill_failed_groups": refill}
    if trainer_mode == "sync":
        settings |= {
            "train_batch_size": _select(sampler_kwargs, "data.train_batch_size"),
            "gen_batch_size": 1,
            "max_inflight_gen_batches": filter_groups.get("max_inflight_gen_batches", 1),
        }
    return settings
