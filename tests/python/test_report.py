"""Pages: their figures are those of the JSON, and they need nothing but themselves."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from toggle_rs import read_traces
from toggle_rs.replay import Settings, replay
from toggle_rs.replay.sweep import sweep
from toggle_rs.report import write_html, write_png
from toggle_rs.report.replay_figures import main_picture
from toggle_rs.rollouts import Columns
from toggle_rs.simulate import Training, simulate

EXAMPLES = Path(__file__).parents[2] / "examples"
SETTINGS = Settings(m=5, lambda_=0.5, percentile=80.0, warmup_steps=5)
DASH = "–"  # noqa: RUF001 - as tables have it


class Parser(HTMLParser):
    """The text of the elements that hold figures."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.figures: list[str] = []
        self.data = ""
        self.pictures: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.stack.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")
        elif tag in {"dt", "dd"}:
            self.figures.append("")
        elif tag == "svg":
            self.pictures.append([dict(attrs)["aria-label"] or ""])

    def handle_endtag(self, tag: str) -> None:
        while self.stack and self.stack.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        tag = self.stack[-1] if self.stack else ""
        if tag in {"td", "th"}:
            self.tables[-1][-1][-1] += data
        elif tag in {"dt", "dd"}:
            self.figures[-1] += data
        elif tag == "text":
            self.pictures[-1].append(data)
        elif tag == "script":
            self.data += data


def page_of(result: Any, tmp_path: Path) -> tuple[Parser, dict[str, Any]]:
    """The page's text, after what every page must be; and the result as JSON."""
    path = tmp_path / "page.html"
    write_html(result, path)
    text = path.read_text()
    # No network, no other file.
    assert not re.search(r"https?:|src=|url\((?!#)|@import|<link", text)
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text
    parser = Parser()
    parser.feed(text)
    data = json.loads(json.dumps(result.to_json()))
    assert json.loads(parser.data) == data
    return parser, data


def whole(number: float | None) -> str:
    return DASH if number is None else f"{number:,.0f}"


def share(number: float | None) -> str:
    return DASH if number is None else f"{100 * number:.1f}%"


def signed(number: float | None) -> str:
    return DASH if number is None else f"{number:+,.1f}"


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_figures_of_a_replay_are_those_of_its_json(tmp_path: Path, unit: str) -> None:
    rollouts = read_traces(sorted(EXAMPLES.glob("*.gz")))
    page, data = page_of(replay(rollouts, SETTINGS, unit=unit), tmp_path)
    outcome, flow = data["penalty_steps"], data["flow"]
    assert page.figures[1::2] == [
        f"{data['rollouts']:,}",
        f"{outcome['rollouts']:,}",
        share(outcome["masked_ratio"]),
        share(outcome["enforced_group_ratio"]),
        share(outcome["gained_signal_group_ratio"]),
        share(outcome["lost_signal_group_ratio"]),
        whole(outcome["tokens_above_budget"]),
        signed(outcome["covariance_before"]),
        signed(outcome["covariance_after"]),
    ]
    datasets, phases, groups = (table[1:] for table in page.tables)
    assert datasets == [
        [
            name,
            whole(one["rollouts"]),
            share(one["accuracy"]),
            *map(whole, one["correct_lengths"].values()),
            whole(one["budget"]),
            share(one["kept_ratio"]),
            whole(one["tokens_above_budget"]),
        ]
        for name, one in data["datasets"].items()
    ]
    assert phases == [
        [
            name,
            whole(one["steps"]),
            whole(one["rollouts"]),
            share(one["accuracy"]),
            whole(one["length"]),
            f"{one['reward']:.3f}",
            f"{one['shaped_reward']:.3f}",
            share(one["kept_ratio"]),
        ]
        for name, one in data["phases"].items()
    ]
    order = ["groups", "signal_before", "shaped", "enforced", "masked", "gained", "lost"]
    counts = [flow[name] for name in [*order, "signal_after"]]
    assert [row[1] for row in groups] == [f"{count:,}" for count in counts]
    assert [row[2] for row in groups] == [share(count / flow["groups"]) for count in counts]
    pictures = {title: words for title, *words in page.pictures}
    drawn = pictures["Groups through shaping and filter"]
    assert drawn[-len(counts) :] == [f"{count:,}" for count in counts]
    budgets = [f"budget {whole(one['budget'])}" for one in data["datasets"].values()]
    assert set(budgets) <= set(pictures["Lengths of correct answers"])
    longer = [one["correct_histogram"]["beyond"] for one in data["datasets"].values()]
    assert all(longer)
    drawn = pictures["Lengths of correct answers"]
    assert sorted(word for word in drawn if "longer" in word) == sorted(
        f"+ {count:,} longer" for count in longer
    )
    assert f"budget ({unit})" in pictures["Budgets"]
    assert f"length of correct answers ({unit})" in pictures["Lengths of correct answers"]
    assert "λ = 0.5" in pictures["Accuracy by group"]
    other = {"tokens": "words", "words": "tokens"}[unit]
    text = (tmp_path / "page.html").read_text()
    assert f"({other})" not in text


