"""Where the modules of the tests are, and what the frameworks say about themselves."""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Models are so small that more threads only wait for each other; a busy machine is 10 times slower.
os.environ["OMP_NUM_THREADS"] = "1"
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "examples")]


def pytest_configure(config: pytest.Config) -> None:
    """A warning is an error, but for those among the packages."""
    for category in ("DeprecationWarning", "FutureWarning", "ResourceWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::{category}")
