"""The figures of `bench_tracker.py` as the tables of README.md."""

from __future__ import annotations

from typing import Any

from docs import table

SHOWN = ("reference", "NumPy histogram", "NumPy blocks", "toggle-rs")
STEPS = {
    (128, "list, shared str"): "128 samples",
    (4096, "list, shared str"): "4,096 samples",
    (4096, "list of lists"): "4,096 samples, each name in a list",
    (4096, "list, fresh str"): "4,096 samples, fresh names",
    (65_536, "list, shared str"): "65,536 samples",
    (65_536, "list, fresh str"): "65,536 samples, fresh names",
}
"""Samples and the form of the names, and what to call that."""
DATASETS = 8


def duration(seconds: float | None) -> str:
    """A cell: three digits that count; empty where nothing was measured."""
    if seconds is None:
        return ""
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
    name = next(name for name, unit in units.items() if seconds >= unit or name == "ns")
    number = seconds / units[name]
    return f"{number:.{0 if number >= 100 else 1 if number >= 10 else 2}f} {name}"


def tables(report: dict[str, Any]) -> dict[str, str]:
    """Each table of README.md by the name of its place."""
    seconds = {
        (row["samples"], row["names"]): row["seconds"]
        for row in report["steps"]
        if row["datasets"] == DATASETS
    }
    where = report["machine"]
    return {
        "a step": table(
            ["", *SHOWN],
            [
                [text, *(duration(seconds[case].get(name)) for name in SHOWN)]
                for case, text in STEPS.items()
            ],
        ),
        "history": table(
            ["", "samples in the step", "lengths seen before", "a step"],
            [
                [
                    row["name"],
                    f"{row['samples']:,}",
                    f"{row['history']:,}",
                    duration(row["seconds"]),
                ]
                for row in report["history"]
            ],
        ),
        "update": table(
            ["", "a value"],
            [[f"`{name}`", f"{ns:.2f} ns"] for name, ns in report["update"].items()],
        ),
        "machine": "{cpu}, Python {python}, NumPy {numpy}, {date}".format(**where),
    }
