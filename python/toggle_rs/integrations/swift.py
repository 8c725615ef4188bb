"""Toggle in ms-swift: its form of a reward function.

Written from the source of ms-swift 4.6 and tested with stand-ins of its calls, not inside of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .trl import ToggleReward

__all__ = ["ToggleORM"]


class ToggleORM(ToggleReward):
    """A `ToggleReward` that takes the calls of ms-swift.

    A plugin registers it and its callback, to be used with
    `--external_plugins plugin.py --reward_funcs toggle --callbacks toggle`:

        reward = ToggleORM(MathAccuracy(), m=10, lambda_=0.5, percentile=80)
        orms["toggle"] = lambda **_: reward
        callbacks_map["toggle"] = lambda *_: reward.callback()

    Lengths are those of `response_token_ids`, of all turns together; groups are those of
    `prompt_id`. A request that comes back as several samples is an error: ms-swift wants the same
    reward for all of them.
    """

    def __call__(  # type: ignore[override]  # ms-swift passes the messages, not the prompts
        self, completions: list[Any], **columns: Any
    ) -> list[float | None]:
        """The shaped rewards of this rank's completions; see `ToggleReward`."""
        return self._rewards({"completions": completions, **columns})

    def _lengths(self, batch: dict[str, Any]) -> Iterable[int]:
        responses = batch.get("response_token_ids")
        if responses is None:
            raise ValueError("response_token_ids: ms-swift did not pass them; pass length=")
        return (
            sum(map(len, ids)) if ids and isinstance(ids[0], (list, tuple)) else len(ids)
            for ids in responses
        )

    def _groups(self, batch: dict[str, Any]) -> Iterable[str | None]:
        requests = batch.get("request_id") or []
        if len(set(requests)) < len(requests):
            raise ValueError("request_id: one request came back as several samples")
        return batch.get("prompt_id") or super()._groups(batch)
