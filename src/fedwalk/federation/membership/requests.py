"""A holder's admission request: how the holder makes and signs it, and how the operator reads and checks it.

The request contains the public halves of the holder's keys. The operator compares its fingerprint with the holder,
admits it, and sends back a certificate in a pass (`passes`).
"""

import base64
import json
from dataclasses import asdict, dataclass, fields
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
from fedwalk.federation.membership.certificates import (
    Authority,
    as_private,
    as_public,
    common_name,
    issue,
    reading,
    ssh_line,
)
from fedwalk.federation.membership.keys import fingerprint_text, read_node_key
from fedwalk.federation.names import check_address, check_devices, check_name
from fedwalk.util.checked_json import parse_json, read_bounded, reason

KIND = "fedwalk holder request 1"
_SIGNING = ec.ECDSA(hashes.SHA384())


@dataclass(frozen=True, slots=True)
class Request:
    """The contents of an admission request. `read_request` also verifies its signatures.

    `address` is where other holders reach this one; empty for a holder that takes part in `ldp` only.
    `csr` is a PKCS#10 request (PEM) for its TLS key. `node_key` is its SuperNode's public key, as the one line of the
    file that `flwr supernode register` reads. `replaces` is the SuperNode key that the holder had before, which has
    then signed the request too; empty if the keys aren't new.
    """

    name: str
    address: str
    devices: tuple[str, ...]
    csr: str
    node_key: str
    replaces: str = ""

    def __post_init__(self) -> None:
        # In the constructor, so that a request from a file passes the same checks as one that is made here.
        check_name(self.name)
        if self.address:
            check_address(self.address)
        if not self.devices:
            raise InputError("The request lists no devices. A holder has at least one.")
        check_devices(self.devices)
        read_node_key(self.node_key)
        if self.replaces:
            read_node_key(self.replaces)
        # Called for its checks only.
        _csr_key(self)


def holder_request(
    name: str, address: str, devices: list[str], tls_key: bytes, node_key: bytes, former: bytes | None = None
) -> bytes:
    """Make an admission request: a text file for the operator, signed with both private keys.

    `former` is the private node key that these keys replace, if any. It signs too, which proves to the operator that
    the new keys belong to the same holder.

    The signatures prove that the file hasn't been altered since the owner of both keys made it. They don't prove who
    the owner is: in transit the file could be replaced by a request with an attacker's keys, or by an earlier request
    of the same holder. So holder and operator compare its fingerprint over another channel, such as the phone, before
    it is admitted. The devices' names are readable by everyone who handles the file.

    Examples
    --------
    >>> from fedwalk.federation.membership.keys import new_authority, new_node_key, new_tls_key
    >>> data = holder_request("clinic", "192.0.2.8:7443", ["ada", "bob"], new_tls_key(), new_node_key())
    >>> request = read_request(data)
    >>> request.devices
    ('ada', 'bob')
    >>> len(request_fingerprint(request).split())
    8
    >>> certificate = holder_certificate(new_authority("ward-7", days=365), request, days=90)
    """
    check_name(name)
    with reading("One of the holder's private keys", "Make new keys."):
        tls = as_private(formats.load_pem_private_key(tls_key, None))
        node = as_private(formats.load_ssh_private_key(node_key, None))
        before = as_private(formats.load_ssh_private_key(former, None)) if former else None
    # The CSR has nothing but name and key: the operator decides what the certificate says.
    csr = x509.CertificateSigningRequestBuilder().subject_name(common_name(name)).sign(tls, hashes.SHA384())
    csr_text = csr.public_bytes(formats.Encoding.PEM).decode()
    replaces = ssh_line(before.public_key()) if before else ""
    request = Request(name, address, tuple(devices), csr_text, ssh_line(node.public_key()), replaces)
    # In the order in which `_check_signatures` reads the signatures.
    keys = [key for key in (tls, node, before) if key is not None]
    signatures = [base64.b64encode(key.sign(_payload(request), _SIGNING)).decode() for key in keys]
    return (json.dumps({**_content(request), "signatures": signatures}, indent=1) + "\n").encode()


