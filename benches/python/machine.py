"""Where and with what a measurement ran."""

from __future__ import annotations

import datetime as dt
import platform
from importlib.metadata import version
from pathlib import Path


def machine(*packages: str) -> dict[str, str]:
    """Date, processor, system, and the versions of these packages."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = models[0].split(":")[1].strip() if models else cpu
    return {
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "cpu": cpu,
        "system": platform.platform(),
        "python": platform.python_version(),
        **{package: version(package) for package in ("toggle-rs", "numpy", *packages)},
    }
