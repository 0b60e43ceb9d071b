"""New keys of a holder: signed by the old key, used once the pass is accepted, and never half installed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key
from cryptography.x509 import load_pem_x509_certificate

from fedwalk.errors import InputError
from fedwalk.federation.deploy.status import holder_status
from fedwalk.federation.membership import admission
from fedwalk.federation.membership.admission import admit_holder, enrol, remove_holder, renew_keys
from fedwalk.federation.membership.certificates import as_private, ssh_line
from fedwalk.federation.membership.folders import FederationFolder, HolderFolder
from fedwalk.federation.membership.keys import new_node_key, new_tls_key
from fedwalk.federation.membership.passes import take_pass, waiting_keys
from fedwalk.federation.membership.requests import Request, holder_request, read_request, request_fingerprint
from fedwalk.federation.membership.roster import Roster
from fedwalk.util.install_files import finish_install
from helpers.enrolment import holder, settings

Member = tuple[HolderFolder, Request]


@pytest.fixture
def member(ward: FederationFolder, clinic: Member) -> HolderFolder:
    take_pass(clinic[0], admit_holder(ward, clinic[1], days=20))
    return clinic[0]


def node_key(folder: HolderFolder) -> str:
    """The public half of the node key in use."""
    return ssh_line(as_private(load_ssh_private_key((folder.path / "node.key").read_bytes(), None)).public_key())


def works(folder: HolderFolder) -> bool:
    """Whether the certificate in use is for the key in use."""
    own = folder.credentials()
    key = as_private(load_pem_private_key(own.key, None)).public_key()
    return load_pem_x509_certificate(own.certificate).public_key() == key


def test_new_keys_are_not_used_before_their_pass_is_accepted(
    ward: FederationFolder, clinic: Member, member: HolderFolder
) -> None:
    before = member.credentials(), node_key(member)
    request = renew_keys(member)
    assert request.replaces == before[1] == clinic[1].node_key
    assert request.node_key != before[1]
    assert (member.credentials(), node_key(member)) == before
    assert holder_status(member.path)["new_keys"] is True
    assert {path.stat().st_mode & 0o77 for path in (member.next_keys, *member.next_keys.iterdir())} == {0}
    take_pass(member, admit_holder(ward, request, days=20))
    assert Roster.load(ward.roster).holder("clinic").node_key == request.node_key == node_key(member)
    assert member.credentials().key != before[0].key
    assert works(member)
    assert not member.next_keys.exists()
    assert holder_status(member.path)["new_keys"] is False


def test_ids_and_devices_stay_when_keys_change(ward: FederationFolder, member: HolderFolder) -> None:
    before = Roster.load(ward.roster)
    admit_holder(ward, renew_keys(member), days=20)
    after = Roster.load(ward.roster)
    assert after.digest() == before.digest()
    assert after.names == before.names


def test_renewing_again_makes_the_same_request(ward: FederationFolder, member: HolderFolder) -> None:
    once = renew_keys(member)
    admit_holder(ward, once, days=20)
    again = renew_keys(member)
    assert request_fingerprint(again) == request_fingerprint(once)
    take_pass(member, admit_holder(ward, again, days=20))
    assert works(member)
    assert renew_keys(member).node_key != once.node_key


def test_enrolling_with_more_devices_keeps_the_new_keys_in_the_request(
    ward: FederationFolder, member: HolderFolder
) -> None:
    renewed = renew_keys(member)
    (member.path / "neighbours.adj").write_text("ann bob\nbob ann\ncyd ann\n", encoding="utf-8")
    request = enrol(member.path, settings("clinic"))
    assert (request.node_key, request.replaces) == (renewed.node_key, renewed.replaces)
    assert request.devices == ("ann", "bob", "cyd")
    take_pass(member, admit_holder(ward, request, days=20))
    assert enrol(member.path, settings("clinic")).replaces == ""


def test_a_pass_for_the_old_keys_is_still_accepted_before_that_for_the_new_ones(
    ward: FederationFolder, clinic: Member, member: HolderFolder
) -> None:
    renew_keys(member)
    take_pass(member, admit_holder(ward, clinic[1], days=20))
    assert works(member)
    assert waiting_keys(member)


def test_new_keys_without_the_old_keys_signature_need_the_operators_option(
    ward: FederationFolder, member: HolderFolder, tmp_path: Path
) -> None:
    _, stranger = holder(tmp_path / "elsewhere", "clinic", "ann bob\nbob ann\n")
    for name in ("clinic", None):
        if name is None:
            remove_holder(ward, "clinic")
        with pytest.raises(InputError, match=r"hasn't signed this request.* renew FOLDER.* --new-keys"):
            admit_holder(ward, stranger, days=20)
    admit_holder(ward, stranger, days=20, new_keys=True)
    assert Roster.load(ward.roster).holder("clinic").node_key == stranger.node_key


def test_an_earlier_request_can_not_restore_the_old_key(
    ward: FederationFolder, clinic: Member, member: HolderFolder
) -> None:
    admit_holder(ward, renew_keys(member), days=20)
    with pytest.raises(InputError, match="hasn't signed this request"):
        admit_holder(ward, clinic[1], days=20)


def test_keys_signed_by_another_than_the_key_that_they_replace_are_refused(member: HolderFolder) -> None:
    """A stranger names the holder's key, and can't sign with it."""
    known = node_key(member)
    forged = json.loads(
        holder_request("clinic", "192.0.2.8:7443", ["ann", "bob"], new_tls_key(), new_node_key(), new_node_key())
    )
    with pytest.raises(InputError, match="isn't signed by the keys in it"):
        read_request(json.dumps({**forged, "replaces": known}).encode())
    with pytest.raises(InputError, match="isn't signed by the keys in it"):
        read_request(json.dumps({**forged, "signatures": forged["signatures"][:2]}).encode())
    without = {name: value for name, value in forged.items() if name != "replaces"}
    with pytest.raises(InputError, match="isn't signed by the keys in it"):
        read_request(json.dumps(without).encode())


def test_the_replaced_key_is_part_of_the_fingerprint(member: HolderFolder) -> None:
    request = renew_keys(member)
    assert request_fingerprint(request) != request_fingerprint(replace(request, replaces=""))


def test_a_request_with_first_keys_has_no_field_for_replaced_keys(clinic: Member) -> None:
    """Requests of earlier versions stay readable, and keep their fingerprints."""
    assert "replaces" not in json.loads(clinic[0].request.read_bytes())


@pytest.mark.parametrize("missing", ["node.key", "holder.key"])
def test_a_lost_key_can_not_be_renewed_and_the_error_says_what_to_do(member: HolderFolder, missing: str) -> None:
    (member.path / missing).unlink()
    with pytest.raises(InputError, match=rf"{missing}: does not exist.* --new-keys"):
        renew_keys(member)


class CrashError(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", range(14))
def test_an_interrupted_pass_leaves_a_holder_that_works_with_old_or_new_keys(
    ward: FederationFolder, member: HolderFolder, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = node_key(member)
    request = renew_keys(member)
    path = admit_holder(ward, request, days=20)
    moves = [0]

    def counting(name: str) -> Any:
        move = getattr(Path, name)

        def moved(one: Path, target: Path) -> Any:
            if moves[0] == step:
                raise CrashError
            moves[0] += 1
            return move(one, target)

        return moved

    with monkeypatch.context() as patch:
        for name in ("replace", "rename"):
            patch.setattr(Path, name, counting(name))
        try:
            take_pass(member, path)
        except CrashError:
            assert step <= 10
    # What each command does first.
    finish_install(member.path)
    assert works(member)
    assert node_key(member) == (old if step <= 5 else request.node_key)
    take_pass(member, path)
    assert works(member)
    assert node_key(member) == request.node_key
    assert not waiting_keys(member)


def test_interrupted_making_of_new_keys_leaves_both_or_none(
    member: HolderFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:

        def crash(*_: Any) -> None:
            raise CrashError

        patch.setattr(Path, "rename", crash)
        with pytest.raises(CrashError):
            renew_keys(member)
    assert not waiting_keys(member)
    assert works(member)
    renew_keys(member)
    assert set(waiting_keys(member)) == {"holder.key", "node.key"}
    assert not (member.path / "next.partial").exists()


def test_new_keys_are_on_the_disk_before_their_request_is_written(
    member: HolderFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, synced = member.request.read_bytes(), list[Path]()

    def sync(folder: Path) -> None:
        assert waiting_keys(member)
        assert member.request.read_bytes() == before
        synced.append(folder)

    monkeypatch.setattr(admission, "sync_folder", sync)
    renew_keys(member)
    assert synced == [member.path]
    assert member.request.read_bytes() != before