def load_request(path: Path) -> Request:
    """Read a request from a file. The size is limited before anything is parsed."""
    try:
        return read_request(read_bounded(path))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: can't be read ({reason(error)}). Give the request.json that the holder's `enrol` wrote."
        ) from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def read_request(data: bytes) -> Request:
    """Parse a request and check all of it, including the signatures; InputError says what is wrong and what to do."""
    with reading("The request", "Have the holder send the file again."):
        content = parse_json(data)
    expected = {"kind", "signatures", *(f.name for f in fields(Request))}
    # `replaces` may be missing.
    fits = isinstance(content, dict) and content.keys() | {"replaces"} == expected
    if not fits or content.pop("kind") != KIND:
        raise InputError("This isn't a holder's request, or another version made it. Make it with this fedwalk.")
    signatures = _texts("signatures", content.pop("signatures"))
    devices = _texts("devices", content.pop("devices"))
    # All fields that are left are plain texts.
    _texts(", ".join(content), list(content.values()))
    request = Request(devices=devices, **content)
    _check_signatures(request, signatures)
    return request


def request_fingerprint(request: Request) -> str:
    """Fingerprint of everything in the request.

    Only the key of the CSR is included. ECDSA signatures are randomised, so the CSR's own signature differs each time,
    and the same request made twice must have the same fingerprint.
    """
    form = formats.Encoding.DER, formats.PublicFormat.SubjectPublicKeyInfo
    key = _csr_key(request).public_bytes(*form).hex()
    return fingerprint_text(json.dumps({**_content(request), "csr": key}, sort_keys=True).encode())


def holder_certificate(authority: Authority, request: Request, days: int, begin: datetime | None = None) -> bytes:
    """Issue the holder's certificate, PEM, for its TLS key and its name. Everything else in the CSR is ignored."""
    # Peers verify this name and not the address, so a holder can move without a new certificate.
    names: list[x509.GeneralName] = [x509.DNSName(f"{request.name}.holder.fedwalk")]
    # A holder is a client of the server, and both server and client among the other holders.
    uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return issue(authority, request.name, _csr_key(request), names, uses, days, begin)


def _check_signatures(request: Request, signatures: tuple[str, ...]) -> None:
    """Refuse a request that isn't signed by all the keys in it: else it could claim the key of another holder."""
    keys = [_csr_key(request), read_node_key(request.node_key)]
    keys += [read_node_key(request.replaces)] if request.replaces else []
    try:
        # strict: a missing or additional signature is a ValueError.
        for key, signature in zip(keys, signatures, strict=True):
            key.verify(base64.b64decode(signature, validate=True), _payload(request), _SIGNING)
    except (InvalidSignature, ValueError) as error:
        raise InputError(
            "The request isn't signed by the keys in it: it was altered on its way. Have the holder send it again."
        ) from error


def _csr_key(request: Request) -> ec.EllipticCurvePublicKey:
    """The TLS key in the CSR, which must be signed with that key and carry the holder's name."""
    with reading("The CSR in the request", "Make the request again."):
        csr = x509.load_pem_x509_csr(request.csr.encode())
        if not csr.is_signature_valid or csr.subject != common_name(request.name):
            raise ValueError("it isn't signed by its own key, or is for another name")
        return as_public(csr.public_key())


def _payload(request: Request) -> bytes:
    """The bytes that are signed. They don't depend on the order or the layout of the file."""
    return json.dumps(_content(request), sort_keys=True).encode()


def _content(request: Request) -> dict[str, Any]:
    """The fields as they stand in the file, where `replaces` is left out if it is empty."""
    content = {"kind": KIND, **asdict(request)}
    return content if request.replaces else {name: content[name] for name in content if name != "replaces"}


def _texts(what: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(f"The request has something other than text in {what}. Make it with this fedwalk.")
    return tuple(value)
