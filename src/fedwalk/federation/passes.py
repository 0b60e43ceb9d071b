"""The pass: what an admitted holder gets from the operator, and how it knows that it is the one it waits for."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from fedwalk.errors import InputError
from fedwalk.federation.certificates import as_private, common_name, reading
from fedwalk.federation.checked_json import parse_json, read_bounded, reason
from fedwalk.federation.folders import HolderFolder
from fedwalk.federation.identity import authority_fingerprint, certificate_end
from fedwalk.federation.naming import check_address, check_name
from fedwalk.federation.private_file import make_private_folder, write_text

KIND = "fedwalk pass 1"
MAX_BYTES = 64 << 10
"""Of a pass: two certificates and an address have a few kilobytes."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What an admitted holder gets from the operator; nothing in it is secret."""

    name: str
    server: str
    authority: str
    certificate: str


def write_pass(path: Path, made: Pass) -> None:
    """Write the pass, for the operator to send."""
    make_private_folder(path.parent)
    write_text(path, json.dumps({"kind": KIND, **asdict(made)}, indent=1) + "\n")


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
        return parse_pass(read_bounded(path, MAX_BYTES))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: isn't a pass ({reason(error)}); a request isn't one. Get it from the federation's operator."
        ) from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def parse_pass(data: bytes) -> Pass:
    """The pass in these bytes, everything in it checked; ValueError or InputError says what is wrong."""
    content: Any = parse_json(data)
    expected = {"kind", *(field.name for field in fields(Pass))}
    if not isinstance(content, dict) or content.keys() != expected:
        raise ValueError("it has other fields")
    if content.pop("kind") != KIND or not all(isinstance(value, str) for value in content.values()):
        raise InputError("isn't a pass that this fedwalk can read. Get it anew from the operator.")
    check_name(content["name"])
    check_address(content["server"])
    certificate_end(content["certificate"].encode())
    return Pass(**content)


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
