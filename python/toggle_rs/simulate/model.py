"""The toy world: problems whose success rises with the length of the answer, and saturates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LENGTHS: Final = np.arange(1, 33) * 256
"""What an answer can be long, in tokens."""


@dataclass(frozen=True)
class Problems:
    """A class of problems; each class is a dataset to Toggle."""

    name: str
    ceiling: float
    """Success of an answer of any length."""
    scale: float
    """Tokens that bring success 63 % of the way to the ceiling."""

    def success(self) -> NDArray[np.float64]:
        """Probability of a right answer, for each of `LENGTHS`."""
        chance: NDArray[np.float64] = self.ceiling * -np.expm1(-LENGTHS / self.scale)
        return chance


SETTINGS: Final[dict[str, tuple[Problems, ...]]] = {
    # What the report has in mind: answers are longer than they need to be.
    "verbose": (
        Problems("easy", 0.99, 250),
        Problems("medium", 0.95, 600),
        Problems("hard", 0.80, 1200),
    ),
    # More tokens go on helping: whatever saves them costs right answers.
    "hungry": (
        Problems("easy", 0.99, 1200),
        Problems("medium", 0.95, 3000),
        Problems("hard", 0.90, 6000),
    ),
    # Hardly any group reaches lambda: there is little to hold to a budget.
    "too-hard": (
        Problems("hard", 0.40, 1200),
        Problems("harder", 0.25, 2000),
        Problems("hardest", 0.10, 3000),
    ),
}
"""Worlds by name."""


class Policy:
    """For each class a softmax over lengths; it can choose nothing else."""

    def __init__(self, classes: tuple[Problems, ...]) -> None:
        """Start wide around a third of the longest answer."""
        start = -(((LENGTHS - LENGTHS[-1] / 3) / (LENGTHS[-1] / 5)) ** 2) / 2
        self.logits = np.tile(start, (len(classes), 1))
        self.success = np.array([each.success() for each in classes])

    def probabilities(self) -> NDArray[np.float64]:
        """Of each class and length."""
        weights = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        chance: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return chance

    def expected(self) -> tuple[float, float]:
        """Tokens of an answer and its accuracy, over all classes; exact, not sampled."""
        chance = self.probabilities()
        return float((chance @ LENGTHS).mean()), float((chance * self.success).sum(axis=1).mean())

    def step(
        self,
        classes: NDArray[np.int64],
        lengths: NDArray[np.int64],
        advantages: NDArray[np.float64],
        rate: float,
    ) -> None:
        """One step of policy gradient; a row for each answer, `lengths` as places in `LENGTHS`."""
        if not len(classes):
            return
        gradient = np.zeros_like(self.logits)
        np.add.at(gradient, (classes, lengths), advantages)
        total = np.bincount(classes, advantages, minlength=len(self.logits))
        gradient -= total[:, None] * self.probabilities()
        self.logits += rate * gradient / len(classes)
