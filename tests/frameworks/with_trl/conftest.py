"""Where the modules of the tests are, and what the frameworks say about themselves."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "examples")]


def pytest_configure(config: pytest.Config) -> None:
    """A warning is an error, but for those among the packages."""
    for category in ("DeprecationWarning", "FutureWarning", "ResourceWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::{category}")
