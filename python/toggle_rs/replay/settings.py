"""What a replay is asked to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from toggle_rs import Toggle
from toggle_rs.doubts import heard
from toggle_rs.estimators import estimator_of

StartPhase: TypeAlias = Literal["normal", "length_penalty"]
Freeze: TypeAlias = Literal["never", "warmup", "first"]
Penalty: TypeAlias = Literal["zero", "cap_at_zero"]
BudgetFrom: TypeAlias = Literal["same-step", "earlier-steps"]
Filter: TypeAlias = Literal["before", "after"]

_ALWAYS: Final = 2**62  # Steps to a phase that never ends.


@dataclass(frozen=True)
class Settings:
    """Toggle's own settings, and how the trainer calls it."""

    lambda_: float
    percentile: float
    m: int | None = None
    """Steps from one change of phase to the next; None: every step after warm-up is shaped."""
    warmup_steps: int = 0
    estimator: str = "exact"
    """As `estimator_of` takes it."""
    start_phase: StartPhase = "normal"
    freeze: Freeze = "never"
    min_samples: int = 1
    penalty: Penalty = "zero"
    budget_from: BudgetFrom = "same-step"
    """Whether a step's own responses count for its budgets."""
    filter: Filter = "after"
    """Whether groups whose rewards are all equal are dropped before Toggle sees them."""
    max_score: float = 1.0
    """Reward of a correct response."""

    @property
    def is_drop_in(self) -> bool:
        """Whether `ToggleBudgetTracker` does all that is asked for; else `Toggle` shapes."""
        return self.budget_from == "same-step" and (
            (self.start_phase, self.freeze, self.min_samples, self.penalty)
            == ("normal", "never", 1, "zero")
        )

    @property
    def tracker(self) -> str:
        """The class that shapes."""
        return "ToggleBudgetTracker" if self.is_drop_in else "Toggle"

    def toggle(self, ticks: int = 1) -> Toggle:
        """A `Toggle` with these settings, whose clock moves by `ticks` in a training step.

        It warns of nothing; `doubts` tells that.

        Raises:
            ValueError: A setting is out of range.
        """
        with heard():
            return Toggle(
                m=_ALWAYS if self.m is None else self.m * ticks,
                lambda_=self.lambda_,
                percentile=self.percentile,
                warmup_steps=self.warmup_steps * ticks,
                estimator=estimator_of(self.estimator, ticks),
                start_phase="length_penalty" if self.m is None else self.start_phase,
                freeze=self.freeze,
                min_samples=self.min_samples,
                penalty=self.penalty,
            )

    def doubts(self) -> list[str]:
        """What `Toggle` warns of, a sentence each."""
        with heard() as texts:
            Toggle(m=1, lambda_=self.lambda_, percentile=self.percentile)
        return texts

    def to_json(self) -> dict[str, Any]:
        """As plain objects, for `json.dump`."""
        return {**asdict(self), "tracker": self.tracker}

    def shared(self) -> str:
        """In one line, but for lambda and the percentile; what is at its default is left out."""
        words = [
            "every step shaped" if self.m is None else f"m = {self.m}",
            f"warm-up = {self.warmup_steps}",
            self.estimator,
            f"budget from {self.budget_from.replace('-', ' ')}",
            f"filter {self.filter} shaping",
        ]
        for name in ("start_phase", "freeze", "min_samples", "penalty", "max_score"):
            value = getattr(self, name)
            if value != getattr(Settings, name):
                words.append(f"{name} = {value}".replace("_", " "))
        return ", ".join(words)

    def __str__(self) -> str:
        """In one line; what is at its default is left out."""
        return f"λ = {self.lambda_:g}, percentile = {self.percentile:g}, {self.shared()}"
