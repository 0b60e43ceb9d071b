"""The limit on open files and sockets of a process: raise it as far as the system allows, and warn if that is too low.

Many systems start processes with a soft limit of 1,024 descriptors and allow far more. A port needs a descriptor for
each connection that `connection_limits` allows.
"""

import resource

from fedwalk.federation.wire.connection_limits import MAX_PER_PARTY, MAX_UNKNOWN

RESERVE = 128
"""Descriptors for files, pipes, the database and connections that are being closed."""


def raise_descriptor_limit() -> int:
    """Raise the soft limit of this process and its children to the hard limit; returns the new limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A process may raise its soft limit up to the hard limit without privileges.
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return max_descriptors()


def max_descriptors() -> int:
    """The limit after `raise_descriptor_limit`."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # RLIM_INFINITY is -1 in Python, which would look like a limit below any need.
    return 1 << 30 if hard == resource.RLIM_INFINITY else hard


def server_descriptors(holders: int) -> int:
    """The most descriptors that a server with this many holders can need.

    Unknown connections at both of its ports, those of all holders and of its own processes, and the reserve.
    """
    return 2 * MAX_UNKNOWN + (holders + 1) * MAX_PER_PARTY + RESERVE


def shortage(needed: int) -> str | None:
    """A warning for the owner if the system allows fewer descriptors than needed, else None."""
    allowed = max_descriptors()
    if allowed >= needed:
        return None
    return (
        f"the system allows a process {allowed:,} open files, and {needed:,} may be needed: when all connections are "
        "in use, new ones wait. Raise the hard limit (`ulimit -Hn`, LimitNOFILE= in systemd)."
    )
