"""The accuracy study as Markdown tables and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

import accuracy_plots
from contenders import OURS, PEERS
from docs import fill, table
from errors import Errors
from machine import machine
from streams import DRIFTS, STREAMS, Lengths, capped, falling, lognormal

PERCENTILES = (50, 80, 90, 99)
OF_DRIFTS = 80
"""The percentile of the table of drifts."""
LONGEST_DRIFT = 100_000
PEER_PACKAGES = ("crick", "datasketches", "ddsketch", "fastdigest", "river")
ESTIMATORS = [contender.name for contender in [*OURS, *PEERS]]


class Case(NamedTuple):
    """What is asked of whom."""

    stream: str
    n: int
    estimator: str
    truth: str
    """What it is compared with: the "whole" stream, the "recent" past, or what comes "now"."""
    p: int


@dataclass
class Outcome:
    """What came of it."""

    bytes: int | None
    errors: list[Errors] = field(default_factory=list)
    """For each seed."""


Outcomes = dict[Case, Outcome]
Measure = Callable[[Errors], float]


def rank(errors: Errors) -> float:
    """The one measure."""
    return errors.rank


def value(errors: Errors) -> float:
    """The other."""
    return errors.value


def worst(
    outcomes: Outcomes, measure: Measure, case: Case, percentiles: Iterable[int] = PERCENTILES
) -> float | None:
    """The largest error over these percentiles and all seeds; None where it was not measured."""
    cases = (case._replace(p=p) for p in percentiles)
    found = (outcomes[case] for case in cases if case in outcomes)
    return max((measure(e) for outcome in found for e in outcome.errors), default=None)


def percent(share: float | None) -> str:
    """A cell: percent, two digits that count."""
    if share is None:
        return ""
    number = 100 * share
    if number == 0:
        return "0"
    if number < 0.01:
        return "<0.01"
    return f"{number:.2f}" if number < 1 else f"{number:.1f}" if number < 10 else f"{number:,.0f}"


def kilobytes(size: int | None) -> str:
    """A cell: thousands of bytes."""
    return "" if size is None else f"{size / 1000:,.1f}"


def shown(name: str) -> str:
    """The name of an estimator as rows have it: in code type if it is one of ours."""
    return f"`{name}`" if name in {contender.name for contender in OURS} else name


def rows(cells: Callable[[str], Iterable[str]]) -> Iterable[list[str]]:
    """A row for each estimator."""
    return ([shown(name), *cells(name)] for name in ESTIMATORS)


def streams_of(outcomes: Outcomes) -> list[str]:
    """Real lengths first, then what was made, without what drifts."""
    names = dict.fromkeys(case.stream for case in outcomes)
    return [*(name for name in names if name not in {*STREAMS, *DRIFTS}), *STREAMS]


def sizes_of(outcomes: Outcomes) -> list[int]:
    """Numbers of values, ascending."""
    return sorted({case.n for case in outcomes})


def by_stream(outcomes: Outcomes, measure: Measure) -> str:
    """Rows of estimators, columns of streams, at the largest size."""
    streams, n = streams_of(outcomes), max(sizes_of(outcomes))

    def cells(name: str) -> Iterable[str]:
        cases = (Case(stream, n, name, "whole", 0) for stream in streams)
        return (percent(worst(outcomes, measure, case)) for case in cases)

    return table(["", *streams], rows(cells))


def by_size(outcomes: Outcomes, measure: Measure, stream: str) -> str:
    """Rows of estimators, columns of numbers of values."""
    sizes = sizes_of(outcomes)

    def cells(name: str) -> Iterable[str]:
        cases = (Case(stream, n, name, "whole", 0) for n in sizes)
        return (percent(worst(outcomes, measure, case)) for case in cases)

    return table(["", *(f"{n:,}" for n in sizes)], rows(cells))


def memory_by_size(outcomes: Outcomes, stream: str) -> str:
    """Rows of estimators, columns of numbers of values."""
    sizes = sizes_of(outcomes)

    def cells(name: str) -> Iterable[str]:
        cases = (Case(stream, n, name, "whole", PERCENTILES[0]) for n in sizes)
        return (kilobytes(outcomes[case].bytes) for case in cases)

    return table(["", *(f"{n:,}" for n in sizes)], rows(cells))


def of_drifts(outcomes: Outcomes) -> str:
    """Rows of estimators, columns of drifting streams and truths: errors of value."""
    n = min(max(sizes_of(outcomes)), LONGEST_DRIFT)
    columns = [(stream, truth) for stream in DRIFTS for truth in ("whole", "recent", "now")]

    def cells(name: str) -> Iterable[str]:
        cases = (Case(stream, n, name, truth, 0) for stream, truth in columns)
        return (percent(worst(outcomes, value, case, [OF_DRIFTS])) for case in cases)

    return table(["", *(f"{stream}, {truth}" for stream, truth in columns)], rows(cells))


def of_p2() -> str:
    """Where five markers are not enough: what P2 answers, and what is right."""
    rng = np.random.default_rng(1)
    low = rng.permutation(1000)
    cases: list[tuple[str, Lengths, float]] = [
        ("50 times 4096, then 50 times 10", np.repeat([4096, 10], 50), 0.9),
        ("lognormal, 15 % of it cut off at 32,768", capped(rng, 100_000), 0.9),
        ("0..999 in any order, then 1000..1999", np.concatenate([low, low + 1000]), 0.5),
        ("1000..1999 in any order, then 0..999", np.concatenate([low + 1000, low]), 0.5),
        ("lognormal", lognormal(rng, 100_000), 0.9),
        ("lognormal, longest first", falling(rng, 100_000), 0.9),
    ]
    followers = [contender for contender in [*OURS, *PEERS] if contender.one_quantile]

    def cells(values: Lengths, q: float) -> Iterable[str]:
        yield f"{q:g}"
        yield f"{np.percentile(values, 100 * q):,.1f}"
        for contender in followers:
            sketch = contender.make(q)
            contender.feed(sketch, contender.form(values))
            yield f"{contender.ask(sketch, q):,.1f}"

    header = ["", "q", "exact", *(shown(contender.name) for contender in followers)]
    return table(header, ([name, *cells(values, q)] for name, values, q in cases))


def bars(outcomes: Outcomes) -> list[accuracy_plots.Bar]:
    """The largest size, an estimator a row."""
    n = max(sizes_of(outcomes))
    result = []
    for contender in [*OURS, *PEERS]:
        cases = {
            s: Case(s, n, contender.name, "whole", PERCENTILES[0]) for s in streams_of(outcomes)
        }
        errors = {
            stream: Errors(*(worst(outcomes, measure, case) or 0.0 for measure in (rank, value)))
            for stream, case in cases.items()
        }
        held = outcomes[cases["lognormal"]].bytes
        result.append(accuracy_plots.Bar(contender.name, contender in OURS, errors, held))
    return result


def as_json(outcomes: Outcomes) -> str:
    """The worst over the seeds, for each percentile; an estimator of a case a line."""
    lines = []
    for key in dict.fromkeys(case[:4] for case in outcomes):
        of_percentiles = [outcomes[Case(*key, p)] for p in PERCENTILES]
        errors = [
            [float(f"{max(map(measure, outcome.errors)):.3g}") for outcome in of_percentiles]
            for measure in (rank, value)
        ]
        seeds, held = len(of_percentiles[0].errors), of_percentiles[0].bytes
        lines.append(json.dumps([*key, seeds, held, *errors], separators=(",", ":")))
    columns = ["stream", "n", "estimator", "truth", "seeds", "bytes", "rank errors", "value errors"]
    head = {"machine": machine(*PEER_PACKAGES), "percentiles": PERCENTILES, "columns": columns}
    body = ",\n".join(lines)
    return f'{json.dumps(head, indent=1)[:-2]},\n "rows": [\n{body}\n]}}\n'


def write(outcomes: Outcomes, docs: Path | None) -> None:
    """Prints the tables, or writes them, the JSON and the pictures into the documents."""
    texts = {
        "rank errors": by_stream(outcomes, rank),
        "value errors": by_stream(outcomes, value),
        "rank errors by size": by_size(outcomes, rank, "lognormal"),
        "memory": memory_by_size(outcomes, "lognormal"),
        "drift": of_drifts(outcomes),
        "p2": of_p2(),
        "machine": ", ".join(f"{key} {text}" for key, text in machine(*PEER_PACKAGES).items()),
    }
    if docs is None:
        for name, text in texts.items():
            print(f"\n{name}\n\n{text}")
        return
    fill(docs / "estimators.md", texts)
    (docs / "estimators.json").write_text(as_json(outcomes))
    (docs / "img").mkdir(exist_ok=True)
    accuracy_plots.errors(bars(outcomes), docs / "img" / "errors.png")
    accuracy_plots.drift(docs / "img" / "drift.png")
