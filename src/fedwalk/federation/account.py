"""What became of everybody in a federated run: who was there, who was lost and when, what was refused, what it took.

It is written after every phase, so that a server that comes back knows whom it had lost, and it ends in `run.json`.
"""

import json
import re
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fedwalk.errors import RunFolderError
from fedwalk.federation.checked_json import read_json, reason
from fedwalk.federation.private_file import write_text

LONGEST = 400
"""Letters of a reason."""


COUNTERS = ("interrupted", "unreachable", "refused_by_holders", "refused_at_the_door")


@dataclass(slots=True)
class WalkCount:
    """Walks by what became of them: `finished` + `lost` = `asked`, and `reasons` says why each lost one was lost.

    `started` counts a walk again when it is reissued. `stranded`, `undelivered` and `refused` count how often a holder
    gave a walk up, over all attempts: at a device without a living neighbour, on the way to a holder that can't be
    reached, or because that holder refused its token. `repeated` are sequences that were refused because another one of
    the same walk had come before; who caused that can't be told, since a holder that hands a token to two others makes
    both of them finish the walk.
    """

    asked: int = 0
    started: int = 0
    finished: int = 0
    reissued: int = 0
    lost: int = 0
    stranded: int = 0
    undelivered: int = 0
    refused: int = 0
    repeated: int = 0
    reasons: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Wire:
    """What the hops between holders took: batches of tokens, their bytes, the walk phase's seconds."""

    batches: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Account:
    """One federated run. `run` names it towards the holders; `holders` has each one's number of devices.

    `simulated` are those whose noise came from a seed: what is said of privacy doesn't hold for them.
    `unreachable` counts how often others could not reach a holder: one that is alive has its port closed.
    `interrupted` counts the attempts at the walks that a holder lost because its process ended; it came back in time.
    `secret` makes the sessions of the walk phase: it stays with the server, and is in no run.json.
    """

    run: str
    holders: dict[str, int] = field(default_factory=dict)
    simulated: list[str] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    interrupted: Counter[str] = field(default_factory=Counter)
    unreachable: Counter[str] = field(default_factory=Counter)
    refused_by_holders: Counter[str] = field(default_factory=Counter)
    refused_at_the_door: Counter[str] = field(default_factory=Counter)
    walks: WalkCount = field(default_factory=WalkCount)
    wire: Wire = field(default_factory=Wire)
    patience: float = 0.0
    secret: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    def living(self) -> list[str]:
        """The holders that are still part of the run."""
        return [name for name in self.holders if name not in self.lost]

    def lose(self, holder: str, phase: str, reason: str, *, refused: bool = False) -> None:
        """A holder is out for the rest of the run; `refused` if it is so for what it sent.

        The reason may be in the holder's own words, so it is cut short, and nothing in it can command a terminal.
        """
        words = "".join(letter if letter.isprintable() else "?" for letter in reason[:LONGEST])
        self.lost[holder] = f"{phase}: {words}"
        if refused:
            self.refused[holder] = self.lost[holder]

    def reasons(self) -> str:
        """Who was lost and why, in words."""
        return "; ".join(f"{holder} ({reason})" for holder, reason in self.lost.items()) or "nobody was lost"

    def as_dict(self) -> dict[str, Any]:
        """For run.json."""
        # `asdict` would make a mess of Counters: it rebuilds them from pairs, and they count those.
        counts = {name: dict(getattr(self, name)) for name in COUNTERS}
        rest = {name: getattr(self, name) for name in ("run", "patience", "holders", "simulated", "lost", "refused")}
        return {**rest, **counts, "walks": asdict(self.walks), "wire": asdict(self.wire)}

    def save(self, path: Path) -> None:
        """Write it down."""
        write_text(path, json.dumps({"secret": self.secret, **self.as_dict()}, indent=1, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path) -> "Account":
        """What `save` wrote; RunFolderError if the file has anything else."""
        try:
            return _read_account(read_json(path))
        except (OSError, ValueError) as error:
            raise RunFolderError(f"{path}: can't be read ({reason(error)}). Start again with --force.") from error


def _read_account(content: Any) -> Account:
    """The account in a parsed file; ValueError if a field is missing, is one too many, or has another type."""
    _require(isinstance(content, dict) and content.keys() == set(Account.__slots__), "it has other fields")
    _require(isinstance(content["run"], str), "run isn't a name")
    _require(_is_number(content["patience"]), "patience isn't a number of seconds")
    simulated = content["simulated"]
    _require(isinstance(simulated, list) and all(isinstance(name, str) for name in simulated), "simulated has no names")
    for name in ("holders", *COUNTERS):
        _require(_is_table(content[name], _is_count), f"{name} isn't a table of counts")
    for name in ("lost", "refused"):
        _require(_is_table(content[name], lambda value: isinstance(value, str)), f"{name} isn't a table of reasons")
    _require(_is_secret(content["secret"]), "secret isn't 64 hexadecimal digits")
    walks, wire = content["walks"], content["wire"]
    _require(isinstance(walks, dict) and _is_table(walks.get("reasons"), _is_count), "walks has no such reasons")
    counted = {name: value for name, value in walks.items() if name != "reasons"}
    for name, kind, value in (("walks", WalkCount, {**counted, "reasons": 0}), ("wire", Wire, wire)):
        _require(_is_table(value, _is_number) and value.keys() == set(kind.__slots__), f"{name} has no such counts")
        _require(all(_is_count(n) for field, n in value.items() if field != "seconds"), f"{name} has no such counts")
    counters = {name: Counter(content[name]) for name in COUNTERS}
    return Account(**{**content, **counters, "walks": WalkCount(**walks), "wire": Wire(**wire)})


def _is_secret(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _is_table(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(fits, value.values()))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and value >= 0


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)
