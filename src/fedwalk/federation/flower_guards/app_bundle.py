"""The bundle that Flower makes of an app's folder: its digest, and the check that refuses every other bundle."""

import hashlib
from pathlib import Path

from fedwalk.errors import ProtocolError


def app_digest(folder: Path) -> str:
    """SHA-256 of the bundle that Flower would ship of this folder."""
    from flwr.cli.build import build_fab_from_disk

    return hashlib.sha256(build_fab_from_disk(folder)).hexdigest()


def check_app(content: bytes, digest: str, sender: str) -> None:
    """Refuse an app that isn't this fedwalk's own, byte for byte."""
    # The whole bundle is compared, so no file of the app can be added or changed.
    actual = hashlib.sha256(content).hexdigest()
    if actual != digest:
        raise ProtocolError(
            f"{sender} ships an app ({actual[:16]}) that isn't this fedwalk's own ({digest[:16]}), so it isn't run. "
            "Server and holders need the same version of fedwalk. If they have it, ask the operator about this app."
        )
