"""The figures of `cargo bench` as docs/crates.json and tables of its page.

    python benches/python/rust_report.py

Reads what criterion has left in target/criterion.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs import fill, table
from machine import machine

PROJECT = Path(__file__).parents[2]
CRITERION = PROJECT / "target" / "criterion"
JSON = PROJECT / "docs" / "crates.json"
DISTRIBUTIONS = ("lognormal", "capped", "constant")
BATCHES = (4096, 128)
STEP = "a penalty step of 4096"
STEPS = ("bare loops", "BudgetTracker", "Toggle")


def median(path: Path) -> float:
    """Nanoseconds: of criterion's samples beside this file."""
    estimates = json.loads((path.parent / "estimates.json").read_text(encoding="utf-8"))
    return float(estimates["median"]["point_estimate"])


def benchmarks(pattern: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """What criterion has run, and where it says so."""
    for path in sorted(CRITERION.glob(f"{pattern}/new/benchmark.json")):
        yield path, json.loads(path.read_text(encoding="utf-8"))


def measured_steps() -> dict[str, Any]:
    """Microseconds a step by name and number of datasets."""
    result: dict[str, Any] = {name: {} for name in STEPS}
    for path, benchmark in benchmarks(f"{STEP}/*/*"):
        datasets = int(benchmark["value_str"])
        result[benchmark["function_id"]][str(datasets)] = median(path) / 1000
    return result


def measured() -> dict[str, Any]:
    """Nanoseconds a length by batch, name and distribution."""
    result: dict[str, Any] = {str(batch): {} for batch in BATCHES}
    for path, benchmark in benchmarks("*/*"):
        group, _, distribution = benchmark["group_id"].partition("/")
        batch = benchmark["throughput"].get("Elements") if benchmark["throughput"] else None
        if batch not in BATCHES or not group.endswith("then a percentile"):
            continue
        names = result[str(batch)].setdefault(benchmark["function_id"], {})
        names[distribution] = median(path) / batch
    return result


def tables(report: dict[str, Any]) -> dict[str, str]:
    """The tables of docs/performance.md by the names of their places."""
    large, small = (report["ns"][str(batch)] for batch in BATCHES)
    names = sorted(large, key=lambda name: large[name]["lognormal"])
    steps = report["us a step"]
    datasets = sorted(steps[STEPS[1]], key=int)
    return {
        "limit": table(
            ["datasets", *STEPS],
            [
                [
                    f"{int(number):,}",
                    *(
                        f"{steps[name][number]:.1f} µs" if number in steps[name] else ""
                        for name in STEPS
                    ),
                ]
                for number in datasets
            ],
        ),
        "crates": table(
            [
                "ns a length",
                *(f"{name}, {batch:,}" for batch in BATCHES for name in DISTRIBUTIONS),
            ],
            [
                [
                    f"**{name}**" if name.startswith("toggle-rs") else name,
                    *(f"{rows[name][d]:.2f}" for rows in (large, small) for d in DISTRIBUTIONS),
                ]
                for name in names
            ],
        ),
    }


def main() -> None:
    """Writes both."""
    report = {"machine": machine(), "ns": measured(), "us a step": measured_steps()}
    JSON.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    fill(PROJECT / "docs" / "performance.md", tables(report))


if __name__ == "__main__":
    main()
