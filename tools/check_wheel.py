"""List what a wheel holds; fail if that is more than the package and its metadata."""

import sys
import zipfile
from pathlib import Path, PurePosixPath

PACKAGE = "toggle_rs"
NEEDED = {f"{PACKAGE}/__init__.py", f"{PACKAGE}/_core.pyi", f"{PACKAGE}/py.typed"}
SOURCE_SUFFIXES = {".py", ".pyi", ".typed"}
EXTENSION_SUFFIXES = {".so", ".pyd"}


def faults(wheel: Path) -> list[str]:
    """What is wrong with the contents of `wheel`, one line each."""
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.infolist()
    for entry in entries:
        print(f"{entry.file_size:>10,}  {entry.filename}")
    names = {entry.filename for entry in entries if not entry.is_dir()}
    version = wheel.name.split("-")[1]
    found = [f"missing: {name}" for name in sorted(NEEDED - names)]
    extensions = 0
    for name in sorted(names):
        path = PurePosixPath(name)
        if path.parts[0] == f"{PACKAGE}-{version}.dist-info":
            continue
        if path.parts[0] == PACKAGE and path.suffix in EXTENSION_SUFFIXES:
            extensions += 1
        elif path.parts[0] != PACKAGE or path.suffix not in SOURCE_SUFFIXES:
            found.append(f"does not belong: {name}")
    if extensions != 1:
        found.append(f"one extension module expected, {extensions} found")
    return found


def main() -> int:
    """Check each wheel named on the command line."""
    status = 0
    for argument in sys.argv[1:]:
        print(argument)
        for fault in faults(Path(argument)):
            print(f"  {fault}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
