"""The figures of docs/guide.md are those that were measured."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
sys.path.append(str(PROJECT / "benches" / "python"))

from toggle_report import tables  # noqa: E402 - its folder has just been added

TABLES = tables(json.loads((PROJECT / "docs" / "toggle.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_of_the_committed_run(name: str) -> None:
    guide = (PROJECT / "docs" / "guide.md").read_text(encoding="utf-8")
    shown = re.findall(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", guide, re.DOTALL)
    assert shown == [TABLES[name]]
