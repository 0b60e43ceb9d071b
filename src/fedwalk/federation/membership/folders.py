"""The two kinds of folder of a federation: the operator's, and one per holder on the holder's own machine.

File names are fixed and declared here. What operators and owners may choose stands in `federation.toml` and
`holder.toml`, which may be edited by hand.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import MISSING, Field, asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import tomli_w

from fedwalk import __version__
from fedwalk.errors import FedWalkError, InputError
from fedwalk.federation.holder.answer_store import NEW_HOLDER
from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.keys import Credentials
from fedwalk.federation.names import check_address, check_listen, check_name
from fedwalk.util.checked_json import read_bounded, reason
from fedwalk.util.files import write_private

FORMAT = 2
"""Number of the folders' layout, in both files of settings. Increase it whenever a file in a folder changes its name or
meaning. Format 1 had no number; it called the answer store `memory`."""
MAX_BYTES = 1 << 20
"""Largest file of settings that is read."""
FORMAT_1_STORES = ("memory", "memory-simulated")


class FormatError(InputError):
    """A folder has another layout than this version reads."""


@dataclass(frozen=True, slots=True)
class FederationSettings:
    """The operator's choices: the address that holders connect to, what the server listens on, the size limit.

    `max_answer` is in bytes, for one holder in one run; the server refuses what exceeds it before storing it.
    """

    name: str
    address: str
    listen: str
    max_answer: int = 256 << 20


@dataclass(frozen=True, slots=True)
class HolderSettings:
    """The owner's choices.

    `address` is where other holders reach this one, `listen` what its port binds; both are empty for a holder that
    takes part in `ldp` only, because no other holder calls it. `neighbours` is the path of the file of neighbour lists.
    `simulation_seed` makes the noise reproducible, for experiments: it then protects nothing.
    """

    name: str
    address: str
    listen: str
    neighbours: str
    terms: Terms
    simulation_seed: int | None = None


class FileIn:
    """A fixed name in a folder: as an attribute of the folder's class, it evaluates to the full path."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: "FederationFolder | HolderFolder | LocalApiFolder", kind: type | None = None) -> Path:
        return folder.path / self._name


@dataclass(frozen=True, slots=True)
class FederationFolder:
    """The operator's files."""

    path: Path

    # Without annotations, because a dataclass would take annotated names for its fields.
    settings_file = FileIn("federation.toml")
    authority = FileIn("authority.pem")
    authority_key = FileIn("authority.key")
    vouching = FileIn("vouching.pem")
    """The former authority's certificate for the present one; empty or missing if there is no former authority."""
    certificate = FileIn("server.pem")
    key = FileIn("server.key")
    roster = FileIn("roster.json")
    """All holders, and which holder has which vertex."""
    nodes = FileIn("nodes.json")
    """Flower's node id of each holder."""
    members = FileIn("members.json")
    """Names and node keys of the holders whose SuperNodes may connect."""
    passes = FileIn("passes")
    """A folder with one pass per admitted holder."""
    app = FileIn("app")
    """The Flower app."""
    flower = FileIn("flower")
    """Flower's own files: connections, installed apps."""
    database = FileIn("superlink.db")
    log = FileIn("server.log")
    """Output of the SuperLink."""
    run_lock = FileIn("run.lock")
    """Locked by the run in progress."""
    follow_lock = FileIn("follow.lock")
    """Locked by the command that follows a run."""
    flower_run = FileIn("flower-run")
    """Flower's id of the run in progress, or of one that was interrupted."""
    refusals = FileIn("refused.json")
    """Counts of the requests that the server's port refused in the last run."""
    state = FileIn("server.json")
    """The process that serves this folder."""

    def settings(self) -> FederationSettings:
        """The operator's choices."""
        return read_settings(self.settings_file, FederationSettings)

    def credentials(self) -> Credentials:
        """The authority's certificate, and the server's certificate and key."""
        hint = "Restore it from a copy, or make a new federation: `fedwalk federate init`."
        return _credentials((self.authority, self.certificate, self.key), hint)

    def pass_file(self, name: str) -> Path:
        """The pass of this holder, for the operator to send."""
        return self.passes / f"{name}.json"


