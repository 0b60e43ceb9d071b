"""Certificates over real TLS connections: which ones are accepted, and which ones are refused."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from cryptography import x509

from fedwalk.errors import InputError, SettingsError
from fedwalk.federation.membership.certificates import Authority
from fedwalk.federation.membership.keys import (
    Credentials,
    certificate_end,
    new_authority,
    new_node_key,
    new_tls_key,
    server_certificate,
)
from fedwalk.federation.membership.requests import Request, holder_certificate, holder_request, read_request
from helpers.handshakes import RefusedError, Trusting, meet_by_grpc, meet_by_ssl

Meet = Callable[..., str | None]


@cache
def authority(which: str) -> Authority:
    """One of several with different keys, all of which claim to be that of the federation `ward-7`."""
    assert which in ("home", "foreign")
    return new_authority("ward-7", days=30)


HOME = authority("home")


def request_of(name: str, key: bytes) -> Request:
    return read_request(holder_request(name, "192.0.2.8:7443", ["ada", "bob"], key, new_node_key()))


@cache
def holder(name: str, by: str = "home", begin: datetime | None = None) -> Credentials:
    """A holder who trusts the authority `home`, with a certificate by the named one."""
    key = new_tls_key()
    return Credentials(HOME.certificate, holder_certificate(authority(by), request_of(name, key), 10, begin), key)


FOREIGN = "unable to get local issuer certificate"
OTHER_NAME = "(?i)hostname mismatch|hostname verification"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
LATER = datetime.now(UTC) + timedelta(days=5)


@pytest.fixture(params=[meet_by_ssl, meet_by_grpc])
def meet(request: pytest.FixtureRequest) -> Meet:
    way: Meet = request.param
    return way


def said_by_server(meet: Meet, reason: str) -> str | None:
    """What to look for in the error; a gRPC server closes the connection and keeps its reason to itself."""
    return reason if meet is meet_by_ssl else None


def test_admitted_holders_connect_and_see_each_others_names(meet: Meet) -> None:
    assert meet(holder("clinic"), holder("ward"), "clinic.holder.fedwalk") == "ward"


def test_a_caller_without_a_certificate_is_refused(meet: Meet) -> None:
    with pytest.raises(RefusedError, match=said_by_server(meet, "peer did not return a certificate")):
        meet(holder("clinic"), Trusting(HOME.certificate), "clinic.holder.fedwalk")


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [(("foreign",), FOREIGN), (("home", LONG_AGO), "has expired"), (("home", LATER), "not yet valid")],
)
def test_a_caller_with_an_invalid_certificate_is_refused(meet: Meet, certificate: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(RefusedError, match=said_by_server(meet, reason)):
        meet(holder("clinic"), holder("ward", *certificate), "clinic.holder.fedwalk")


@pytest.mark.parametrize(
    ("called", "reason"),
    [
        (("clinic", "foreign"), FOREIGN),
        (("clinic", "home", LONG_AGO), "has expired"),
        (("clinic", "home", LATER), "not yet valid"),
        (("mallory", "home"), OTHER_NAME),
    ],
)
def test_a_party_that_answers_in_a_holders_place_is_refused(meet: Meet, called: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        meet(holder(*called), holder("ward"), "clinic.holder.fedwalk")


def test_a_holder_can_not_sign_certificates_of_its_own(meet: Meet) -> None:
    """Not even by a chain up to the authority."""
    clinic = holder("clinic")
    key = new_tls_key()
    forged = (
        holder_certificate(Authority(clinic.certificate, clinic.key), request_of("ward", key), 5) + clinic.certificate
    )
    with pytest.raises(RefusedError, match=said_by_server(meet, "invalid CA certificate")):
        meet(clinic, Credentials(HOME.certificate, forged, key), "clinic.holder.fedwalk")


@pytest.mark.parametrize("host", ["fed.example.org", "192.0.2.7", "2001:db8::7", "localhost", "127.0.0.1"])
def test_the_server_is_accepted_under_each_of_its_names(meet: Meet, host: str) -> None:
    server = server_certificate(HOME, ["fed.example.org", "192.0.2.7", "2001:db8::7"], 10)
    meet(server, Trusting(HOME.certificate), host, mutual=False)
    with pytest.raises(RefusedError, match=OTHER_NAME):
        meet(server, Trusting(HOME.certificate), "other.example.org", mutual=False)


def test_the_servers_certificate_is_not_accepted_from_a_holder(meet: Meet) -> None:
    server = server_certificate(HOME, ["fed.example.org"], 10)
    with pytest.raises(RefusedError, match=said_by_server(meet, "certificate purpose")):
        meet(holder("clinic"), server, "clinic.holder.fedwalk")


@pytest.mark.parametrize("host", ["", "a b", "fed.example.org:9092", "*.example.org", "zoë.example.org", "1.2.3"])
def test_a_server_certificate_needs_valid_hosts(host: str) -> None:
    with pytest.raises(InputError, match="neither a DNS name nor an IP address"):
        server_certificate(HOME, [host], 10)


def test_a_certificate_begins_minutes_ago_and_ends_with_its_authority_at_the_latest() -> None:
    request = request_of("clinic", new_tls_key())
    certificate = x509.load_pem_x509_certificate(holder_certificate(HOME, request, 10))
    age = datetime.now(UTC) - certificate.not_valid_before_utc
    assert timedelta(minutes=5) <= age < timedelta(minutes=10)
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == timedelta(days=10)
    assert certificate_end(holder_certificate(HOME, request, 10_000)) == certificate_end(HOME.certificate)
    with pytest.raises(InputError, match="authority expired"):
        holder_certificate(HOME, request, 10, begin=datetime.now(UTC) + timedelta(days=31))


@pytest.mark.parametrize("days", [-1, 0, 10**9])
def test_a_validity_out_of_range_is_refused(days: int) -> None:
    with pytest.raises(SettingsError, match="days"):
        new_authority("ward-7", days)


def test_an_authority_whose_key_does_not_match_is_refused() -> None:
    with pytest.raises(InputError, match="don't belong together"):
        holder_certificate(
            Authority(HOME.certificate, authority("foreign").key), request_of("clinic", new_tls_key()), 10
        )


def test_bytes_that_are_no_certificate_are_refused() -> None:
    with pytest.raises(InputError, match="The certificate can't be read"):
        certificate_end(b"junk")


def test_private_keys_are_not_in_reprs() -> None:
    assert HOME.key.decode()[30:60] not in repr(HOME)
    assert holder("clinic").key.decode()[30:60] not in repr(holder("clinic"))
