"""The responses to a prompt as Toggle counts them, out of the trajectories that trainers keep."""

from __future__ import annotations

import math
from collections import defaultdict
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from toggle_rs import Toggle
from toggle_rs.estimators import estimator_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from toggle_rs import Shaped


def toggle_of(settings: Mapping[str, Any]) -> tuple[Toggle, float]:
    """A `Toggle` and the `max_score` (1.0), from a configuration that has the estimator as text."""
    settings = dict(settings)
    max_score = max_score_of(settings.pop("max_score", 1.0))
    if "estimator" in settings:
        settings["estimator"] = estimator_of(str(settings["estimator"]))
    return Toggle(**settings), max_score


def max_score_of(value: Any) -> float:
    """The setting `max_score`.

    Raises:
        TypeError: It is no number.
        ValueError: It is not finite.
    """
    if not isinstance(value, Real):
        raise TypeError(f"max_score: got {value!r}, expected a number")
    if not math.isfinite(value):
        raise ValueError(f"max_score: got {value}, expected a finite number")
    return float(value)


class Response(NamedTuple):
    """What an agent loop made of a prompt in one session; usually a single trajectory."""

    group: str
    keys: tuple[str, ...]
    score: float
    length: int
    dataset: str
    correct: bool


def group_of(key: str) -> str:
    """The prompt's uid; a key is `{uid}_{session}_{index}`, or the uid alone."""
    return key.partition("_")[0]


def responses_of(
    keys: Sequence[str],
    scores: NDArray[np.float32],
    accuracies: Sequence[float | None],
    lengths: Sequence[int],
    datasets: Sequence[str],
    max_score: float,
) -> list[Response]:
    """One response for each session, in the order of their first trajectories.

    The reward of a session is that of its last trajectory: verl copies it to the others, and takes
    advantages from the last one only. Its length is that of all of them.

    Args:
        keys: Of the trajectories, in any order; each column has an entry for each.
        scores: Rewards, summed over the tokens.
        accuracies: What the reward function says of correctness, apart from the reward.
        lengths: Tokens that the model made.
        datasets: Names.
        max_score: What a correct response has as accuracy, or as score where there is none.
    """
    judged = scores.copy()
    for row, accuracy in enumerate(accuracies):
        if accuracy is not None:
            judged[row] = accuracy
    correct = judged >= max_score
    sessions = defaultdict(list)
    for row, key in enumerate(keys):
        session, _, index = key.rpartition("_")
        sessions[session].append((int(index), row))
    result = []
    for rows in sessions.values():
        _, last = max(rows)
        result.append(
            Response(
                group=group_of(keys[last]),
                keys=tuple(keys[row] for _, row in rows),
                score=float(scores[last]),
                length=sum(lengths[row] for _, row in rows),
                dataset=datasets[last],
                correct=bool(correct[last]),
            )
        )
    return result


def shape(toggle: Toggle, step: int, responses: Sequence[Response]) -> Shaped:
    """Of whole groups, in any order."""
    return toggle.shape(
        step,
        np.array([response.score for response in responses], np.float32),
        [response.length for response in responses],
        [response.dataset for response in responses],
        groups=[response.group for response in responses],
        correct=np.array([response.correct for response in responses], bool),
    )


def observe(toggle: Toggle, step: int, responses: Sequence[Response]) -> None:
    """Each response once; they count from the next step on."""
    toggle.observe(
        [response.dataset for response in responses],
        [response.length for response in responses],
        correct=np.array([response.correct for response in responses], bool),
        step=step,
    )


def changed(responses: Sequence[Response], shaped: Shaped) -> list[Response]:
    """Those that shaping gives another score."""
    return [
        response
        for response, score in zip(responses, shaped.scores.tolist(), strict=True)
        if score != response.score
    ]


def shared_scores(responses: Sequence[Response], shaped: Shaped) -> dict[str, float | None]:
    """For each group that shaping changes: the score that its responses then share, if they do.

    As in verl's group filter, a group of one response shares nothing.
    """
    scores = defaultdict(list)
    for response, score in zip(responses, shaped.scores.tolist(), strict=True):
        scores[response.group].append(score)
    result = {}
    for group in {response.group for response in changed(responses, shaped)}:
        first, *others = scores[group]
        result[group] = first if others and {first} == {*others} else None
    return result
