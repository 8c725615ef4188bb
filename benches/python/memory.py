"""Bytes that an object holds, whatever language it is written in: what malloc has given out."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Any

SETTING = {
    "PYTHONMALLOC": "malloc",  # Small Python objects too.
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0",  # Free means free.
}
"""Environment that a process which measures must be started with."""


class _Mallinfo2(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def _in_use() -> Callable[[], int] | None:
    """Bytes given out and not taken back; None where the C library is not glibc >= 2.33."""
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError, TypeError):
        return None
    mallinfo2.restype = _Mallinfo2

    def in_use() -> int:
        info = mallinfo2()
        return int(info.uordblks + info.hblkhd)

    return in_use


IN_USE = _in_use()


def dropped(owner: list[Any]) -> int | None:
    """Empties the list and returns the bytes that this gave back; None where none can tell.

    Nothing but the list may own what is in it.
    """
    if IN_USE is None:
        owner.clear()
        return None
    gc.collect()
    for _ in range(2):  # The first one fills what the collection has emptied.
        own = _given_back([None], IN_USE)
    return _given_back(owner, IN_USE) - own


def _given_back(owner: list[Any], in_use: Callable[[], int]) -> int:
    before = in_use()
    owner.clear()
    return before - in_use()
