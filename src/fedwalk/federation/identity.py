"""Who is who in a federation: its authority, its certificates, and a holder's request to be admitted.

A federation has one certificate authority, which its operator keeps. A holder makes its keys on its own machine and
sends a request with their public halves; the operator compares its fingerprint with the holder, admits it, and sends
a certificate back. No private key ever travels.
"""

import base64
import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as formats
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from fedwalk.errors import InputError
from fedwalk.federation.certificates import (
    Authority,
    as_private,
    as_public,
    authority_certificate,
    common_name,
    issue,
    new_private,
    private_pem,
    reading,
    ssh_line,
)
from fedwalk.federation.checked_json import parse_json, read_bounded, reason
from fedwalk.federation.naming import as_ip, check_address, check_devices, check_name, is_host
from fedwalk.federation.private_file import store
from fedwalk.federation.succession import read_bundle

__all__ = [
    "Authority",
    "Credentials",
    "Request",
    "admit",
    "authority_fingerprint",
    "certificate_end",
    "fingerprint",
    "holder_request",
    "load_request",
    "new_authority",
    "new_keys",
    "new_node_key",
    "read_node_key",
    "read_request",
    "server_certificate",
    "write_secret",
]

KIND = "fedwalk holder request 1"

_SIGNING = ec.ECDSA(hashes.SHA384())


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a party trusts and shows, PEM: the authority's certificate, its own, and its own private key."""

    authority: bytes
    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """What a holder asks to be admitted with; `read_request` has also checked who signed it.

    `address` is where other holders reach this one; empty for a holder of `ldp` alone, which no other holder calls.
    `csr` is a PKCS#10 request (PEM) for its TLS key, `node_key` its SuperNode's public key: as a file's only line, it
    is what `flwr supernode register` reads. `replaces` is the SuperNode key that the holder had before, which has then
    signed the request too; empty if the keys aren't new.
    """

    name: str
    address: str
    devices: tuple[str, ...]
    csr: str
    node_key: str
    replaces: str = ""

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.address:
            check_address(self.address)
        if not self.devices:
            raise InputError("The request lists no devices. A holder has at least one.")
        check_devices(self.devices)
        read_node_key(self.node_key)
        if self.replaces:
            read_node_key(self.replaces)
        _csr_key(self)


def new_authority(federation: str, days: int) -> Authority:
    """A certificate authority for a new federation.

    Examples
    --------
    >>> authority = new_authority("ward-7", days=365)
    >>> server = server_certificate(authority, ["fed.example.org", "192.0.2.7"], days=90)
    >>> certificate_end(server.certificate) < certificate_end(authority.certificate)
    True
    """
    check_name(federation)
    key = new_private()
    name = common_name(f"{federation} (fedwalk authority)")
    return Authority(authority_certificate(name, key, days), private_pem(key))


def server_certificate(authority: Authority, hosts: list[str], days: int, begin: datetime | None = None) -> Credentials:
    """Key and certificate for a server that is reached by these DNS names and IP addresses, and as localhost."""
    names: list[x509.GeneralName] = []
    for host in dict.fromkeys([*hosts, "localhost", "127.0.0.1"]):
        if not is_host(host):
            raise InputError(f"The host {host[:80]!r} is neither a DNS name nor an IP address. Leave out the port.")
        ip = as_ip(host)
        names.append(x509.DNSName(host) if ip is None else x509.IPAddress(ip))
    key = new_private()
    uses = [ExtendedKeyUsageOID.SERVER_AUTH]
    certificate = issue(authority, "fedwalk server", key.public_key(), names, uses, days, begin)
    return Credentials(authority.certificate, certificate, private_pem(key))


def new_keys() -> bytes:
    """A holder's private key for TLS, PEM."""
    return private_pem(new_private())


def new_node_key() -> bytes:
    """A SuperNode's private key, as `flower-supernode --auth-supernode-private-key` reads it from a file."""
    return private_pem(new_private(), formats.PrivateFormat.OpenSSH)


def holder_request(
    name: str, address: str, devices: list[str], tls_key: bytes, node_key: bytes, former: bytes | None = None
) -> bytes:
    """A holder's request to be admitted: a text file for the operator, signed with both private keys.

    `former` is the private node key that these keys replace, if any. It signs too, by which the operator knows that the
    new keys are the same holder's.

    The signatures show that nothing in it was altered since the owner of both keys made it. They do not show who that
    is: on its way it could be replaced by a request with a stranger's keys, or by an earlier one of the same
    holder. So holder and operator compare its `fingerprint` by other means, such as the phone, before it is admitted.
    Everyone who carries it can read the devices' names.

    Examples
    --------
    >>> data = holder_request("clinic", "192.0.2.8:7443", ["ada", "bob"], new_keys(), new_node_key())
    >>> request = read_request(data)
    >>> request.devices
    ('ada', 'bob')
    >>> len(fingerprint(request).split())
    8
    >>> certificate = admit(new_authority("ward-7", days=365), request, days=90)
    """
    check_name(name)
    with reading("One of the holder's private keys", "Make new keys."):
        tls = as_private(formats.load_pem_private_key(tls_key, None))
        node = as_private(formats.load_ssh_private_key(node_key, None))
        before = as_private(formats.load_ssh_private_key(former, None)) if former else None
    csr = x509.CertificateSigningRequestBuilder().subject_name(common_name(name)).sign(tls, hashes.SHA384())
    csr_text = csr.public_bytes(formats.Encoding.PEM).decode()
    replaces = ssh_line(before.public_key()) if before else ""
    request = Request(name, address, tuple(devices), csr_text, ssh_line(node.public_key()), replaces)
    keys = [key for key in (tls, node, before) if key is not None]
    signatures = [base64.b64encode(key.sign(_payload(request), _SIGNING)).decode() for key in keys]
    return (json.dumps({**_content(request), "signatures": signatures}, indent=1) + "\n").encode()


