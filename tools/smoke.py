"""Run in an environment that holds nothing but the wheel and what it requires."""

import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import numpy as np

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
    tracker = toggle_rs.ToggleBudgetTracker(m=1, lambda_=0.5, percentile=50.0, warmup_steps=0)
    lengths, scores = np.array([100, 200, 300, 900]), np.array([1.0, 1.0, 1.0, 0.0])
    shaped, metrics = tracker.maybe_apply(1, scores, lengths, ["math"] * 4, 4, 1.0)
    if shaped.tolist() != [1.0, 1.0, 0.0, 0.0] or metrics["toggle/budget/math"] != 200.0:
        sys.exit(f"shaped to {shaped} with {metrics}")
    print(f"toggle_rs {toggle_rs.__version__} works alone in {place.parent}")


if __name__ == "__main__":
    main()
