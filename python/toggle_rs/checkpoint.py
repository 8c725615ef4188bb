"""What a checkpoint holds, for `toggle-rs inspect`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import toggle_rs
from toggle_rs import CheckpointError, Toggle, ToggleBudgetTracker

from .replay import PERCENTILES
from .tables import NONE, Table, whole

if TYPE_CHECKING:
    from pathlib import Path

_NAMED: Final = re.compile(r"it is one of (\w+), expected")
_SETTING: Final = re.compile(r"\b(?!count)(\w+)=")
"""In the repr of an estimator, which names all that its constructor takes."""


def read_checkpoint(path: Path) -> Any:
    """The object in a file that `save` wrote, or `to_bytes`, of whatever class.

    Raises:
        CheckpointError: It is no snapshot, a damaged or a newer one.
        OSError: The file cannot be read.
    """
    data = path.read_bytes()
    try:
        return Toggle.from_bytes(data)
    except CheckpointError as error:
        name = _NAMED.search(str(error))
        if name is None or not hasattr(toggle_rs, name[1]):
            raise
    return getattr(toggle_rs, name[1]).from_bytes(data)


def contents(state: Any) -> dict[str, Any]:
    """All of it as plain objects, for `json.dump`."""
    held: dict[str, Any] = {"class": type(state).__name__, "nbytes": state.nbytes}
    if isinstance(state, Toggle | ToggleBudgetTracker):
        budgets = state.budgets()
        return {
            **held,
            "settings": _settings(state),
            "keys": [
                {"key": list(key), "count": count, "budget": budgets.get(key)}
                for key, count in state.counts().items()
            ],
        }
    q = getattr(state, "q", None)  # What follows one quantile answers no other.
    percentiles = (
        {f"{p:g}": state.percentile(p) for p in PERCENTILES}
        if q is None
        else {f"{q * 100:g}": state.quantile(q)}
    )
    return {
        **held,
        "settings": {name: getattr(state, name) for name in _SETTING.findall(repr(state))},
        "count": state.count,
        "min": state.min,
        "max": state.max,
        "percentiles": percentiles,
    }


def checkpoint_tables(held: dict[str, Any], rows: int) -> list[Table]:
    """The settings, and the keys with most observations, at most so many; or the percentiles."""
    settings = Table(
        "Settings",
        ["setting", "value"],
        [[name, str(value)] for name, value in held["settings"].items()],
        "",
        texts=2,
    )
    if "keys" not in held:
        numbers = [
            ("count", held["count"]),
            ("min", held["min"]),
            *((f"p{p}", value) for p, value in held["percentiles"].items()),
            ("max", held["max"]),
        ]
        values = [[name, NONE if n is None else f"{n:,.12g}"] for name, n in numbers]
        return [settings, Table("Lengths", ["", "tokens"], values, "")]
    keys = sorted(held["keys"], key=lambda key: -key["count"])
    shown = keys[:rows]
    note = "count: correct responses; budget: that of the next step, in tokens."
    if len(shown) < len(keys):
        note += f" The {len(shown):,} keys with most of {len(keys):,}."
    return [
        settings,
        Table(
            "Budgets",
            ["key", "count", "budget"],
            [["|".join(key["key"]), f"{key['count']:,}", whole(key["budget"])] for key in shown],
            note,
        ),
    ]


def _settings(state: Toggle | ToggleBudgetTracker) -> dict[str, Any]:
    """What `state_dict` shows to people."""
    others = {"version", "class", "data"}
    return {name: value for name, value in state.state_dict().items() if name not in others}
