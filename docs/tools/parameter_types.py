"""The type and the default of each parameter in the Python reference.

A docstring may describe several parameters together (`walk_length, num_walks`). Griffe, which reads the docstrings for
the reference, would then give all of them the type and the default of the first one.
"""

from typing import Any

import griffe


class ParameterTypes(griffe.Extension):
    """Take types and defaults from the signature, parameter by parameter."""

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """Correct every docstring of a package after it was read."""
        correct(pkg)


def correct(item: Any) -> None:
    """Correct the docstrings of an object and of everything in it."""
    for member in item.members.values():
        if not member.is_alias:
            correct(member)
    if item.docstring is None or not (item.is_function or item.is_class):
        return
    for section in item.docstring.parsed:
        if section.kind is griffe.DocstringSectionKind.parameters:
            for described in section.value:
                if described.name in item.parameters:
                    declared = item.parameters[described.name]
                    described.annotation, described.value = declared.annotation, declared.default
