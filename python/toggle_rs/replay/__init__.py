"""What Toggle would have done to a run that was logged."""

from .layout import ReplayError
from .settings import Settings
from .summary import PERCENTILES, DatasetSummary, Replay, Step, replay

__all__ = [
    "PERCENTILES",
    "DatasetSummary",
    "Replay",
    "ReplayError",
    "Settings",
    "Step",
    "replay",
]
