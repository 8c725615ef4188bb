"""The figures of `bench_estimators.py` as the tables of docs/estimators.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docs import table

DISTRIBUTIONS = ("lognormal", "capped", "constant")
OURS = "ExactQuantile"


def tables(report: dict[str, Any]) -> dict[str, str]:
    """What goes into the page, by the name of its place."""
    equal = (
        [row["estimator"], f"{row['rank error']:.3%}", f"{row['ns']:.1f}"]
        for row in report["equal error"]
    )
    where = [f"{key} {value}" for key, value in report["machine"].items()]
    return {
        "speed": table(
            ["ns a value", "beside", *pairs("times ours")],
            (
                [name, beside or "", *speeds(report, name)]
                for name, beside in report["beside"].items()
            ),
        ),
        "a step of 128": table(
            ["µs", *pairs(f"times `{OURS}`")],
            ([name, *steps(report, name)] for name in report["a step"][DISTRIBUTIONS[0]]),
        ),
        "equal error": table(["", "rank error", "ns a value"], equal),
        "speed machine": ", ".join([*where, report["load"]]),
    }


def pairs(second: str) -> list[str]:
    """Two columns for each distribution."""
    return [cell for name in DISTRIBUTIONS for cell in (name, second)]


def speeds(report: dict[str, Any], name: str) -> Iterator[str]:
    """Nanoseconds, and how many times ours that does the same work."""
    beside = report["beside"][name]
    for figures in map(report["ns a value"].get, DISTRIBUTIONS):
        own = figures[name]["filled"]
        yield f"{own:.1f}" if own < 100 else f"{own:,.0f}"
        yield f"{own / figures[beside]['filled']:.1f}" if beside else ""


def steps(report: dict[str, Any], name: str) -> Iterator[str]:
    """Microseconds, and how many times ours."""
    for figures in map(report["a step"].get, DISTRIBUTIONS):
        yield f"{figures[name]:.2f}"
        yield f"{figures[name] / figures[OURS]:.1f}"
