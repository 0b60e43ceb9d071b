"""Checks of a protocol's value when it is loaded, so that a mistake is named there and not in the middle of a run.

A protocol may come from another package. Each check yields what is wrong and what to do about it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from fedwalk.protocols.base import Protocol
from fedwalk.protocols.settings import CHOICES, INPUT, Setting, Settings
from fedwalk.protocols.stages import Stage

TUPLES: dict[str, type] = {
    "reads": str, "release_settings": str, "embeddings": str, "runtimes": str, "messages": type,
    "settings": Setting, "stages": Stage, "accepts": Stage,
}  # fmt: skip
"""The fields that are tuples, and what each must hold."""
FUNCTIONS = ("releases", "privacy", "simulate", "check", "resolve", "notes", "describe", "facts")
RESERVED_STAGES = ("load", "total")
"""What run.json calls the time to load the graph, and that of the whole run."""
STAGE_FILE = re.compile(r"[A-Za-z0-9_-]+\.np[yz]")
"""A plain name: a stage must not write outside the run folder."""


def problems_of(protocol: Protocol) -> Iterator[str]:
    """What is wrong with the value."""
    # The types first: the other checks rely on them, and the caller stops at the first problem.
    for check in (_wrong_types, _settings, _choices, _names, _stages):
        yield from check(protocol)


def _wrong_types(protocol: Protocol) -> Iterator[str]:
    for name, kind in TUPLES.items():
        value = getattr(protocol, name)
        if not isinstance(value, tuple) or not all(isinstance(one, kind) for one in value):
            # A tuple of one value without its comma is the usual mistake.
            yield f"`{name}` must be a tuple of {kind.__name__}, such as ({kind.__name__}(…),), not {value!r:.60}"
    for name in FUNCTIONS:
        if not callable(getattr(protocol, name)):
            yield f"`{name}` must be a function, not {getattr(protocol, name)!r:.60}"


def _settings(protocol: Protocol) -> Iterator[str]:
    for setting in protocol.settings:
        if setting.name in (*Settings.__slots__, INPUT):
            yield f"its own setting {setting.name!r} has the name of a shared one: rename it"
        if not setting.name.isidentifier():
            yield f"its own setting {setting.name!r} must be a name as in Python: letters, digits and underscores"
        if type(setting.default) not in (int, float, str):
            yield f"the default of its setting {setting.name!r} must be an int, a float or a str"


def _choices(protocol: Protocol) -> Iterator[str]:
    if not protocol.embeddings or not set(protocol.embeddings) <= set(CHOICES["embed"]):
        yield f"`embeddings` must have at least one of {', '.join(CHOICES['embed'])}, and no others"
    # `local` is the default of the setting `runtime`, whatever the protocol.
    if "local" not in protocol.runtimes or not set(protocol.runtimes) <= set(CHOICES["runtime"]):
        yield f"`runtimes` must have 'local', and no others than {', '.join(CHOICES['runtime'])}"


def _names(protocol: Protocol) -> Iterator[str]:
    own = {setting.name for setting in protocol.settings}
    for name in protocol.reads:
        if name not in Settings.__slots__:
            yield f"it reads {name!r}, which is not a setting: remove it from `reads`"
    for name in protocol.release_settings:
        if name not in (*Settings.__slots__, *own):
            yield f"its releases depend on {name!r}, which is not a setting: remove it from `release_settings`"


def _stages(protocol: Protocol) -> Iterator[str]:
    # A run folder stores stages by their names and files: two with the same would overwrite each other.
    for name in _repeated(stage.name for stage in protocol.stages):
        yield f"two of its stages are named {name!r}: rename one of them"
    for file in _repeated(file for stage in protocol.stages for file in stage.files):
        yield f"two of its stages are stored in {file!r}: rename one of the files"
    for stage in protocol.stages:
        if stage.name in RESERVED_STAGES:
            yield f"a stage can't be named {stage.name!r}, which run.json uses for something else: rename it"
        for file in stage.files:
            if not STAGE_FILE.fullmatch(file):
                yield f"its stage {stage.name!r} is stored in {file!r}: use a plain name that ends in .npy or .npz"


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
