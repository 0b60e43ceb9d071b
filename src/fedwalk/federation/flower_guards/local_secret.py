"""The secret by which Flower's own processes on one machine know each other.

Flower's Control and Runtime APIs ask no one who they are, and listen on a port that every user of the machine can
connect to. So each request to them carries a secret that only the owner of the folder can read: it is made when a
server or holder starts, lies in a file with mode 0600, and is in no process's arguments, environment or log.
"""

import os
import secrets
from hmac import compare_digest
from pathlib import Path
from typing import Any

from fedwalk.errors import InputError
from fedwalk.federation.flower_guards.hooks import replace
from fedwalk.federation.private_file import make_private_folder, write_private

HEADER = "fedwalk-secret"
THIS_MACHINE = "https://127.0.0.1:"
"""Where the APIs listen that get the secret; no other address ever does."""


def secret_file(flower: Path) -> Path:
    """Where the secret of a folder's processes lies: in the folder that is Flower's home for them."""
    return flower / "secret"


def make_secret(flower: Path) -> str:
    """A fresh secret, in place of the last one."""
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
    """Have every client of Flower's in this process send the secret, to this machine and to no other.

    Redirects aren't followed: the answer of one API must not decide where the next request goes.
    """
    from flwr.supercore.protobuf.client import ProtobufClient

    def beginning(client: Any, base_url: str, *rest: Any, **options: Any) -> None:
        begin(client, base_url, *rest, **options)
        client._client.follow_redirects = False
        if base_url.startswith(THIS_MACHINE):
            client._client.headers[HEADER] = secret

    begin = replace(ProtobufClient, "__init__", beginning)
