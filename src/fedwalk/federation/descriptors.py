"""How many files and sockets a process may have open: raised as far as the system allows, and compared with the need.

Many systems start processes with room for 1,024 descriptors and allow far more. A port that keeps to its limits
(`connection_limits`) still needs room for all the connections that these allow.
"""

import resource

from fedwalk.federation.connection_limits import MAX_PER_PARTY, MAX_UNKNOWN

RESERVE = 128
"""For files, pipes, the database and connections that are being closed."""


def raise_descriptor_limit() -> int:
    """Allow this process, and those that it starts, as many descriptors as the system does; returns how many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return max_descriptors()


def max_descriptors() -> int:
    """How many descriptors a process may have after `raise_descriptor_limit`."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if hard == resource.RLIM_INFINITY else hard


def server_descriptors(holders: int) -> int:
    """How many a server of so many holders needs at most: strangers at both ports, holders, its own processes."""
    return 2 * MAX_UNKNOWN + (holders + 1) * MAX_PER_PARTY + RESERVE


def shortage(needed: int) -> str | None:
    """What to tell the owner if the system allows fewer descriptors than needed; else nothing."""
    allowed = max_descriptors()
    if allowed >= needed:
        return None
    return (
        f"the system allows a process {allowed:,} open files, and {needed:,} may be needed: when all connections are "
        "in use, new ones wait. Raise the hard limit (`ulimit -Hn`, LimitNOFILE= in systemd)."
    )
