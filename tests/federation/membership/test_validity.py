"""Expired certificates are refused by the commands before they start, and by server and holders over TLS."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fedwalk.errors import InputError
from fedwalk.federation.deploy.services import running_holder, running_server
from fedwalk.federation.flower_guards.listening import server_context
from fedwalk.federation.membership.admission import admit_holder, renew_server
from fedwalk.federation.membership.certificates import (
    Authority,
    authority_certificate,
    common_name,
    new_private,
    private_pem,
)
from fedwalk.federation.membership.folders import FederationFolder, HolderFolder
from fedwalk.federation.membership.keys import server_certificate
from fedwalk.federation.membership.member_lookup import client_context
from fedwalk.federation.membership.passes import take_pass
from fedwalk.federation.membership.requests import Request, holder_certificate
from fedwalk.federation.membership.validity import check_validity
from helpers.enrolment import authority_of, dated_pass
from helpers.handshakes import RefusedError, meet_in_contexts

HOST = "fed.example.org"


def ago(**span: float) -> datetime:
    return datetime.now(UTC) - timedelta(**span)


def put_server_certificate(ward: FederationFolder, begin: datetime, days: int) -> None:
    made = server_certificate(authority_of(ward), [HOST], days, begin)
    (ward.path / "server.pem").write_bytes(made.certificate)
    (ward.path / "server.key").write_bytes(made.key)


def meet(ward: FederationFolder, folder: HolderFolder) -> str | None:
    """Server and holder with the contexts that they use, over a socket."""
    files = [str(ward.path / name) for name in ("server.pem", "server.key", "authority.pem")]
    return meet_in_contexts(server_context(*files), client_context(folder), HOST)


@pytest.fixture
def admitted(ward: FederationFolder, clinic: tuple[HolderFolder, Request]) -> HolderFolder:
    take_pass(clinic[0], admit_holder(ward, clinic[1], days=20))
    return clinic[0]


def test_server_and_holder_connect_while_their_certificates_are_valid(
    ward: FederationFolder, admitted: HolderFolder
) -> None:
    assert meet(ward, admitted) == "clinic"


@pytest.mark.parametrize(("begin", "reason"), [(ago(days=9), "has expired"), (ago(days=-1), "not yet valid")])
def test_a_server_refuses_a_holder_whose_certificate_is_expired_or_not_valid_yet(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], admitted: HolderFolder, begin: datetime, reason: str
) -> None:
    (admitted.path / "holder.pem").write_bytes(holder_certificate(authority_of(ward), clinic[1], 5, begin))
    with pytest.raises(RefusedError, match=reason):
        meet(ward, admitted)


@pytest.mark.parametrize(("begin", "reason"), [(ago(days=9), "has expired"), (ago(days=-1), "not yet valid")])
def test_a_holder_refuses_a_server_whose_certificate_is_expired_or_not_valid_yet(
    ward: FederationFolder, admitted: HolderFolder, begin: datetime, reason: str
) -> None:
    put_server_certificate(ward, begin, days=5)
    with pytest.raises(RefusedError, match=f"client: .*{reason}"):
        meet(ward, admitted)
    renew_server(ward, days=5)
    assert meet(ward, admitted) == "clinic"


def test_a_holder_does_not_start_with_an_expired_certificate(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], admitted: HolderFolder
) -> None:
    (admitted.path / "holder.pem").write_bytes(holder_certificate(authority_of(ward), clinic[1], 1, ago(days=3)))
    complaint = r"holder\.pem: this holder's certificate expired on .*, 2 days ago\. Ask .* a new pass.* --pass FILE"
    with pytest.raises(InputError, match=complaint), running_holder(admitted):
        pass
    assert not admitted.state.exists()


def test_a_holder_whose_clock_is_slow_does_not_start(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], admitted: HolderFolder
) -> None:
    (admitted.path / "holder.pem").write_bytes(holder_certificate(authority_of(ward), clinic[1], 1, ago(hours=-3)))
    with pytest.raises(InputError, match="clock is 3 hours behind the operator's"), running_holder(admitted):
        pass


def test_a_server_does_not_start_with_an_expired_certificate(ward: FederationFolder) -> None:
    put_server_certificate(ward, ago(days=3), days=1)
    complaint = r"server\.pem: .* expired on .* Renew it: fedwalk federate renew .*ward$"
    with pytest.raises(InputError, match=complaint), running_server(ward):
        pass
    assert not ward.state.exists()


def test_a_server_does_not_start_with_an_expired_authority(ward: FederationFolder) -> None:
    (ward.path / "authority.pem").write_bytes(ended_authority().certificate)
    with (
        pytest.raises(InputError, match=r"authority\.pem: .* expired on .* renew .* --authority$"),
        running_server(ward),
    ):
        pass


def ended_authority() -> Authority:
    key = new_private()
    made = authority_certificate(common_name("ward (fedwalk authority)"), key, 1, ago(days=3))
    return Authority(made, private_pem(key))


def test_a_pass_of_an_expired_authority_is_refused(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    ended = ended_authority()
    (ward.path / "authority.pem").write_bytes(ended.certificate)
    (ward.path / "authority.key").write_bytes(ended.key)
    with pytest.raises(InputError, match="the certificate in it expired on"):
        take_pass(clinic[0], dated_pass(ward, clinic[1], ago(days=2.5), days=300))


def test_a_file_that_is_no_certificate_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"server\.pem can't be read .*Renew it\."):
        check_validity(b"junk", "server.pem", "Renew it.")
