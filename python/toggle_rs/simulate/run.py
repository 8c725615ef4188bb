"""Training in the toy world, with and without Toggle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from toggle_rs import Toggle
from toggle_rs.doubts import heard

from .model import LENGTHS, SETTINGS, Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

VARIANTS: Final = {
    "no penalty": "rewards as they are",
    "always on": "a penalty in every step, the filter after it",
    "filter before": "Toggle, which never sees the groups whose rewards are all equal",
    "filter after": "Toggle, and then the filter looks at the shaped rewards",
}
"""What is compared."""

NOTE: Final = (
    "This is a model, not a proof: a policy that chooses nothing but the length of its answers, on "
    "problems whose success follows a curve that we made up. It shows which way each order pushes; "
    "how far a real model goes it cannot tell."
)


@dataclass(frozen=True)
class Training:
    """How the toy is trained."""

    setting: str = "verbose"
    m: int = 10
    lambda_: float = 0.9
    percentile: float = 50.0
    warmup_steps: int = 10
    steps: int = 600
    prompts: int = 16
    """Of each class, in a step."""
    group_size: int = 8
    rate: float = 1.0
    """Learning rate."""

    def toggle(self, *, always_on: bool) -> Toggle:
        """The real thing.

        Raises:
            ValueError: A setting is out of range.
        """
        return Toggle(
            m=2**62 if always_on else self.m,
            lambda_=self.lambda_,
            percentile=self.percentile,
            warmup_steps=self.warmup_steps,
            start_phase="length_penalty" if always_on else "normal",
        )


@dataclass(frozen=True)
class Curve:
    """One variant over the steps of training: a value before each step, and one after the last."""

    tokens: list[list[float]]
    """Of each seed: expected tokens of an answer."""
    accuracy: list[list[float]]
    """Of each seed: expected accuracy."""


@dataclass(frozen=True)
class End:
    """Where a variant ends: the last 2 m steps, a whole cycle of phases, averaged."""

    tokens: float
    """Mean over the seeds."""
    tokens_spread: tuple[float, float]
    """Lowest and highest of the seeds."""
    accuracy: float
    accuracy_spread: tuple[float, float]


@dataclass(frozen=True)
class Simulation:
    """The result of `simulate`."""

    training: Training
    seeds: int
    curves: dict[str, Curve]
    """By variant."""

    def ends(self) -> dict[str, End]:
        """By variant."""
        return {variant: self._end(curve) for variant, curve in self.curves.items()}

    def _end(self, curve: Curve) -> End:
        cycle = 2 * self.training.m
        tokens, accuracy = (
            np.array(seeds)[:, -cycle:].mean(axis=1) for seeds in (curve.tokens, curve.accuracy)
        )
        return End(
            tokens=float(tokens.mean()),
            tokens_spread=(float(tokens.min()), float(tokens.max())),
            accuracy=float(accuracy.mean()),
            accuracy_spread=(float(accuracy.min()), float(accuracy.max())),
        )

    def to_json(self) -> dict[str, Any]:
        """All of it as plain objects, for `json.dump`."""
        return {
            "note": NOTE,
            **asdict(self),
            "ends": {variant: asdict(end) for variant, end in self.ends().items()},
        }


def simulate(
    training: Training, seeds: int, progress: Callable[[int], object] = lambda _: None
) -> Simulation:
    """Train each variant with each seed.

    Args:
        training: How.
        seeds: How many.
        progress: Called with the number of trainings done since its last call.
    """
    curves = {}
    for variant in VARIANTS:
        runs = []
        for seed in range(seeds):
            runs.append(_train(training, variant, seed))
            progress(1)
        tokens, accuracy = zip(*runs, strict=True)
        curves[variant] = Curve(list(tokens), list(accuracy))
    return Simulation(training, seeds, curves)


def _train(training: Training, variant: str, seed: int) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(seed)
    classes = SETTINGS[training.setting]
    policy = Policy(classes)
    shape = _shaper(training, variant)
    names = np.array([each.name for each in classes], object)
    of_group = np.repeat(np.arange(len(classes)), training.prompts)
    curve = [policy.expected()]
    for step in range(training.steps):
        chance = policy.probabilities()
        size = training.prompts, training.group_size
        lengths = np.concatenate([rng.choice(len(LENGTHS), size, p=row) for row in chance])
        right = rng.random(lengths.shape) < policy.success[of_group[:, None], lengths]
        rewards = right.astype(np.float64)
        shaped = shape(step, rewards, LENGTHS[lengths], names[of_group])
        used = np.ptp(shaped, axis=1) > 0
        centred = shaped[used] - shaped[used].mean(axis=1, keepdims=True)
        advantages = centred / centred.std(axis=1, keepdims=True)
        policy.step(
            np.repeat(of_group[used], training.group_size),
            lengths[used].ravel(),
            advantages.ravel(),
            training.rate,
        )
        curve.append(policy.expected())
    tokens, accuracy = zip(*curve, strict=True)
    return list(tokens), list(accuracy)


def _shaper(training: Training, variant: str) -> Callable[..., NDArray[np.float64]]:
    """From step, rewards, lengths (by group) and datasets to shaped rewards."""
    if variant == "no penalty":
        return lambda _step, rewards, _lengths, _names: rewards
    with heard():
        toggle = training.toggle(always_on=variant == "always on")

    def shape(
        step: int, rewards: NDArray[np.float64], lengths: NDArray[np.int64], names: NDArray[Any]
    ) -> NDArray[np.float64]:
        seen = np.ones(len(rewards), dtype=bool)
        if variant == "filter before":
            seen = np.ptp(rewards, axis=1) > 0
        k = rewards.shape[1]
        with heard():  # That lambda reaches fully solved groups only is what the picture shows.
            result = toggle.apply(
                step,
                rewards[seen].ravel(),
                lengths[seen].ravel(),
                np.repeat(names[seen], k),
                groups=k,
            )
        shaped = np.zeros_like(rewards)
        shaped[seen] = result.scores.reshape(-1, k)
        return shaped

    return shape
