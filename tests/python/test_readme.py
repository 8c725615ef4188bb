"""The figures of README.md and docs/ are those that were measured."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]
sys.path.append(str(PROJECT / "benches" / "python"))

# Their folder has just been added.
import estimators_report  # noqa: E402
import rust_report  # noqa: E402
import toggle_report  # noqa: E402
import traces_report  # noqa: E402
from tracker_report import page_tables, readme_tables  # noqa: E402


def measured(name: str) -> Any:
    return json.loads((PROJECT / "docs" / f"{name}.json").read_text(encoding="utf-8"))


README = readme_tables(measured("tracker"))
PAGES = {
    "README.md": README,
    "docs/guide.md": toggle_report.tables(measured("toggle")),
    "docs/estimators.md": estimators_report.tables(measured("speed")),
    "docs/choosing.md": traces_report.tables(measured("replay")),
    "docs/performance.md": page_tables(measured("tracker"))
    | rust_report.tables(measured("crates")),
}


@pytest.mark.parametrize(("page", "name"), [(page, name) for page in PAGES for name in PAGES[page]])
def test_the_table_is_of_the_committed_run(page: str, name: str) -> None:
    text = (PROJECT / page).read_text(encoding="utf-8")
    shown = re.findall(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", text, re.DOTALL)
    assert shown == [PAGES[page][name]]


def test_the_readme_has_no_other_figures_of_time() -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    for name in README:
        readme = re.sub(rf"<!-- {name} -->.*?<!-- /{name} -->", "", readme, flags=re.DOTALL)
    assert re.findall(r"\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|times|x)\b", readme) == []
