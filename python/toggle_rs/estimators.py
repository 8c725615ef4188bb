"""Estimators as text, for command lines and configuration files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toggle_rs import DecayQuantile, WindowQuantile
from toggle_rs._core import _NAMES

if TYPE_CHECKING:
    from toggle_rs._core import _Name

__all__ = ["estimator_of"]


def estimator_of(text: str, ticks: int = 1) -> _Name | WindowQuantile | DecayQuantile:
    """The argument `estimator` of a tracker, from its name, "window:N" or "decay:H".

    Args:
        text: `N` is a number of lengths, `H` a half-life in training steps; the names are those
            that a tracker takes.
        ticks: How far the clock of the tracker moves in a training step.

    Raises:
        ValueError: It is none of these, or its number is out of range.
    """
    for plain in _NAMES:
        if text == plain:
            return plain
    kind, _, number = text.partition(":")
    try:
        size = {"window": int, "decay": float}[kind](number)
    except (KeyError, ValueError):
        expected = f"{', '.join(_NAMES)}, window:N or decay:H"
        raise ValueError(f"estimator: got {text!r}, expected {expected}") from None
    try:
        if kind == "window":
            return WindowQuantile(int(size))
        DecayQuantile(size)  # So that an error names the number as given.
        return DecayQuantile(size * ticks)
    except ValueError as error:
        raise ValueError(f"estimator: got {text!r}: {error}") from error
