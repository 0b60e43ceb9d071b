"""Creating a federation, enrolling, admitting and removing holders."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from fedwalk.errors import InputError, SettingsError
from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.admission import (
    admit_holder,
    check_reachable,
    create_federation,
    enrol,
    remove_holder,
    renew_server,
)
from fedwalk.federation.membership.folders import (
    FederationFolder,
    FederationSettings,
    HolderFolder,
    write_settings,
)
from fedwalk.federation.membership.keys import certificate_end
from fedwalk.federation.membership.members import write_members
from fedwalk.federation.membership.passes import read_pass, take_pass
from fedwalk.federation.membership.requests import Request, read_request
from fedwalk.federation.membership.roster import Roster
from fedwalk.federation.server.statistics import RunStatistics
from helpers.enrolment import SERVER, holder, settings


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_create_enrol_admit_and_accept_the_pass(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    folder, request = clinic
    taken = take_pass(folder, admit_holder(ward, request, days=20))
    assert (taken.name, taken.server) == ("clinic", SERVER.address)
    credentials = folder.credentials()
    certificate = x509.load_pem_x509_certificate(credentials.certificate)
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(credentials.authority))
    assert Roster.load(ward.roster).names == ("ann", "bob")
    assert read_pass(folder.path / "pass.json") == taken
    assert folder.settings() == settings("clinic")
    assert ward.settings() == SERVER


def test_secrets_are_for_their_owner_only(ward: FederationFolder, clinic: tuple[HolderFolder, Request]) -> None:
    folder, request = clinic
    pass_file = admit_holder(ward, request, days=20)
    for path in (ward.path / "authority.key", ward.path / "server.key"):
        assert mode(path) == 0o600
    for path in (folder.path / "holder.key", folder.path / "node.key"):
        assert mode(path) == 0o600
    assert mode(ward.path) == mode(folder.path) == 0o700
    for public in (folder.request, pass_file):
        assert "PRIVATE" not in public.read_text(encoding="utf-8")


def test_everything_in_both_folders_is_for_their_owners_only(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        operators = create_federation(tmp_path / "ward", SERVER, days=30)
        holders, request = holder(tmp_path, "clinic", "ann bob\n")
        take_pass(holders, admit_holder(operators, request, days=20))
        renew_server(operators, days=10)
        remove_holder(operators, "clinic")
        RunStatistics("run").save(operators.path / "federation.json")
        write_members(operators.members, Roster.load(operators.roster))
    finally:
        os.umask(umask)
    given = {holders.path / "neighbours.adj"}  # the owner's own file, as it was
    for folder in (operators.path, holders.path):
        for path in {folder, *folder.rglob("*")} - given:
            assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_a_federation_is_not_made_twice(ward: FederationFolder) -> None:
    key = (ward.path / "authority.key").read_bytes()
    with pytest.raises(InputError, match="is a federation already"):
        create_federation(ward.path, SERVER, days=30)
    assert (ward.path / "authority.key").read_bytes() == key


@pytest.mark.parametrize(
    "wrong", [FederationSettings("Ward 7", "a:1", "a:1"), FederationSettings("ward", "0.0.0.0:1", "a:1")]
)
def test_a_federation_with_an_unreachable_address_is_not_created(wrong: FederationSettings, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        create_federation(tmp_path / "new", wrong, days=30)
    assert not (tmp_path / "new").exists()


def test_enrolling_again_keeps_the_keys(clinic: tuple[HolderFolder, Request], tmp_path: Path) -> None:
    folder, before = clinic
    (folder.path / "neighbours.adj").write_text("ann bob\nbob ann\ncyd ann\n", encoding="utf-8")
    after = enrol(folder.path, settings("clinic", port=7444))
    assert after.devices == ("ann", "bob", "cyd")
    assert after.address == "clinic.example.org:7444"
    assert after.node_key == before.node_key
    assert read_request(folder.request.read_bytes()) == after


def test_a_holder_that_allows_paper_needs_an_address(clinic: tuple[HolderFolder, Request]) -> None:
    folder, _ = clinic
    alone = replace(settings("clinic"), address="", listen="")
    assert enrol(folder.path, alone).address == ""
    assert folder.settings() == alone
    edited = replace(alone, terms=Terms(("ldp", "paper")))
    with pytest.raises(InputError, match=r"allows `paper`.* but has no address"):
        enrol(folder.path, edited)
    assert folder.settings() == alone
    write_settings(folder.settings_file, edited)
    with pytest.raises(InputError, match="--address HOST:PORT"):
        check_reachable(folder.settings())


def test_enrolling_again_completes_an_interrupted_enrolment(clinic: tuple[HolderFolder, Request]) -> None:
    folder, before = clinic
    (folder.path / "node.key").unlink()
    after = enrol(folder.path, settings("clinic"))
    assert after.node_key != before.node_key
    assert mode(folder.path / "node.key") == 0o600


def test_a_holder_is_not_renamed_by_enrolling_again(clinic: tuple[HolderFolder, Request]) -> None:
    folder, before = clinic
    with pytest.raises(InputError, match="is the holder 'clinic', which can't be renamed"):
        enrol(folder.path, settings("ward"))
    assert folder.settings() == settings("clinic")
    assert read_request(folder.request.read_bytes()) == before


@pytest.mark.parametrize("listen", ["[::]:9092", "192.0.2.1:9092", "fed.example.org:9092"])
def test_a_server_may_listen_on_a_single_address(listen: str, tmp_path: Path) -> None:
    settings = replace(SERVER, listen=listen)
    assert create_federation(tmp_path / "new", settings, days=30).settings() == settings


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"listen": "0.0.0.0:99999"}, "listen = '0.0.0.0:99999': isn't host:port"), ({"listen": ""}, "listen = ''"),
        ({"max_answer": -1}, "max_answer: must be a number from 0"), ({"address": ""}, "address: is missing"),
    ],
)  # fmt: skip
def test_a_federation_that_could_not_be_read_back_is_not_created(
    change: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=problem):
        create_federation(tmp_path / "new", replace(SERVER, **change), days=30)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"listen": "7443"}, "listen = '7443': isn't host:port"), ({"address": ""}, "address: is missing"),
        ({"simulation_seed": -1}, "simulation_seed: must be a number from 0"),
    ],
)  # fmt: skip
def test_a_holder_that_could_not_be_read_back_is_not_enrolled(
    change: dict[str, Any], problem: str, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    folder, before = clinic
    wrong = replace(settings("clinic"), **change)
    with pytest.raises(InputError, match=problem):
        enrol(folder.path, wrong)
    assert folder.settings() == settings("clinic")
    assert read_request(folder.request.read_bytes()) == before


def test_a_renewed_server_has_another_key_by_the_same_authority(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    take_pass(clinic[0], admit_holder(ward, clinic[1], days=20))
    before = ward.credentials()
    assert renew_server(ward, days=60) == ward.settings() == SERVER
    after = ward.credentials()
    assert after.authority == before.authority
    assert after.key != before.key
    assert (certificate_end(after.certificate) - certificate_end(before.certificate)).days in (29, 30)
    assert mode(ward.path / "server.key") == 0o600
    assert read_pass(take_again(ward, clinic)).server == SERVER.address


def take_again(ward: FederationFolder, clinic: tuple[HolderFolder, Request]) -> Path:
    path = admit_holder(ward, clinic[1], days=20)
    take_pass(clinic[0], path)
    return path


def test_a_new_server_address_is_in_its_certificate_and_in_new_passes(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    moved = renew_server(ward, days=60, address="192.0.2.9:9443")
    assert moved == ward.settings() == replace(SERVER, address="192.0.2.9:9443", listen="0.0.0.0:9443")
    certificate = x509.load_pem_x509_certificate(ward.credentials().certificate)
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(ward.credentials().authority))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "192.0.2.9" in [str(ip) for ip in names.get_values_for_type(x509.IPAddress)]
    assert read_pass(take_again(ward, clinic)).server == "192.0.2.9:9443"


def test_an_invalid_new_address_changes_nothing(ward: FederationFolder) -> None:
    before = ward.credentials()
    for wrong in ("nowhere", "0.0.0.0:9092"):
        with pytest.raises(InputError):
            renew_server(ward, days=60, address=wrong)
    assert (ward.credentials(), ward.settings()) == (before, SERVER)


def test_admission_requires_the_authoritys_key(ward: FederationFolder, clinic: tuple[HolderFolder, Request]) -> None:
    (ward.path / "authority.key").unlink()
    with pytest.raises(InputError, match=r"authority\.key: can't be read .* This requires the authority's private key"):
        admit_holder(ward, clinic[1], days=20)


def test_holders_that_are_admitted_and_removed_at_once_are_all_in_the_roster(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    admit_holder(ward, clinic[1], days=20)
    requests = [holder(tmp_path, f"h{i}", f"device-{i} ann\n")[1] for i in range(8)]
    with ThreadPoolExecutor(9) as pool:
        removing = pool.submit(remove_holder, ward, "clinic")
        list(pool.map(lambda request: admit_holder(ward, request, days=20), requests))
        removing.result()
    roster = Roster.load(ward.roster)
    assert {one.name for one in roster.holders if not one.removed} == {f"h{i}" for i in range(8)}
    assert roster.holder("clinic").removed


@pytest.mark.parametrize("field", ["name", "address", "devices", "csr", "node_key", "signatures", "kind"])
def test_a_request_that_was_altered_in_transit_is_not_admitted(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path, field: str
) -> None:
    theirs = json.loads(holder(tmp_path, "other", "eve ann\n")[0].request.read_bytes())
    content = json.loads(clinic[0].request.read_bytes())
    altered = {**content, field: theirs[field] if field != "kind" else "fedwalk holder request 2"}
    with pytest.raises(InputError):
        admit_holder(ward, read_request(json.dumps(altered).encode()), days=20)
    assert Roster.load(ward.roster) == Roster()


def test_admitting_again_renews_the_certificate_and_nothing_else(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    folder, request = clinic
    first = take_pass(folder, admit_holder(ward, request, days=20))
    roster = Roster.load(ward.roster)
    second = take_pass(folder, admit_holder(ward, request, days=40))
    assert Roster.load(ward.roster) == roster
    ends = [certificate_end(one.certificate.encode()) for one in (first, second)]
    assert (ends[1] - ends[0]).days in (19, 20)
    assert folder.credentials().certificate == second.certificate.encode()
    assert first.authority == second.authority


def test_a_certificate_does_not_outlive_the_authority(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    with pytest.raises(SettingsError, match="can't be valid for 0 days"):
        admit_holder(ward, clinic[1], days=0)
    taken = read_pass(admit_holder(ward, clinic[1], days=36500))
    assert certificate_end(taken.certificate.encode()) == certificate_end(taken.authority.encode())


def test_a_request_with_another_holders_name_device_key_or_address_is_not_admitted(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    admit_holder(ward, clinic[1], days=20)
    roster, passes = Roster.load(ward.roster), ward.pass_file("clinic").read_bytes()
    _, name = holder(tmp_path / "rival", "clinic", "ann bob\nbob ann\n")
    with pytest.raises(InputError, match="The name 'clinic' is taken"):
        admit_holder(ward, name, days=20)
    _, device = holder(tmp_path, "rival", "bob ann\neve bob\n")
    with pytest.raises(InputError, match="Device 'bob' is already held by 'clinic'"):
        admit_holder(ward, device, days=20)
    folder, _ = holder(tmp_path, "double", "eve bob\n")
    for key in ("holder.key", "node.key"):
        (folder.path / key).write_bytes((clinic[0].path / key).read_bytes())
    with pytest.raises(InputError, match="The SuperNode key is that of holder 'clinic'"):
        admit_holder(ward, enrol(folder.path, settings("double")), days=20)
    assert Roster.load(ward.roster) == roster
    assert ward.pass_file("clinic").read_bytes() == passes
    assert not ward.pass_file("rival").exists()


def test_a_holder_that_is_removed_keeps_its_ids_and_may_come_back(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    admit_holder(ward, clinic[1], days=20)
    admit_holder(ward, holder(tmp_path, "other", "eve ann\n")[1], days=20)
    for _ in range(2):
        remove_holder(ward, "clinic")
    roster = Roster.load(ward.roster)
    assert [one.removed for one in roster.holders] == [True, False]
    assert roster.names == ("ann", "bob", "eve")
    with pytest.raises(InputError, match="No holder is called 'unknown'"):
        remove_holder(ward, "unknown")
    admit_holder(ward, clinic[1], days=20)
    again = Roster.load(ward.roster)
    assert again.holder("clinic").devices == (0, 1)
    assert not again.holder("clinic").removed
    assert again.digest() == roster.digest()
