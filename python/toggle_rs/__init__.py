"""Toggle reward shaping for reinforcement learning on language models."""

from ._core import (
    CheckpointError,
    ExactQuantile,
    GKQuantile,
    P2Quantile,
    Shaped,
    Toggle,
    ToggleBudgetTracker,
    __version__,
)

__all__ = [
    "CheckpointError",
    "ExactQuantile",
    "GKQuantile",
    "P2Quantile",
    "Shaped",
    "Toggle",
    "ToggleBudgetTracker",
    "__version__",
]