def load_request(path: Path) -> Request:
    """The request in this file, of which no more is read than a request can have."""
    try:
        return read_request(read_bounded(path))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: can't be read ({reason(error)}). Give the request.json that the holder's `enrol` wrote."
        ) from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def read_request(data: bytes) -> Request:
    """The request in these bytes, everything in it checked; InputError says what is wrong and what to do."""
    with reading("The request", "Have the holder send the file again."):
        content = parse_json(data)
    expected = {"kind", "signatures", *(f.name for f in fields(Request))}
    fits = isinstance(content, dict) and content.keys() | {"replaces"} == expected
    if not fits or content.pop("kind") != KIND:
        raise InputError("This isn't a holder's request, or it is another version's. Make it with this fedwalk.")
    signatures = _texts("signatures", content.pop("signatures"))
    devices = _texts("devices", content.pop("devices"))
    _texts(", ".join(content), list(content.values()))
    request = Request(devices=devices, **content)
    _check_signatures(request, signatures)
    return request


def fingerprint(request: Request) -> str:
    """Half of a SHA-256 over all that the request says, in groups that two people can read to each other.

    Of the CSR the key alone counts: its signature is another each time, and the same request made twice is the same.
    """
    form = formats.Encoding.DER, formats.PublicFormat.SubjectPublicKeyInfo
    key = _csr_key(request).public_bytes(*form).hex()
    return _groups(json.dumps({**_content(request), "csr": key}, sort_keys=True).encode())


def authority_fingerprint(pem: bytes) -> str:
    """The same of an authority's certificate: holders that compare it know that they are in the right federation.

    Where a former authority follows in `pem`, the new one has signed for it, so the new one's fingerprint is enough.

    Examples
    --------
    >>> authority = new_authority("ward-7", days=365)
    >>> len(authority_fingerprint(authority.certificate).split())
    8
    """
    return _groups(read_bundle(pem)[0].public_bytes(formats.Encoding.DER))


def admit(authority: Authority, request: Request, days: int, begin: datetime | None = None) -> bytes:
    """The holder's certificate, PEM: for its TLS key and its name, whatever else the CSR asks for."""
    names: list[x509.GeneralName] = [x509.DNSName(f"{request.name}.holder.fedwalk")]
    uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return issue(authority, request.name, _csr_key(request), names, uses, days, begin)


def certificate_end(pem: bytes) -> datetime:
    """When the certificate stops being valid, in UTC."""
    with reading("The certificate", "Get it anew from the federation's operator."):
        return x509.load_pem_x509_certificate(pem).not_valid_after_utc


def read_node_key(text: str) -> ec.EllipticCurvePublicKey:
    """The SuperNode's public key, from the one way to write it, so that two texts are equal if the keys are."""
    with reading("The SuperNode's public key", "Make the request again."):
        key = as_public(formats.load_ssh_public_key(text.encode()))
        if ssh_line(key) != text:
            raise ValueError("there is more than a key in it")
        return key


def write_secret(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a file that only its owner can ever read; an existing one is kept unless it is to be replaced."""
    try:
        store(path, data, replace=replace)
    except FileExistsError as error:
        raise InputError(f"{path}: exists already. Keep it, or move it away first.") from error
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror}. Fix the problem and try again.") from error


def _check_signatures(request: Request, signatures: tuple[str, ...]) -> None:
    """Refuse a request that wasn't signed by the very keys that it brings."""
    keys = [_csr_key(request), read_node_key(request.node_key)]
    keys += [read_node_key(request.replaces)] if request.replaces else []
    try:
        for key, signature in zip(keys, signatures, strict=True):
            key.verify(base64.b64decode(signature, validate=True), _payload(request), _SIGNING)
    except (InvalidSignature, ValueError) as error:
        raise InputError(
            "The request isn't signed by the keys in it: it was altered on its way. Have the holder send it again."
        ) from error


def _csr_key(request: Request) -> ec.EllipticCurvePublicKey:
    """The TLS key that the CSR is for."""
    with reading("The CSR in the request", "Make the request again."):
        csr = x509.load_pem_x509_csr(request.csr.encode())
        if not csr.is_signature_valid or csr.subject != common_name(request.name):
            raise ValueError("it is not signed by its own key, or for another name")
        return as_public(csr.public_key())


def _groups(data: bytes) -> str:
    digits = hashlib.sha256(data).hexdigest()
    return " ".join(digits[i : i + 4] for i in range(0, 32, 4))


def _payload(request: Request) -> bytes:
    """What is signed: the same bytes however the file is laid out."""
    return json.dumps(_content(request), sort_keys=True).encode()


def _content(request: Request) -> dict[str, Any]:
    """The request's fields, without those that a holder with its first keys doesn't have."""
    content = {"kind": KIND, **asdict(request)}
    return content if request.replaces else {name: content[name] for name in content if name != "replaces"}


def _texts(what: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(f"The request has something other than text in {what}. Make it with this fedwalk.")
    return tuple(value)
