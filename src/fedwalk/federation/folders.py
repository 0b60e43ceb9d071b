"""The two folders of a federation: the operator's, and one for each holder on the holder's own machine.

Paths in them are fixed; what may be chosen stands in `federation.toml` and `holder.toml`, which may be edited.
"""

import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import tomli_w

from fedwalk.errors import FedWalkError, InputError
from fedwalk.federation.checked_json import read_bounded, reason
from fedwalk.federation.holder import Terms
from fedwalk.federation.identity import Credentials
from fedwalk.federation.naming import check_address, check_listen, check_name
from fedwalk.federation.private_file import write_text

MAX_BYTES = 1 << 20
"""Of a file of settings."""
HINTS = {
    "holder": "It comes with the operator's pass: fedwalk federate holder FOLDER --pass FILE",
    "server": "Make the federation anew with `fedwalk federate init`.",
}


@dataclass(frozen=True, slots=True)
class FederationSettings:
    """What the operator decided: where holders find the server, what it listens on, how large an answer may be.

    `largest_answer` is in bytes, for one holder in one run; what a holder sends beyond is refused before it is stored.
    """

    name: str
    address: str
    listen: str
    largest_answer: int = 256 << 20


@dataclass(frozen=True, slots=True)
class HolderSettings:
    """What a holder's owner decided.

    `address` is where other holders reach this one, `listen` what its endpoint binds; both are empty for a holder of
    `ldp` alone, which no other holder calls. `lists` is the file of neighbour lists. `simulation_seed` is for
    trying things out: with it the noise is reproducible and protects nothing.
    """

    name: str
    address: str
    listen: str
    lists: str
    terms: Terms
    simulation_seed: int | None = None


@dataclass(frozen=True, slots=True)
class FederationFolder:
    """The operator's files."""

    path: Path

    @property
    def settings_file(self) -> Path:
        """What the operator may edit."""
        return self.path / "federation.toml"

    @property
    def roster(self) -> Path:
        """Who holds which vertex."""
        return self.path / "roster.json"

    @property
    def nodes(self) -> Path:
        """Which of Flower's node ids is which holder."""
        return self.path / "nodes.json"

    @property
    def members(self) -> Path:
        """Whose SuperNodes the server's port lets in, by name and key."""
        return self.path / "members.json"

    @property
    def vouching(self) -> Path:
        """The word of the former authority for the one that issues now; empty or missing if there is none."""
        return self.path / "vouching.pem"

    @property
    def app(self) -> Path:
        """The Flower app."""
        return self.path / "app"

    @property
    def flower(self) -> Path:
        """Flower's own files: connections, installed apps."""
        return self.path / "flower"

    @property
    def database(self) -> Path:
        """The SuperLink's."""
        return self.path / "superlink.db"

    @property
    def log(self) -> Path:
        """What the SuperLink says."""
        return self.path / "server.log"

    @property
    def run_lock(self) -> Path:
        """Held by the run that is going on."""
        return self.path / "run.lock"

    @property
    def follow_lock(self) -> Path:
        """Held by the command that follows a run."""
        return self.path / "follow.lock"

    @property
    def flower_run(self) -> Path:
        """Flower's id of the run that is going on, or of one that broke off."""
        return self.path / "flower-run"

    @property
    def refusals(self) -> Path:
        """What the server turned away at its door in the last run."""
        return self.path / "refused.json"

    @property
    def state(self) -> Path:
        """Which process serves this folder."""
        return self.path / "server.json"

    def settings(self) -> FederationSettings:
        """The operator's decisions."""
        return _read(self.settings_file, FederationSettings, "fedwalk federate init")

    def credentials(self) -> Credentials:
        """The server's certificate and key."""
        return _credentials(self.path, "server")

    def passport(self, name: str) -> Path:
        """What an admitted holder is sent."""
        return self.path / "passes" / f"{name}.json"


