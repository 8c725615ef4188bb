"""For mkdocstrings: signatures are in the stubs, the text is in the compiled module."""

from __future__ import annotations

import copy
import inspect
import operator
from typing import Any

import griffe

import toggle_rs._core as compiled


class CompiledDocstrings(griffe.Extension):  # type: ignore[misc]  # its types are not read
    """Gives what the stubs declare the docstrings of the compiled module."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called once the package and its stubs are read."""
        document(pkg["_core"], compiled)


def document(declared: griffe.Module | griffe.Class, real: object) -> None:
    """Document all that `declared` holds as `real` says."""
    if isinstance(declared, griffe.Class):
        # A base that only the stubs know.
        for base in declared.resolved_bases:
            declared.bases.clear()
            declared.members = {**copy.deepcopy(base.members), **declared.members}
            declared.overloads.update(base.overloads)
    for name, overloads in filter(operator.itemgetter(1), declared.overloads.items()):
        function = griffe.Function(name, parameters=overloads[0].parameters)
        function.overloads = overloads
        declared.set_member(name, function)
    for name, member in list(declared.members.items()):
        if name == "__new__":
            declared.set_member("__init__", member)
        if member.is_alias or name.startswith("_"):
            continue
        of_real = getattr(real, name)
        text = inspect.getdoc(of_real) or ""
        member.docstring = griffe.Docstring(text, parent=member, parser="google")
        if isinstance(member, griffe.Class):
            document(member, of_real)
