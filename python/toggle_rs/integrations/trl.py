"""Toggle in TRL: a reward function that shapes the rewards of another one."""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from toggle_rs import Toggle

from ._responses import max_score_of

__all__ = ["ToggleReward"]

_T = TypeVar("_T")


class _Run(NamedTuple):
    """What only the trainer knows."""

    model: Any
    num_generations: int


class _Sample(NamedTuple):
    """What the ranks send each other about a completion."""

    reward: float | None
    length: int
    dataset: Any
    correct: bool
    group: str | None


class ToggleReward:
    """A reward function for `GRPOTrainer` or `RLOOTrainer` that shapes what another one returns.

    The trainer needs its callback too, which brings the group size and keeps the state with the
    checkpoints. Evaluation gets the rewards as they are, and is not observed.

        reward = ToggleReward(is_right, m=10, lambda_=0.5, percentile=80)
        GRPOTrainer(..., reward_funcs=reward, callbacks=[reward.callback()])

    Each rank observes the samples of all ranks, so all have the same budgets. Pickle and copy keep
    the budgets, and leave the trainer.

    Attributes:
        toggle: The `Toggle` inside, to look at: `reward.toggle.budgets()`. It is a new one when a
            run begins at step 0, and holds what the checkpoint holds when a run is resumed.
    """

    def __init__(
        self,
        reward_func: Callable[..., Iterable[float | None]],
        *,
        dataset_column: str | None = "dataset",
        correct: Callable[..., Iterable[bool]] | None = None,
        length: Callable[..., Iterable[int]] | None = None,
        max_score: float = 1.0,
        **settings: Any,
    ) -> None:
        """Wrap a reward function.

        Args:
            reward_func: Called as the trainer would call it. `None` for a sample means that it has
                no reward: it passes, and does not count. NaN is an error.
            dataset_column: The column of the training data that says whose budget counts; `None`
                for one budget for all.
            correct: Says which completions are correct, where `reward >= max_score` does not.
                Called as the reward function is, with `rewards` besides.
            length: Says how many tokens each completion has, where `completion_ids` holds tokens
                that the model did not make (results of tools). Called as the reward function is.
            max_score: The reward from which on a completion is correct; not beside `correct`.
            **settings: `m`, `lambda_`, `percentile`, and the other settings of `Toggle`.

        Raises:
            TypeError: `reward_func` cannot be called, or is async; or a setting is missing,
                unknown, or of the wrong kind.
            ValueError: A setting is out of range, or `max_score` is given beside `correct`.
        """
        function: Any = reward_func
        while isinstance(function, functools.partial):
            function = function.func
        if not callable(function):
            raise TypeError(f"reward_func: got {function!r}, expected a callable")
        if any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
            raise TypeError("reward_func: got an async function, expected one that returns a list")
        max_score = max_score_of(max_score)
        if correct is not None and max_score != 1:
            raise ValueError(
                "max_score: given beside correct, where it has no effect: pass one of the two"
            )
        self.toggle = Toggle(**settings)
        self._new = self.toggle.to_bytes()
        self.run: _Run | None = None
        # The trainer's name for it, in the logs.
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self._reward_func = reward_func
        self._dataset_column = dataset_column
        self._is_correct = correct or functools.partial(_reaches, max_score)
        self._length = length
        self._waiting: list[dict[str, Any]] = []

    def __call__(
        self, prompts: list[Any], completions: list[Any], **columns: Any
    ) -> list[float | None]:
        """The shaped rewards of this rank's completions. Every rank has to call it.

        Raises:
            RuntimeError: It is called without a `trainer_state`, or the trainer does not have its
                callback.
            TypeError: A reward, a length or a dataset is of the wrong kind.
            ValueError: A value is out of range, the dataset column is missing, or something has not
                one entry for each completion. Nothing has been observed then.
        """
        return self._rewards({"prompts": prompts, "completions": completions, **columns})

    def _rewards(self, batch: dict[str, Any]) -> list[float | None]:
        trainer_state, log_metric = batch.get("trainer_state"), batch.get("log_metric")
        if trainer_state is None:
            raise RuntimeError(
                f"{self.__name__}: called without trainer_state, so the training step is unknown. "
                "Asynchronous GRPO does not pass it, nor does axolotl with reward_num_workers > 1"
            )
        if self.run is None:
            raise RuntimeError(
                f"{self.__name__}: its callback is missing: pass callbacks=[reward.callback()] to "
                "the trainer"
            )
        rewards = _listed("reward_func", self._reward_func(**batch))
        if not self.run.model.training:
            return rewards
        own = self._samples(rewards, batch)
        by_rank, rank = _gather(own)
        shaped, metrics = self._shape(trainer_state.global_step, list(chain(*by_rank)))
        # The same keys on every rank: the trainer gathers them one by one.
        if log_metric is not None:
            for name, value in metrics.items():
                log_metric(name, value)
        first = sum(map(len, by_rank[:rank]))
        return shaped[first : first + len(own)]

    def callback(self) -> Any:
        """The `TrainerCallback` that the trainer needs beside the reward function.

        Raises:
            ModuleNotFoundError: transformers is not installed.
        """
        try:
            from ._trl_callback import ToggleCallback  # noqa: PLC0415 - only this needs it
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "toggle_rs.integrations.trl needs trl: pip install 'toggle-rs[trl]'",
                name=error.name,
            ) from error
        # To resume, transformers may build a new callback, of its class alone: so the class knows
        # the reward. The checkpoint files its state under the name of the class.
        name = f"ToggleCallback({self.__name__})"
        return type(name, (ToggleCallback,), {"reward": self})()

    def settle(self, step: int) -> None:
        """Observe what was shaped before `step`; a checkpoint of `step` holds that and no more."""
        while self._waiting and self._waiting[0]["step"] < step:
            self.toggle.observe(**self._waiting.pop(0))

    def load(self, state_dict: Mapping[str, Any] | None) -> None:
        """Begin anew, with what `Toggle.state_dict` holds, if anything; the settings stay.

        Raises:
            CheckpointError: It is damaged, or of another estimator.
        """
        toggle = Toggle.from_bytes(self._new)  # What a new one warns of was said before.
        if state_dict is not None:
            toggle.load_state_dict(state_dict)
        self.toggle, self._waiting = toggle, []

    def __getstate__(self) -> dict[str, Any]:
        """All but the trainer."""
        return self.__dict__ | {"run": None}

    def _lengths(self, batch: dict[str, Any]) -> Iterable[int]:
        return map(len, batch["completion_ids"])

    def _groups(self, batch: dict[str, Any]) -> Iterable[str | None]:
        """The group of each completion; `None` where groups lie side by side, as TRL has them."""
        return [None] * len(batch["completions"])

    def _samples(self, rewards: Iterable[Any], batch: dict[str, Any]) -> list[_Sample]:
        column = self._dataset_column
        size = len(batch["completions"])
        if column is not None and column not in batch:
            raise ValueError(
                f"dataset_column: the training data has no column {column!r}; name the one that "
                "says whose budget counts, or None for one budget for all"
            )
        values = _column("rewards", rewards, size, _reward)
        correct = self._is_correct(**batch | {"rewards": values})
        lengths = self._lengths(batch) if self._length is None else self._length(**batch)
        return list(
            map(
                _Sample,
                values,
                _column("length", lengths, size, operator.index),
                ["all"] * size if column is None else _column(column, batch[column], size, _same),
                _column("correct", correct, size, _flag),
                _column("groups", self._groups(batch), size, _same),
            )
        )

    def _shape(
        self, step: int, samples: list[_Sample]
    ) -> tuple[list[float | None], dict[str, float]]:
        """Shape the samples of all ranks; to be observed, they wait for `settle`."""
        counted = [i for i, sample in enumerate(samples) if sample.reward is not None]
        groups = self._ids(samples)
        batch: dict[str, Any] = {
            "step": step,
            "scores": np.array([samples[i].reward for i in counted], np.float64),
            "lengths": [samples[i].length for i in counted],
            "datasets": [samples[i].dataset for i in counted],
            "correct": np.array([samples[i].correct for i in counted], bool),
        }
        self.settle(step)
        shaped = self.toggle.shape(**batch, groups=[groups[i] for i in counted])
        self._waiting.append(batch)
        rewards: list[float | None] = [None] * len(samples)
        for i, score in zip(counted, shaped.scores.tolist(), strict=True):
            rewards[i] = score
        return rewards, shaped.metrics

    def _ids(self, samples: list[_Sample]) -> list[str]:
        ids = [sample.group for sample in samples if sample.group is not None]
        if len(ids) == len(samples):
            return ids
        size = self.run.num_generations if self.run else 1
        if len(samples) % size:
            raise ValueError(
                f"completions: got {len(samples)}, expected a multiple of num_generations={size}"
            )
        return [str(i // size) for i in range(len(samples))]


def _gather(own: list[_Sample]) -> tuple[list[list[_Sample]], int]:
    """The samples of each rank, in order, and which rank this is."""
    from accelerate import PartialState  # noqa: PLC0415 - here a trainer runs, which has it
    from accelerate.utils import gather_object  # noqa: PLC0415

    return gather_object([own]), PartialState().process_index


def _column(name: str, values: Iterable[Any], size: int, read: Callable[[Any], _T]) -> list[_T]:
    """One value for each completion, or an error that names it."""
    found = _listed(name, values)
    if len(found) != size:
        raise ValueError(f"{name}: got {len(found)} values, expected {size}, one a completion")
    result = []
    for i, value in enumerate(found):
        try:
            result.append(read(value))
        except (TypeError, ValueError, OverflowError) as error:  # noqa: PERF203 - names the index
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{name}[{i}]: {error}") from error
    return result


def _listed(name: str, values: Iterable[_T]) -> list[_T]:
    try:
        iterator = iter(values)
    except TypeError:
        raise TypeError(
            f"{name}: got {values!r}, expected a list with one entry for each completion"
        ) from None
    return list(iterator)


def _reward(value: Any) -> float | None:
    if value is None:
        return None
    if not hasattr(value, "__float__"):  # which str has not, though float() takes it
        raise TypeError(f"got {value!r}, expected a number or None")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"got {number}, expected a finite number, or None for no reward")
    return number


def _reaches(max_score: float, /, rewards: list[float | None], **_: Any) -> list[bool]:
    """As float32, which the trainer makes of rewards, and a reward function may have made."""
    least = np.float32(max_score)
    return [reward is not None and bool(np.float32(reward) >= least) for reward in rewards]


def _flag(value: Any) -> bool:
    if value not in (False, True):
        raise TypeError(f"got {value!r}, expected True or False")
    return bool(value)


def _same(value: Any) -> Any:
    return value
