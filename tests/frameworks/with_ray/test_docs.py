"""The Python that the docs show is the Python that the tests run; their figures were measured."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROJECT = HERE.parents[2]
sys.path.append(str(PROJECT / "benches" / "python"))

from bench_snapshots import tables  # noqa: E402 - its folder has just been added

DOCS = [PROJECT / "docs" / name for name in ("distributed.md", "open_instruct.md")]
CODE = [*(PROJECT / "examples" / "recipes").glob("*.py"), HERE / "open_instruct_loop.py"]

PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(block, id=f"{doc.stem}-{i}")
    for doc in DOCS
    for i, block in enumerate(PYTHON.findall(doc.read_text()))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_each_block_is_in_the_code_that_runs(block: str) -> None:
    wanted = textwrap.dedent(block)
    size = len(block.splitlines())
    found = [
        path.name
        for path in CODE
        for lines in [path.read_text().splitlines(keepends=True)]
        for start in range(len(lines) - size + 1)
        if textwrap.dedent("".join(lines[start : start + size])) == wanted
    ]
    assert found


def test_both_docs_show_code() -> None:
    assert {str(block.id).split("-")[0] for block in BLOCKS} == {doc.stem for doc in DOCS}


def test_the_figures_are_of_the_committed_run() -> None:
    page = (PROJECT / "docs" / "distributed.md").read_text()
    for name, text in tables(json.loads((PROJECT / "docs" / "snapshots.json").read_text())).items():
        assert f"<!-- {name} -->\n{text}\n<!-- /{name} -->\n" in page
