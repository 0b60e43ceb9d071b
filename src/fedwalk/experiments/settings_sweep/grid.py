"""The grid of a sweep: the varied settings with their values, and every combination of them as checked `Settings`."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, get_args

from fedwalk.errors import FedWalkError, SettingsError
from fedwalk.protocols.registry import find_protocol
from fedwalk.settings import Setting, Settings

FIXED = {
    "seed": "every combination runs with the same seeds. Use --seeds N and --seed S, the first of them",
    "threads": "results don't depend on it beyond the spread of repeated runs. Use --threads T for all trials",
    "budget": "it changes no result, it only refuses runs. Use --budget E for all trials",
    "own": "name one of the protocol's own settings",
}
"""Fields of `Settings` that can't be varied, and why."""


@dataclass(frozen=True, slots=True)
class Varied:
    """A setting and the values that a sweep gives it."""

    name: str
    values: tuple[Any, ...]

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers, which have an order and distances."""
        return not isinstance(self.values[0], str)


@dataclass(frozen=True, slots=True)
class Combination:
    """One value for each varied setting, and the settings of its runs except for the seed."""

    values: dict[str, Any]
    settings: Settings

    def __str__(self) -> str:
        return values_text(self.values)


def values_text(values: Mapping[str, Any]) -> str:
    """Names and values in words.

    >>> values_text({"epsilon": 2.0, "predictor": "tree"})
    'epsilon = 2, predictor = tree'
    """
    return ", ".join(f"{name} = {value_text(value)}" for name, value in values.items())


def value_text(value: Any) -> str:
    """A value as short as it can be read back exactly.

    >>> value_text(2.0), value_text(0.1), value_text(40), value_text("tree")
    ('2', '0.1', '40', 'tree')
    """
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def parse_varied(texts: Sequence[str], protocol: str) -> list[Varied]:
    """The varied settings from texts such as "epsilon=0.5,1,2", in the types of `Settings`.

    `protocol` is the one of all trials unless `protocol` itself is varied; its own settings can be varied as well.

    >>> parse_varied(["predict=0,0.2", "walk-length=20,40"], "paper")
    [Varied(name='predict', values=(0.0, 0.2)), Varied(name='walk_length', values=(20, 40))]
    """
    given = [_split(text) for text in texts]
    names = [name for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise SettingsError(f"--vary {name}: given more than once. List all of its values after one --vary.")
    known = known_settings(dict(given).get("protocol", [protocol]))
    return [_parse(name, values, known) for name, values in given]


def _split(text: str) -> tuple[str, list[str]]:
    name, _, values = text.partition("=")
    parts = [part.strip() for part in values.split(",")]
    if not name.strip() or not all(parts):
        raise SettingsError(f"--vary {text}: expected a setting and its values, e.g. --vary epsilon=0.5,1,2.")
    return name.strip().replace("-", "_"), parts


def known_settings(protocols: Sequence[str]) -> dict[str, Setting]:
    """The settings that all protocols have and those that only these protocols have; each can read its own text."""
    shared = {field.name: Setting(field.name, _kind(field.type)(), "") for field in fields(Settings)}
    own = {setting.name: setting for name in protocols for setting in find_protocol(name).settings}
    return {**own, **shared}


def _kind(annotation: Any) -> type[int] | type[float] | type[str]:
    """The type of a setting's values; None, which leaves some of them open, can't be one of several values."""
    types = get_args(annotation) or (annotation,)
    return next((kind for kind in (int, float) if kind in types), str)


def _parse(name: str, texts: Sequence[str], known: Mapping[str, Setting]) -> Varied:
    if name in FIXED:
        raise SettingsError(f"--vary {name}: can't be varied: {FIXED[name]}.")
    if name not in known:
        possible = sorted(known.keys() - FIXED.keys())
        near = difflib.get_close_matches(name, possible, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(possible)}."
        raise SettingsError(f"--vary {name}: there is no such setting. {hint}")
    values = tuple(known[name].from_text(text) for text in texts)
    for value in values:
        if values.count(value) > 1:
            raise SettingsError(f"--vary {name}: {value_text(value)} is listed twice. List every value once.")
    return Varied(name, values)


def combine(varied: Sequence[Varied], make: Callable[[dict[str, Any]], Settings]) -> list[Combination]:
    """Every combination of the values, the last setting changing fastest; `make` adds the settings of all trials.

    SettingsError names the combination that can't be used.
    """
    combinations = []
    for values in product(*(one.values for one in varied)):
        chosen = dict(zip((one.name for one in varied), values, strict=True))
        with naming(chosen):
            combinations.append(Combination(chosen, make(chosen)))
    return combinations


@contextmanager
def naming(values: Mapping[str, Any]) -> Iterator[None]:
    """Make errors in the block name the combination of values that they are about."""
    try:
        yield
    except FedWalkError as error:
        raise type(error)(f"the combination {values_text(values)}: {error}") from error
