"""The figures of `bench_toggle.py` as the tables of docs/guide.md."""

from __future__ import annotations

from typing import Any

from docs import table
from tracker_report import duration

CALLS = ("shape", "apply", "observe")
ORDERS = ("grouped", "shuffled")


def tables(report: dict[str, Any]) -> dict[str, str]:
    """Each table of the guide by the name of its place."""
    where = report["machine"]
    return {
        "calls": table(
            ["`freeze`", "", *(f"`{call}`" for call in CALLS)],
            [
                [
                    f'`"{row["freeze"]}"`',
                    f"{row['keys']:,} keys, one a {row['key of']}",
                    *(duration(row["seconds"][call]) for call in CALLS),
                ]
                for row in report["calls"]
            ],
        ),
        "groups": table(
            ["`groups`", *ORDERS],
            [
                [row["form"], *(duration(row["seconds"].get(order)) for order in ORDERS)]
                for row in report["groups"]
            ],
        ),
        "memory": table(
            ["`freeze`", "keys come", "bytes a key", "`nbytes`"],
            [
                [
                    f'`"{row["freeze"]}"`',
                    row["order"].replace("-", " "),
                    f"{row['resident']:.0f}",
                    f"{row['nbytes']:.0f}",
                ]
                for row in report["memory"]
            ],
        ),
        "machine": "{cpu}, Python {python}, NumPy {numpy}, {date}".format(**where),
    }
