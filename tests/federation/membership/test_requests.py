"""Admission requests: in the formats that Flower reads, and refused when anything in them was altered."""

import base64
import json
import re
import warnings
from argparse import Namespace
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fedwalk.errors import InputError
from fedwalk.federation.membership.keys import new_node_key, new_tls_key
from fedwalk.federation.membership.requests import Request, holder_request, read_request, request_fingerprint


@cache
def sent() -> bytes:
    return holder_request("clinic", "192.0.2.8:7443", ["7", "ada", "Zoë"], new_tls_key(), new_node_key())


def altered(**changes: object) -> bytes:
    return json.dumps({**json.loads(sent()), **changes}).encode()


def test_flower_reads_the_supernodes_keys(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that flwr brings along
        from flwr.cli.supernode.register import try_load_public_key
        from flwr.supercore.primitives.asymmetric import public_key_to_bytes
        from flwr.supernode.cli.flower_supernode import _try_setup_client_authentication
    private, public = tmp_path / "node", tmp_path / "node.pub"
    node_key = new_node_key()
    request = read_request(holder_request("clinic", "192.0.2.8:7443", ["ada"], new_tls_key(), node_key))
    private.write_bytes(node_key)
    public.write_text(request.node_key)
    pair = _try_setup_client_authentication(
        Namespace(auth_supernode_private_key=str(private), auth_supernode_public_key=None)
    )
    assert pair is not None
    assert try_load_public_key(public) == public_key_to_bytes(pair[1])


def test_a_request_contains_what_it_was_made_with_and_no_private_key() -> None:
    tls_key, node_key = new_tls_key(), new_node_key()
    data = holder_request("clinic", "[2001:db8::7]:7443", ["ada", "Zoë"], tls_key, node_key)
    request = read_request(data)
    assert (request.name, request.address, request.devices) == ("clinic", "[2001:db8::7]:7443", ("ada", "Zoë"))
    assert b"PRIVATE" not in data
    for secret in (tls_key, node_key):
        assert not any(line in data for line in secret.splitlines() if not line.startswith(b"-----"))


@given(data=st.data())
def test_a_request_with_any_character_changed_is_refused_or_the_same(data: st.DataObject) -> None:
    text = sent().decode()
    place = data.draw(st.integers(0, len(text) - 1))
    character = data.draw(st.characters(codec="utf-8") | st.sampled_from('",:[]{}\\ \n09AZaz+/='))
    try:
        request = read_request((text[:place] + character + text[place + 1 :]).encode())
    except InputError:
        return
    assert request == read_request(sent())


@given(st.sampled_from(["csr", "node_key"]), st.integers(0, 10_000), st.integers(0, 255))
@example("csr", 9, 4)  # an unknown version
@example("node_key", 39, 2)  # a compressed point
def test_a_key_with_any_byte_changed_is_refused(field: str, place: int, value: int) -> None:
    """Change the decoded bytes, so that the parsers of keys see the change, not only base64."""
    parts = re.fullmatch(r"(-.*?-\n|ecdsa\S* )(.*?)(\n-.*)?", json.loads(sent())[field], re.S)
    assert parts is not None
    before, coded, after = parts.groups("")
    raw = bytearray(base64.b64decode(coded))
    assume(raw[place % len(raw)] != value)
    raw[place % len(raw)] = value
    with pytest.raises(InputError):
        read_request(altered(**{field: before + base64.b64encode(raw).decode() + after}))


@given(st.binary() | st.text().map(str.encode))
def test_bytes_that_are_no_request_are_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="request"):
        read_request(data)


@pytest.mark.parametrize("missing", range(2, 1000, 37))
def test_a_request_that_was_cut_short_is_refused(missing: int) -> None:
    with pytest.raises(InputError, match="The request can't be read"):
        read_request(sent()[:-missing])


@given(
    st.sampled_from(sorted(json.loads(sent()))),
    st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text() | st.integers()) | st.just({}),
)
def test_a_field_of_any_other_content_is_refused(field: str, value: object) -> None:
    with pytest.raises(InputError):
        read_request(altered(**{field: value}))


def test_json_too_deep_to_read_is_refused() -> None:
    with pytest.raises(InputError, match="The request can't be read"):
        read_request(b"[" * 100_000)


@pytest.mark.parametrize("name", ["", "-a", "a-", "Clinic", "a.b", "a b", "a\n", "zoë", "a" * 41])
def test_a_name_that_is_no_dns_label_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="The name"):
        holder_request(name, "192.0.2.8:7443", ["ada"], new_tls_key(), new_node_key())
    with pytest.raises(InputError, match="The name"):
        read_request(altered(name=name))


