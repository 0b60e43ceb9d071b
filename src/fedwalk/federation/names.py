"""Checks of holders' names, devices' names and addresses, where they enter the federation.

People compare names by eye, so a device's name has no invisible character and only one spelling. Other holders connect
to addresses, so an address must be one that another machine can have: otherwise a forged address could direct a holder
to services of its own machine or network.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from fedwalk.errors import InputError
from fedwalk.graph.names import MAX_NAME_LENGTH

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address

# A holder's name is also a label of the DNS name in its certificate, and part of the name of its pass's file.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
# RFC 1123 doesn't allow underscores, but names in container networks have them.
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_ENDS_IN_NUMBER = re.compile(r"(.*\.)?([0-9]+|0[xX][0-9a-fA-F]*)\.?")
"""Hosts that resolvers read as IPv4 addresses because of their end: 127.1, 0x7f.1, 2130706433."""
# Group 1 is an IPv6 address in brackets, group 2 any other host, group 3 the port.
_ADDRESS = re.compile(r"(?:\[([^\[\]]+)\]|([^:]+)):([0-9]{1,5})")

_PLAIN = re.compile(r"[!-~]+( [!-~]+)*")
"""Visible ASCII with single spaces. Most names match, and need no further check."""
# Control, format, surrogate, private and unassigned characters; separators of lines, paragraphs and words.
_INVISIBLE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Invisible letters and marks: fillers, variation selectors, the empty Braille pattern."""
_LOOK_ALIKE = {"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}
"""Scripts with many letters of the same shape; a name may use only one of them."""

# Cloud providers serve credentials of a machine to any process on it that connects to these addresses.
_METADATA_IPS = {ipaddress.ip_address(text) for text in ("169.254.169.254", "100.100.100.200", "fd00:ec2::254")}
_METADATA_HOSTS = {
    "metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.com", "metadata.azure.internal",
    "metadata.tencentyun.com", "metadata.packet.net", "instance-data", "instance-data.ec2.internal",
}  # fmt: skip
# `ipaddress` doesn't count this block as reserved, although no machine can be reached there (RFC 6890).
_THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")


def check_name(name: str) -> None:
    """Refuse a holder's name that can't be a label of a DNS name.

    Examples
    --------
    >>> check_name("clinic-7")
    >>> check_name("Clinic 7")
    Traceback (most recent call last):
    fedwalk.errors.InputError: The name 'Clinic 7' can't be used. Use a-z, 0-9 and inner hyphens, at most 40 characters.
    """
    if not is_name(name):
        raise InputError(
            f"The name {name[:60]!r} can't be used. Use a-z, 0-9 and inner hyphens, at most 40 characters."
        )


def is_name(name: str) -> bool:
    """Whether this is a valid holder's name."""
    return _NAME.fullmatch(name) is not None


def check_address(address: str) -> None:
    """Refuse an address that isn't host:port, or that no other machine can have.

    Addresses come with requests and with the server's questions, and holders connect to them. DNS names aren't resolved
    here, because what they resolve to can change at any time.

    Examples
    --------
    >>> check_address("holder.example.org:7443")
    >>> check_address("[2001:db8::7]:7443")
    >>> check_address("169.254.169.254:80")
    Traceback (most recent call last):
    fedwalk.errors.InputError: The address '169.254.169.254:80' can't be used: it is a cloud's metadata service. ...
    """
    host = _host_of(address)
    if host is None:
        raise InputError(f"The address {address[:80]!r} isn't host:port. Write it like holder.example.org:7443.")
    ip = as_ip(host)
    # 0.0.0.0 is right for `listen` and therefore an easy mistake here, so it has an error of its own.
    if ip is not None and _embedded(ip).is_unspecified:
        raise InputError(f"No machine can connect to {address}. Give the address under which others reach the holder.")
    what = _kind_of_host(host) if ip is None else _kind_of_ip(_embedded(ip))
    if what:
        raise InputError(
            f"The address {address[:80]!r} can't be used: it is {what}. A holder that connects there would reach "
            "a service of its own machine or network, not another member of the federation. Give the address "
            "under which other machines reach this one."
        )


def check_listen(listen: str) -> None:
    """Refuse a `listen` setting that isn't host:port, or [host]:port for IPv6. Any address is allowed.

    Examples
    --------
    >>> check_listen("0.0.0.0:7443")
    """
    if _host_of(listen) is None:
        raise InputError(f"listen = {listen[:80]!r}: isn't host:port. Write it like 0.0.0.0:7443.")


def listen_after_move(listen: str, before: str, after: str) -> str:
    """What to listen on after a change of the address.

    The port follows that of the address, unless the two differed before (a router maps one to the other).

    Examples
    --------
    >>> listen_after_move("0.0.0.0:9092", "fed.example.org:9092", "fed.example.org:9443")
    '0.0.0.0:9443'
    >>> listen_after_move("0.0.0.0:9092", "fed.example.org:443", "fed.example.org:444")
    '0.0.0.0:9092'
    >>> listen_after_move("", "", "clinic.example.org:7443")
    '0.0.0.0:7443'
    """
    if not listen:
        return all_interfaces(after)
    # The last colon separates the port; an IPv6 address contains others.
    host, _, port = listen.rpartition(":")
    return f"{host}:{after.rpartition(':')[2]}" if port == before.rpartition(":")[2] else listen


def all_interfaces(address: str) -> str:
    """What to listen on for an address by default: its port on all interfaces; empty without an address."""
    return f"0.0.0.0:{address.rpartition(':')[2]}" if address else ""


def check_devices(devices: Iterable[str]) -> None:
    """Refuse devices' names that are empty, too long, repeated, or easily confused by people."""
    seen: set[str] = set()
    for device in devices:
        if not 0 < len(device) <= MAX_NAME_LENGTH:
            raise InputError(f"Device {device[:40]!r}: give it 1 to {MAX_NAME_LENGTH} characters.")
        if not _PLAIN.fullmatch(device):
            _check_unicode(device)
        if device in seen:
            raise InputError(f"Device {device[:40]!r} is listed twice. List it once.")
        seen.add(device)


def is_host(text: str) -> bool:
    """Whether this is a DNS name (in ASCII) or an IP address. Short forms of IP addresses (127.1) aren't accepted."""
    if as_ip(text) is not None:
        return True
    return len(text) <= 253 and not _ENDS_IN_NUMBER.fullmatch(text) and _HOST.fullmatch(text) is not None


def as_ip(host: str) -> Ip | None:
    """The host as an IP address; None if it isn't one, or has a zone (`%eth0`), which means nothing elsewhere."""
    try:
        return None if "%" in host else ipaddress.ip_address(host)
    except ValueError:
        return None


def _host_of(address: str) -> str | None:
    """The host of host:port; None if the text has another form."""
    match = _ADDRESS.fullmatch(address)
    host = match and (match[1] or match[2])
    # Brackets are required for IPv6 addresses, and refused for others.
    if not match or not host or not is_host(host) or bool(match[1]) != (":" in host) or not 0 < int(match[3]) < 65536:
        return None
    return host


def _embedded(ip: Ip) -> Ip:
    """The IPv4 address that an IPv6 address embeds (::ffff:0:0/96, 2002::/16); all others unchanged."""
    # Otherwise 2002:a9fe:a9fe:: would get around the check of 169.254.169.254, which it embeds.
    inner = (ip.ipv4_mapped or ip.sixtofour) if isinstance(ip, ipaddress.IPv6Address) else None
    return inner or ip


def _kind_of_ip(ip: Ip) -> str | None:
    """Why no other machine can have this address; None if one can, and for loopback, which demos use."""
    # First, because 169.254.169.254 is link-local too, and this reason is more specific.
    if ip in _METADATA_IPS:
        return "a cloud's metadata service"
    if ip.is_loopback:
        return None
    # Private addresses such as 10.0.0.0/8 are allowed: a federation may lie within one network.
    kinds = {"link-local": ip.is_link_local, "multicast": ip.is_multicast, "reserved": ip.is_reserved}
    kinds["reserved"] |= ip in _THIS_NETWORK
    return next((f"a {kind} address" for kind, holds in kinds.items() if holds), None)


def _kind_of_host(host: str) -> str | None:
    return "the name of a cloud's metadata service" if host.lower() in _METADATA_HOSTS else None


def _check_unicode(device: str) -> None:
    """Refuse invisible characters, alternative spellings of a name, and a mix of look-alike scripts.

    Two names that are each in one script can still look alike; to find those, a table of all look-alikes is needed.
    """
    shown = f"Device {device[:40]!r}"
    for letter in device:
        if letter != " " and (unicodedata.category(letter) in _INVISIBLE_CATEGORIES or _INVISIBLE.match(letter)):
            raise InputError(f"{shown}: U+{ord(letter):04X} is invisible, or a space other than U+0020. Leave it out.")
    if device != device.strip(" ") or "  " in device:
        raise InputError(f"{shown}: spaces at an end, or two in a row, are invisible (U+0020). Leave them out.")
    if (normal := _normal(device)) != device:
        # NFKC can change the length: if one text begins with the other, no pair differs.
        letter = next((a for a, b in zip(device, normal, strict=False) if a != b), device[-1])
        raise InputError(f"{shown}: U+{ord(letter):04X} has a simpler form. Write the name as {normal[:40]!r}.")
    # Digits, punctuation and scripts that aren't in `_LOOK_ALIKE` can be combined with any script.
    scripts = sorted({script for letter in device if (script := _script(letter))})
    if len(scripts) > 1:
        odd = next(letter for letter in device if _script(letter) == scripts[1])
        raise InputError(
            f"{shown}: mixes {scripts[0].capitalize()} and {scripts[1].capitalize()} letters (U+{ord(odd):04X}), which "
            "look alike. Write it in one script."
        )


def _normal(text: str) -> str:
    """The only accepted spelling of a name: Unicode's NFKC, with two exceptions.

    NFC would keep full-width letters, ligatures and superscripts apart from their plain forms, as different names that
    look alike. NFKC leaves composed accents and ordinary text of all scripts unchanged, except that it decomposes the
    vowel "am" of Thai and of Lao, an ordinary letter there; both are composed again.
    """
    plain = unicodedata.normalize("NFKC", text)
    return plain.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")


@lru_cache(maxsize=4096)
def _script(letter: str) -> str | None:
    """The script of a letter if it is one of the look-alikes, else None. Unicode names start with the script."""
    word = unicodedata.name(letter, "").partition(" ")[0]
    return word if word in _LOOK_ALIKE else None
