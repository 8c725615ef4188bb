"""Toggle inside of slime: rewards shaped before they are normalised, a state in its checkpoints.

Written from the source of slime 0.3.1, and tested with stand-ins for it only. miles has the same
hooks. Three hooks work together, all in the process of slime's rollout manager, by the `args` that
it hands to each of them: see docs/slime.md.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toggle_rs import Toggle
from toggle_rs.integrations._responses import observe, responses_of, shape, toggle_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ToggleDataSource", "log_rollout", "post_process_rewards"]

_STATES = 16
"""Rollouts that a state is kept of: more than slime is ever ahead of its trainer."""


class _Run:
    """What is known of a run."""

    def __init__(self, args: Any) -> None:
        if not getattr(args, "toggle", None):
            raise ValueError("args.toggle: missing; --custom-config-path takes a file with it")
        self.toggle, self.max_score = toggle_of(args.toggle)
        self.rollout_id: int | None = None
        self.states: dict[int, bytes] = {}
        """As of the end of a rollout: the next one may be there before this one is saved."""


def _run(args: Any) -> _Run:
    if not hasattr(args, "toggle_run"):
        args.toggle_run = _Run(args)
    run: _Run = args.toggle_run
    return run


def log_rollout(rollout_id: int, args: Any, *_: Any) -> bool:
    """For `--custom-rollout-log-function-path`: tells the number of the rollout.

    Returns:
        False: slime goes on and logs what it always does.
    """
    _run(args).rollout_id = rollout_id
    return False


def post_process_rewards(args: Any, samples: Sequence[Any]) -> tuple[list[float], list[float]]:
    """For `--custom-reward-post-process-path`: shapes, then normalises as slime does.

    Samples are grouped by `group_index`, of any size and order. Those with one `rollout_id` are
    parts of one response: they count as one, as long as all of them, with the reward of the last.
    A response is correct when its reward reaches `max_score`, or its `acc` where the reward is a
    dict that has one.

    Returns:
        The rewards as they were, and those to train on.

    Raises:
        ValueError: A sample has no `group_index`, the settings are out of range, or `log_rollout`
            has not been called.
    """
    run = _run(args)
    step = run.rollout_id
    if step is None:
        raise ValueError(
            "rollout_id: unknown; add "
            "--custom-rollout-log-function-path toggle_rs.integrations.slime.log_rollout"
        )
    raw = [float(sample.get_reward_value(args)) for sample in samples]
    keys = [_key(position, sample) for position, sample in enumerate(samples)]
    responses = responses_of(
        keys,
        np.array(raw, np.float32),
        [
            sample.reward.get("acc") if isinstance(sample.reward, dict) else None
            for sample in samples
        ],
        [int(sample.effective_response_length) for sample in samples],
        [_source(sample) for sample in samples],
        run.max_score,
    )
    shaped = shape(run.toggle, step, responses)
    observe(run.toggle, step, responses)
    run.states[step] = run.toggle.to_bytes()
    run.states = {known: run.states[known] for known in run.states if known > step - _STATES}
    _log(args, step, shaped.metrics)

    scores = _normalise(args, shaped.scores, [response.group for response in responses])
    result = np.empty(len(raw), np.float32)
    position_of = {key: position for position, key in enumerate(keys)}
    for response, score in zip(responses, scores, strict=True):
        result[[position_of[key] for key in response.keys]] = score
    return raw, result.tolist()


def _key(position: int, sample: Any) -> str:
    """In the form of `responses_of`: group, response, and the place in it."""
    if sample.group_index is None:
        raise ValueError(f"samples: group_index of sample {position} is missing")
    response = getattr(sample, "rollout_id", None)
    if response is None:
        response = sample.index if sample.index is not None else f"p{position}"
    return f"{sample.group_index}_{response}_{position}"


def _source(sample: Any) -> str:
    try:
        from slime.utils.data import get_source  # noqa: PLC0415 - slime may not be there
    except ImportError:
        return str((sample.metadata or {}).get("source_name") or "unknown")
    return str(get_source(sample))


def _normalise(args: Any, scores: Any, groups: list[str]) -> Any:
    """As slime does it for groups of one size, in float32; here for each group by itself."""
    estimators = ("grpo", "gspo", "cispo")
    centred = (*estimators, "reinforce_plus_plus_baseline")
    if args.advantage_estimator not in centred or not args.rewards_normalization:
        return scores
    members = defaultdict(list)
    for row, group in enumerate(groups):
        members[group].append(row)
    result = np.array(scores, np.float32)
    for rows in members.values():
        result[rows] -= result[rows].mean()
        if args.advantage_estimator in estimators and args.grpo_std_normalization and len(rows) > 1:
            result[rows] /= result[rows].std(ddof=1) + np.float32(1e-6)
    return result


def _log(args: Any, rollout_id: int, metrics: dict[str, float]) -> None:
    try:
        from slime.utils import logging_utils  # noqa: PLC0415
        from slime.utils.metric_utils import compute_rollout_step  # noqa: PLC0415
    except ImportError:
        return
    step = {"rollout/step": compute_rollout_step(args, rollout_id)}
    logging_utils.log(args, metrics | step, step_key="rollout/step")


class ToggleDataSource:
    """For `--data-source-path`: slime's own source, that keeps the state of Toggle beside its own.

    The state is that of the rollout that is saved, also where the next one has been made already.
    """

    def __init__(self, args: Any) -> None:
        """Takes slime's arguments.

        Raises:
            ModuleNotFoundError: slime is not installed.
            ValueError: The settings are out of range.
        """
        try:
            from slime.rollout.data_source import RolloutDataSourceWithBuffer  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"toggle_rs.integrations.slime.ToggleDataSource needs {error.name}: install slime",
                name=error.name,
            ) from error
        self.args = args
        self.source = RolloutDataSourceWithBuffer(args)
        _run(args)

    def __getattr__(self, name: str) -> Any:
        """Everything else is slime's."""
        if name == "source":
            raise AttributeError(name)
        return getattr(self.source, name)

    def __len__(self) -> int:
        """The number of prompts."""
        return len(self.source)

    def save(self, rollout_id: int) -> None:
        """Writes `rollout/toggle_N.bin` into `args.save`."""
        self.source.save(rollout_id)
        run = _run(self.args)
        path = self._path(self.args.save, rollout_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        Toggle.from_bytes(run.states.get(rollout_id, run.toggle.to_bytes())).save(path)

    def load(self, rollout_id: int | None = None) -> None:
        """Reads it from `args.load`, if it is there; the settings stay those of this run."""
        self.source.load(rollout_id)
        if self.args.load is None or rollout_id is None:
            return
        path = self._path(self.args.load, rollout_id)
        if path.exists():
            _run(self.args).toggle.load_state_dict(Toggle.load(path).state_dict())

    @staticmethod
    def _path(folder: str, rollout_id: int) -> Path:
        return Path(folder) / "rollout" / f"toggle_{rollout_id}.bin"
