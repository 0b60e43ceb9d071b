"""Becoming a federation: what the operator and the owners of the holders do once, with files that they send each other.

init (operator) → enrol (holder) → request.json → admit (operator) → pass → the holder may start.
"""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from fedwalk.errors import FedWalkError, InputError
from fedwalk.federation.app_folder import write_app
from fedwalk.federation.certificates import Authority, as_private, common_name, reading
from fedwalk.federation.flower import FlowerError, flwr
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
    authority_fingerprint,
    certificate_end,
    holder_request,
    new_authority,
    new_keys,
    new_node_key,
    read_node_key,
    read_request,
    server_certificate,
    write_secret,
)
from fedwalk.federation.lists_file import read_lists
from fedwalk.federation.naming import check_address, check_name
from fedwalk.federation.private_file import locked, make_private_folder
from fedwalk.federation.roster import Holder, Roster
from fedwalk.run_folder import write_text

PASS = "fedwalk pass 1"
REACHES_ITSELF = ("0.0.0.0", "127.0.0.1")
AUTHORITY_YEARS = 10


@dataclass(frozen=True, slots=True)
class Pass:
    """What an admitted holder gets from the operator; nothing in it is secret."""

    name: str
    server: str
    authority: str
    certificate: str


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
        content = {
            "kind": PASS, "name": request.name, "server": folder.settings().address,
            "authority": authority.certificate.decode(), "certificate": certificate.decode(),
        }  # fmt: skip
        path = folder.passport(request.name)
        path.parent.mkdir(exist_ok=True)
        write_text(path, json.dumps(content, indent=1) + "\n")
        roster.save(folder.roster)
        return path


def take_pass(folder: HolderFolder, path: Path) -> Pass:
    """Keep the pass that the operator sent, if it is this holder's."""
    found_pass = read_pass(path)
    name = folder.settings().name
    if found_pass.name != name:
        raise InputError(f"{path}: is the pass of {found_pass.name!r}, and this holder is {name!r}.")
    _check_certificate(path, found_pass, (folder.path / "holder.key").read_bytes())
    _check_authority(folder.path / "authority.pem", path, found_pass.authority.encode())
    write_text(folder.path / "authority.pem", found_pass.authority)
    write_text(folder.path / "holder.pem", found_pass.certificate)
    write_text(folder.path / "pass.json", path.read_text(encoding="utf-8"))
    return found_pass


def read_pass(path: Path) -> Pass:
    """A pass from its file."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file. The operator has the pass, in its folder `passes`.")
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        kind = content.pop("kind")
        found_pass = Pass(**content)
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise InputError(
            f"{path}: isn't a pass; a request isn't one. Get it from the federation's operator."
        ) from error
    if kind != PASS or not all(isinstance(value, str) for value in content.values()):
        raise InputError(f"{path}: isn't a pass that this fedwalk can read. Get it anew from the operator.")
    check_address(found_pass.server)
    certificate_end(found_pass.certificate.encode())
    return found_pass


def _check_certificate(path: Path, found_pass: Pass, key: bytes) -> None:
    """Refuse a certificate that isn't for this holder's key, or isn't by the pass's own authority."""
    with reading(f"{path}: the certificates in it", "Get the pass anew from the federation's operator."):
        authority, own = (
            x509.load_pem_x509_certificate(pem.encode()) for pem in (found_pass.authority, found_pass.certificate)
        )
        private = as_private(load_pem_private_key(key, None))
    try:
        own.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature) as error:
        raise InputError(f"{path}: its certificate isn't by its own authority. Get the pass anew.") from error
    if own.public_key() != private.public_key():
        raise InputError(
            f"{path}: is for another key than this holder's. Send the operator this holder's request.json."
        )
    if own.subject != common_name(found_pass.name):
        raise InputError(f"{path}: its certificate is for another name. Get the pass anew from the operator.")


def _check_authority(own: Path, path: Path, brought: bytes) -> None:
    """Refuse a pass of another federation: whoever made it would decide whom this holder trusts."""
    if not own.exists():
        return
    seen, known = authority_fingerprint(brought), authority_fingerprint(own.read_bytes())
    if seen != known:
        raise InputError(
            f"{path}: is by another federation's authority ({seen}) than this holder's ({known}). If the operator "
            f"really has a new one, compare its fingerprint by phone, move {own} away, and take the pass again."
        )


def remove_holder(folder: FederationFolder, name: str) -> None:
    """Take a holder out: it is asked nothing more, and its tokens are refused. Its vertices keep their ids.

    Flower goes on knowing its node, since a key that was unregistered could never come back.
    """
    with locked(folder.path):
        Roster.load(folder.roster).removed(name).save(folder.roster)


def register_holders(folder: FederationFolder) -> dict[str, int]:
    """Tell a running server whose SuperNodes may connect; returns their node ids, which are kept.

    What Flower knows already is read from its database, so that whatever was broken off is taken up. If some can't be
    registered the others are, and then FlowerError says which.
    """
    with locked(folder.path):
        holders = [holder for holder in Roster.load(folder.roster).holders if not holder.removed]
        known = _known_nodes(folder.database)
        nodes = {holder.name: known[key] for holder in holders if (key := _key_in_flower(holder)) in known}
        fresh = [holder for holder in holders if holder.name not in nodes]
        with ThreadPoolExecutor(4) as pool:
            answers = dict(zip(fresh, pool.map(lambda holder: _register(folder, holder), fresh), strict=True))
        nodes |= {holder.name: answer for holder, answer in answers.items() if isinstance(answer, int)}
        write_text(folder.nodes, json.dumps(nodes, indent=1))
    failures = [f"{holder.name} ({answer})" for holder, answer in answers.items() if not isinstance(answer, int)]
    if failures:
        raise FlowerError(f"{folder.path}: the server didn't register {', '.join(failures)}. The others may connect.")
    return nodes


def _known_nodes(database: Path) -> dict[bytes, int]:
    """The node ids that Flower has given, by public key; none if it has no database yet."""
    query = "SELECT public_key, node_id FROM node WHERE status != 'unregistered'"
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return {key: node % (1 << 64) for key, node in connection.execute(query)}  # SQLite's integers are signed
    except sqlite3.Error:
        return {}


def _key_in_flower(holder: Holder) -> bytes:
    return read_node_key(holder.node_key).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _register(folder: FederationFolder, holder: Holder) -> int | Exception:
    """The holder's node id, or why there is none."""
    key = folder.path / "keys" / f"{holder.name}.pub"
    key.parent.mkdir(exist_ok=True)
    try:
        write_text(key, holder.node_key + "\n")
        return int(str(flwr(folder, "supernode", "register", str(key))["node-id"]))
    except (FedWalkError, KeyError, ValueError) as error:
        return error


def _authority(folder: FederationFolder) -> Authority:
    try:
        return Authority(*((folder.path / name).read_bytes() for name in ("authority.pem", "authority.key")))
    except OSError as error:
        raise InputError(
            f"{error.filename}: can't be read ({error.strerror}). Only who has the authority's key can do this."
        ) from error


def _server_credentials(authority: Authority, address: str, days: int) -> Credentials:
    return server_certificate(authority, [address.rpartition(":")[0].strip("[]")], days)
