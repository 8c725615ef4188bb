"""Toggle reward shaping for reinforcement learning on language models."""

from ._core import *  # noqa: F403 - the stubs list what there is
from ._core import __all__ as __all__
