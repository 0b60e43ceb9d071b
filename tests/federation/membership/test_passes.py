"""A holder accepts only its own pass, issued by the authority that it knows."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fedwalk.errors import InputError
from fedwalk.federation.membership.admission import admit_holder, create_federation, enrol
from fedwalk.federation.membership.folders import (
    FederationFolder,
    HolderFolder,
)
from fedwalk.federation.membership.keys import authority_fingerprint
from fedwalk.federation.membership.passes import read_pass, take_pass
from fedwalk.federation.membership.requests import Request
from helpers.enrolment import SERVER, dated_pass, holder, settings


def test_a_pass_of_another_holder_is_refused(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    _, other = holder(tmp_path, "other", "eve ann\n")
    with pytest.raises(InputError, match="is the pass of 'other', and this holder is 'clinic'"):
        take_pass(clinic[0], admit_holder(ward, other, days=20))
    assert not (clinic[0].path / "holder.pem").exists()


def test_a_pass_for_another_key_is_refused(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    _, namesake = holder(tmp_path / "elsewhere", "clinic", "ann bob\n")
    with pytest.raises(InputError, match="is for another key than this holder's"):
        take_pass(clinic[0], admit_holder(ward, namesake, days=20))
    with pytest.raises(InputError, match=r"does not exist\. It comes with the operator's pass"):
        clinic[0].credentials()


def altered(path: Path, **fields: Any) -> Path:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **fields}), encoding="utf-8")
    return path


def test_a_pass_combined_from_two_is_refused(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    stranger = create_federation(tmp_path / "stranger", SERVER, days=30)
    authority = (stranger.path / "authority.pem").read_text(encoding="utf-8")
    mixed = altered(admit_holder(ward, clinic[1], days=20), authority=authority)
    with pytest.raises(InputError, match="its certificate isn't issued by its own authority"):
        take_pass(clinic[0], mixed)


def test_a_pass_of_another_federation_is_refused_unless_the_owner_moves_the_authority_away(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    folder, request = clinic
    first = take_pass(folder, admit_holder(ward, request, days=20))
    stranger = create_federation(tmp_path / "stranger", SERVER, days=30)
    foreign = admit_holder(stranger, request, days=20)
    with pytest.raises(InputError, match="issued by another authority") as refused:
        take_pass(folder, foreign)
    for federation in (ward, stranger):
        assert authority_fingerprint((federation.path / "authority.pem").read_bytes()) in str(refused.value)
    assert folder.credentials().authority == first.authority.encode()
    assert read_pass(folder.path / "pass.json") == first
    (folder.path / "authority.pem").rename(folder.path / "authority.old")
    assert take_pass(folder, foreign).authority.encode() == folder.credentials().authority


def test_a_pass_whose_certificate_has_another_name_is_refused(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    # The same key under another name: admitted as such, then renamed on its way.
    folder = HolderFolder(tmp_path / "second")
    folder.path.mkdir()
    for name in ("holder.key", "neighbours.adj"):
        (folder.path / name).write_bytes((clinic[0].path / name).read_bytes())
    renamed = altered(admit_holder(ward, enrol(folder.path, settings("second")), days=20), name="clinic")
    with pytest.raises(InputError, match="its certificate is for another name"):
        take_pass(clinic[0], renamed)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "3", "{}", '{"kind": 1}', '{"kind": "fedwalk pass 1"}', "\x00", "null",
        json.dumps({"kind": "fedwalk pass 1", "name": 1, "server": 2, "authority": 3, "certificate": 4}),
        json.dumps({"kind": "fedwalk pass 2", "name": "a", "server": "b:1", "authority": "", "certificate": ""}),
        json.dumps({"kind": "fedwalk pass 1", "name": "a", "server": "b:1", "authority": "", "certificate": ""}),
        json.dumps({"kind": "fedwalk pass 1", "name": "a", "server": "b", "authority": "", "certificate": ""}),
    ],
)  # fmt: skip
def test_text_that_is_no_pass_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "pass.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        read_pass(tmp_path / "pass.json")


def test_a_pass_without_an_authority_is_refused(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], tmp_path: Path
) -> None:
    empty = altered(admit_holder(ward, clinic[1], days=20), authority="")
    with pytest.raises(InputError, match="The authority's certificate can't be read"):
        take_pass(clinic[0], empty)
    with pytest.raises(InputError, match="there is no such file"):
        read_pass(tmp_path / "nowhere.json")


def ago(**span: float) -> datetime:
    return datetime.now(UTC) - timedelta(**span)


def test_an_expired_pass_is_refused_with_its_date_and_what_to_do(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    ended = dated_pass(ward, clinic[1], ago(days=5), days=2)
    with pytest.raises(InputError, match=r"expired on \d{4}-\d\d-\d\d \d\d:\d\d UTC, 3 days ago\. Ask .* a new pass"):
        take_pass(clinic[0], ended)
    assert not (clinic[0].path / "holder.pem").exists()


def test_a_pass_that_is_not_valid_yet_is_reported_as_a_wrong_clock(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    early = dated_pass(ward, clinic[1], ago(minutes=-35), days=2)
    with pytest.raises(InputError, match=r"this machine's clock is 40 minutes behind the operator's, or "):
        take_pass(clinic[0], early)


def test_an_older_pass_replaces_a_newer_one_only_if_asked_to(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    folder, request = clinic
    older = dated_pass(ward, request, ago(days=3), days=9, server="old.example.org:9092")
    newer = take_pass(folder, admit_holder(ward, request, days=20))
    with pytest.raises(InputError, match="is older than the pass that this holder has") as refused:
        take_pass(folder, older)
    said = str(refused.value)
    assert "server old.example.org:9092" in said
    assert f"server {SERVER.address}" in said
    assert said.count("valid from ") == 2
    assert "--older-pass" in said
    assert read_pass(folder.path / "pass.json") == newer
    assert take_pass(folder, older, older=True).server == "old.example.org:9092"
    assert take_pass(folder, ward.pass_file("clinic")) == newer


def test_of_two_passes_that_begin_together_the_one_that_ends_first_is_the_older(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    folder, request = clinic
    begin = ago(hours=1)
    take_pass(folder, dated_pass(ward, request, begin, days=9))
    with pytest.raises(InputError, match="is older than the pass"):
        take_pass(folder, dated_pass(ward, request, begin, days=8))
    take_pass(folder, dated_pass(ward, request, begin, days=10))


def test_a_damaged_pass_and_lost_certificate_are_replaced_by_taking_the_pass_again(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    folder, request = clinic
    path = admit_holder(ward, request, days=20)
    taken = take_pass(folder, path)
    (folder.path / "pass.json").write_text("{", encoding="utf-8")
    (folder.path / "holder.pem").unlink()
    take_pass(folder, path)
    assert read_pass(folder.path / "pass.json") == taken
    assert folder.credentials().certificate == taken.certificate.encode()


@pytest.mark.parametrize(("file", "complaint"), [
    ("authority.pem", r"authority\.pem: The authority's certificate can't be read"),
    ("holder.key", r"the holder's private key can't be read .* Restore holder\.key"),
])  # fmt: skip
def test_damaged_files_in_the_holders_folder_are_named(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request], file: str, complaint: str
) -> None:
    folder, request = clinic
    path = admit_holder(ward, request, days=20)
    take_pass(folder, path)
    (folder.path / file).write_bytes(b"\xff junk")
    with pytest.raises(InputError, match=complaint):
        take_pass(folder, path)
    (folder.path / "holder.key").unlink()
    with pytest.raises(InputError, match=r"holder\.key: does not exist"):
        take_pass(folder, path)


def test_a_newer_pass_may_end_earlier(ward: FederationFolder, clinic: tuple[HolderFolder, Request]) -> None:
    folder, request = clinic
    take_pass(folder, dated_pass(ward, request, ago(days=3), days=9))
    take_pass(folder, dated_pass(ward, request, ago(days=1), days=2))


def test_the_same_pass_is_accepted_twice_but_not_with_another_server(
    ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    folder, request = clinic
    path = admit_holder(ward, request, days=20)
    assert take_pass(folder, path) == take_pass(folder, path)
    with pytest.raises(InputError, match=r"has the same certificate as .* this holder has, but another server"):
        take_pass(folder, altered(path, server="mallory.example.org:9092"))
