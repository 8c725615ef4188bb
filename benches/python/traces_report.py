"""Tables of `bench_traces.py`."""

from __future__ import annotations

from typing import Any

from docs import table


def tables(report: dict[str, Any]) -> dict[str, str]:
    """Each table of docs/choosing.md by the name of its place."""
    reading, sweep = report["reading"], report["sweep"]
    size = reading["megabytes"]
    return {
        "parsing": table(
            [
                f"{size:,} MB, {reading['rollouts']:,} rollouts in {reading['files']} files",
                "CPU time",
                "wall time",
            ],
            [
                [name, f"{times['cpu_seconds']:.2f} s", f"{times['seconds']:.2f} s"]
                for name, times in reading["readers"].items()
            ],
        ),
        "sweep": (
            f"Peak memory of a process that reads them: {reading['peak_megabytes']} MB. "
            f"`toggle-rs sweep` of {sweep['settings']} settings over {sweep['rollouts']:,} "
            f"rollouts, once they are columns, on {sweep['processors']} processors: "
            f"{sweep['seconds']:.0f} s, {sweep['cpu_seconds']:.0f} s of CPU time."
        ),
        "traces machine": (
            f"{report['machine']['cpu']}, Python {report['machine']['python']}, NumPy "
            f"{report['machine']['numpy']}, orjson {report['machine']['orjson']}, "
            f"{report['machine']['date']}"
        ),
    }
