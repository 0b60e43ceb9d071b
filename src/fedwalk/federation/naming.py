"""What holders, their addresses and their devices may be called: checked where a name enters the federation.

Names are read by people, who compare them, and addresses are connected to by other holders. So a device's name has no
character that can't be seen and no second way to write it, and an address is one that another machine can have.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from fedwalk.errors import InputError
from fedwalk.graph.names import LONGEST

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_ENDS_IN_NUMBER = re.compile(r"(.*\.)?([0-9]+|0[xX][0-9a-fA-F]*)\.?")
"""Hosts that resolvers read as IPv4 addresses, whatever the rest is: 127.1, 0x7f.1, 2130706433."""
_ADDRESS = re.compile(r"(?:\[([^\[\]]+)\]|([^:]+)):([0-9]{1,5})")

_PLAIN = re.compile(r"[!-~]+( [!-~]+)*")
"""Names of visible ASCII, which are most: nothing else about them can go wrong."""
_UNSEEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that show nothing: fillers, variation selectors, the empty Braille pattern."""
_LOOK_ALIKE = {"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}
"""Scripts that share the shapes of many letters: at most one of them in a name."""

_METADATA_IPS = {ipaddress.ip_address(text) for text in ("169.254.169.254", "100.100.100.200", "fd00:ec2::254")}
_METADATA_HOSTS = {
    "metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.com", "metadata.azure.internal",
    "metadata.tencentyun.com", "metadata.packet.net", "instance-data", "instance-data.ec2.internal",
}  # fmt: skip
_THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")


def check_name(name: str) -> None:
    """Refuse a name that can't be part of a host name.

    Examples
    --------
    >>> check_name("clinic-7")
    >>> check_name("Clinic 7")
    Traceback (most recent call last):
    fedwalk.errors.InputError: The name 'Clinic 7' can't be used. Take a-z, 0-9 and hyphens (not outermost), at most 40.
    """
    if not is_name(name):
        raise InputError(
            f"The name {name[:60]!r} can't be used. Take a-z, 0-9 and hyphens (not outermost), at most 40."
        )


def is_name(name: str) -> bool:
    """Whether this can be a holder's name."""
    return _NAME.fullmatch(name) is not None


def check_address(address: str) -> None:
    """Refuse what isn't host:port, or isn't where another machine could be reached.

    Addresses come with requests and with the server's questions, and holders connect to them. What a DNS name resolves
    to isn't looked at here: that can change at any time.

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
    if ip is not None and _carried(ip).is_unspecified:
        raise InputError(f"No machine can connect to {address}. Give the address under which others reach the holder.")
    what = _kind_of_host(host) if ip is None else _kind_of_ip(_carried(ip))
    if what:
        raise InputError(
            f"The address {address[:80]!r} can't be used: it is {what}. A holder that is told to connect there would "
            "reach something of its own machine or network, and no other member of the federation. Give the address "
            "under which other machines reach this one."
        )


def check_listen(listen: str) -> None:
    """Refuse what isn't host:port, or [host]:port for IPv6; any address may be bound.

    Examples
    --------
    >>> check_listen("0.0.0.0:7443")
    """
    if _host_of(listen) is None:
        raise InputError(f"listen = {listen[:80]!r}: isn't host:port. Write it like 0.0.0.0:7443.")


def check_devices(devices: Iterable[str]) -> None:
    """Refuse names of devices that are empty, too long, there twice, or that people can't tell apart."""
    seen: set[str] = set()
    for device in devices:
        if not 0 < len(device) <= LONGEST:
            raise InputError(f"Device {device[:40]!r}: give it 1 to {LONGEST} characters.")
        if not _PLAIN.fullmatch(device):
            _check_unicode(device)
        if device in seen:
            raise InputError(f"Device {device[:40]!r} is listed twice. List it once.")
        seen.add(device)


def is_host(text: str) -> bool:
    """Whether this is a DNS name (in ASCII) or an IP address; a short form of an IP address is neither."""
    if as_ip(text) is not None:
        return True
    return len(text) <= 253 and not _ENDS_IN_NUMBER.fullmatch(text) and _HOST.fullmatch(text) is not None


def as_ip(host: str) -> Ip | None:
    """The host as an IP address, if it is one."""
    try:
        return None if "%" in host else ipaddress.ip_address(host)
    except ValueError:
        return None


def _host_of(address: str) -> str | None:
    """The host of host:port, or None if it isn't that."""
    match = _ADDRESS.fullmatch(address)
    host = match and (match[1] or match[2])
    if not match or not host or not is_host(host) or bool(match[1]) != (":" in host) or not 0 < int(match[3]) < 65536:
        return None
    return host


def _carried(ip: Ip) -> Ip:
    """The IPv4 address in an IPv6 one that stands for it (::ffff:0:0/96, 2002::/16); any other as it is."""
    inner = (ip.ipv4_mapped or ip.sixtofour) if isinstance(ip, ipaddress.IPv6Address) else None
    return inner or ip


def _kind_of_ip(ip: Ip) -> str | None:
    """Why no other machine has this address; None if one can, and for loopback, which a demo uses."""
    if ip in _METADATA_IPS:
        return "a cloud's metadata service"
    if ip.is_loopback:
        return None
    kinds = {"link-local": ip.is_link_local, "multicast": ip.is_multicast, "reserved": ip.is_reserved}
    kinds["reserved"] |= ip in _THIS_NETWORK
    return next((f"a {kind} address" for kind, holds in kinds.items() if holds), None)


def _kind_of_host(host: str) -> str | None:
    return "the name of a cloud's metadata service" if host.lower() in _METADATA_HOSTS else None


def _check_unicode(device: str) -> None:
    """Refuse characters that can't be seen, a second way to write a name, and look-alike scripts side by side.

    A name may still look like another one that is all in another script: only a table of all look-alikes would show it.
    """
    shown = f"Device {device[:40]!r}"
    for letter in device:
        if letter != " " and (unicodedata.category(letter) in _UNSEEN_CATEGORIES or _UNSEEN.match(letter)):
            raise InputError(f"{shown}: U+{ord(letter):04X} can't be seen, or is no plain space. Leave it out.")
    if device != device.strip(" ") or "  " in device:
        raise InputError(f"{shown}: a space (U+0020) at an end, or two in a row, can't be seen. Leave it out.")
    if (normal := _normal(device)) != device:
        letter = next((a for a, b in zip(device, normal, strict=False) if a != b), device[-1])
        raise InputError(f"{shown}: U+{ord(letter):04X} has a plainer form. Write the name as {normal[:40]!r}.")
    scripts = sorted({script for letter in device if (script := _script(letter))})
    if len(scripts) > 1:
        odd = next(letter for letter in device if _script(letter) == scripts[1])
        raise InputError(
            f"{shown}: mixes {scripts[0].capitalize()} and {scripts[1].capitalize()} letters (U+{ord(odd):04X}), which "
            "look alike. Write it in one script."
        )


def _normal(text: str) -> str:
    """The one way to write a name: Unicode's NFKC.

    NFC would keep full-width letters, ligatures and superscripts beside their plain forms, as two names that look
    alike. NFKC leaves composed accents and ordinary text of all scripts as they are, with two exceptions, which are put
    back: it takes the vowels am of Thai and Lao apart, which are ordinary letters there.
    """
    plain = unicodedata.normalize("NFKC", text)
    return plain.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")


@lru_cache(maxsize=4096)
def _script(letter: str) -> str | None:
    """The script of a letter if it is one of the look-alikes: Unicode's names of letters begin with it."""
    word = unicodedata.name(letter, "").partition(" ")[0]
    return word if word in _LOOK_ALIKE else None
