"""Registers the holders of the roster with a running server, so that their SuperNodes may connect."""

import json
from concurrent.futures import ThreadPoolExecutor

from fedwalk.errors import FedWalkError
from fedwalk.federation.deploy.flower_commands import FlowerError, flwr
from fedwalk.federation.flower_guards.database import registered_nodes
from fedwalk.federation.membership.folders import FederationFolder
from fedwalk.federation.membership.members import node_key_pem, write_members
from fedwalk.federation.membership.roster import Holder, Roster
from fedwalk.util.files import lock_folder, make_private_folder, write_private

NUM_THREADS = 4
"""Each registration starts a process of Flower's, which takes a second or two."""


def register_holders(folder: FederationFolder) -> dict[str, int]:
    """Register every holder of the roster with the running server; returns their node ids, which are also written.

    Holders that Flower knows already are read from its database, so an interrupted registration can be repeated. If
    some holders can't be registered, the others are, and then FlowerError names those that failed.
    """
    with lock_folder(folder.path):
        roster = Roster.load(folder.roster)
        # Written first: from here on the server's port refuses a holder that was removed.
        write_members(folder.members, roster)
        holders = [holder for holder in roster.holders if not holder.removed]
        known = registered_nodes(folder.database)
        nodes = {holder.name: known[key] for holder in holders if (key := node_key_pem(holder.node_key)) in known}
        new = [holder for holder in holders if holder.name not in nodes]
        pool = ThreadPoolExecutor(NUM_THREADS)
        try:
            answers = dict(zip(new, pool.map(lambda holder: _register(folder, holder), new), strict=True))
        finally:
            # After an interrupt, wait only for registrations that have begun.
            pool.shutdown(cancel_futures=True)
        nodes |= {holder.name: answer for holder, answer in answers.items() if isinstance(answer, int)}
        write_private(folder.nodes, json.dumps(nodes, indent=1))
    failures = [f"{holder.name} ({answer})" for holder, answer in answers.items() if not isinstance(answer, int)]
    if failures:
        raise FlowerError(f"{folder.path}: the server didn't register {', '.join(failures)}. The others may connect.")
    return nodes


def _register(folder: FederationFolder, holder: Holder) -> int | Exception:
    """The node id that Flower gives to the holder, or the error."""
    key = folder.path / "keys" / f"{holder.name}.pub"
    try:
        make_private_folder(key.parent)
        write_private(key, holder.node_key + "\n")
        # Flower's command reads the key from a file.
        return int(str(flwr(folder, "supernode", "register", str(key))["node-id"]))
    # Returned, not raised: one failure must not keep the other holders from being registered.
    except (FedWalkError, KeyError, ValueError) as error:
        return error
