"""Run in an environment that holds nothing but the wheel and what it requires."""

import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import toggle_rs


def main() -> None:
    """Exit with a message unless the installed package works by itself."""
    place = Path(toggle_rs.__file__).resolve()
    if not place.is_relative_to(Path(sysconfig.get_path("platlib")).resolve()):
        sys.exit(f"imported from {place}, not from the environment")
    missing = [name for name in toggle_rs.__all__ if not hasattr(toggle_rs, name)]
    if missing:
        sys.exit(f"listed in __all__ but absent: {missing}")
    others = {dist.name for dist in metadata.distributions()} - {"numpy", "pip", "setuptools"}
    if others != {"toggle-rs"}:
        sys.exit(f"the environment is not empty: {sorted(others)}")
    print(f"toggle_rs {toggle_rs.__version__} works alone in {place.parent}")


if __name__ == "__main__":
    main()
