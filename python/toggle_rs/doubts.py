"""What the trackers warn of, as text, where there is a better place for it than a warning."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def heard() -> Iterator[list[str]]:
    """Show no `UserWarning`; at the end, the list holds their texts."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield texts
    for warning in caught:
        if warning.category is UserWarning:
            texts.append(str(warning.message))
        else:
            where = warning.filename, warning.lineno
            warnings.warn_explicit(warning.message, warning.category, *where)