@dataclass(frozen=True, slots=True)
class HolderFolder:
    """A holder's files."""

    path: Path

    settings_file = FileIn("holder.toml")
    authority = FileIn("authority.pem")
    certificate = FileIn("holder.pem")
    key = FileIn("holder.key")
    """Private key for TLS."""
    node_key = FileIn("node.key")
    """Private key of the SuperNode."""
    next_keys = FileIn("next")
    """A folder with new keys for which the operator hasn't sent a pass yet."""
    request = FileIn("request.json")
    """The admission request, for the owner to send to the operator."""
    own_pass = FileIn("pass.json")
    """The pass that the holder has accepted last."""
    progress = FileIn("progress.json")
    """How far the walks are."""
    app = FileIn("app")
    """The Flower app as this installation writes it."""
    flower = FileIn("flower")
    """Flower's own files."""
    log = FileIn("holder.log")
    """Output of the SuperNode; it contains the owner log."""
    state = FileIn("holder.json")
    """The process that serves this folder."""

    @property
    def answer_store(self) -> Path:
        """The folder of the answer store."""
        # A simulation has a store of its own: its answers protect nothing and must never be given in a real run.
        return self.path / ("answers" if self.settings().simulation_seed is None else "answers-simulated")

    @property
    def private_keys(self) -> tuple[Path, Path]:
        """The private keys: for TLS, and of the SuperNode. A folder of new keys has them under the same names."""
        return self.key, self.node_key

    @property
    def local_api(self) -> "LocalApiFolder":
        """The certificate of the SuperNode's own API."""
        return LocalApiFolder(self.flower / "local")

    def settings(self) -> HolderSettings:
        """The owner's choices."""
        self.check_no_old_store()
        return read_settings(self.settings_file, HolderSettings)

    def check_no_old_store(self) -> None:
        """Refuse a folder with an answer store of format 1.

        The store contains the devices' ledgers. A holder that started with an empty store beside it would silently
        forget what they have released, even if `holder.toml` has been edited to look like the present format.
        """
        for store in (self.path / name for name in FORMAT_1_STORES):
            if store.exists():
                raise FormatError(
                    f"{store}: is an answer store of format 1; this fedwalk ({__version__}) reads format {FORMAT}. "
                    f"{REMEDIES[HolderSettings]}"
                )

    def credentials(self) -> Credentials:
        """The authority's certificate, and the holder's certificate and key, once it is admitted."""
        hint = "It comes with the operator's pass: fedwalk federate holder FOLDER --pass FILE"
        return _credentials((self.authority, self.certificate, self.key), hint)


@dataclass(frozen=True, slots=True)
class LocalApiFolder:
    """The certificate of a SuperNode's own API, which only the holder's own processes trust."""

    path: Path

    authority = FileIn("authority.pem")
    certificate = FileIn("server.pem")
    key = FileIn("server.key")


S = TypeVar("S", FederationSettings, HolderSettings)
COMMANDS = {FederationSettings: "fedwalk federate init", HolderSettings: "fedwalk federate enrol"}
"""The command that makes a folder with these settings."""
REMEDIES = {
    FederationSettings: "Make a new federation in another folder: `fedwalk federate init`. All holders enrol again.",
    HolderSettings: NEW_HOLDER,
}
"""What to do about a folder of an older format."""


def write_settings(path: Path, settings: FederationSettings | HolderSettings) -> None:
    """Write the settings as TOML, with the number of the format."""
    write_private(path, settings_text(settings))


def settings_text(settings: FederationSettings | HolderSettings) -> str:
    """The settings as TOML. Options that aren't set are left out: TOML has no null."""
    return tomli_w.dumps({"format": FORMAT, **_without_none(asdict(settings))})


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in table.items() if value is not None}
    return {name: _without_none(value) if isinstance(value, dict) else value for name, value in kept.items()}


def read_settings(path: Path, kind: type[S]) -> S:
    """Read and check a file of settings; InputError says what is wrong with it and what to do."""
    command = COMMANDS[kind]
    if not path.is_file():
        raise InputError(f"{path}: does not exist. Name a folder that `{command}` made.")
    try:
        table = _parse_toml(read_bounded(path, MAX_BYTES))
        # First of all: in a file of another format the names would seem to be wrong.
        _check_format(path, table.pop("format", None), kind)
        return _parse_settings(table, kind)
    # Its text already names the file and says what to do.
    except FormatError:
        raise
    except (OSError, ValueError, FedWalkError) as error:
        why = str(error) if isinstance(error, FedWalkError) else reason(error)
        raise InputError(
            f"{path}: can't be understood ({why}). Fix it, or move it away and make it again: `{command}`."
        ) from error


