"""What is tested is the installed wheel, and it is what the project says it is."""

import re
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import toggle_rs

PROJECT = Path(__file__).parents[2]


def test_the_package_under_test_is_the_installed_wheel() -> None:
    site_packages = Path(sysconfig.get_path("platlib")).resolve()
    assert Path(toggle_rs.__file__).resolve().is_relative_to(site_packages)
    assert (
        Path(sys.modules["toggle_rs._core"].__file__ or "").resolve().is_relative_to(site_packages)
    )
    assert str(PROJECT / "python") not in sys.path


def test_the_version_is_that_of_cargo_toml() -> None:
    match = re.search(r'^version = "(.+)"$', (PROJECT / "Cargo.toml").read_text(), re.MULTILINE)
    assert match is not None
    assert toggle_rs.__version__ == metadata.version("toggle-rs") == match[1]


def test_all_public_names_exist_and_are_listed() -> None:
    listed = toggle_rs.__all__
    assert listed == sorted(set(listed))
    assert [name for name in listed if not hasattr(toggle_rs, name)] == []


def test_numpy_is_the_only_run_time_dependency() -> None:
    requires = metadata.requires("toggle-rs") or []
    assert [entry for entry in requires if "extra ==" not in entry] == ["numpy>=2.0"]


def test_type_information_is_shipped() -> None:
    installed = {file.name for file in metadata.files("toggle-rs") or []}
    assert {"py.typed", "_core.pyi", "LICENSE"} <= installed
