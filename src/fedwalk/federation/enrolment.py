"""Becoming a federation: what the operator and the owners of the holders do once, with files that they send each other.

init (operator) → enrol (holder) → request.json → admit (operator) → pass → the holder may start.
"""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.federation.app_folder import write_app
from fedwalk.federation.certificates import Authority
from fedwalk.federation.folders import (
    FederationFolder,
    FederationSettings,
    HolderFolder,
    HolderSettings,
    write_settings,
)
from fedwalk.federation.identity import (
    Credentials,
    Request,
    admit,
    holder_request,
    new_authority,
    new_keys,
    new_node_key,
    read_request,
    server_certificate,
    write_secret,
)
from fedwalk.federation.installing import finish_install, install
from fedwalk.federation.lists_file import read_lists
from fedwalk.federation.locks import locked
from fedwalk.federation.naming import check_address, check_name
from fedwalk.federation.passes import KEYS, Pass, waiting_keys, write_pass
from fedwalk.federation.private_file import make_private_folder, write_text
from fedwalk.federation.roster import Roster
from fedwalk.federation.succession import former_end, not_ended, successor
from fedwalk.federation.validity import date_text

REACHES_ITSELF = ("0.0.0.0", "127.0.0.1")
AUTHORITY_YEARS = 10


def found(path: Path, settings: FederationSettings, days: int) -> FederationFolder:
    """Make a federation: its authority, the server's certificate, an empty roster, the Flower app."""
    folder = FederationFolder(path)
    check_name(settings.name)
    check_address(settings.address)
    if settings.listen.rpartition(":")[0] not in REACHES_ITSELF:
        raise InputError(
            f"The server can't listen on {settings.listen[:80]} alone: its own processes reach it at 127.0.0.1. Use "
            f"0.0.0.0:{settings.listen.rpartition(':')[2]}, and a firewall for what shouldn't reach it."
        )
    if folder.settings_file.exists():
        raise InputError(f"{path}: is a federation already. Name another folder.")
    make_private_folder(path)
    authority = new_authority(settings.name, 365 * AUTHORITY_YEARS)
    credentials = _server_credentials(authority, settings.address, days)
    write_text(path / "authority.pem", authority.certificate.decode())
    write_secret(path / "authority.key", authority.key)
    write_secret(path / "server.key", credentials.key)
    write_text(path / "server.pem", credentials.certificate.decode())
    Roster().save(folder.roster)
    write_app(folder.app)
    write_text(folder.nodes, "{}")
    write_settings(folder.settings_file, settings)
    return folder


def renew_server(folder: FederationFolder, days: int, address: str | None = None) -> FederationSettings:
    """Give the server a new key and certificate, for this address if there is a new one; returns what stands now."""
    with locked(folder.path):
        settings = folder.settings()
        address = address or settings.address
        check_address(address)
        made = _server_credentials(_authority(folder), address, days)
        install(folder.path, {"server.key": made.key, "server.pem": made.certificate + _vouching(folder)})
        if address != settings.address:
            listen = following(settings.listen, settings.address, address)
            settings = replace(settings, address=address, listen=listen)
            write_settings(folder.settings_file, settings)
        return settings


def renew_authority(folder: FederationFolder, days: int, overlap: int, now: datetime | None = None) -> datetime | None:
    """Replace the authority, and the server's key and certificate; returns until when the old authority is trusted.

    With an overlap of 0 days the old one isn't trusted any more, as is needed when its key was stolen.
    """
    with locked(folder.path):
        old = _authority(folder)
        until = former_end(old.certificate)
        if overlap and until and until > datetime.now(UTC):
            raise InputError(
                f"{folder.path}: the authority before this one is still trusted, until {date_text(until)}. Renew after "
                "that. If a key was stolen, use --overlap 0: no former authority is trusted then, and each holder has "
                "to compare the new fingerprint by phone."
            )
        new, vouching = successor(old, 365 * AUTHORITY_YEARS, overlap, now)
        server = _server_credentials(new, folder.settings().address, days)
        install(
            folder.path,
            {
                "authority.key": new.key, "authority.pem": new.certificate, folder.vouching.name: vouching,
                "server.key": server.key, "server.pem": server.certificate + vouching,
            },
        )  # fmt: skip
        return former_end(new.certificate)


def following(listen: str, before: str, after: str) -> str:
    """What to bind once the address has changed: its port, unless another than the address's was bound before.

    Examples
    --------
    >>> following("0.0.0.0:9092", "fed.example.org:9092", "fed.example.org:9443")
    '0.0.0.0:9443'
    >>> following("0.0.0.0:9092", "fed.example.org:443", "fed.example.org:444")
    '0.0.0.0:9092'
    >>> following("", "", "clinic.example.org:7443")
    '0.0.0.0:7443'
    """
    if not listen:
        return everywhere(after)
    host, _, port = listen.rpartition(":")
    return f"{host}:{after.rpartition(':')[2]}" if port == before.rpartition(":")[2] else listen


