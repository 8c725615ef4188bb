"""GRPO on a toy policy, shaped by the real `Toggle`: a model, not a proof."""

from .model import SETTINGS, Problems
from .run import NOTE, VARIANTS, Curve, End, Simulation, Training, simulate

__all__ = [
    "NOTE",
    "SETTINGS",
    "VARIANTS",
    "Curve",
    "End",
    "Problems",
    "Simulation",
    "Training",
    "simulate",
]
