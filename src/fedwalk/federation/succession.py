"""How a new certificate authority follows an old one while holders still have passes by either.

For the overlap both vouch for each other (RFC 5280's key rollover): the old authority signs a certificate for the new
one's key, which everyone with a new certificate shows along with it, so that holders who know only the old authority
can follow the chain; and the new authority signs one for the old one's key, which stands behind the new one in
`authority.pem`, so that certificates by the old one are still accepted. Both of these end with the overlap, and TLS
refuses the old authority from then on by itself. The old private key is not kept.

All authorities of a federation have the same name: such certificates don't count as a level of the chain, of which the
authorities allow none.
"""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from fedwalk.errors import InputError
from fedwalk.federation.certificates import (
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
"""In a file or a pass: an authority, the one before it, and room to spare."""


def successor(old: Authority, days: int, overlap: int, now: datetime | None = None) -> tuple[Authority, bytes]:
    """A new authority after `old`, and the certificate by which the old one vouches for it (PEM; empty if it doesn't).

    The new authority's `certificate` is the bundle that everyone trusts. With an overlap of 0 days, or after an
    authority that has ended, the two don't vouch for each other: every holder has to compare the new fingerprint.
    """
    if not 0 <= overlap <= MAX_OVERLAP:
        raise InputError(f"The overlap can't be {overlap} days. Choose 0 to {MAX_OVERLAP}.")
    before = read_bundle(old.certificate)[0]
    key, now = new_private(), now or datetime.now(UTC)
    own = authority_certificate(before.subject, key, days, now - SLACK)
    with reading("The authority's key", "Restore authority.key from a copy."):
        old_key = as_private(load_pem_private_key(old.key, None))
    end = min(now + timedelta(days=overlap), before.not_valid_after_utc)
    if end <= now or overlap == 0:
        return Authority(own, private_pem(key)), b""
    begin = now - SLACK
    former = vouching_certificate(before.subject, old_key.public_key(), key, begin, end)
    vouching = vouching_certificate(before.subject, key.public_key(), old_key, begin, end)
    return Authority(own + former, private_pem(key)), vouching


def read_bundle(pem: bytes) -> list[x509.Certificate]:
    """The authority that issues certificates, then former ones; InputError unless the first has signed all of them."""
    advice = "Get it anew from the federation's operator."
    with reading("The authority's certificate", advice):
        bundle = x509.load_pem_x509_certificates(pem)
        if len(bundle) > MAX_CERTIFICATES:
            raise ValueError(f"more than {MAX_CERTIFICATES} certificates")
    if not all(is_issued_by(one, bundle[0]) for one in bundle):
        raise InputError(f"The authority's certificate comes with one that it hasn't signed. {advice}")
    return bundle


def is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether the authority's key has signed the certificate."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def not_ended(pem: bytes) -> bytes:
    """The certificates in `pem` that have not ended; nothing for nothing."""
    if not pem.strip():
        return b""
    now = datetime.now(UTC)
    kept = [one for one in x509.load_pem_x509_certificates(pem) if one.not_valid_after_utc > now]
    return b"".join(one.public_bytes(Encoding.PEM) for one in kept)


def vouched(brought: x509.Certificate, chain: list[x509.Certificate], known: x509.Certificate) -> bool:
    """Whether the known authority vouches, now, for the one that is brought along; `chain` may have its word for it."""
    now = datetime.now(UTC)
    return any(
        one.public_key() == brought.public_key()
        and one.subject == brought.subject
        and is_issued_by(one, known)
        and one.not_valid_before_utc <= now <= one.not_valid_after_utc
        for one in chain
    )


def chain_end(certificate: bytes, authority: bytes) -> datetime:
    """When a holder's certificate (DER) stops counting: at its own end, or at that of the authority that signed it."""
    leaf = x509.load_der_x509_certificate(certificate)
    known = x509.load_pem_x509_certificates(authority) if authority else []
    issuers = [one for one in known if is_issued_by(leaf, one)]
    return min(one.not_valid_after_utc for one in (leaf, *issuers))


def former_end(pem: bytes) -> datetime | None:
    """Until when a former authority is, or was, trusted; None if there is none."""
    return max((one.not_valid_after_utc for one in read_bundle(pem)[1:]), default=None)


def is_by_former(certificate: bytes, authority: bytes) -> bool:
    """Whether a certificate is by another than the authority that issues now."""
    return not is_issued_by(x509.load_pem_x509_certificate(certificate), read_bundle(authority)[0])