def everywhere(address: str) -> str:
    """What to bind for an address: its port on all interfaces; nothing without an address."""
    return f"0.0.0.0:{address.rpartition(':')[2]}" if address else ""


def check_reachable(settings: HolderSettings) -> None:
    """Refuse an address that is none, and `paper` without one: tokens couldn't reach the holder."""
    if settings.address:
        check_address(settings.address)
    elif "paper" in settings.terms.protocols:
        raise InputError(
            f"The holder {settings.name!r} allows `paper`, in which other holders send it tokens, and has no address. "
            "Give one with `fedwalk federate enrol FOLDER --address HOST:PORT`, or allow ldp alone."
        )


def enrol(path: Path, settings: HolderSettings) -> Request:
    """Make a holder: its keys, which never leave this folder, and the request for the operator.

    Called again, with more devices or another address, it keeps the keys and writes a new request.
    """
    folder = HolderFolder(path)
    check_name(settings.name)
    check_reachable(settings)
    if folder.settings_file.exists() and (name := folder.settings().name) != settings.name:
        raise InputError(f"{path}: is the holder {name!r}, which can't be renamed. Make {settings.name!r} elsewhere.")
    devices = read_lists(path / settings.lists).devices
    make_private_folder(path)
    finish_install(path)
    for key, make in zip(KEYS, (new_keys, new_node_key), strict=True):
        if not (path / key).exists():
            write_secret(path / key, make())
    request = _write_request(folder, settings, devices)
    write_settings(folder.settings_file, settings)
    write_app(folder.app)
    return request


def renew_keys(folder: HolderFolder) -> Request:
    """Make new keys for a holder, which wait beside those in use, and a request for them that the old key signs too.

    The old keys stay in use until the operator's pass for the new ones is taken. Called again before that, it makes the
    request again, with the same new keys.
    """
    settings = folder.settings()
    devices = read_lists(folder.path / settings.lists).devices
    with locked(folder.path):
        finish_install(folder.path)
        for name in KEYS:
            if not (folder.path / name).exists():
                raise InputError(
                    f"{folder.path / name}: is not there, so nothing can be renewed. Restore it from a copy. If it is "
                    "lost, run `fedwalk federate enrol` and ask the operator to admit the request with --new-keys."
                )
        if not waiting_keys(folder):
            _make_next_keys(folder)
        return _write_request(folder, settings, devices)


def _make_next_keys(folder: HolderFolder) -> None:
    """Both keys or none, whenever this is interrupted."""
    partial = folder.next_keys.with_name("next.partial")
    for stale in (partial, folder.next_keys):
        shutil.rmtree(stale, ignore_errors=True)
    make_private_folder(partial)
    for name, key in zip(KEYS, (new_keys(), new_node_key()), strict=True):
        write_secret(partial / name, key)
    partial.rename(folder.next_keys)


def _write_request(folder: HolderFolder, settings: HolderSettings, devices: Iterable[str]) -> Request:
    """A request for the holder's keys; for the new ones if some wait for their pass."""
    waiting = waiting_keys(folder)
    own = {name: (folder.path / name).read_bytes() for name in KEYS}
    former = own["node.key"] if waiting else None
    tls_key, node_key = ((waiting or own)[name] for name in KEYS)
    data = holder_request(settings.name, settings.address, list(devices), tls_key, node_key, former)
    write_text(folder.request, data.decode())
    return read_request(data)


def admit_holder(folder: FederationFolder, request: Request, days: int, *, new_keys: bool = False) -> Path:
    """Enter the holder in the roster and write its pass, which is to be sent to it.

    `new_keys` admits new keys of a known holder that its old key hasn't signed: see `Roster.admitted`.
    """
    with locked(folder.path):
        authority = _authority(folder)
        roster = Roster.load(folder.roster).admitted(request, new_keys=new_keys)
        certificate = admit(authority, request, days) + _vouching(folder)
        path = folder.passport(request.name)
        trusted = not_ended(authority.certificate) or authority.certificate
        write_pass(path, Pass(request.name, folder.settings().address, trusted.decode(), certificate.decode()))
        roster.save(folder.roster)
        return path


def remove_holder(folder: FederationFolder, name: str) -> None:
    """Take a holder out: it is asked nothing more, and its tokens are refused. Its vertices keep their ids.

    Flower goes on knowing its node, since a key that was unregistered could never come back.
    """
    with locked(folder.path):
        Roster.load(folder.roster).removed(name).save(folder.roster)


def _authority(folder: FederationFolder) -> Authority:
    finish_install(folder.path)
    try:
        return Authority(*((folder.path / name).read_bytes() for name in ("authority.pem", "authority.key")))
    except OSError as error:
        raise InputError(
            f"{error.filename}: can't be read ({error.strerror}). This requires the authority's private key."
        ) from error


def _vouching(folder: FederationFolder) -> bytes:
    """What a former authority has signed for this one, while it counts."""
    return not_ended(folder.vouching.read_bytes()) if folder.vouching.exists() else b""


def _server_credentials(authority: Authority, address: str, days: int) -> Credentials:
    return server_certificate(authority, [address.rpartition(":")[0].strip("[]")], days)