ADDRESSES = ["host", "host:", ":7443", "host:0", "host:65536", "host:x", "host:７", "a b:1", "unix:///x:1",
             "300.1.1.1:1", "::1:7443", "[::1]", "[host]:1", "[1.2.3.4]:1", "[fe80::1%0]:1", "host:1\n", "a:1,b:2",
             "-a:1"]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_is_not_host_and_port_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="isn't host:port"):
        read_request(altered(address=address))


@pytest.mark.parametrize("address", ["0.0.0.0:7443", "[::]:7443"])
def test_an_address_that_can_only_be_listened_on_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="No machine can connect"):
        read_request(altered(address=address))


@pytest.mark.parametrize(
    ("devices", "complaint"),
    [
        ([], "no devices"),
        (["ada", "ada"], "twice"),
        ([""], "1 to 1000"),
        (["a" * 1001], "1 to 1000"),
        (["a\tb"], r"U\+0009"),
        (["a\x00"], r"U\+0000"),
        (["a\u2028b"], r"U\+2028"),
        (["\ud800"], r"U\+D800|not UTF-8"),
    ],
)
def test_devices_without_a_proper_name_are_refused(devices: list[str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        holder_request("clinic", "192.0.2.8:7443", devices, new_tls_key(), new_node_key())
    with pytest.raises(InputError, match=complaint):
        read_request(altered(devices=devices))


def test_a_request_with_parts_of_another_is_refused() -> None:
    """An attacker can take over neither the SuperNode key nor the TLS key of another holder's request."""
    other = json.loads(holder_request("clinic", "192.0.2.9:7443", ["ada"], new_tls_key(), new_node_key()))
    mine = json.loads(sent())
    for parts in ({"csr"}, {"node_key"}, {"signatures"}, {"csr", "node_key"}):
        with pytest.raises(InputError, match="isn't signed by the keys in it"):
            read_request(altered(**{part: other[part] for part in parts}))
    for mixed in (
        [other["signatures"][0], mine["signatures"][1]],
        mine["signatures"][::-1],
        mine["signatures"][:1],
        [],
    ):
        with pytest.raises(InputError, match="isn't signed by the keys in it"):
            read_request(altered(signatures=mixed))


def csr(key: ec.EllipticCurvePrivateKey, name: str) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def test_a_csr_for_another_name_or_curve_is_refused() -> None:
    with pytest.raises(InputError, match="for another name"):
        read_request(altered(csr=csr(ec.generate_private_key(ec.SECP384R1()), "ward")))
    with pytest.raises(InputError, match="P-384"):
        read_request(altered(csr=csr(ec.generate_private_key(ec.SECP256R1()), "clinic")))


def test_a_node_key_of_another_curve_or_with_a_comment_is_refused() -> None:
    small = ec.generate_private_key(ec.SECP256R1()).public_key()
    line = small.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    with pytest.raises(InputError, match="P-384"):
        read_request(altered(node_key=line))
    with pytest.raises(InputError, match="more than a key"):
        read_request(altered(node_key=json.loads(sent())["node_key"] + " me@home"))


def test_invalid_private_keys_are_refused() -> None:
    with pytest.raises(InputError, match="private keys can't be read"):
        holder_request("clinic", "192.0.2.8:7443", ["ada"], b"junk", new_node_key())
    with pytest.raises(InputError, match="private keys can't be read"):
        holder_request("clinic", "192.0.2.8:7443", ["ada"], new_tls_key(), new_tls_key())


def test_the_fingerprint_is_of_everything_in_the_request_however_it_is_laid_out() -> None:
    request = read_request(sent())
    again: Request = read_request(altered())
    assert request_fingerprint(again) == request_fingerprint(request)
    groups = request_fingerprint(request).split(" ")
    assert len(groups) == 8
    assert all(len(group) == 4 and int(group, 16) >= 0 for group in groups)
    other = read_request(holder_request("clinic", "192.0.2.8:7443", ["ada"], new_tls_key(), new_node_key()))
    changes: list[dict[str, Any]] = [
        {"address": "192.0.2.8:7444"},
        {"devices": ("7", "ada")},
        {"node_key": other.node_key},
        {"csr": other.csr},
    ]
    variants = [request, *(replace(request, **change) for change in changes)]
    assert len(set(map(request_fingerprint, variants))) == 5


def test_the_same_request_made_twice_has_the_same_fingerprint() -> None:
    keys = new_tls_key(), new_node_key()
    once, twice = (holder_request("clinic", "192.0.2.8:7443", ["ada"], *keys) for _ in range(2))
    assert once != twice
    assert request_fingerprint(read_request(once)) == request_fingerprint(read_request(twice))
