"""How something of Flower's is replaced: by name, or not at all."""

import hashlib
from typing import Any

from fedwalk.errors import ProtocolError


def replace(owner: Any, name: str, value: Any) -> Any:
    """Put our own in the place of something of Flower's, and return that.

    Where it is missing, AttributeError: Flower has changed, and an unguarded process must not start.
    """
    before = getattr(owner, name)
    setattr(owner, name, value)
    return before


def check_app(content: bytes, digest: str, who: str) -> None:
    """Refuse an app that isn't this fedwalk's own, byte for byte; `who` ships it."""
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise ProtocolError(
            f"{who} ships an app ({found[:16]}) that isn't this fedwalk's own ({digest[:16]}): it won't run here. "
            "Server and holders need the same version of fedwalk; if they have it, ask the operator what this is."
        )
