"""The figures of README.md are those that were measured."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
sys.path.append(str(PROJECT / "benches" / "python"))

from tracker_report import tables  # noqa: E402 - its folder has just been added

TABLES = tables(json.loads((PROJECT / "docs" / "tracker.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_of_the_committed_run(name: str) -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", readme, re.DOTALL)
    assert shown == [TABLES[name]]


def test_the_readme_has_no_other_figures_of_time() -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    for name in TABLES:
        readme = re.sub(rf"<!-- {name} -->.*?<!-- /{name} -->", "", readme, flags=re.DOTALL)
    assert re.findall(r"\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|times|x)\b", readme) == []
