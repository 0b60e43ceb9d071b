"""What holders, their addresses and their devices may be called: checked where a name enters the federation."""

import ipaddress
import re
from collections.abc import Iterable

from fedwalk.errors import InputError
from fedwalk.graph.names import LONGEST

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_ADDRESS = re.compile(r"(?:\[([^\[\]]+)\]|([^:]+)):([0-9]{1,5})")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


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
    """Refuse what isn't host:port, or isn't where others could connect to.

    Examples
    --------
    >>> check_address("holder.example.org:7443")
    >>> check_address("[2001:db8::7]:7443")
    """
    match = _ADDRESS.fullmatch(address)
    host = match and (match[1] or match[2])
    if not match or not host or not is_host(host) or bool(match[1]) != (":" in host) or not 0 < int(match[3]) < 65536:
        raise InputError(f"The address {address[:80]!r} isn't host:port. Write it like holder.example.org:7443.")
    ip = as_ip(host)
    if ip is not None and ip.is_unspecified:
        raise InputError(f"Nobody can connect to {address}. Give the address under which others reach the holder.")


def check_devices(devices: Iterable[str]) -> None:
    """Refuse names of devices that are empty, too long, there twice, or would break a line."""
    seen: set[str] = set()
    for device in devices:
        if not 0 < len(device) <= LONGEST or _UNPRINTABLE.search(device):
            raise InputError(f"Device {device[:40]!r}: give it 1 to {LONGEST} characters, no control characters.")
        if device in seen:
            raise InputError(f"Device {device[:40]!r} is listed twice. List it once.")
        seen.add(device)


def is_host(text: str) -> bool:
    """Whether this is a DNS name (in ASCII) or an IP address."""
    looks_numeric = text.replace(".", "").isdecimal()
    return as_ip(text) is not None or (len(text) <= 253 and not looks_numeric and _HOST.fullmatch(text) is not None)


def as_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The host as an IP address, if it is one."""
    try:
        return None if "%" in host else ipaddress.ip_address(host)
    except ValueError:
        return None
