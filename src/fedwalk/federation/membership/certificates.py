"""X.509 certificates and key formats.

All keys are ECDSA on P-384, which both TLS and Flower's SuperNodes accept. Certificates have all extensions that strict
verifiers require (RFC 5280), among them OpenSSL with X509_STRICT and BoringSSL, which gRPC uses.
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
"""Certificates are valid from this long before they are issued, for machines whose clocks are slow."""

_MAX_DAYS = 36500
"""Longest validity that a certificate can have."""


@dataclass(frozen=True, slots=True)
class Authority:
    """A federation's certificate authority, PEM. Certificates by its key make a party a holder."""

    certificate: bytes
    key: bytes = field(repr=False)


def authority_certificate(
    name: x509.Name, key: ec.EllipticCurvePrivateKey, days: int, begin: datetime | None = None
) -> bytes:
    """Make the authority's own certificate, PEM: it can certify holders and servers, but no other authority."""
    begin = begin or datetime.now(UTC) - SLACK
    return vouching_certificate(name, key.public_key(), key, begin, _end(begin, days))


def vouching_certificate(
    name: x509.Name,
    key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
    begin: datetime,
    end: datetime,
) -> bytes:
    """Make a certificate for an authority's key, PEM, signed by an authority of the same name: itself or another."""
    # path_length=0: no further authority may stand between this one and a holder.
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
    """Issue a certificate, PEM. It expires with the authority's certificate at the latest."""
    with reading("The authority's certificate or key", "Use the files that `fedwalk federate init` wrote."):
        # Reads the first certificate only; a former authority may follow it.
        issuer = x509.load_pem_x509_certificate(authority.certificate)
        signer = as_private(formats.load_pem_private_key(authority.key, None))
        # Checked here, because otherwise each handshake would fail later, without a reason.
        if signer.public_key() != issuer.public_key():
            raise ValueError("they don't belong together")
    begin = begin or datetime.now(UTC) - SLACK
    # Verifiers accept a chain only while all its certificates are valid.
    end = min(_end(begin, days), issuer.not_valid_after_utc)
    if end <= begin:
        raise InputError(
            f"The federation's authority expired on {end:%Y-%m-%d}. Renew it: fedwalk federate renew FOLDER --authority"
        )
    extensions = [
        x509.BasicConstraints(ca=False, path_length=None),
        _key_usage(authority=False),
        x509.ExtendedKeyUsage(uses),
        # TLS compares hosts with these names only, and ignores the common name.
        x509.SubjectAlternativeName(hosts),
    ]
    return _certificate(common_name(name), key, issuer.subject, signer, begin, end, extensions)


def common_name(text: str) -> x509.Name:
    """A certificate's subject that consists of this name only."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def new_private() -> ec.EllipticCurvePrivateKey:
    """Make a private key."""
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
    """The private key as PEM. It isn't encrypted: SuperNodes and gRPC start unattended and can't ask for a password."""
    return key.private_bytes(formats.Encoding.PEM, form, formats.NoEncryption())


def ssh_line(key: ec.EllipticCurvePublicKey) -> str:
    """The public key as a line in OpenSSH's format, without a comment."""
    return key.public_bytes(formats.Encoding.OpenSSH, formats.PublicFormat.OpenSSH).decode()


@contextmanager
def reading(what: str, advice: str) -> Iterator[None]:
    """Turn the errors of `cryptography`'s parsers, which raise more than ValueError, into an InputError."""
    try:
        yield
    except (ValueError, TypeError, RuntimeError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise InputError(f"{what} can't be read ({error}). {advice}") from error


def _end(begin: datetime, days: int) -> datetime:
    if not 1 <= days <= _MAX_DAYS:
        raise SettingsError(f"A certificate can't be valid for {days} days. Choose 1 to {_MAX_DAYS}.")
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
    # All authorities of a federation have the same name; by these, verifiers find the right key among them.
    identifiers = (
        x509.SubjectKeyIdentifier.from_public_key(key),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
    )
    for extension in (*extensions, *identifiers):
        # RFC 5280: basic constraints of an authority must be critical, and key usage should be.
        critical = isinstance(extension, x509.BasicConstraints | x509.KeyUsage)
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(signer, hashes.SHA384()).public_bytes(formats.Encoding.PEM)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    """Allow an authority to sign certificates and other parties to sign TLS handshakes, and nothing else."""
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
