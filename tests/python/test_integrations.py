"""Integrations import their framework when they are used, and say what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

FRAMEWORKS = ("torch", "ray", "verl", "transfer_queue", "omegaconf", "slime", "trl", "transformers")


def in_a_new_process(code: str) -> str:
    command = [sys.executable, "-I", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "module", ["toggle_rs", "toggle_rs.integrations.distributed", "toggle_rs.integrations.slime"]
)
def test_no_framework_is_imported(module: str) -> None:
    code = f"import sys, {module}; print({{*sys.modules}} & {{*{FRAMEWORKS}}})"
    assert in_a_new_process(code) == "set()\n"


@pytest.mark.parametrize("missing", ["torch", "transfer_queue", "verl"])
def test_without_verl_one_line_says_what_to_install(missing: str) -> None:
    """Those that come before it are there, as far as an import goes."""
    code = f"""
import sys, types
for name in ("torch", "transfer_queue", "omegaconf", "tensordict"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["omegaconf"].OmegaConf = sys.modules["tensordict"].TensorDict = None
sys.modules["{missing}"] = None
try:
    import toggle_rs.integrations.verl
except ModuleNotFoundError as error:
    print(error)
"""
    told = in_a_new_process(code)
    assert told.startswith(f"toggle_rs.integrations.verl needs {missing}")
    assert told.endswith(": pip install 'toggle-rs[verl]'\n")
    assert told.count("\n") == 1


def test_without_slime_one_line_says_what_to_install() -> None:
    code = """
from types import SimpleNamespace
from toggle_rs.integrations.slime import ToggleDataSource
try:
    ToggleDataSource(SimpleNamespace(toggle={"m": 1, "lambda_": 0.5, "percentile": 80}))
except ModuleNotFoundError as error:
    print(error)
"""
    assert in_a_new_process(code) == (
        "toggle_rs.integrations.slime.ToggleDataSource needs slime: install slime\n"
    )
