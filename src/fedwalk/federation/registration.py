"""Whose SuperNodes may connect: the roster's keys, registered with a running server."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from fedwalk.errors import FedWalkError
from fedwalk.federation.flower import FlowerError, flwr
from fedwalk.federation.folders import FederationFolder
from fedwalk.federation.locks import locked
from fedwalk.federation.members import key_in_flower, write_members
from fedwalk.federation.private_file import make_private_folder, write_text
from fedwalk.federation.roster import Holder, Roster


def register_holders(folder: FederationFolder) -> dict[str, int]:
    """Tell a running server whose SuperNodes may connect; returns their node ids, which are kept.

    What Flower knows already is read from its database, so that whatever was broken off is taken up. If some can't be
    registered the others are, and then FlowerError says which.
    """
    with locked(folder.path):
        roster = Roster.load(folder.roster)
        # First of all: from here on the server's port refuses a holder that was removed.
        write_members(folder.members, roster)
        holders = [holder for holder in roster.holders if not holder.removed]
        known = _known_nodes(folder.database)
        nodes = {holder.name: known[key] for holder in holders if (key := key_in_flower(holder.node_key)) in known}
        fresh = [holder for holder in holders if holder.name not in nodes]
        pool = ThreadPoolExecutor(4)
        try:
            answers = dict(zip(fresh, pool.map(lambda holder: _register(folder, holder), fresh), strict=True))
        finally:
            # Interrupted, only those that are under way are waited for.
            pool.shutdown(cancel_futures=True)
        nodes |= {holder.name: answer for holder, answer in answers.items() if isinstance(answer, int)}
        write_text(folder.nodes, json.dumps(nodes, indent=1))
    failures = [f"{holder.name} ({answer})" for holder, answer in answers.items() if not isinstance(answer, int)]
    if failures:
        raise FlowerError(f"{folder.path}: the server didn't register {', '.join(failures)}. The others may connect.")
    return nodes


def _known_nodes(database: Path) -> dict[bytes, int]:
    """The node ids that Flower has given, by public key; none if it has no database yet."""
    query = "SELECT public_key, node_id FROM node WHERE status != 'unregistered'"
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return {key: node % (1 << 64) for key, node in connection.execute(query)}  # SQLite's integers are signed
    except sqlite3.Error:
        return {}


def _register(folder: FederationFolder, holder: Holder) -> int | Exception:
    """The holder's node id, or why there is none."""
    key = folder.path / "keys" / f"{holder.name}.pub"
    try:
        make_private_folder(key.parent)
        write_text(key, holder.node_key + "\n")
        return int(str(flwr(folder, "supernode", "register", str(key))["node-id"]))
    except (FedWalkError, KeyError, ValueError) as error:
        return error
