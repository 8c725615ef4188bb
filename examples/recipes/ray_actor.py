"""One `Toggle` for many rollout workers, held by a Ray actor. See docs/distributed.md."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from toggle_rs import Toggle


class ToggleActor:
    """Shapes the groups of a step as they come: `ray.remote(ToggleActor).remote(state)`.

    A group that comes again, from a worker that Ray has retried, is shaped again but not counted
    again. That relies on one call at a time, which is Ray's default for an actor.
    """

    def __init__(self, state: bytes) -> None:
        """Goes on from `Toggle.to_bytes()`, of a new one or of the last consumed step."""
        self._toggle = Toggle.from_bytes(state)
        self._step = -1
        self._counted: set[Hashable] = set()

    def shape(
        self, step: int, group: Hashable, scores: Any, lengths: Any, dataset: str
    ) -> tuple[Any, bool]:
        """The shaped scores of a group, and whether they have a signal."""
        if step > self._step:
            self._step, self._counted = step, set()
        call = self._toggle.shape if group in self._counted else self._toggle.apply
        shaped = call(step, scores, lengths, [dataset] * len(scores), groups=len(scores))
        self._counted.add(group)
        return shaped.scores, bool(shaped.has_signal.all())

    def state(self) -> bytes:
        """To be kept beside the data of a step, once all its groups are in."""
        return self._toggle.to_bytes()
