"""Flower's commands as we call them: nothing leaves but for the federation, and everything is authenticated."""

import json
import os
import subprocess
import sys
from pathlib import Path

import tomli_w

from fedwalk.errors import FedWalkError
from fedwalk.federation.flower_guards.local_secret import make_secret
from fedwalk.federation.flower_guards.task_processes import COMMAND, FLWR
from fedwalk.federation.folders import FederationFolder, HolderFolder
from fedwalk.federation.identity import new_authority, server_certificate
from fedwalk.federation.private_file import make_private_folder, write_private
from fedwalk.federation.processes import Started, free_port, start

CONNECTION = "fedwalk"
OFFLINE = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
}
"""Nothing is sent home or downloaded, and a task that is there is begun soon."""
PASSED_ON = (
    "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "NUMBA_CACHE_DIR",
    "NUMBA_NUM_THREADS",
)  # fmt: skip
"""All that Flower's processes get of the caller's environment. Others change what they do: FORWARDED_ALLOW_IPS, FLWR_…,
PYTHON…, SSL…, proxies."""
LOCAL_DAYS = 3650
PATIENCE = 60.0
"""Seconds that one of Flower's commands may take."""


class FlowerError(FedWalkError):
    """One of Flower's commands failed."""


def environment(flower: Path) -> dict[str, str]:
    """The environment of Flower's processes: ours, whatever the caller's is."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
    ours = {"FLWR_HOME": str(flower.resolve()), "PATH": path, "PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1"}
    return {**kept, **OFFLINE, **ours}


def start_superlink(folder: FederationFolder) -> Started:
    """The server: Flower's SuperLink with its local APIs on a free port of the loopback interface."""
    make_secret(folder.flower)
    port = free_port()
    _write_connection(folder, port)
    command = [
        sys.executable, "-P", "-m", "fedwalk.federation.flower_guards.superlink", str(folder.path.resolve()),
        "--ssl-ca-certfile", str(folder.path / "authority.pem"), "--ssl-certfile", str(folder.path / "server.pem"),
        "--ssl-keyfile", str(folder.path / "server.key"), "--enable-supernode-auth",
        "--database", str(folder.database), "--host", "127.0.0.1", "--port", str(port),
        "--disable-runtime-dependency-installation",
    ]  # fmt: skip
    return start(command, environment(folder.flower), folder.log)


def _write_connection(folder: FederationFolder, port: int) -> None:
    """Tell Flower's command line where the local APIs are."""
    authority = str((folder.path / "authority.pem").resolve())
    connection = {"address": f"127.0.0.1:{port}", "root-certificates": authority}
    table = {"superlink": {"default": CONNECTION, CONNECTION: connection}}
    write_private(folder.flower / "config.toml", tomli_w.dumps(table).encode())


def start_supernode(folder: HolderFolder, server: str, digest: str) -> Started:
    """A holder: Flower's SuperNode, which runs the app of this digest and no other."""
    make_secret(folder.flower)
    local = _local_certificate(folder.flower / "local")
    command = [
        sys.executable, "-P", "-m", "fedwalk.federation.flower_guards.supernode", str(folder.path.resolve()), digest,
        "--superlink", server, "--root-certificates", str(folder.path / "authority.pem"),
        "--auth-supernode-private-key", str(folder.path / "node.key"),
        "--host", "127.0.0.1", "--port", str(free_port()),
        "--ssl-ca-certfile", str(local / "authority.pem"), "--ssl-certfile", str(local / "server.pem"),
        "--ssl-keyfile", str(local / "server.key"),
        "--node-config", f"folder={json.dumps(str(folder.path.resolve()))}",
    ]  # fmt: skip
    return start(command, environment(folder.flower), folder.log)


def _local_certificate(path: Path) -> Path:
    """A certificate for the SuperNode's own API, which only its own processes trust.

    The secret alone would do while the SuperNode listens. If it ended, another user of the machine could listen at its
    port, and would be sent the secret and an answer.
    """
    make_private_folder(path)
    made = server_certificate(new_authority("local", LOCAL_DAYS), [], LOCAL_DAYS)
    for name, content in (
        ("authority.pem", made.authority),
        ("server.pem", made.certificate),
        ("server.key", made.key),
    ):
        write_private(path / name, content)
    return path.resolve()


def flwr(folder: FederationFolder, *arguments: str) -> dict[str, object]:
    """One of Flower's own commands against this federation's SuperLink; its answer as JSON."""
    command = [*COMMAND, FLWR, *arguments, CONNECTION, "--format", "json"]
    try:
        done = subprocess.run(
            command, env=environment(folder.flower), capture_output=True, text=True, timeout=PATIENCE,
            stdin=subprocess.DEVNULL, check=False, start_new_session=True,  # Ctrl-C is for us, and we decide
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FlowerError(f"flwr {arguments[0]}: no answer in {PATIENCE:g} s. Is the server running?") from None
    try:
        answer = json.loads(done.stdout[done.stdout.index("{") :])
    except ValueError:
        answer = {}
    if done.returncode or not answer.get("success", False):
        said = answer.get("error-message") or (done.stdout + done.stderr).strip().splitlines()[-1:]
        raise FlowerError(f"flwr {' '.join(arguments[:2])}: {said}")
    return dict(answer)
