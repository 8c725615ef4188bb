"""Where real rollouts are, if there are any."""

from __future__ import annotations

from pathlib import Path

REAL = sorted((Path(__file__).parents[2] / "../shared/data").glob("*.jsonl.gz"))