def _parse_toml(data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode())
    # tomllib recurses into nested arrays, and RecursionError isn't a ValueError.
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _check_format(path: Path, number: object, kind: type[S]) -> None:
    """Refuse the settings of a folder whose layout isn't the one that this version writes."""
    reads = f"this fedwalk ({__version__}) reads format {FORMAT}"
    if number is None:
        undo = f"If the line `format = {FORMAT}` was deleted by mistake, put it back."
        raise FormatError(f"{path}: has no format number, like format 1; {reads}. {REMEDIES[kind]} {undo}")
    # Not isinstance: `format = true` is an int, too.
    if type(number) is not int:
        raise FormatError(f"{path}: format = {str(number)[:80]!r} isn't a whole number; {reads}. Restore the line.")
    if number < FORMAT:
        raise FormatError(f"{path}: has format {number}, which is older; {reads}. {REMEDIES[kind]}")
    if number > FORMAT:
        raise FormatError(f"{path}: has format {number}, which is newer; {reads}. Install the newer fedwalk.")


def _parse_settings(table: dict[str, Any], kind: type[S]) -> S:
    """The settings in a parsed file; ValueError or a FedWalkError says what is wrong with them."""
    _check_names(kind, table)
    if "terms" in table:
        table["terms"] = _terms(table["terms"])
    settings = kind(**table)
    check_folder_settings(settings)
    return settings


def check_folder_settings(settings: FederationSettings | HolderSettings) -> None:
    """Refuse settings that `read_settings` would refuse; InputError says what is wrong with them."""
    # Dataclasses don't check types, and a wrong one would fail much later.
    _check_types(type(settings), {field.name: getattr(settings, field.name) for field in fields(settings)})
    check_name(settings.name)
    # A holder that takes part in `ldp` only has neither address nor port.
    if not settings.address and not settings.listen and isinstance(settings, HolderSettings):
        return
    if not settings.address:
        raise InputError("address: is missing. `listen` is of use only with the address at which others connect.")
    check_address(settings.address)
    check_listen(settings.listen)


def _terms(table: Any) -> Terms:
    protocols = table.get("protocols", list(Terms().protocols)) if isinstance(table, dict) else None
    if not isinstance(protocols, list) or not all(isinstance(name, str) for name in protocols):
        raise ValueError("terms: needs a table, and `protocols` in it must be a list of names")
    _check_names(Terms, table, "terms.")
    # TOML has lists only.
    return Terms(**{**table, "protocols": tuple(protocols)})


def _check_names(kind: type[Any], table: dict[str, Any], prefix: str = "") -> None:
    """Refuse a table with an unknown setting, or without a setting that has no default."""
    known = {field.name: field for field in fields(kind)}
    if unknown := sorted(table.keys() - known.keys()):
        raise ValueError(f"there is no setting {prefix + unknown[0][:80]!r}; known are {', '.join(known)}")
    if missing := [name for name, field in known.items() if _is_required(field) and name not in table]:
        raise ValueError(f"the setting {prefix + missing[0]!r} is missing")


def _is_required(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _check_types(kind: type[Any], table: dict[str, Any]) -> None:
    for name, hint in get_type_hints(kind).items():
        # `bool` is a subclass of `int`: max_answer = true must not count as 1.
        if name in table and (not isinstance(table[name], hint) or isinstance(table[name], bool)):
            raise InputError(f"{name} = {repr(table[name])[:80]} has the wrong type")
        # tomllib reads integers of any length.
        if isinstance(table.get(name), int) and not 0 <= table[name] < 1 << 63:
            raise InputError(f"{name}: must be a number from 0 to {(1 << 63) - 1}.")


def _credentials(files: Iterable[Path], hint: str) -> Credentials:
    # In the order of the fields of `Credentials`.
    contents = []
    for file in files:
        if not file.is_file():
            raise InputError(f"{file}: does not exist. {hint}")
        contents.append(file.read_bytes())
    return Credentials(*contents)
