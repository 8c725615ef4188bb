"""The figures of `bench_tracker.py` as the tables of README.md and docs/performance.md."""

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


def readme_tables(report: dict[str, Any]) -> dict[str, str]:
    """Each table of README.md by the name of its place."""
    seconds = {
        (row["samples"], row["names"]): row["seconds"]
        for row in report["steps"]
        if row["datasets"] == DATASETS
    }
    return {
        "a step": table(
            ["", *SHOWN],
            [
                [text, *(duration(seconds[case].get(name)) for name in SHOWN)]
                for case, text in STEPS.items()
            ],
        ),
        "history": history(report),
        "update": table(
            ["", "a value"],
            [[f"`{name}`", f"{ns:.2f} ns"] for name, ns in report["update"].items()],
        ),
        "machine": where(report),
    }


def page_tables(report: dict[str, Any]) -> dict[str, str]:
    """Each table of docs/performance.md by the name of its place."""
    steps = table(
        ["samples", "datasets", "names", "toggle-rs", "NumPy histogram", "times", "NumPy blocks"],
        [
            [
                f"{row['samples']:,}",
                f"{row['datasets']:,}",
                row["names"],
                *(
                    [
                        duration(ours),
                        duration(histogram),
                        f"{histogram / ours:.0f}",
                        duration(blocks),
                    ]
                    if histogram
                    else [duration(ours), "", "", ""]
                ),
            ]
            for row in report["steps"]
            for ours, histogram, blocks in [
                [
                    row["seconds"].get(name)
                    for name in ("toggle-rs", "NumPy histogram", "NumPy blocks")
                ]
            ]
        ],
    )
    others = table(
        ["datasets that are not in the step", "a step of 4,096 samples"],
        [[f"{row['others']:,}", duration(row["seconds"])] for row in report["others"]],
    )
    return {
        "steps": steps,
        "history": history(report),
        "others": others,
        "machine": where(report),
    }


def history(report: dict[str, Any]) -> str:
    """A step after short and long runs."""
    return table(
        ["", "samples in the step", "lengths seen before", "a step"],
        [
            [row["name"], f"{row['samples']:,}", f"{row['history']:,}", duration(row["seconds"])]
            for row in report["history"]
        ],
    )


def where(report: dict[str, Any]) -> str:
    """Machine and date."""
    return "{cpu}, Python {python}, NumPy {numpy}, {date}".format(**report["machine"])
