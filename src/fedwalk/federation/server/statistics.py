"""The statistics of a federated run: which holders took part, which were lost and why, what was refused, what it cost.

They are saved after every phase, so that a restarted server knows which holders it had lost, and end up in run.json
(`FederationFacts`).
"""

import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fedwalk.errors import RunFolderError
from fedwalk.federation.shared_files import is_count, require
from fedwalk.util.checked_json import read_json, reason
from fedwalk.util.files import write_private

MAX_REASON_LENGTH = 400
"""Characters of a reason that are kept."""

# The fields that are a Counter. JSON has only objects, so `load` has to convert them back.
COUNTERS = ("interrupted", "unreachable", "refused_by_holders", "refused_by_server")


@dataclass(slots=True)
class WalkCount:
    """Counts of walks by outcome. `finished` + `lost` = `asked`, and `reasons` counts the lost ones by reason.

    `started` counts a walk again when it is reissued. `stranded`, `undelivered` and `refused` count how often a holder
    gave a walk up, over all attempts: at a device without a living neighbour, because the next holder couldn't be
    reached, or because that holder refused the token. `repeated` counts sequences that were dropped because another
    sequence of the same walk had arrived before. The holder that caused this can't be identified: a hostile holder that
    sends a token to two others makes both of them finish the walk.
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
    """The cost of the hops between holders: batches of tokens, their bytes, and the seconds of the walk phase."""

    batches: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class RunStatistics:
    """The statistics of one federated run.

    Parameters
    ----------
    run
        The name of the run, by which holders recognise its questions.
    holders
        The number of devices of each holder.
    simulated
        Holders whose noise comes from a seed. The privacy statement doesn't hold for them.
    lost, invalid
        Holders that the run went on without, with the reason; `invalid` has those whose answer was invalid.
    interrupted
        How often a holder's process ended during an attempt at the walks, but was back in time for the next.
    unreachable
        How often other holders couldn't reach a holder. If it isn't lost, its port is probably closed.
    refused_by_holders, refused_by_server
        What holders refused from each other, and what the server's port refused, by reason.
    secret
        The sessions of the walk phase are derived from it. Only the server knows it; it isn't in run.json.
    """

    run: str
    holders: dict[str, int] = field(default_factory=dict)
    simulated: list[str] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    invalid: dict[str, str] = field(default_factory=dict)
    interrupted: Counter[str] = field(default_factory=Counter)
    unreachable: Counter[str] = field(default_factory=Counter)
    refused_by_holders: Counter[str] = field(default_factory=Counter)
    refused_by_server: Counter[str] = field(default_factory=Counter)
    walks: WalkCount = field(default_factory=WalkCount)
    wire: Wire = field(default_factory=Wire)
    patience: float = 0.0
    # Left out of `repr`, so that it doesn't get into a log or a traceback.
    secret: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    def living(self) -> list[str]:
        """The holders that are still part of the run."""
        # In the order of the roster, which the questions and the results keep.
        return [name for name in self.holders if name not in self.lost]

    def lose(self, holder: str, phase: str, reason: str, *, invalid: bool = False) -> None:
        """Mark a holder as lost for the rest of the run; `invalid` if its answer was invalid.

        The reason may quote the holder, which isn't trusted. So it is shortened, and control characters are replaced:
        they could manipulate the operator's terminal.
        """
        # Shortened first, so that the work is bounded however long the reason is.
        text = "".join(letter if letter.isprintable() else "?" for letter in reason[:MAX_REASON_LENGTH])
        self.lost[holder] = f"{phase}: {text}"
        if invalid:
            self.invalid[holder] = self.lost[holder]

    def reasons(self) -> str:
        """The lost holders with their reasons, as text for an error message."""
        return "; ".join(f"{holder} ({reason})" for holder, reason in self.lost.items()) or "no holder was lost"

    def as_dict(self) -> dict[str, Any]:
        """The statistics as run.json has them."""
        # `asdict` of the whole would corrupt the Counters: it rebuilds them from pairs, and they count the pairs.
        counts = {name: dict(getattr(self, name)) for name in COUNTERS}
        rest = {name: getattr(self, name) for name in ("run", "patience", "holders", "simulated", "lost", "invalid")}
        return {**rest, **counts, "walks": asdict(self.walks), "wire": asdict(self.wire)}

    def save(self, path: Path) -> None:
        """Save the statistics, with the secret, for a restarted server."""
        # Private, because the secret yields the session of every holder.
        write_private(path, json.dumps({"secret": self.secret, **self.as_dict()}, indent=1, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path) -> "RunStatistics":
        """Load what `save` wrote; raises RunFolderError if the file has anything else."""
        try:
            content = read_json(path)
            require(isinstance(content, dict) and _is_secret(content.get("secret")), "it has no valid secret")
            return _parse_statistics(content)
        except (OSError, ValueError) as error:
            raise RunFolderError(f"{path}: can't be read ({reason(error)}). Start again with --force.") from error


@dataclass(frozen=True, slots=True)
class FederationFacts:
    """The part `federation` of run.json: how many devices are embedded, and the statistics without their secret."""

    embedded: int
    statistics: RunStatistics

    def as_dict(self) -> dict[str, Any]:
        """The content of that part."""
        return {"embedded": self.embedded, **self.statistics.as_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], origin: str) -> "FederationFacts":
        """What `as_dict` described; raises RunFolderError if something is missing or has the wrong type."""
        try:
            require(is_count(content.get("embedded")), "embedded isn't a count")
            rest = {name: value for name, value in content.items() if name != "embedded"}
            return cls(content["embedded"], _parse_statistics({**rest, "secret": ""}))
        except ValueError as error:
            raise RunFolderError(
                f"{origin}: its `federation` isn't what fedwalk wrote ({error}). Start again with --force."
            ) from error


def _parse_statistics(content: dict[str, Any]) -> RunStatistics:
    """Check and convert parsed statistics; raises ValueError if a field is missing, unknown, or of the wrong type."""
    # With slots=True, a dataclass has exactly its fields in __slots__.
    if wrong := sorted(content.keys() ^ set(RunStatistics.__slots__)):
        raise ValueError(f"{wrong[0][:40]!r} is missing or unknown")
    require(isinstance(content["run"], str), "run isn't text")
    require(_is_number(content["patience"]), "patience isn't a number of seconds")
    simulated = content["simulated"]
    names = isinstance(simulated, list) and all(isinstance(name, str) for name in simulated)
    require(names, "simulated isn't a list of names")
    for name in ("holders", *COUNTERS):
        require(_is_table(content[name], is_count), f"{name} isn't a table of counts")
    for name in ("lost", "invalid"):
        require(_is_table(content[name], lambda value: isinstance(value, str)), f"{name} isn't a table of reasons")
    walks, wire = content["walks"], content["wire"]
    counted = isinstance(walks, dict) and _is_table(walks.get("reasons"), is_count)
    require(counted, "walks.reasons isn't a table of counts")
    # `reasons` was checked above; 0 takes its place, because all other fields are numbers.
    _check_counts("walks", WalkCount, {**walks, "reasons": 0})
    _check_counts("wire", Wire, wire)
    counters = {name: Counter(content[name]) for name in COUNTERS}
    return RunStatistics(**{**content, **counters, "walks": WalkCount(**walks), "wire": Wire(**wire)})


def _check_counts(name: str, kind: type[WalkCount] | type[Wire], table: Any) -> None:
    """Refuse a table that doesn't have exactly the counts of this kind. `seconds` may have a fraction."""
    known = _is_table(table, _is_number) and table.keys() == set(kind.__slots__)
    require(known, f"{name} isn't a table of the right counts")
    whole = all(is_count(n) for field, n in table.items() if field != "seconds")
    require(whole, f"{name} has a count that isn't a whole number")


def _is_secret(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _is_table(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(fits, value.values()))


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and value >= 0
