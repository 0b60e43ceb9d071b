"""Fingerprints of authorities, and files of secrets."""

import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from fedwalk.errors import InputError
from fedwalk.federation.membership.keys import authority_fingerprint, new_authority, write_secret


def test_the_fingerprint_of_an_authority_is_that_of_its_certificate_as_other_tools_show_it() -> None:
    pem = new_authority("ward", days=30).certificate
    digits = x509.load_pem_x509_certificate(pem).fingerprint(hashes.SHA256()).hex()
    shown = authority_fingerprint(pem)
    assert shown.replace(" ", "") == digits[:32]
    assert [len(group) for group in shown.split(" ")] == [4] * 8
    assert authority_fingerprint(b"from the operator\n" + pem + b"\n") == shown
    assert authority_fingerprint(new_authority("ward", days=30).certificate) != shown
    with pytest.raises(InputError, match="The authority's certificate can't be read"):
        authority_fingerprint(b"junk")


def test_a_secret_is_readable_by_its_owner_only_and_not_overwritten_by_default(tmp_path: Path) -> None:
    path = tmp_path / "tls.key"
    write_secret(path, b"first")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(InputError, match="exists already"):
        write_secret(path, b"second")
    assert path.read_bytes() == b"first"
    path.chmod(0o644)
    write_secret(path, b"third", replace=True)
    assert path.read_bytes() == b"third"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_secret_is_not_written_through_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "tls.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="exists already"):
        write_secret(tmp_path / "tls.key", b"secret")
    assert not (tmp_path / "elsewhere").exists()


def test_a_secret_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/tls\.key: can't be written: No such file"):
        write_secret(tmp_path / "nowhere" / "tls.key", b"secret")


def test_a_secret_that_can_not_be_moved_into_place_leaves_no_file_behind(tmp_path: Path) -> None:
    (tmp_path / "tls.key").mkdir()
    with pytest.raises(InputError, match="can't be written"):
        write_secret(tmp_path / "tls.key", b"secret", replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["tls.key"]
