"""List what a wheel or an sdist holds; fail if anything is missing or does not belong."""

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

PACKAGE = "toggle_rs"
TYPED_PACKAGE = {f"{PACKAGE}/__init__.py", f"{PACKAGE}/_core.pyi", f"{PACKAGE}/py.typed"}
SOURCE_SUFFIXES = {".py", ".pyi", ".typed"}
SDIST_FILES = {
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "pyproject.toml",
}
SDIST_FOLDERS = {"benches", "python", "src", "tests"}


def wheel_faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel: only the package, typed and compiled, and its metadata belong."""
    with zipfile.ZipFile(wheel) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    metadata = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    faults = [f"missing: {name}" for name in sorted(TYPED_PACKAGE - sizes.keys())]
    extensions = 0
    for name, size in sizes.items():
        print(f"{size:>10,}  {name}")
        path = PurePosixPath(name)
        if path.parts[0] == PACKAGE and path.suffix in {".so", ".pyd"}:
            extensions += 1
        elif path.parts[0] == PACKAGE and path.suffix in SOURCE_SUFFIXES:
            continue
        elif path.parts[0] != metadata:
            faults.append(f"does not belong: {name}")
    if extensions != 1:
        faults.append(f"one extension module expected, {extensions} found")
    return faults


def sdist_faults(sdist: Path) -> list[str]:
    """What is wrong with an sdist: it holds what a build needs, and nothing hidden or made."""
    with tarfile.open(sdist) as archive:
        sizes = {entry.name: entry.size for entry in archive.getmembers() if entry.isfile()}
    paths = {PurePosixPath(*PurePosixPath(name).parts[1:]): size for name, size in sizes.items()}
    faults = [f"missing: {name}" for name in sorted(SDIST_FILES - {str(path) for path in paths})]
    for path, size in paths.items():
        print(f"{size:>10,}  {path}")
        at_home = str(path) in SDIST_FILES or path.parts[0] in SDIST_FOLDERS
        if not at_home or any(part.startswith((".", "__pycache__")) for part in path.parts):
            faults.append(f"does not belong: {path}")
    return faults


def main() -> int:
    """Check each file named on the command line."""
    status = 0
    for argument in sys.argv[1:]:
        print(argument)
        check = wheel_faults if argument.endswith(".whl") else sdist_faults
        for fault in check(Path(argument)):
            print(f"{argument}: {fault}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
