"""X.509 and key formats: how the federation's certificates are put together, and what keys are read as.

All keys are ECDSA on P-384, which TLS and Flower's SuperNodes accept. Certificates have every extension that strict
verifiers ask for (RFC 5280), among them OpenSSL's with X509_STRICT and BoringSSL, which is gRPC's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as formats
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fedwalk.errors import InputError, SettingsError

SLACK = timedelta(minutes=5)
"""Certificates begin this long ago, for machines whose clocks are slow."""

_LONGEST_VALIDITY = 36500


@dataclass(frozen=True, slots=True)
class Authority:
    """A federation's certificate authority, PEM: its key decides who is a holder."""

    certificate: bytes
    key: bytes = field(repr=False)


def authority_certificate(
    name: x509.Name, key: ec.EllipticCurvePrivateKey, days: int, begin: datetime | None = None
) -> bytes:
    """The authority's own certificate, PEM: it can sign holders and servers, but no other authority."""
    begin = begin or datetime.now(UTC) - SLACK
    return vouching_certificate(name, key.public_key(), key, begin, _end(begin, days))


def vouching_certificate(
    name: x509.Name,
    key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
    begin: datetime,
    end: datetime,
) -> bytes:
    """A certificate for the key of an authority, PEM, by an authority of the same name: itself, or another one."""
    extensions = [x509.BasicConstraints(ca=True, path_length=0), _key_usage(authority=True)]
    return _certificate(name, key, name, signer, begin, end, extensions)


def issue(
    authority: Authority,
    name: str,
    key: ec.EllipticCurvePublicKey,
    hosts: list[x509.GeneralName],
    uses: list[x509.ObjectIdentifier],
    days: int,
    begin: datetime | None = None,
) -> bytes:
    """A certificate by the authority, PEM; it ends with the authority's at the latest."""
    with reading("The authority's certificate or key", "Give the files that the federation was begun with."):
        issuer = x509.load_pem_x509_certificate(authority.certificate)
        signer = as_private(formats.load_pem_private_key(authority.key, None))
        if signer.public_key() != issuer.public_key():
            raise ValueError("they don't belong together")
    begin = begin or datetime.now(UTC) - SLACK
    end = min(_end(begin, days), issuer.not_valid_after_utc)
    if end <= begin:
        raise InputError(
            f"The federation's authority ended on {end:%Y-%m-%d}. Renew it: fedwalk federate renew FOLDER --authority"
        )
    extensions = [
        x509.BasicConstraints(ca=False, path_length=None),
        _key_usage(authority=False),
        x509.ExtendedKeyUsage(uses),
        x509.SubjectAlternativeName(hosts),
    ]
    return _certificate(common_name(name), key, issuer.subject, signer, begin, end, extensions)


def common_name(text: str) -> x509.Name:
    """A subject with nothing but this name."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def new_private() -> ec.EllipticCurvePrivateKey:
    """A fresh private key."""
    return ec.generate_private_key(ec.SECP384R1())


def as_private(key: object) -> ec.EllipticCurvePrivateKey:
    """The key, or ValueError if it isn't a private key on P-384."""
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP384R1):
        raise ValueError("not ECDSA on P-384")
    return key


def as_public(key: object) -> ec.EllipticCurvePublicKey:
    """The key, or ValueError if it isn't a public key on P-384."""
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP384R1):
        raise ValueError("not ECDSA on P-384")
    return key


def private_pem(key: ec.EllipticCurvePrivateKey, form: formats.PrivateFormat = formats.PrivateFormat.PKCS8) -> bytes:
    """The private key as a file has it, not encrypted: a SuperNode and gRPC start without anybody there."""
    return key.private_bytes(formats.Encoding.PEM, form, formats.NoEncryption())


def ssh_line(key: ec.EllipticCurvePublicKey) -> str:
    """The public key as OpenSSH writes it, without a comment."""
    return key.public_bytes(formats.Encoding.OpenSSH, formats.PublicFormat.OpenSSH).decode()


@contextmanager
def reading(what: str, advice: str) -> Iterator[None]:
    """Turn what the parsers raise, which is more than ValueError, into an InputError."""
    try:
        yield
    except (ValueError, TypeError, RuntimeError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise InputError(f"{what} can't be read ({error}). {advice}") from error


def _end(begin: datetime, days: int) -> datetime:
    if not 1 <= days <= _LONGEST_VALIDITY:
        raise SettingsError(f"A certificate can't be valid for {days} days. Choose 1 to {_LONGEST_VALIDITY}.")
    return begin + timedelta(days=days)


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePublicKey,
    issuer: x509.Name,
    signer: ec.EllipticCurvePrivateKey,
    begin: datetime,
    end: datetime,
    extensions: list[x509.ExtensionType],
) -> bytes:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(end)
    identifiers = (
        x509.SubjectKeyIdentifier.from_public_key(key),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
    )
    for extension in (*extensions, *identifiers):
        critical = isinstance(extension, x509.BasicConstraints | x509.KeyUsage)
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(signer, hashes.SHA384()).public_bytes(formats.Encoding.PEM)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    """Signing certificates for the authority, signing handshakes for everybody else, and nothing more."""
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
