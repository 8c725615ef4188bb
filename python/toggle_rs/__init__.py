"""Toggle reward shaping for reinforcement learning on language models."""

from ._core import (
    CheckpointError,
    ExactQuantile,
    GKQuantile,
    P2Quantile,
    Rollouts,
    Shaped,
    Toggle,
    ToggleBudgetTracker,
    TraceError,
    __version__,
    read_traces,
)

__all__ = [
    "CheckpointError",
    "ExactQuantile",
    "GKQuantile",
    "P2Quantile",
    "Rollouts",
    "Shaped",
    "Toggle",
    "ToggleBudgetTracker",
    "TraceError",
    "__version__",
    "read_traces",
]
