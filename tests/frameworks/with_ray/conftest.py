"""Where the modules of the tests are, and the processes that they share."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MODULES = [str(HERE), str(HERE.parents[2] / "examples" / "recipes")]
sys.path[:0] = MODULES
os.environ["PYTHONPATH"] = os.pathsep.join(MODULES)  # for the processes that Ray starts

from ranks import Ranks  # noqa: E402 - its folder has just been added


@pytest.fixture(scope="session", params=[2, 4])
def ranks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ranks]:
    """Two processes, then four, in a gloo group of their own."""
    group = Ranks(request.param, tmp_path_factory.mktemp("store") / "file")
    yield group
    group.close()
