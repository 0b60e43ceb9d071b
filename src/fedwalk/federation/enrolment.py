"""Becoming a federation: what the operator and the owners of the holders do once, with files that they send each other.

init (operator) → enrol (holder) → request.json → admit (operator) → pass → the holder may start.
"""

from dataclasses import replace
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
from fedwalk.federation.lists_file import read_lists
from fedwalk.federation.locks import locked
from fedwalk.federation.naming import check_address, check_name
from fedwalk.federation.passes import Pass, write_pass
from fedwalk.federation.private_file import make_private_folder, write_text
from fedwalk.federation.roster import Roster

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
        credentials = _server_credentials(_authority(folder), address, days)
        write_secret(folder.path / "server.key", credentials.key, replace=True)
        write_text(folder.path / "server.pem", credentials.certificate.decode())
        if address != settings.address:
            listen = following(settings.listen, settings.address, address)
            settings = replace(settings, address=address, listen=listen)
            write_settings(folder.settings_file, settings)
        return settings


def following(listen: str, before: str, after: str) -> str:
    """What to bind once the address has changed: its port, unless another than the address's was bound before.

    Examples
    --------
    >>> following("0.0.0.0:9092", "fed.example.org:9092", "fed.example.org:9443")
    '0.0.0.0:9443'
    >>> following("0.0.0.0:9092", "fed.example.org:443", "fed.example.org:444")
    '0.0.0.0:9092'
    """
    host, _, port = listen.rpartition(":")
    return f"{host}:{after.rpartition(':')[2]}" if port == before.rpartition(":")[2] else listen


def enrol(path: Path, settings: HolderSettings) -> Request:
    """Make a holder: its keys, which never leave this folder, and the request for the operator.

    Called again, with more devices or another address, it keeps the keys and writes a new request.
    """
    folder = HolderFolder(path)
    check_name(settings.name)
    check_address(settings.address)
    if folder.settings_file.exists() and (name := folder.settings().name) != settings.name:
        raise InputError(f"{path}: is the holder {name!r}, which can't be renamed. Make {settings.name!r} elsewhere.")
    devices = read_lists(path / settings.lists).devices
    make_private_folder(path)
    for key, make in (("holder.key", new_keys), ("node.key", new_node_key)):
        if not (path / key).exists():
            write_secret(path / key, make())
    keys = [(path / name).read_bytes() for name in ("holder.key", "node.key")]
    data = holder_request(settings.name, settings.address, list(devices), *keys)
    write_text(folder.request, data.decode())
    write_settings(folder.settings_file, settings)
    write_app(folder.app)
    return read_request(data)


def admit_holder(folder: FederationFolder, request: Request, days: int) -> Path:
    """Enter the holder in the roster and write its pass, which is to be sent to it."""
    with locked(folder.path):
        authority = _authority(folder)
        roster = Roster.load(folder.roster).admitted(request)
        certificate = admit(authority, request, days)
        path = folder.passport(request.name)
        address = folder.settings().address
        write_pass(path, Pass(request.name, address, authority.certificate.decode(), certificate.decode()))
        roster.save(folder.roster)
        return path


def remove_holder(folder: FederationFolder, name: str) -> None:
    """Take a holder out: it is asked nothing more, and its tokens are refused. Its vertices keep their ids.

    Flower goes on knowing its node, since a key that was unregistered could never come back.
    """
    with locked(folder.path):
        Roster.load(folder.roster).removed(name).save(folder.roster)


def _authority(folder: FederationFolder) -> Authority:
    try:
        return Authority(*((folder.path / name).read_bytes() for name in ("authority.pem", "authority.key")))
    except OSError as error:
        raise InputError(
            f"{error.filename}: can't be read ({error.strerror}). Only who has the authority's key can do this."
        ) from error


def _server_credentials(authority: Authority, address: str, days: int) -> Credentials:
    return server_certificate(authority, [address.rpartition(":")[0].strip("[]")], days)
