"""The secret that the processes of one server or holder share on their machine.

Flower's Control and Runtime APIs have no login, and every user of the machine can connect to their port. So each
request to them carries a secret that only the owner of the folder can read. It is made when a server or holder starts,
is kept in a file with mode 0600, and appears in no process's arguments, environment or log.
"""

import os
import secrets
from hmac import compare_digest
from pathlib import Path
from typing import Any

from fedwalk.errors import InputError
from fedwalk.federation.flower_guards.hooks import install
from fedwalk.util.files import make_private_folder, write_private

HEADER = "fedwalk-secret"
LOCAL_URL = "https://127.0.0.1:"
"""Requests to URLs with this beginning carry the secret; no other request does."""


def secret_file(flower: Path) -> Path:
    """The file with the secret, in the folder that Flower's processes use as FLWR_HOME."""
    return flower / "secret"


def make_secret(flower: Path) -> str:
    """Write a new secret in place of the last one."""
    # New at each start, so that a copy of an old folder gives no access.
    make_private_folder(flower)
    secret = secrets.token_hex(32)
    write_private(secret_file(flower), secret.encode())
    return secret


def read_secret() -> str:
    """The secret of the folder that this process works for."""
    path = secret_file(Path(os.environ["FLWR_HOME"]))
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: can't be read ({error}). Start the server or holder again.") from error


def is_secret(value: bytes, secret: str) -> bool:
    """Whether a request's header is the secret, in time that doesn't depend on how much of it is right."""
    return compare_digest(value, secret.encode())


def send_secret(secret: str) -> None:
    """Make every HTTP client of Flower's in this process send the secret, to this machine only.

    Redirects aren't followed: the answer of one API must not decide which address gets the secret next.
    """

    def initialize(client: Any, base_url: str, *rest: Any, **options: Any) -> None:
        original(client, base_url, *rest, **options)
        # Flower has no public way to add a header to all requests.
        client._client.follow_redirects = False
        if base_url.startswith(LOCAL_URL):
            client._client.headers[HEADER] = secret

    original = install("flwr.supercore.protobuf.client:ProtobufClient.__init__", initialize)
