"""Key pairs, certificates of the authority and the server, and fingerprints that people compare.

A federation has one certificate authority, whose key its operator keeps. Holders make their keys on their own machines
and send only the public halves (`requests`). No private key is ever sent.
"""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization as formats
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from fedwalk.errors import InputError
from fedwalk.federation.membership.authority_succession import read_bundle
from fedwalk.federation.membership.certificates import (
    Authority,
    as_public,
    authority_certificate,
    common_name,
    issue,
    new_private,
    private_pem,
    reading,
    ssh_line,
)
from fedwalk.federation.names import as_ip, check_name, is_host
from fedwalk.util.files import create_private, replace_file


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a party needs for TLS, PEM: the authority that it trusts, its own certificate and its own private key."""

    authority: bytes
    certificate: bytes
    key: bytes = field(repr=False)


def new_authority(federation: str, days: int) -> Authority:
    """Make the certificate authority of a new federation.

    Examples
    --------
    >>> authority = new_authority("ward-7", days=365)
    >>> server = server_certificate(authority, ["fed.example.org", "192.0.2.7"], days=90)
    >>> certificate_end(server.certificate) < certificate_end(authority.certificate)
    True
    """
    check_name(federation)
    key = new_private()
    # Later authorities of the federation keep this name: see `authority_succession`.
    name = common_name(f"{federation} (fedwalk authority)")
    return Authority(authority_certificate(name, key, days), private_pem(key))


def server_certificate(authority: Authority, hosts: list[str], days: int, begin: datetime | None = None) -> Credentials:
    """Make a key and a certificate for a server at these DNS names and IP addresses, and at localhost."""
    names: list[x509.GeneralName] = []
    # The server's own processes connect to it over the loopback interface, hence the two further names.
    for host in dict.fromkeys([*hosts, "localhost", "127.0.0.1"]):
        if not is_host(host):
            raise InputError(f"The host {host[:80]!r} is neither a DNS name nor an IP address. Leave out the port.")
        ip = as_ip(host)
        names.append(x509.DNSName(host) if ip is None else x509.IPAddress(ip))
    key = new_private()
    # Not CLIENT_AUTH: with this certificate the server can't connect to a holder as if it were another holder.
    uses = [ExtendedKeyUsageOID.SERVER_AUTH]
    certificate = issue(authority, "fedwalk server", key.public_key(), names, uses, days, begin)
    return Credentials(authority.certificate, certificate, private_pem(key))


def new_tls_key() -> bytes:
    """Make a holder's private key for TLS, PEM."""
    return private_pem(new_private())


def new_node_key() -> bytes:
    """Make a SuperNode's private key, in the form that `flower-supernode --auth-supernode-private-key` reads."""
    return private_pem(new_private(), formats.PrivateFormat.OpenSSH)


def read_node_key(text: str) -> ec.EllipticCurvePublicKey:
    """Parse a SuperNode's public key. Only its canonical text is accepted, so equal keys have equal texts."""
    with reading("The SuperNode's public key", "Make the request again."):
        key = as_public(formats.load_ssh_public_key(text.encode()))
        # The parser also accepts a comment after the key.
        if ssh_line(key) != text:
            raise ValueError("it contains more than a key")
        return key


def certificate_end(pem: bytes) -> datetime:
    """When the certificate expires, in UTC."""
    with reading("The certificate", "Get a new one from the federation's operator."):
        return x509.load_pem_x509_certificate(pem).not_valid_after_utc


def authority_fingerprint(pem: bytes) -> str:
    """Fingerprint of an authority's certificate; holders compare it with the operator's to recognise the federation.

    If `pem` also contains a former authority, the new one has signed it, so the fingerprint of the new one is enough.

    Examples
    --------
    >>> authority = new_authority("ward-7", days=365)
    >>> len(authority_fingerprint(authority.certificate).split())
    8
    """
    return fingerprint_text(read_bundle(pem)[0].public_bytes(formats.Encoding.DER))


def fingerprint_text(data: bytes) -> str:
    """The first 128 bits of the data's SHA-256, in eight groups of digits that a person can read out by phone."""
    # Half of the digits is enough: a forger has to match a given fingerprint, in about 2^128 attempts.
    digits = hashlib.sha256(data).hexdigest()
    return " ".join(digits[i : i + 4] for i in range(0, 32, 4))


def write_secret(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Write a file that only its owner can read. An existing file is refused unless `replace` is set."""
    try:
        # A key that is overwritten can't be recovered, so replacing it needs the explicit flag.
        if replace:
            replace_file(path, lambda file: file.write(data), private=True)
        else:
            create_private(path, data)
    except FileExistsError as error:
        raise InputError(f"{path}: exists already. Keep it, or move it away first.") from error
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror}. Fix the problem and try again.") from error
