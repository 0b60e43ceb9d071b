"""Becoming a federation: what the operator and the owners of the holders do once, with files that they send each other.

init (operator) → enrol (holder) → request.json → admit (operator) → pass → the holder may start.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from fedwalk.errors import InputError
from fedwalk.federation.app_folder import write_app
from fedwalk.federation.certificates import Authority, as_private, common_name, reading
from fedwalk.federation.flower import flwr
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
    certificate_end,
    holder_request,
    new_authority,
    new_keys,
    new_node_key,
    read_request,
    server_certificate,
    write_secret,
)
from fedwalk.federation.lists_file import read_lists
from fedwalk.federation.naming import check_address, check_name
from fedwalk.federation.private_file import make_private_folder
from fedwalk.federation.roster import Holder, Roster
from fedwalk.run_folder import write_text

PASS = "fedwalk pass 1"
REACHES_ITSELF = ("0.0.0.0", "127.0.0.1", "[::]")
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
    host = settings.address.rpartition(":")[0].strip("[]")
    _write_credentials(path, "server", server_certificate(authority, [host], days))
    write_secret(path / "authority.key", authority.key)
    Roster().save(folder.roster)
    write_app(folder.app)
    write_text(folder.nodes, "{}")
    write_settings(folder.settings_file, settings)
    return folder


def enrol(path: Path, settings: HolderSettings) -> Request:
    """Make a holder: its keys, which never leave this folder, and the request for the operator.

    Called again, with more devices or another address, it keeps the keys and writes a new request.
    """
    folder = HolderFolder(path)
    check_name(settings.name)
    check_address(settings.address)
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
    authority = Authority((folder.path / "authority.pem").read_bytes(), (folder.path / "authority.key").read_bytes())
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
    write_text(folder.path / "authority.pem", found_pass.authority)
    write_text(folder.path / "holder.pem", found_pass.certificate)
    write_text(folder.path / "pass.json", path.read_text(encoding="utf-8"))
    return found_pass


def read_pass(path: Path) -> Pass:
    """A pass from its file."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        kind = content.pop("kind")
        found_pass = Pass(**content)
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise InputError(f"{path}: isn't a pass ({error}). Get it from the federation's operator.") from error
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


def remove_holder(folder: FederationFolder, name: str) -> None:
    """Take a holder out: it is asked nothing more, and its tokens are refused. Its vertices keep their ids."""
    Roster.load(folder.roster).removed(name).save(folder.roster)


def register_holders(folder: FederationFolder) -> dict[str, int]:
    """Tell a running server whose SuperNodes may connect; returns their node ids, which are kept."""
    nodes: dict[str, int] = json.loads(folder.nodes.read_text(encoding="utf-8"))
    holders = Roster.load(folder.roster).holders
    for holder in holders:
        if holder.removed and holder.name in nodes:
            flwr(folder, "supernode", "unregister", str(nodes.pop(holder.name)))
    fresh = [holder for holder in holders if not holder.removed and holder.name not in nodes]
    with ThreadPoolExecutor(4) as pool:
        found_ids = pool.map(lambda holder: _register(folder, holder), fresh)
        nodes |= {holder.name: node for holder, node in zip(fresh, found_ids, strict=True)}
    write_text(folder.nodes, json.dumps(nodes, indent=1))
    return nodes


def _register(folder: FederationFolder, holder: Holder) -> int:
    key = folder.path / "keys" / f"{holder.name}.pub"
    key.parent.mkdir(exist_ok=True)
    write_text(key, holder.node_key + "\n")
    return int(str(flwr(folder, "supernode", "register", str(key))["node-id"]))


def _write_credentials(path: Path, who: str, credentials: Credentials) -> None:
    write_text(path / "authority.pem", credentials.authority.decode())
    write_text(path / f"{who}.pem", credentials.certificate.decode())
    write_secret(path / f"{who}.key", credentials.key)