def test_figures_of_a_sweep_are_those_of_its_json(tmp_path: Path) -> None:
    rollouts = read_traces(sorted(EXAMPLES.glob("*.gz")))
    page, data = page_of(sweep(rollouts, SETTINGS, [0.9, 0.3], [50.0, 80.0, 20.0]), tmp_path)
    rows = data["outcomes"]
    assert page.tables[0][1:] == [
        [
            f"{row['lambda']:g}",
            f"{row['percentile']:g}",
            *(
                share(row[name])
                for name in (
                    "masked_ratio",
                    "enforced_group_ratio",
                    "gained_signal_group_ratio",
                    "lost_signal_group_ratio",
                )
            ),
            whole(row["tokens_above_budget"]),
            signed(row["covariance_after"]),
        ]
        for row in rows
    ]
    in_order = sorted(rows, key=lambda row: (row["lambda"], row["percentile"]))
    pictures = {title: words for title, *words in page.pictures}
    for title, cells in {
        "Masked": [share(row["masked_ratio"]) for row in in_order],
        "Signal lost": [share(row["lost_signal_group_ratio"]) for row in in_order],
        "Push on the length": [
            f"{row['covariance_after'] - row['covariance_before']:+,.0f}" for row in in_order
        ],
    }.items():
        assert [word for word in pictures[title] if word in cells] == cells


def test_a_large_sweep_is_drawn_without_numbers(tmp_path: Path) -> None:
    rollouts = read_traces(sorted(EXAMPLES.glob("*.gz"))[:1])
    result = sweep(rollouts, SETTINGS, [0.1, 0.5], [float(p) for p in range(20, 40)], jobs=1)
    page, _ = page_of(result, tmp_path)
    assert all(len(words) < len(result.outcomes) for words in page.pictures)
    write_png(result, tmp_path / "p.png")


def test_figures_of_a_simulation_are_those_of_its_json(tmp_path: Path) -> None:
    page, data = page_of(simulate(Training(steps=30), seeds=2), tmp_path)
    plain = data["ends"]["no penalty"]
    assert page.tables[0][1:] == [
        [
            variant,
            whole(end["tokens"]),
            *map(whole, end["tokens_spread"]),
            f"{100 * (end['tokens'] / plain['tokens'] - 1):+.1f}%".replace("-0.0", "+0.0"),
            share(end["accuracy"]),
            *map(share, end["accuracy_spread"]),
        ]
        for variant, end in data["ends"].items()
    ]
    assert "a model, not a proof" in (tmp_path / "page.html").read_text()


def test_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    names = ["</script><b>x", "<!--<script>", "$x^{$", "", "_y", '"&amp;', "\u3042"]
    lines = [
        json.dumps(
            {
                "step": 0,
                "sample_idx": i,
                "prompt_idx": i,
                "response_tokens": [1] * i,
                "reward": i % 2,
                "dataset": name,
            }
        )
        for i, name in enumerate(names)
    ]
    path.write_text("\n".join(lines))
    settings = Settings(lambda_=0.5, percentile=50.0)
    page, _ = page_of(replay(read_traces([path]), settings), tmp_path)
    assert [row[0] for row in page.tables[0][1:]] == names
    assert "<" not in page.data  # Nothing there can open or close an element.


def test_no_name_steers_a_terminal_or_a_page(tmp_path: Path) -> None:
    rollouts = Columns(
        step=np.zeros(4, np.int64),
        group=np.zeros(4, np.int64),
        sample=np.arange(4, dtype=np.int64),
        dataset=np.zeros(4, np.uint32),
        length=np.arange(4, dtype=np.int64),
        reward=np.ones(4, np.float64),
        names=(("\x1b[31m\u202ered",),),
    )
    result = replay(rollouts, Settings(lambda_=0.5, percentile=50.0))
    page, _ = page_of(result, tmp_path)
    assert page.tables[0][1][0] == r"\x1b[31m\u202ered"
    assert any(r"\x1b[31m\u202ered" in text for text in page.pictures[0])
    assert not {"\x1b", "\u202e"} & set((tmp_path / "page.html").read_text())


@pytest.mark.parametrize("name", ["math", "W" * 40])
def test_all_settings_fit_beside_the_legend(name: str) -> None:
    logged = read_traces(sorted(EXAMPLES.glob("*.gz"))[:1])
    rollouts = Columns(
        step=logged.step,
        group=logged.group,
        sample=logged.sample,
        dataset=logged.dataset,
        length=logged.length,
        reward=logged.reward,
        names=tuple((f"{i}{name}",) for i in range(len(logged.names))),
    )
    settings = Settings(
        m=3, lambda_=0.5, percentile=80.0, warmup_steps=2, estimator="window:300",
        start_phase="length_penalty", min_samples=4, penalty="cap_at_zero", filter="before",
    )  # fmt: skip
    picture = main_picture(replay(rollouts, settings))
    picture.draw_without_rendering()
    title = picture.axes[0].get_title(loc="left")
    assert title.replace("\n", " ").endswith("penalty = cap at zero")
    (text,) = (text for text in picture.findobj(Text) if text.get_text() == title)
    ((legend,), box) = picture.legends, text.get_window_extent()
    assert box.x1 <= legend.get_window_extent().x0
    assert picture.bbox.y0 < box.y0 < box.y1 < picture.bbox.y1


def test_nothing_correct_and_no_penalty_step_are_drawn(tmp_path: Path) -> None:
    rollouts = read_traces(sorted(EXAMPLES.glob("*.gz"))[:1])
    settings = Settings(lambda_=2.0, percentile=50.0, warmup_steps=10**6, max_score=7.0)
    result = replay(rollouts, settings)
    page, data = page_of(result, tmp_path)
    assert data["penalty_steps"]["masked_ratio"] is None
    assert page.figures[5] == DASH
    write_png(result, tmp_path / "p.png")
    page_of(sweep(rollouts, settings, [0.5], [50.0]), tmp_path)
    write_png(sweep(rollouts, settings, [0.5], [50.0]), tmp_path / "p.png")
