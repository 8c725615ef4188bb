"""The figures of `cargo bench --bench peers` as docs/crates.json and a table of its page.

    python benches/python/rust_report.py

Reads what criterion has left in target/criterion.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docs import fill, table
from machine import machine

PROJECT = Path(__file__).parents[2]
CRITERION = PROJECT / "target" / "criterion"
JSON = PROJECT / "docs" / "crates.json"
DISTRIBUTIONS = ("lognormal", "capped", "constant")
BATCHES = (4096, 128)


def measured() -> dict[str, Any]:
    """Nanoseconds a length by batch, name and distribution: the median of criterion's samples."""
    result: dict[str, Any] = {str(batch): {} for batch in BATCHES}
    for path in sorted(CRITERION.glob("*/*/new/benchmark.json")):
        benchmark = json.loads(path.read_text(encoding="utf-8"))
        group, _, distribution = benchmark["group_id"].partition("/")
        batch = benchmark["throughput"].get("Elements") if benchmark["throughput"] else None
        if not group.endswith("then a percentile") or str(batch) not in result:
            continue
        estimates = json.loads((path.parent / "estimates.json").read_text(encoding="utf-8"))
        names = result[str(batch)].setdefault(benchmark["function_id"], {})
        names[distribution] = estimates["median"]["point_estimate"] / batch
    return result


def tables(report: dict[str, Any]) -> dict[str, str]:
    """The table of docs/performance.md by the name of its place."""
    large, small = (report["ns"][str(batch)] for batch in BATCHES)
    names = sorted(large, key=lambda name: large[name]["lognormal"])
    return {
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
        )
    }


def main() -> None:
    """Writes both."""
    report = {"machine": machine(), "ns": measured()}
    JSON.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    fill(PROJECT / "docs" / "performance.md", tables(report))


if __name__ == "__main__":
    main()
