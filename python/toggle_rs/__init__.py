"""Toggle reward shaping for reinforcement learning on language models."""

from ._core import CheckpointError, ExactQuantile, ToggleBudgetTracker, __version__

__all__ = ["CheckpointError", "ExactQuantile", "ToggleBudgetTracker", "__version__"]