@dataclass(frozen=True, slots=True)
class HolderFolder:
    """A holder's files."""

    path: Path

    @property
    def settings_file(self) -> Path:
        """What the owner may edit."""
        return self.path / "holder.toml"

    @property
    def request(self) -> Path:
        """What the operator is sent."""
        return self.path / "request.json"

    @property
    def next_keys(self) -> Path:
        """New keys that wait for the operator's pass."""
        return self.path / "next"

    @property
    def memory(self) -> Path:
        """What must not be forgotten between questions; of a simulation apart, for its answers hide nothing."""
        return self.path / ("memory" if self.settings().simulation_seed is None else "memory-simulated")

    @property
    def progress(self) -> Path:
        """How far the walks are."""
        return self.path / "progress.json"

    @property
    def app(self) -> Path:
        """The Flower app as this installation would write it."""
        return self.path / "app"

    @property
    def flower(self) -> Path:
        """Flower's own files."""
        return self.path / "flower"

    @property
    def log(self) -> Path:
        """What the SuperNode says."""
        return self.path / "holder.log"

    @property
    def state(self) -> Path:
        """Which process serves this folder."""
        return self.path / "holder.json"

    def settings(self) -> HolderSettings:
        """The owner's decisions."""
        return _read(self.settings_file, HolderSettings, "fedwalk federate enrol")

    def credentials(self) -> Credentials:
        """The holder's certificate and key, once it is admitted."""
        return _credentials(self.path, "holder")


S = TypeVar("S", FederationSettings, HolderSettings)


def write_settings(path: Path, settings: FederationSettings | HolderSettings) -> None:
    """Write the decisions as TOML; what is not decided is left out."""
    write_text(path, tomli_w.dumps(_without_none(asdict(settings))))


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in table.items()
        if value is not None
    }


def _read(path: Path, kind: type[S], command: str) -> S:
    if not path.is_file():
        raise InputError(f"{path}: is not there. Name a folder that `{command}` made.")
    try:
        return parse_settings(read_bounded(path, MAX_BYTES), kind)
    except (OSError, ValueError, FedWalkError) as error:
        why = str(error) if isinstance(error, FedWalkError) else reason(error)
        raise InputError(
            f"{path}: can't be understood ({why}). Fix it, or move it away and make it anew: `{command}`."
        ) from error


def parse_settings(data: bytes, kind: type[S]) -> S:
    """The settings in a TOML file; ValueError, or one of our errors, says what is wrong with them."""
    try:
        table = tomllib.loads(data.decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if "terms" in table:
        table["terms"] = _terms(table["terms"])
    _check_types(kind, table)
    try:
        settings = kind(**table)
    except TypeError as error:
        raise ValueError(str(error)) from error
    check_name(settings.name)
    # A holder of `ldp` alone is called by no other, and has neither.
    if settings.address or settings.listen or isinstance(settings, FederationSettings):
        check_address(settings.address)
        check_listen(settings.listen)
    return settings


def _terms(table: Any) -> Terms:
    protocols = table.get("protocols", list(Terms().protocols)) if isinstance(table, dict) else None
    if not isinstance(protocols, list) or not all(isinstance(name, str) for name in protocols):
        raise ValueError("terms: needs a table, and `protocols` in it must be a list of names")
    try:
        return Terms(**{**table, "protocols": tuple(protocols)})
    except TypeError as error:
        raise ValueError(f"terms: {error}") from error


def _check_types(kind: type[Any], table: dict[str, Any]) -> None:
    for name, hint in get_type_hints(kind).items():
        if name in table and (not isinstance(table[name], hint) or isinstance(table[name], bool)):
            raise ValueError(f"{name} = {str(table[name])[:80]!r}")
        if isinstance(table.get(name), int) and not 0 <= table[name] < 1 << 63:
            raise ValueError(f"{name}: must be a number from 0 to {(1 << 63) - 1}")


def _credentials(path: Path, who: str) -> Credentials:
    files = [path / "authority.pem", path / f"{who}.pem", path / f"{who}.key"]
    for file in files:
        if not file.is_file():
            raise InputError(f"{file}: is not there. {HINTS[who]}")
    return Credentials(*(file.read_bytes() for file in files))
