"""Passes: what an admitted holder gets from the operator, and how the holder checks a pass before it accepts it.

A pass is for the keys that the holder uses, or for new ones (`fedwalk federate renew`), which come into use when the
pass is accepted. It can be issued by a new authority if the one that the holder knows has certified it.
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
from fedwalk.federation.membership.authority_succession import MAX_CERTIFICATES, is_issued_by, read_bundle, vouched
from fedwalk.federation.membership.certificates import as_private, common_name, reading
from fedwalk.federation.membership.folders import HolderFolder
from fedwalk.federation.membership.keys import authority_fingerprint, certificate_end
from fedwalk.federation.membership.validity import check_validity, date_text
from fedwalk.federation.names import check_address, check_name
from fedwalk.util.checked_json import parse_json, read_bounded, reason
from fedwalk.util.files import lock_folder, make_private_folder, write_private
from fedwalk.util.install_files import finish_install, install

KIND = "fedwalk pass 1"
MAX_BYTES = 64 << 10
"""Largest pass that is read: a few certificates and an address have a few kilobytes."""
NEW_PASS = "Ask the federation's operator for a new pass: `fedwalk federate admit` with this holder's request.json."
NEW_AUTHORITY = "Ask the federation's operator to renew it: `fedwalk federate renew FOLDER --authority`."


@dataclass(frozen=True, slots=True)
class Pass:
    """What an admitted holder gets from the operator; nothing in it is secret.

    During an overlap of two authorities, `authority` also contains the former one, and `certificate` is followed by the
    former authority's certificate for the present one: see `authority_succession`.
    """

    name: str
    server: str
    authority: str
    certificate: str


def write_pass(path: Path, made: Pass) -> None:
    """Write the pass, for the operator to send."""
    make_private_folder(path.parent)
    write_private(path, _as_json(made))


def _as_json(made: Pass) -> str:
    return json.dumps({"kind": KIND, **asdict(made)}, indent=1) + "\n"


def take_pass(folder: HolderFolder, path: Path, *, older: bool = False) -> Pass:
    """Check the pass that the operator sent, and install its certificates if it is this holder's and valid now.

    A pass that is older than the one this holder has is refused unless `older` is set.
    """
    new_pass = read_pass(path)
    name = folder.settings().name
    if new_pass.name != name:
        raise InputError(f"{path}: is the pass of {new_pass.name!r}, and this holder is {name!r}.")
    with lock_folder(folder.path):
        finish_install(folder.path)
        # All checks come before the first change, so a refused pass leaves the holder as it was.
        new_keys = _check_certificate(folder, path, new_pass)
        check_validity(new_pass.certificate.encode(), f"{path}: the certificate in it", NEW_PASS)
        check_validity(new_pass.authority.encode(), f"{path}: the authority's certificate in it", NEW_AUTHORITY)
        _check_authority(folder.authority, path, new_pass)
        if not older:
            _check_newer(folder, path, new_pass)
        # All files in one installation: a certificate without its key can't be used, nor a key without its certificate.
        texts = {
            folder.authority: new_pass.authority,
            folder.certificate: new_pass.certificate,
            folder.own_pass: _as_json(new_pass),
        }
        install(folder.path, {**{file.name: text.encode() for file, text in texts.items()}, **new_keys})
        if new_keys:
            # Only now: until the installation was complete, this folder had the only copy of the keys.
            shutil.rmtree(folder.next_keys, ignore_errors=True)
    return new_pass


def waiting_keys(folder: HolderFolder) -> dict[str, bytes]:
    """The new keys for which no pass has been accepted yet, by file name; empty if there are none."""
    try:
        keys = {key.name: (folder.next_keys / key.name).read_bytes() for key in folder.private_keys}
        # A crash just after new keys came into use may have left their folder behind.
        return keys if keys[folder.key.name] != folder.key.read_bytes() else {}
    except OSError:
        return {}


def read_pass(path: Path) -> Pass:
    """Read a pass from a file."""
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
    """Parse a pass and check each field; ValueError or InputError says what is wrong."""
    content: Any = parse_json(data)
    expected = {"kind", *(field.name for field in fields(Pass))}
    if not isinstance(content, dict) or content.keys() != expected:
        raise ValueError("its fields aren't those of a pass")
    if content.pop("kind") != KIND or not all(isinstance(value, str) for value in content.values()):
        raise InputError("isn't a pass that this fedwalk can read. Get a new one from the operator.")
    check_name(content["name"])
    check_address(content["server"])
    # Called only to refuse a certificate that can't be parsed.
    certificate_end(content["certificate"].encode())
    return Pass(**content)


def _check_certificate(folder: HolderFolder, path: Path, new_pass: Pass) -> dict[str, bytes]:
    """Refuse a certificate that isn't for this holder's key, or isn't issued by the authority in the pass.

    Returns the holder's new keys if the certificate is for them, and nothing if it is for the keys in use.
    """
    own, *vouching = _chain(path, new_pass)
    authority = _bundle(path, new_pass.authority)[0]
    if not is_issued_by(own, authority):
        raise InputError(
            f"{path}: its certificate isn't issued by its own authority. Get a new pass from the operator."
        )
    # The holder sends the whole chain in each TLS handshake, so nothing else may be in it.
    if any(one.public_key() != authority.public_key() for one in vouching):
        raise InputError(f"{path}: contains certificates of other parties. Get a new pass from the operator.")
    # Other parties recognise the holder by this name.
    if own.subject != common_name(new_pass.name):
        raise InputError(f"{path}: its certificate is for another name. Get a new pass from the operator.")
    in_use = folder.key
    if not in_use.is_file():
        raise InputError(f"{in_use}: does not exist. Restore it from a copy, or make it: `fedwalk federate enrol`.")
    # New keys first; the empty dictionary stands for the keys in use.
    for keys in (waiting_keys(folder), {}):
        key = keys.get(in_use.name) or in_use.read_bytes()
        with reading(f"{folder.path}: the holder's private key", "Restore holder.key from a copy."):
            if own.public_key() == as_private(load_pem_private_key(key, None)).public_key():
                return keys
    raise InputError(f"{path}: is for another key than this holder's. Send the operator this holder's request.json.")


def _chain(path: Path, one: Pass) -> list[x509.Certificate]:
    """The holder's certificate, then the former authority's certificate for the present one, if there is one."""
    with reading(f"{path}: the certificates in it", "Get a new pass from the federation's operator."):
        chain = x509.load_pem_x509_certificates(one.certificate.encode())
        if len(chain) > MAX_CERTIFICATES:
            raise ValueError(f"more than {MAX_CERTIFICATES}")
        return chain


def _bundle(path: Path, authority: str) -> list[x509.Certificate]:
    try:
        return read_bundle(authority.encode())
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _check_newer(folder: HolderFolder, path: Path, new_pass: Pass) -> None:
    """Refuse a pass that is older than the present one, or has the same certificate with another server.

    Otherwise an old copy could bring back a server or an authority that has been replaced. The newer of two passes is
    the one whose certificate begins later; of two that begin together, the one that ends later.
    """
    own = folder.own_pass
    # An owner who moves authority.pem away accepts another authority, and with it any pass.
    if not (own.exists() and folder.authority.exists()):
        return
    try:
        kept = read_pass(own)
    except InputError:
        # A damaged pass must be replaceable.
        return
    if _age(new_pass) < _age(kept):
        problem = "is older than the pass that this holder has"
    elif new_pass.certificate == kept.certificate and new_pass.server != kept.server:
        problem = "has the same certificate as the pass that this holder has, but another server"
    else:
        return
    raise InputError(
        f"{path}: {problem}. This one: {_summary(new_pass)}. The holder's: {_summary(kept)}. Ask the operator for the "
        "newest pass. To use this one anyway, add --older-pass."
    )


def _age(one: Pass) -> tuple[datetime, datetime]:
    """A key that sorts passes from oldest to newest."""
    certificate = x509.load_pem_x509_certificate(one.certificate.encode())
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


def _summary(one: Pass) -> str:
    begin, end = _age(one)
    return f"valid from {date_text(begin)} to {date_text(end)}, server {one.server}"


def _check_authority(own: Path, path: Path, new_pass: Pass) -> None:
    """Refuse a pass of another federation, whose authority would decide which parties this holder trusts.

    A new authority is accepted if the one that this holder knows has certified it. A former authority is never accepted
    again.
    """
    # The first pass, or the owner has moved authority.pem away to accept another authority.
    if not own.exists():
        return
    # `old` is only the present authority of this holder: its former ones can't certify new ones any more.
    new, old = _bundle(path, new_pass.authority)[0], _bundle(own, own.read_text(encoding="utf-8", errors="replace"))[0]
    seen, known = authority_fingerprint(new_pass.authority.encode()), authority_fingerprint(own.read_bytes())
    if seen != known and not vouched(new, _chain(path, new_pass)[1:], old):
        raise InputError(
            f"{path}: is issued by another authority ({seen}) than this holder's ({known}). If the operator really has "
            f"a new one, compare its fingerprint by phone, move {own} away, and use the pass again."
        )
