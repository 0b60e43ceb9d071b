"""The pass: what an admitted holder gets from the operator, and how it knows that it is the one it waits for."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from fedwalk.errors import InputError
from fedwalk.federation.certificates import as_private, common_name, reading
from fedwalk.federation.folders import HolderFolder
from fedwalk.federation.identity import authority_fingerprint, certificate_end
from fedwalk.federation.naming import check_address
from fedwalk.federation.validity import check_validity, date_text
from fedwalk.run_folder import write_text

KIND = "fedwalk pass 1"
NEW_PASS = "Ask the federation's operator for a new pass: `fedwalk federate admit` with this holder's request.json."
NEW_AUTHORITY = "Ask the federation's operator to renew it: `fedwalk federate renew FOLDER --authority`."


@dataclass(frozen=True, slots=True)
class Pass:
    """What an admitted holder gets from the operator; nothing in it is secret."""

    name: str
    server: str
    authority: str
    certificate: str


def write_pass(path: Path, made: Pass) -> None:
    """Write the pass, for the operator to send."""
    path.parent.mkdir(exist_ok=True)
    write_text(path, json.dumps({"kind": KIND, **asdict(made)}, indent=1) + "\n")


def take_pass(folder: HolderFolder, path: Path, *, older: bool = False) -> Pass:
    """Keep the pass that the operator sent, if it is this holder's and valid now.

    A pass that is older than the one this holder has is refused unless `older` allows it.
    """
    found_pass = read_pass(path)
    name = folder.settings().name
    if found_pass.name != name:
        raise InputError(f"{path}: is the pass of {found_pass.name!r}, and this holder is {name!r}.")
    _check_certificate(path, found_pass, (folder.path / "holder.key").read_bytes())
    check_validity(found_pass.certificate.encode(), f"{path}: the certificate in it", NEW_PASS)
    check_validity(found_pass.authority.encode(), f"{path}: the authority's certificate in it", NEW_AUTHORITY)
    _check_authority(folder.path / "authority.pem", path, found_pass.authority.encode())
    if not older:
        _check_newer(folder, path, found_pass)
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
    if kind != KIND or not all(isinstance(value, str) for value in content.values()):
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


def _check_newer(folder: HolderFolder, path: Path, brought: Pass) -> None:
    """Refuse a pass that would take this holder back to an earlier one, or to another server than its certificate's.

    The newer of two passes is the one whose certificate begins later; of two issued at once, the one that ends later.
    """
    own = folder.path / "pass.json"
    if not (own.exists() and (folder.path / "authority.pem").exists()):
        return
    kept = read_pass(own)
    if _age(brought) < _age(kept):
        problem = "is older than the pass that this holder has"
    elif brought.certificate == kept.certificate and brought.server != kept.server:
        problem = "has the certificate of the pass that this holder has, and another server"
    else:
        return
    raise InputError(
        f"{path}: {problem}. This one: {_summary(brought)}. The holder's: {_summary(kept)}. Ask the operator for the "
        "newest pass. To take this one all the same, add --older-pass."
    )


def _age(one: Pass) -> tuple[datetime, datetime]:
    """What orders passes by age."""
    certificate = x509.load_pem_x509_certificate(one.certificate.encode())
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


def _summary(one: Pass) -> str:
    begin, end = _age(one)
    return f"valid from {date_text(begin)} to {date_text(end)}, server {one.server}"


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
