"""Toggle reward shaping for reinforcement learning on language models."""

from ._core import (
    CheckpointError,
    ExactQuantile,
    Rollouts,
    ToggleBudgetTracker,
    TraceError,
    __version__,
    read_traces,
)

__all__ = [
    "CheckpointError",
    "ExactQuantile",
    "Rollouts",
    "ToggleBudgetTracker",
    "TraceError",
    "__version__",
    "read_traces",
]
