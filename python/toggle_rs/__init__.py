"""Toggle reward shaping for reinforcement learning on language models."""

from ._core import (
    CheckpointError,
    DecayQuantile,
    ExactQuantile,
    GKQuantile,
    P2Quantile,
    Rollouts,
    Shaped,
    Toggle,
    ToggleBudgetTracker,
    TraceError,
    WindowQuantile,
    __version__,
    read_traces,
)

__all__ = [
    "CheckpointError",
    "DecayQuantile",
    "ExactQuantile",
    "GKQuantile",
    "P2Quantile",
    "Rollouts",
    "Shaped",
    "Toggle",
    "ToggleBudgetTracker",
    "TraceError",
    "WindowQuantile",
    "__version__",
    "read_traces",
]
