"""Replacing the authority: holders with passes by either one connect during the overlap, and not after it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from fedwalk.errors import InputError
from fedwalk.federation.deploy.status import federation_status
from fedwalk.federation.flower_guards.listening import server_context
from fedwalk.federation.membership.admission import admit_holder, create_federation, renew_authority, renew_server
from fedwalk.federation.membership.authority_succession import chain_end, former_end, read_bundle
from fedwalk.federation.membership.certificates import as_private, vouching_certificate
from fedwalk.federation.membership.folders import FederationFolder, HolderFolder
from fedwalk.federation.membership.keys import authority_fingerprint, certificate_end
from fedwalk.federation.membership.member_lookup import client_context
from fedwalk.federation.membership.passes import read_pass, take_pass
from fedwalk.federation.membership.requests import Request
from helpers.enrolment import SERVER, authority_of, holder
from helpers.handshakes import RefusedError, meet_by_grpc, meet_by_ssl, meet_in_contexts

Meet = Callable[..., str | None]
Member = tuple[HolderFolder, Request]
ENDED = datetime.now(UTC) - timedelta(days=40)
"""When an authority was renewed whose overlap of thirty days is over."""


@pytest.fixture(params=[meet_by_ssl, meet_by_grpc])
def meet(request: pytest.FixtureRequest) -> Meet:
    way: Meet = request.param
    return way


@pytest.fixture
def other(tmp_path: Path) -> Member:
    return holder(tmp_path, "other", "eve ann\n")


def admitted(ward: FederationFolder, *members: Member) -> None:
    for folder, request in members:
        take_pass(folder, admit_holder(ward, request, days=20))


def server_meets(ward: FederationFolder, folder: HolderFolder) -> str | None:
    files = [str(ward.path / name) for name in ("server.pem", "server.key", "authority.pem")]
    return meet_in_contexts(server_context(*files), client_context(folder), "fed.example.org")


def meets(meet: Meet, called: HolderFolder, caller: HolderFolder) -> str | None:
    name = called.settings().name
    return meet(called.credentials(), caller.credentials(), f"{name}.holder.fedwalk")


def test_holders_with_passes_by_either_authority_connect_during_the_overlap(
    ward: FederationFolder, clinic: Member, other: Member, meet: Meet
) -> None:
    admitted(ward, clinic, other)
    renew_authority(ward, days=30, overlap=30)
    admitted(ward, other)
    assert meets(meet, clinic[0], other[0]) == "other"
    assert meets(meet, other[0], clinic[0]) == "clinic"
    assert meets(meet, other[0], other[0]) == "other"


def test_the_server_accepts_holders_of_either_authority_before_and_after_its_restart(
    ward: FederationFolder, clinic: Member, other: Member, tmp_path: Path
) -> None:
    admitted(ward, clinic, other)
    running = FederationFolder(tmp_path / "running")
    running.path.mkdir()
    for name in ("server.pem", "server.key", "authority.pem"):
        (running.path / name).write_bytes((ward.path / name).read_bytes())
    renew_authority(ward, days=30, overlap=30)
    admitted(ward, other)
    for server in (running, ward):
        assert server_meets(server, clinic[0]) == "clinic"
        assert server_meets(server, other[0]) == "other"
    renew_server(ward, days=30)
    assert server_meets(ward, clinic[0]) == "clinic"


def test_after_the_overlap_the_old_authority_is_refused(
    ward: FederationFolder, clinic: Member, other: Member, meet: Meet
) -> None:
    admitted(ward, clinic)
    until = renew_authority(ward, days=30, overlap=30, now=ENDED)
    assert until is not None
    assert until < datetime.now(UTC)
    # What the other holder would have from a pass that it took during the overlap.
    chain, bundle = ward.vouching.read_bytes(), authority_of(ward).certificate
    admitted(ward, other)
    with (other[0].path / "holder.pem").open("ab") as file:
        file.write(chain)
    (other[0].path / "authority.pem").write_bytes(bundle)
    assert meets(meet, other[0], other[0]) == "other"
    assert server_meets(ward, other[0]) == "other"
    for called, caller in ((clinic, other), (other, clinic)):
        with pytest.raises(RefusedError):
            meets(meet, called[0], caller[0])
    with pytest.raises(RefusedError, match="has expired"):
        server_meets(ward, clinic[0])


def test_passes_after_the_overlap_have_only_the_new_authority(ward: FederationFolder, clinic: Member) -> None:
    renew_authority(ward, days=30, overlap=30, now=ENDED)
    made = read_pass(admit_holder(ward, clinic[1], days=20))
    assert made.authority.count("BEGIN CERTIFICATE") == made.certificate.count("BEGIN CERTIFICATE") == 1
    renew_authority(ward, days=30, overlap=30)
    made = read_pass(admit_holder(ward, clinic[1], days=20))
    assert made.authority.count("BEGIN CERTIFICATE") == made.certificate.count("BEGIN CERTIFICATE") == 2


def test_a_holder_accepts_a_pass_by_a_new_authority_that_the_old_one_has_certified(
    ward: FederationFolder, clinic: Member
) -> None:
    admitted(ward, clinic)
    before = authority_fingerprint(clinic[0].credentials().authority)
    renew_authority(ward, days=30, overlap=30)
    admitted(ward, clinic)
    after = authority_fingerprint(clinic[0].credentials().authority)
    assert after == authority_fingerprint(authority_of(ward).certificate) != before
    # A second pass by the same authority needs no certificate of the old one.
    admitted(ward, clinic)


def test_after_the_overlap_the_old_authority_certifies_nothing(ward: FederationFolder, clinic: Member) -> None:
    admitted(ward, clinic)
    renew_authority(ward, days=30, overlap=30, now=ENDED)
    path = admit_holder(ward, clinic[1], days=20)
    with pytest.raises(InputError, match="issued by another authority"):
        take_pass(clinic[0], path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["certificate"] += ward.vouching.read_text(encoding="utf-8")
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="issued by another authority"):
        take_pass(clinic[0], path)


def test_an_authority_that_was_replaced_without_overlap_is_refused_at_once(
    ward: FederationFolder, clinic: Member, other: Member
) -> None:
    admitted(ward, clinic)
    assert renew_authority(ward, days=30, overlap=0) is None
    with pytest.raises(RefusedError):
        server_meets(ward, clinic[0])
    path = admit_holder(ward, clinic[1], days=20)
    with pytest.raises(InputError, match="compare its fingerprint by phone"):
        take_pass(clinic[0], path)
    (clinic[0].path / "authority.pem").unlink()
    take_pass(clinic[0], path)
    assert server_meets(ward, clinic[0]) == "clinic"


def test_another_authority_of_the_same_name_is_refused(ward: FederationFolder, clinic: Member, tmp_path: Path) -> None:
    admitted(ward, clinic)
    stranger = create_federation(tmp_path / "stranger", SERVER, days=30)
    renew_authority(stranger, days=30, overlap=30)
    with pytest.raises(InputError, match="issued by another authority"):
        take_pass(clinic[0], admit_holder(stranger, clinic[1], days=20))


def test_a_pass_with_an_authority_that_the_first_has_not_signed_is_refused(
    ward: FederationFolder, clinic: Member, tmp_path: Path
) -> None:
    stranger = create_federation(tmp_path / "stranger", SERVER, days=30)
    path = admit_holder(ward, clinic[1], days=20)
    content = json.loads(path.read_text(encoding="utf-8"))
    smuggled = {**content, "authority": content["authority"] + authority_of(stranger).certificate.decode()}
    path.write_text(json.dumps(smuggled), encoding="utf-8")
    with pytest.raises(InputError, match="is followed by one that it hasn't signed"):
        take_pass(clinic[0], path)
    foreign = {**content, "certificate": content["certificate"] + authority_of(stranger).certificate.decode()}
    path.write_text(json.dumps(foreign), encoding="utf-8")
    with pytest.raises(InputError, match="contains certificates of other parties"):
        take_pass(clinic[0], path)


def test_a_holder_does_not_go_back_to_the_old_authority(ward: FederationFolder, clinic: Member, tmp_path: Path) -> None:
    admitted(ward, clinic)
    old = tmp_path / "old.json"
    old.write_bytes(ward.pass_file("clinic").read_bytes())
    renew_authority(ward, days=30, overlap=30)
    admitted(ward, clinic)
    with pytest.raises(InputError, match="issued by another authority"):
        take_pass(clinic[0], old, older=True)


def test_an_authority_is_renewed_during_an_overlap_only_without_a_new_overlap(
    ward: FederationFolder, clinic: Member
) -> None:
    admitted(ward, clinic)
    renew_authority(ward, days=30, overlap=30)
    before = authority_of(ward)
    with pytest.raises(InputError, match=r"is still trusted, until .* --overlap 0"):
        renew_authority(ward, days=30, overlap=5)
    assert authority_of(ward) == before
    renew_authority(ward, days=30, overlap=0)
    assert former_end(authority_of(ward).certificate) is None
    assert len(read_bundle(authority_of(ward).certificate)) == 1


@pytest.mark.parametrize("overlap", [-1, 366])
def test_an_overlap_out_of_range_is_refused(ward: FederationFolder, overlap: int) -> None:
    before = authority_of(ward)
    with pytest.raises(InputError, match="The overlap can't be"):
        renew_authority(ward, days=30, overlap=overlap)
    assert authority_of(ward) == before


def test_the_old_key_is_deleted_and_the_new_one_is_private(ward: FederationFolder) -> None:
    old = (ward.path / "authority.key").read_bytes()
    renew_authority(ward, days=30, overlap=30)
    assert (ward.path / "authority.key").stat().st_mode & 0o777 == 0o600
    assert all(path.read_bytes() != old for path in ward.path.rglob("*") if path.is_file())


def test_a_former_authority_expires_with_the_overlap_and_an_expired_one_gets_none(ward: FederationFolder) -> None:
    until = renew_authority(ward, days=30, overlap=30)
    assert until is not None
    assert abs(until - datetime.now(UTC) - timedelta(days=30)) < timedelta(minutes=1)
    authority = authority_of(ward)
    key = as_private(load_pem_private_key(authority.key, None))
    name = load_pem_x509_certificate(authority.certificate).subject
    ended = vouching_certificate(name, key.public_key(), key, ENDED, ENDED + timedelta(days=1))
    (ward.path / "authority.pem").write_bytes(ended)
    assert renew_authority(ward, days=30, overlap=30) is None


def test_a_connection_is_valid_until_the_issuer_of_its_certificate_expires(
    ward: FederationFolder, clinic: Member
) -> None:
    from cryptography.hazmat.primitives.serialization import Encoding

    admitted(ward, clinic)
    pem = clinic[0].credentials().certificate
    leaf = load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
    assert chain_end(leaf, b"") == chain_end(leaf, authority_of(ward).certificate) == certificate_end(pem)
    until = renew_authority(ward, days=30, overlap=3)
    assert chain_end(leaf, authority_of(ward).certificate) == until


def test_the_status_shows_when_the_old_authority_expires_and_which_passes_depend_on_it(
    ward: FederationFolder, clinic: Member, other: Member
) -> None:
    admitted(ward, clinic, other)
    status = federation_status(ward.path)
    assert status["authority"]["former_until"] is None
    assert [one["former_authority"] for one in status["holders"]] == [False, False]
    until = renew_authority(ward, days=30, overlap=12)
    admitted(ward, other)
    status = federation_status(ward.path)
    assert until is not None
    assert status["authority"]["former_until"] == until.isoformat()
    assert status["authority"]["fingerprint"] == authority_fingerprint(authority_of(ward).certificate)
    assert [one["former_authority"] for one in status["holders"]] == [True, False]
