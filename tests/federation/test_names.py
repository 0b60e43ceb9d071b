"""Names that people can tell apart, addresses that other machines can have."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import InputError, ProtocolError
from fedwalk.federation.holder.answers import vertex_names
from fedwalk.federation.names import check_address, check_devices, check_listen
from fedwalk.federation.wire.questions import RollQuestion

ORDINARY = [
    "ada", "Zoë", "Ærøskøbing", "İstanbul", "Việt Nam", "naïve café", "O'Neill", "a_b-c.d@e", "7", "-3", "#12", "100 %",
    "Ελένη", "Αθήνα 2", "Юлия", "Київ", "Հայաստան", "ᏣᎳᎩ", "שלום", "محمد", "علي", "नमस्ते", "ভাষা", "தமிழ்", "ภาษาไทย",
    "น้ำ", "ນ້ຳ", "한국어", "日本語", "カタカナ ひらがな 漢字 Latin", "臺北 Taipei", "ქართული", "አማርኛ", "ཨ", "ខ្មែរ", "🦊",
    "a→b",
]  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_name_of_any_script_is_accepted(name: str) -> None:
    check_devices([name])


@pytest.mark.parametrize(("name", "point"), [
    ("a\u200bb", "U+200B"), ("a\u200db", "U+200D"), ("\u202eadb", "U+202E"), ("a\u2066b", "U+2066"),
    ("a\ufeff", "U+FEFF"),
    ("a\u00adb", "U+00AD"), ("a\nb", "U+000A"), ("a\x1b[2J", "U+001B"), ("a\x85", "U+0085"), ("a\u00a0b", "U+00A0"),
    ("a\u3000b", "U+3000"), ("a\u2028b", "U+2028"), ("a\u2029b", "U+2029"), ("\ue000", "U+E000"),
    ("\U000f0000", "U+F0000"),
    ("\u0378", "U+0378"), ("\uffff", "U+FFFF"), ("\ud800", "U+D800"), ("a\ufe0f", "U+FE0F"), ("\u3164", "U+3164"),
    ("a\u034fb", "U+034F"), ("\u2800", "U+2800"), ("\U000e0041", "U+E0041"), (" a", "U+0020"), ("a ", "U+0020"),
    ("a  b", "U+0020"), (" ", "U+0020"),
])  # fmt: skip
def test_an_invisible_character_is_refused_by_its_code_point(name: str, point: str) -> None:
    with pytest.raises(InputError, match=point.replace("+", r"\+") + r"\b"):
        check_devices([name])


@pytest.mark.parametrize(("name", "plain"), [
    ("ａda", "ada"), ("zoe\u0308", "zoë"), ("ﬁt", "fit"), ("x²", "x2"), ("Ⅳ", "IV"), ("ｶﾅ", "カナ"), ("\u212b", "Å"),
    ("\u0e19\u0e49\u0e4d\u0e32", "น้ำ"), ("１２", "12"), ("①", "1"), ("𝐚", "a"),
])  # fmt: skip
def test_an_alternative_spelling_is_refused_with_the_accepted_one(name: str, plain: str) -> None:
    with pytest.raises(InputError, match=f"U\\+[0-9A-F]{{4,6}} has a simpler form. Write the name as '{plain}'"):
        check_devices([name])
    check_devices([plain])


@pytest.mark.parametrize(("name", "scripts"), [
    ("p\u0430ypal", "Cyrillic and Latin"), ("\u0391da", "Greek and Latin"), ("ad\u0561", "Armenian and Latin"),
    ("\u13aada", "Cherokee and Latin"), ("\u03b1\u0430", "Cyrillic and Greek"),
    ("ada \u0430\u0434\u0430", "Cyrillic and Latin"),
])  # fmt: skip
def test_scripts_that_look_alike_are_not_mixed(name: str, scripts: str) -> None:
    with pytest.raises(InputError, match=rf"mixes {scripts} letters \(U\+[0-9A-F]{{4}}\), which look alike"):
        check_devices([name])


@given(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8))
def test_two_accepted_names_look_different(one: str, other: str) -> None:
    for name in (one, other):
        try:
            check_devices([name])
        except InputError:
            return
    assert one == other or unicodedata.normalize("NFKC", one) != unicodedata.normalize("NFKC", other)


@given(st.lists(st.text(max_size=6), max_size=4))
def test_any_names_are_accepted_or_refused_with_an_input_error(names: list[str]) -> None:
    try:
        check_devices(names)
    except InputError:
        return
    assert len(set(names)) == len(names)


def test_a_server_that_names_a_vertex_invisibly_is_refused() -> None:
    names = np.frombuffer('["ada", "ad\u200ba"]'.encode(), np.uint8)
    with pytest.raises(ProtocolError, match=r"RollQuestion\.names: Device .*U\+200B"):
        vertex_names(RollQuestion("run", "ldp", names))


@pytest.mark.parametrize("address", [
    "holder.example.org:7443", "192.0.2.8:7443", "10.0.0.8:1", "100.64.0.1:1", "[2001:db8::7]:7443", "[fd12::1]:9",
    "127.0.0.1:9", "127.0.0.9:9", "localhost:9", "[::1]:9", "[::ffff:192.0.2.8]:9", "node-1:65535", "1a.example:1",
    "metadata.example.org:80", "4.example.org:1", "[::ffff:127.0.0.1]:9",
])  # fmt: skip
def test_an_address_that_a_machine_can_have_is_accepted(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize(("address", "what"), [
    ("169.254.169.254:80", "a cloud's metadata service"), ("100.100.100.200:80", "a cloud's metadata service"),
    ("[fd00:ec2::254]:80", "a cloud's metadata service"), ("[::ffff:169.254.169.254]:80", "a cloud's metadata service"),
    ("[2002:a9fe:a9fe::]:80", "a cloud's metadata service"),
    ("metadata.google.internal:80", "the name of a cloud's"), ("METADATA:80", "the name of a cloud's"),
    ("instance-data:80", "the name of a cloud's"),
    ("169.254.1.1:9", "a link-local address"), ("[fe80::1]:9", "a link-local address"),
    ("[::ffff:169.254.1.1]:9", "a link-local address"),
    ("224.0.0.1:9", "a multicast address"), ("[ff02::1]:9", "a multicast address"),
    ("240.0.0.1:9", "a reserved address"), ("255.255.255.255:9", "a reserved address"),
    ("0.1.2.3:9", "a reserved address"),
    ("[::7f00:1]:9", "a reserved address"), ("[64:ff9b::a9fe:a9fe]:9", "a reserved address"),
])  # fmt: skip
def test_an_address_that_leads_back_to_the_connecting_machine_is_refused(address: str, what: str) -> None:
    with pytest.raises(InputError, match=f"it is {what}.*connects there would reach a service of its own"):
        check_address(address)


@pytest.mark.parametrize("address", ["0.0.0.0:9", "[::]:9", "[::ffff:0.0.0.0]:9"])
def test_a_malformed_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="No machine can connect"):
        check_address(address)
    check_listen(address)


@pytest.mark.parametrize("host", [
    "0x7f.1", "127.1", "2130706433", "0177.0.0.1", "0x7f000001", "127.0.0.1.", "127.0.0.0x1", "a.0x", "1.2.3.4.5",
    "0x", "010.8.8.8", "256.1.1.1", "example.1",
])  # fmt: skip
def test_a_short_form_of_an_ip_address_is_neither_address_nor_name(host: str) -> None:
    for check in (check_address, check_listen):
        with pytest.raises(InputError, match="isn't host:port"):
            check(f"{host}:80")


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for check in (check_address, check_listen):
        try:
            check(text)
        except InputError:
            continue
