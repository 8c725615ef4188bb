"""A local Ray with a TransferQueue in it, and where the modules of the tests are."""

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent)]
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"  # or Ray warns of what it will do one day
os.environ["VERL_LOGGING_LEVEL"] = os.environ["TQ_LOGGING_LEVEL"] = "ERROR"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # verl says which of its engines are not installed
    import ray
    import transfer_queue as tq

    from verl_run import empty_queue


def pytest_configure(config: pytest.Config) -> None:
    """verl warns of itself: an old name that it still calls, a critic that a test does without."""
    config.addinivalue_line("filterwarnings", r"ignore:::verl\.")
    # Rewards in {-1, 1}, as `math_dapo` has them, under either penalty.
    config.addinivalue_line("filterwarnings", "ignore:scores go down")


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The address of a cluster. The queue's actors want more CPUs than this machine may have."""
    context = ray.init(
        address="local",
        num_cpus=8,
        include_dashboard=False,
        object_store_memory=100 * 2**20,
        log_to_driver=False,
    )
    tq.init()
    yield context.address_info["address"]
    tq.close()
    ray.shutdown()


@pytest.fixture(autouse=True)
def queue(cluster: str) -> str:
    """It is empty before each test."""
    empty_queue()
    return cluster
