"""Which column of a file is what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Count: TypeAlias = Literal["tokens", "words", "characters"]

NEEDED: Final = ("step", "group", "reward", "length")
OPTIONAL: Final = ("sample", "dataset")

FORMATS: Final[dict[str, dict[str, str]]] = {
    "open-instruct": {
        "step": "step",
        "sample": "sample_idx",
        "group": "prompt_idx",
        "dataset": "dataset",
        "reward": "reward",
        "length": "response_tokens",
    },
    # What `trainer.rollout_data_dir` gets: texts, and the prompt as the only mark of a group.
    "verl": {"step": "step", "group": "input", "reward": "score", "length": "output"},
    # What `log_completions` writes: texts, and a column for each reward function.
    "trl": {"step": "step", "group": "prompt", "length": "completion"},
}
"""Columns by the name of the trainer that writes them."""

TEXT_ONLY: Final = ("verl", "trl")
"""Formats that hold no tokens."""

TRL_COLUMNS: Final = frozenset({"step", "prompt", "completion", "advantage"})
"""Columns of TRL's files that are no reward."""


@dataclass(frozen=True)
class Source:
    """The columns of the files, and what a length is.

    Raises:
        ValueError: A column is missing, or there is no such column.
    """

    columns: dict[str, str] = field(default_factory=lambda: dict(FORMATS["open-instruct"]))
    """Names of the columns in the files, by "step", "group", "reward", "length" and, where there
    are such, "sample" and "dataset"."""
    count: Count = "tokens"
    """What the length is where its column holds texts."""
    is_reward_open: bool = False
    """Whether the reward is whatever column is left over, as in TRL's files."""

    def __post_init__(self) -> None:
        """Check the names."""
        for name in self.columns:
            if name not in (*NEEDED, *OPTIONAL):
                known = ", ".join((*NEEDED, *OPTIONAL))
                raise ValueError(f"columns: got {name!r}, expected one of {known}")
        for name in NEEDED:
            if name not in self.columns and not (name == "reward" and self.is_reward_open):
                raise ValueError(f"columns: {name} is missing, as in {name}=NAME")

    @staticmethod
    def of(format_: str | None, columns: dict[str, str], count: Count = "tokens") -> Source:
        """A format by name, and names that differ from it; without a format, only those names.

        Raises:
            ValueError: A column is missing, there is no such column or format, or the format holds
                texts and `count` is "tokens".
        """
        if format_ is None and not columns:
            format_ = "open-instruct"
        if format_ is None:
            return Source(columns, count)
        if format_ not in FORMATS:
            raise ValueError(f"format: got {format_!r}, expected one of {', '.join(FORMATS)}")
        if format_ in TEXT_ONLY and count == "tokens" and "length" not in columns:
            raise ValueError(
                f"format {format_} holds texts and no tokens: count words or characters instead "
                "(--count words or chars), or name a column of lengths (--columns length=NAME)"
            )
        return Source(FORMATS[format_] | columns, count, is_reward_open=format_ == "trl")

    @property
    def is_numbered(self) -> bool:
        """Whether the files number the samples of a step; else rows are numbered as they come."""
        return "sample" in self.columns
