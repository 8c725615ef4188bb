"""Counts the instructions of fixed work, and compares them with what they were.

    python tools/instructions.py [--accept]

A clock on a shared machine tells nothing of a few per cent; instructions are the same in
every run. Needs valgrind. The counts that were accepted stand in benches/instructions.json:
more than `TOLERANCE` above one of them fails. Counts of another compiler are not comparable:
then nothing is compared, and that is said.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[1]
ACCEPTED = PROJECT / "benches" / "instructions.json"
WORK = ("exact", "window", "decay", "p2", "gk", "tracker", "toggle", "snapshot")
TOLERANCE = 0.05


def output(*command: str) -> str:
    """What a command prints on standard output."""
    done = subprocess.run(  # noqa: S603 - our own commands
        command, check=True, cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def build() -> str:
    """Builds the benchmark; where it is."""
    command = "cargo bench --locked --no-run --bench instructions --message-format json"
    messages = map(json.loads, output(*command.split()).splitlines())
    return str(next(m["executable"] for m in messages if m.get("executable")))


def count(executable: str, *work: str) -> int:
    """Instructions of a whole run."""
    command = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", executable, *work)
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise RuntimeError(f"valgrind counted nothing:\n{done.stderr}")
    return int(found[1])


def main() -> int:
    """Returns 1 when something has become slower."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accept", action="store_true", help="write the counts down as they are")
    accept = parser.parse_args().accept
    compiler = output("rustc", "--version").strip()
    executable = build()
    idle = count(executable)
    counts = {work: count(executable, work) - idle for work in WORK}

    accepted = json.loads(ACCEPTED.read_text(encoding="utf-8")) if ACCEPTED.exists() else {}
    is_comparable = accepted.get("compiler") == compiler
    slower = []
    for work, instructions in counts.items():
        before = accepted.get("counts", {}).get(work) if is_comparable else None
        change = "" if before is None else f"  {instructions / before - 1:+7.2%}"
        print(f"{work:<10} {instructions:>13,}{change}")
        if before is not None and instructions > before * (1 + TOLERANCE):
            slower.append(work)
    if accept:
        text = json.dumps({"compiler": compiler, "counts": counts}, indent=1)
        ACCEPTED.write_text(text + "\n", encoding="utf-8")
        return 0
    if not is_comparable:
        print(f"not compared: {ACCEPTED.name} is of {accepted.get('compiler')}, this is {compiler}")
    if slower:
        print(f"slower by more than {TOLERANCE:.0%}: {', '.join(slower)}", file=sys.stderr)
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
