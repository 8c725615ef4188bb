"""`python -m toggle_rs`, where the command `toggle-rs` is not on the path."""

from .cli import main

main()
