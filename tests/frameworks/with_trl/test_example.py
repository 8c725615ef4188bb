"""The example runs, and prints what Toggle did."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "trl_grpo.py"


def test_the_example_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--steps=8", f"--output={tmp_path}"],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^ +(\d+)  (normal|length penalty) +([\d.]+) ", done.stdout, re.MULTILINE)
    assert [(int(step), phase) for step, phase, _ in rows] == [
        *((step, "normal") for step in range(4)),
        *((step, "length penalty") for step in range(4, 8)),
    ]
    assert min(float(kept) for *_, kept in rows) < 1
    assert re.search(r"^budgets now: \{'vowels': \d", done.stdout, re.MULTILINE)
    assert (tmp_path / "checkpoint-8" / "trainer_state.json").is_file()
