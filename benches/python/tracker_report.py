"""The figures of `bench_tracker.py` as the tables of README.md."""

from __future__ import annotations

from typing import Any

from docs import table

SHOWN = ("reference", "NumPy histogram", "NumPy blocks", "toggle-rs")
STEPS = (
    (128, 8, "list, shared str"),
    (4096, 8, "list, shared str"),
    (4096, 8, "list of lists"),
    (4096, 8, "list, fresh str"),
    (65_536, 8, "list, shared str"),
    (65_536, 8, "list, fresh str"),
)
"""Samples, datasets, and the form of the names."""


def duration(seconds: float | None) -> str:
    """A cell: three digits that count; empty where nothing was measured."""
    if seconds is None:
        return ""
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            number = seconds / unit
            break
    else:
        number, name = seconds / 1e-9, "ns"
    return f"{number:.{0 if number >= 100 else 1 if number >= 10 else 2}f} {name}"


def tables(report: dict[str, Any]) -> dict[str, str]:
    """Each table of README.md by the name of its place."""
    seconds = {
        (row["samples"], row["datasets"], row["names"]): row["seconds"] for row in report["steps"]
    }
    return {
        "a step": table(
            ["samples, datasets, names", *SHOWN],
            [
                [f"{n:,}, {d}, {names}"]
                + [duration(seconds[n, d, names].get(name)) for name in SHOWN]
                for n, d, names in STEPS
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
        "machine": ", ".join(f"{key} {value}" for key, value in report["machine"].items()),
    }
