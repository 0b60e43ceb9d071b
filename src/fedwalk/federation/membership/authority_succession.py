"""Replacing the certificate authority while holders still have passes issued by the old one.

During an overlap the two authorities certify each other (key rollover, RFC 5280). The old one signs a certificate for
the new one's key; parties with a new certificate present it too, so that holders who know only the old authority can
verify the chain. The new one signs a certificate for the old one's key; it follows the new authority in
`authority.pem`, so that certificates by the old one are still accepted. Both expire with the overlap, after which TLS
refuses the old authority without further action. The old private key is deleted.

All authorities of a federation have the same name. Certificates of an authority for one with the same name
(self-issued, in RFC 5280's words) don't count towards the length of a chain, which the authorities limit to zero
intermediate levels.
"""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from fedwalk.errors import InputError
from fedwalk.federation.membership.certificates import (
    SLACK,
    Authority,
    as_private,
    authority_certificate,
    new_private,
    private_pem,
    reading,
    vouching_certificate,
)

MAX_OVERLAP = 365
MAX_CERTIFICATES = 8
"""Most certificates in a file or a pass: two are needed, for an authority and the former one."""


def successor(old: Authority, days: int, overlap: int, now: datetime | None = None) -> tuple[Authority, bytes]:
    """Make an authority that replaces `old`; returns it and the old one's certificate for it (PEM, may be empty).

    The new authority's `certificate` is the bundle that all parties trust. With an overlap of 0 days, or if the old
    authority has expired, the two don't certify each other, and every holder has to compare the new fingerprint.
    """
    if not 0 <= overlap <= MAX_OVERLAP:
        raise InputError(f"The overlap can't be {overlap} days. Choose 0 to {MAX_OVERLAP}.")
    before = read_bundle(old.certificate)[0]
    key, now = new_private(), now or datetime.now(UTC)
    # The same subject as before makes the two certificates below self-issued.
    own = authority_certificate(before.subject, key, days, now - SLACK)
    with reading("The authority's key", "Restore authority.key from a copy."):
        old_key = as_private(load_pem_private_key(old.key, None))
    # The old authority can't certify anything beyond its own end.
    end = min(now + timedelta(days=overlap), before.not_valid_after_utc)
    if end <= now or overlap == 0:
        return Authority(own, private_pem(key)), b""
    begin = now - SLACK
    # `former` lets those who know the new authority accept old certificates, and `vouching` the reverse.
    former = vouching_certificate(before.subject, old_key.public_key(), key, begin, end)
    vouching = vouching_certificate(before.subject, key.public_key(), old_key, begin, end)
    return Authority(own + former, private_pem(key)), vouching


def read_bundle(pem: bytes) -> list[x509.Certificate]:
    """Parse a bundle: the authority that issues certificates, then former ones, which the first must have signed."""
    advice = "Get a new one from the federation's operator."
    with reading("The authority's certificate", advice):
        bundle = x509.load_pem_x509_certificates(pem)
        if len(bundle) > MAX_CERTIFICATES:
            raise ValueError(f"more than {MAX_CERTIFICATES} certificates")
    # The first one is self-signed and passes too. So the fingerprint of the first vouches for the whole bundle.
    if not all(is_issued_by(one, bundle[0]) for one in bundle):
        raise InputError(f"The authority's certificate is followed by one that it hasn't signed. {advice}")
    return bundle


def is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether the authority's key has signed the certificate."""
    try:
        # Checks the names and the signature, but not the dates.
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def not_ended(pem: bytes) -> bytes:
    """The certificates in `pem`, which may be empty, that haven't expired."""
    if not pem.strip():
        return b""
    now = datetime.now(UTC)
    kept = [one for one in x509.load_pem_x509_certificates(pem) if one.not_valid_after_utc > now]
    return b"".join(one.public_bytes(Encoding.PEM) for one in kept)


def vouched(new: x509.Certificate, chain: list[x509.Certificate], known: x509.Certificate) -> bool:
    """Whether `chain` has a certificate, valid now, by the known authority for the key of the new one (`new`)."""
    now = datetime.now(UTC)
    return any(
        # Key and name are compared, not bytes: the new authority's own certificate is another one, signed by itself.
        one.public_key() == new.public_key()
        and one.subject == new.subject
        and is_issued_by(one, known)
        and one.not_valid_before_utc <= now <= one.not_valid_after_utc
        for one in chain
    )


def chain_end(certificate: bytes, authority: bytes) -> datetime:
    """When a holder's certificate (DER) stops being accepted: at its own end, or at its issuer's if that is earlier."""
    leaf = x509.load_der_x509_certificate(certificate)
    known = x509.load_pem_x509_certificates(authority) if authority else []
    # Of an old certificate, the issuer is the former authority's certificate, which ends with the overlap.
    issuers = [one for one in known if is_issued_by(leaf, one)]
    return min(one.not_valid_after_utc for one in (leaf, *issuers))


def former_end(pem: bytes) -> datetime | None:
    """The time until which a former authority is or was trusted; None if there is no former authority."""
    return max((one.not_valid_after_utc for one in read_bundle(pem)[1:]), default=None)


def is_by_former(certificate: bytes, authority: bytes) -> bool:
    """Whether a certificate was issued by another authority than the present one."""
    return not is_issued_by(x509.load_pem_x509_certificate(certificate), read_bundle(authority)[0])
