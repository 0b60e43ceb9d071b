"""Starts Flower's SuperLink and SuperNode, and calls its command line, with TLS and a clean environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import tomli_w

from fedwalk.errors import FedWalkError
from fedwalk.federation.deploy.ports import free_port
from fedwalk.federation.deploy.processes import Started, start
from fedwalk.federation.flower_guards.environment import FLOWER_VARIABLES
from fedwalk.federation.flower_guards.local_secret import make_secret
from fedwalk.federation.flower_guards.task_processes import COMMAND, FLWR
from fedwalk.federation.membership.folders import FederationFolder, HolderFolder, LocalApiFolder
from fedwalk.federation.membership.keys import new_authority, server_certificate
from fedwalk.util.files import make_private_folder, write_private

CONNECTION = "fedwalk"
"""The name of the SuperLink's connection in Flower's config.toml."""
PASSED_ON = (
    "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "NUMBA_CACHE_DIR",
    "NUMBA_NUM_THREADS",
)  # fmt: skip
"""The only variables that Flower's processes get from the caller's environment. Others could change what they do:
FORWARDED_ALLOW_IPS, FLWR_…, PYTHON…, SSL…, proxies."""
LOCAL_DAYS = 3650
"""Validity of a holder's local certificate, which is replaced at each start."""
COMMAND_TIMEOUT = 60.0
"""Seconds that one of Flower's commands may take."""


class FlowerError(FedWalkError):
    """One of Flower's commands failed."""


def environment(flower: Path) -> dict[str, str]:
    """The environment of Flower's processes: from the caller's, only the variables in `PASSED_ON`."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
    # Unbuffered, so that lines reach the log at once. PYTHONSAFEPATH is -P for all children: see `task_processes`.
    ours = {"FLWR_HOME": str(flower.resolve()), "PATH": path, "PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1"}
    # Ours last, so that nothing that is passed on can replace it.
    return {**kept, **FLOWER_VARIABLES, **ours}


def start_superlink(folder: FederationFolder) -> Started:
    """Start the server: Flower's SuperLink, with its local APIs on a free port of the loopback interface."""
    make_secret(folder.flower)
    # Any free port will do: Flower's commands find it in config.toml.
    port = free_port()
    _write_connection(folder, port)
    command = [
        # --host and --port are for the local APIs. The public port is in the folder's settings: see `superlink.serve`.
        sys.executable, "-P", "-m", "fedwalk.federation.flower_guards.superlink", str(folder.path.resolve()),
        "--ssl-ca-certfile", str(folder.authority), "--ssl-certfile", str(folder.certificate),
        "--ssl-keyfile", str(folder.key), "--enable-supernode-auth",
        "--database", str(folder.database), "--host", "127.0.0.1", "--port", str(port),
        "--disable-runtime-dependency-installation",
    ]  # fmt: skip
    return start(command, environment(folder.flower), folder.log)


def _write_connection(folder: FederationFolder, port: int) -> None:
    """Write where the local APIs listen, for Flower's command line."""
    connection = {"address": f"127.0.0.1:{port}", "root-certificates": str(folder.authority.resolve())}
    table = {"superlink": {"default": CONNECTION, CONNECTION: connection}}
    write_private(folder.flower / "config.toml", tomli_w.dumps(table).encode())


def start_supernode(folder: HolderFolder, server: str, digest: str) -> Started:
    """Start a holder: Flower's SuperNode, which runs only the app with this digest."""
    make_secret(folder.flower)
    local = _local_certificate(folder.local_api)
    command = [
        sys.executable, "-P", "-m", "fedwalk.federation.flower_guards.supernode", str(folder.path.resolve()), digest,
        "--superlink", server, "--root-certificates", str(folder.authority),
        "--auth-supernode-private-key", str(folder.node_key),
        "--host", "127.0.0.1", "--port", str(free_port()),
        "--ssl-ca-certfile", str(local.authority), "--ssl-certfile", str(local.certificate),
        "--ssl-keyfile", str(local.key),
        # Flower parses this as TOML, in which a JSON string is a valid string.
        "--node-config", f"folder={json.dumps(str(folder.path.resolve()))}",
    ]  # fmt: skip
    return start(command, environment(folder.flower), folder.log)


def _local_certificate(folder: LocalApiFolder) -> LocalApiFolder:
    """Make a certificate for the SuperNode's own API, which only its own processes trust; returns its folder.

    The secret protects the API while the SuperNode listens. After its end another user of the machine could listen at
    the same port: without TLS, the holder's processes would send the secret and an answer there.
    """
    make_private_folder(folder.path)
    credentials = server_certificate(new_authority("local", LOCAL_DAYS), [], LOCAL_DAYS)
    write_private(folder.authority, credentials.authority)
    write_private(folder.certificate, credentials.certificate)
    write_private(folder.key, credentials.key)
    return LocalApiFolder(folder.path.resolve())


def flwr(folder: FederationFolder, *arguments: str) -> dict[str, object]:
    """Call one of Flower's own commands for this federation's SuperLink; returns its answer, which is JSON."""
    command = [*COMMAND, FLWR, *arguments, CONNECTION, "--format", "json"]
    try:
        # In a session of its own, so that Ctrl-C reaches only fedwalk, which decides what to stop.
        done = subprocess.run(
            command, env=environment(folder.flower), capture_output=True, text=True, timeout=COMMAND_TIMEOUT,
            stdin=subprocess.DEVNULL, check=False, start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FlowerError(f"flwr {arguments[0]}: no answer in {COMMAND_TIMEOUT:g} s. Is the server running?") from None
    # Flower may print warnings before the JSON.
    try:
        answer = json.loads(done.stdout[done.stdout.index("{") :])
    except ValueError:
        answer = {}
    if done.returncode or not answer.get("success", False):
        lines = (done.stdout + done.stderr).strip().splitlines() or [f"ended with code {done.returncode}"]
        reason = answer.get("error-message") or lines[-1]
        raise FlowerError(f"flwr {' '.join(arguments[:2])}: {reason}")
    return dict(answer)
