"""The command `toggle-rs`."""

import sys


def main() -> None:
    """Run the command line; needs the extra `cli`."""
    try:
        from .commands import app  # noqa: PLC0415  (typer may be missing)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in {"typer", "rich"}:
            raise
        sys.exit(f'toggle-rs: {package} is missing: pip install "toggle-rs[cli]"')
    app(prog_name="toggle-rs")
