"""The accuracy study as Markdown tables and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from contenders import OURS, PEERS
from docs import fill, table
from errors import Errors
from machine import machine
from streams import DRIFTS, STREAMS

PERCENTILES = (50, 80, 90, 99)
LARGE = 1_000_000
SHOWN = (100, 1_000, 10_000, 100_000, LARGE)
ESTIMATORS = [contender.name for contender in [*OURS, *PEERS]]
RANDOM = {contender.name for contender in PEERS if contender.random}


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


def worst(outcomes: Outcomes, measure: Measure, *key: str | int) -> float | None:
    """The largest error over percentiles and seeds; `key` is a case without its percentile."""
    found = [outcomes[case] for p in PERCENTILES if (case := Case(*key, p)) in outcomes]  # type: ignore[arg-type]
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


def by_stream(outcomes: Outcomes, measure: Measure, n: int) -> str:
    """Rows of estimators, columns of streams."""
    real = dict.fromkeys(case.stream for case in outcomes)
    streams = [name for name in real if name not in {*STREAMS, *DRIFTS}] + list(STREAMS)
    return table(
        ["", *streams],
        (
            [
                shown(name),
                *(percent(worst(outcomes, measure, s, n, name, "whole")) for s in streams),
            ]
            for name in ESTIMATORS
        ),
    )


def by_size(outcomes: Outcomes, measure: Measure, stream: str) -> str:
    """Rows of estimators, columns of numbers of values."""
    return table(
        ["", *(f"{n:,}" for n in SHOWN)],
        (
            [
                shown(name),
                *(percent(worst(outcomes, measure, stream, n, name, "whole")) for n in SHOWN),
            ]
            for name in ESTIMATORS
        ),
    )


def memory_by_size(outcomes: Outcomes, stream: str) -> str:
    """Rows of estimators, columns of numbers of values."""

    def cells(name: str) -> Iterable[str]:
        for n in SHOWN:
            outcome = outcomes.get(Case(stream, n, name, "whole", PERCENTILES[0]))
            yield kilobytes(outcome.bytes if outcome else None)

    return table(
        ["", *(f"{n:,}" for n in SHOWN)], ([shown(name), *cells(name)] for name in ESTIMATORS)
    )


def of_drifts(outcomes: Outcomes, n: int) -> str:
    """Rows of estimators, columns of drifting streams and truths: errors of value."""
    columns = [(stream, truth) for stream in DRIFTS for truth in ("whole", "recent", "now")]
    return table(
        ["", *(f"{stream}: {truth}" for stream, truth in columns)],
        (
            [
                shown(name),
                *(
                    percent(worst(outcomes, value, stream, n, name, truth))
                    for stream, truth in columns
                ),
            ]
            for name in ESTIMATORS
        ),
    )


def as_json(outcomes: Outcomes) -> str:
    """The worst over the seeds, for each percentile; an estimator of a case a line."""
    cases = dict.fromkeys(case[:4] for case in outcomes)
    rows = []
    for key in cases:
        of_percentiles = [outcomes[Case(*key, p)] for p in PERCENTILES]
        errors = [
            [float(f"{max(map(measure, outcome.errors)):.3g}") for outcome in of_percentiles]
            for measure in (rank, value)
        ]
        rows.append([*key, len(of_percentiles[0].errors), of_percentiles[0].bytes, *errors])
    names = ["stream", "n", "estimator", "truth", "seeds", "bytes", "rank errors", "value errors"]
    head = {"machine": machine(), "percentiles": PERCENTILES, "columns": names}
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    return f'{json.dumps(head, indent=1)[:-2]},\n "rows": [\n{lines}\n]}}\n'


def write(outcomes: Outcomes, docs: Path | None) -> None:
    """Prints the tables, or writes them and the JSON into the documents."""
    n = max(case.n for case in outcomes)
    texts = {
        "rank errors": by_stream(outcomes, rank, n),
        "value errors": by_stream(outcomes, value, n),
        "rank errors by size": by_size(outcomes, rank, "lognormal"),
        "memory": memory_by_size(outcomes, "lognormal"),
        "drift": of_drifts(outcomes, 100_000 if n > 100_000 else n),
        "accuracy machine": ", ".join(f"{key} {text}" for key, text in machine().items()),
    }
    if docs is None:
        for name, text in texts.items():
            print(f"\n{name}\n\n{text}")
        return
    fill(docs / "estimators.md", texts)
    (docs / "estimators.json").write_text(as_json(outcomes))
