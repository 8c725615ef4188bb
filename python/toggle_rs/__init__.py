"""Toggle reward shaping for reinforcement learning on language models."""

from ._core import __version__

__all__ = ["__version__"]
