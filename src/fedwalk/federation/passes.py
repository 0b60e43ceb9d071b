"""The pass: what an admitted holder gets from the operator, and how it knows that it is the one it waits for.

A pass can be for the keys that the holder uses or for new ones (`fedwalk federate renew`), which it then uses from the
moment that the pass is taken. It can be by a new authority, if the one that the holder knows vouches for it.
"""

import json
import shutil
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from fedwalk.errors import InputError
from fedwalk.federation.certificates import as_private, common_name, reading
from fedwalk.federation.checked_json import parse_json, read_bounded, reason
from fedwalk.federation.folders import HolderFolder
from fedwalk.federation.identity import authority_fingerprint, certificate_end
from fedwalk.federation.installing import finish_install, install
from fedwalk.federation.locks import locked
from fedwalk.federation.naming import check_address, check_name
from fedwalk.federation.private_file import make_private_folder, write_text
from fedwalk.federation.succession import MAX_CERTIFICATES, is_issued_by, read_bundle, vouched
from fedwalk.federation.validity import check_validity, date_text

KIND = "fedwalk pass 1"
KEYS = ("holder.key", "node.key")
"""Of a holder: for TLS, and its SuperNode's."""
MAX_BYTES = 64 << 10
"""Of a pass: a few certificates and an address have a few kilobytes."""
NEW_PASS = "Ask the federation's operator for a new pass: `fedwalk federate admit` with this holder's request.json."
NEW_AUTHORITY = "Ask the federation's operator to renew it: `fedwalk federate renew FOLDER --authority`."


@dataclass(frozen=True, slots=True)
class Pass:
    """What an admitted holder gets from the operator; nothing in it is secret.

    `authority` may have a former authority behind the one that issues now, and `certificate` the former one's word for
    that one behind the holder's own: see `succession`.
    """

    name: str
    server: str
    authority: str
    certificate: str


def write_pass(path: Path, made: Pass) -> None:
    """Write the pass, for the operator to send."""
    make_private_folder(path.parent)
    write_text(path, _as_json(made))


def _as_json(made: Pass) -> str:
    return json.dumps({"kind": KIND, **asdict(made)}, indent=1) + "\n"


def take_pass(folder: HolderFolder, path: Path, *, older: bool = False) -> Pass:
    """Keep the pass that the operator sent, if it is this holder's and valid now.

    A pass that is older than the one this holder has is refused unless `older` allows it.
    """
    found_pass = read_pass(path)
    name = folder.settings().name
    if found_pass.name != name:
        raise InputError(f"{path}: is the pass of {found_pass.name!r}, and this holder is {name!r}.")
    with locked(folder.path):
        finish_install(folder.path)
        new_keys = _check_certificate(folder, path, found_pass)
        check_validity(found_pass.certificate.encode(), f"{path}: the certificate in it", NEW_PASS)
        check_validity(found_pass.authority.encode(), f"{path}: the authority's certificate in it", NEW_AUTHORITY)
        _check_authority(folder.path / "authority.pem", path, found_pass)
        if not older:
            _check_newer(folder, path, found_pass)
        texts = {"authority.pem": found_pass.authority, "holder.pem": found_pass.certificate}
        texts["pass.json"] = _as_json(found_pass)
        install(folder.path, {**{name: text.encode() for name, text in texts.items()}, **new_keys})
        if new_keys:
            shutil.rmtree(folder.next_keys, ignore_errors=True)
    return found_pass


def waiting_keys(folder: HolderFolder) -> dict[str, bytes]:
    """New keys by the names of their files, if there are some that wait for the operator's pass."""
    try:
        keys = {name: (folder.next_keys / name).read_bytes() for name in KEYS}
        # A crash just after they came into use may have left the folder there.
        return keys if keys["holder.key"] != (folder.path / "holder.key").read_bytes() else {}
    except OSError:
        return {}


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


def _check_certificate(folder: HolderFolder, path: Path, found_pass: Pass) -> dict[str, bytes]:
    """Refuse a certificate that isn't for this holder's key, or isn't by the pass's own authority.

    Returns the holder's new keys if the certificate is for them, and nothing if it is for those in use.
    """
    own, *vouching = _chain(path, found_pass)
    authority = _bundle(path, found_pass.authority)[0]
    if not is_issued_by(own, authority):
        raise InputError(f"{path}: its certificate isn't by its own authority. Get the pass anew.")
    if any(one.public_key() != authority.public_key() for one in vouching):
        raise InputError(f"{path}: has certificates of others in it. Get the pass anew from the operator.")
    if own.subject != common_name(found_pass.name):
        raise InputError(f"{path}: its certificate is for another name. Get the pass anew from the operator.")
    in_use = folder.path / "holder.key"
    if not in_use.is_file():
        raise InputError(f"{in_use}: is not there. Restore it from a copy, or make it: `fedwalk federate enrol`.")
    for keys in (waiting_keys(folder), {}):
        key = keys.get("holder.key") or in_use.read_bytes()
        with reading(f"{folder.path}: the holder's private key", "Restore holder.key from a copy."):
            if own.public_key() == as_private(load_pem_private_key(key, None)).public_key():
                return keys
    raise InputError(f"{path}: is for another key than this holder's. Send the operator this holder's request.json.")


def _chain(path: Path, one: Pass) -> list[x509.Certificate]:
    """The holder's certificate, then what a former authority may have signed for the new one."""
    with reading(f"{path}: the certificates in it", "Get the pass anew from the federation's operator."):
        chain = x509.load_pem_x509_certificates(one.certificate.encode())
        if len(chain) > MAX_CERTIFICATES:
            raise ValueError(f"more than {MAX_CERTIFICATES}")
        return chain


def _bundle(path: Path, authority: str) -> list[x509.Certificate]:
    try:
        return read_bundle(authority.encode())
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _check_newer(folder: HolderFolder, path: Path, brought: Pass) -> None:
    """Refuse a pass that would take this holder back to an earlier one, or to another server than its certificate's.

    The newer of two passes is the one whose certificate begins later; of two issued at once, the one that ends later.
    """
    own = folder.path / "pass.json"
    if not (own.exists() and (folder.path / "authority.pem").exists()):
        return
    try:
        kept = read_pass(own)
    except InputError:
        # A damaged pass has to be replaceable.
        return
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


def _check_authority(own: Path, path: Path, brought: Pass) -> None:
    """Refuse a pass of another federation: its authority would decide whom this holder trusts.

    A new authority is accepted if the one that this holder knows has signed for it. A former one never is again.
    """
    if not own.exists():
        return
    new, old = _bundle(path, brought.authority)[0], _bundle(own, own.read_text(encoding="utf-8", errors="replace"))[0]
    seen, known = authority_fingerprint(brought.authority.encode()), authority_fingerprint(own.read_bytes())
    if seen != known and not vouched(new, _chain(path, brought)[1:], old):
        raise InputError(
            f"{path}: is by another federation's authority ({seen}) than this holder's ({known}). If the operator "
            f"really has a new one, compare its fingerprint by phone, move {own} away, and take the pass again."
        )
