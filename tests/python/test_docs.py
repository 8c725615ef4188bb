"""Every example in README.md, the guides and the docstrings runs, and the guide's figures hold."""

import doctest
import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toggle_rs
from toggle_rs import Toggle, read_traces

PROJECT = Path(__file__).parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
# Excerpts of code that other tests run, and compare with these pages.
EXCERPTS = {"distributed.md", "open_instruct.md", "other_frameworks.md"}
ROLLOUTS = sorted((PROJECT.parent / "shared" / "data").glob("*.jsonl.gz"))


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


RUN = [page for page in PAGES if page.name not in EXCERPTS and blocks(page)]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_page(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks of a page run one after the other; a comment of what is printed is right."""
    code = "".join(blocks(page))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        exec(compile(code, page.name, "exec"), {})  # noqa: S102 the project's own pages
    told = re.findall(r"^# (\d .*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == told


def test_no_page_is_left_out() -> None:
    names = {page.name for page in PAGES if blocks(page)}
    assert {page.name for page in RUN} == names - EXCERPTS
    assert {"README.md", "index.md", "guide.md"} <= {page.name for page in RUN}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_block_is_left_out(page: Path) -> None:
    """Blocks that are indented, or fenced or named otherwise, would not be found."""
    fence = r"^[ >\t]*(?:```+|~~~+) *\{? *\.?(?:py|pycon|python)"
    python = re.findall(fence, page.read_text(), re.MULTILINE)
    assert len(python) == len(blocks(page))


def test_docstrings() -> None:
    runner, finder, examples = doctest.DocTestRunner(), doctest.DocTestParser(), 0
    for name in toggle_rs.__all__:
        text = inspect.getdoc(getattr(toggle_rs, name)) or ""
        if ">>>" in text:
            # In a section of another name the API page would show them as quotations.
            assert "\nExamples:\n" in text
            result = runner.run(finder.get_doctest(text, {}, name, None, 0))
            assert result.failed == 0
            examples += result.attempted
    assert examples >= 10


def test_one_masked_answer() -> None:
    scores = np.ones(16)
    scores[0] = 0
    centred = scores - scores.mean()
    assert round(centred[0], 2) == -0.94
    assert round(centred[0] / scores.std(), 2) == -3.87
    assert round(centred[0] / scores.std(ddof=1), 2) == -3.75
    assert round(centred[1] / scores.std(), 2) == 0.26


def flow(rollouts: Any, lambda_: float, *, filter_first: bool) -> list[int]:
    """A row of the guide's table."""
    toggle = Toggle(
        m=10**6, lambda_=lambda_, percentile=80, start_phase="length_penalty", warmup_steps=1
    )
    counts = np.zeros(5, int)
    names = np.array([rollouts.names[i][0] for i in rollouts.dataset], object)
    for step in np.unique(rollouts.step):
        at = np.flatnonzero(rollouts.step == step)
        toggle.observe(names[at], rollouts.length[at], rollouts.reward[at], step=int(step))
        groups = rollouts.group[at]
        if filter_first:
            differ = [np.ptp(rollouts.reward[at][groups == group]) > 0 for group in groups]
            at, groups = at[differ], groups[differ]
        scores = rollouts.reward[at]
        shaped = toggle.shape(int(step), scores, rollouts.length[at], names[at], groups=groups)
        for group in np.unique(groups):
            mine = groups == group
            accuracy = shaped.group_accuracy[mine][0]
            is_masked = not shaped.kept[mine].all()
            enforced = accuracy >= lambda_
            counts += [
                1,
                enforced,
                enforced and accuracy == 1,
                is_masked,
                shaped.has_signal[mine][0],
            ]
    return [int(count) for count in counts]


@pytest.mark.skipif(not ROLLOUTS, reason="the real rollouts are not beside the project")
@pytest.mark.parametrize("filter_first", [True, False])
@pytest.mark.parametrize("lambda_", [0.9, 0.5])
def test_table_of_the_guide(lambda_: float, *, filter_first: bool) -> None:
    rollouts = read_traces(ROLLOUTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        counts = flow(rollouts, lambda_, filter_first=filter_first)
    order = "filter first" if filter_first else "shape first"
    row = " | ".join(["|", f"{lambda_}", order, *map(str, counts), "|"]).strip("| ")
    assert f"| {row} |" in (PROJECT / "docs" / "guide.md").read_text()
