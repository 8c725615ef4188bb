"""Rollouts from files of several kinds."""

from .files import expand
from .read import read_rollouts
from .source import FORMATS, Source

__all__ = ["FORMATS", "Source", "expand", "read_rollouts"]
