"""Flower's commands as we call them: nothing leaves but for the federation, and everything is authenticated."""

import json
import os
import subprocess
import sys
from pathlib import Path

import tomli_w

from fedwalk.errors import FedWalkError
from fedwalk.federation.folders import FederationFolder, HolderFolder
from fedwalk.federation.processes import Started, free_port, start
from fedwalk.run_folder import write_text

CONNECTION = "fedwalk"
OFFLINE = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
}
"""Nothing is sent home or downloaded, and a task that is there is begun soon."""
PATIENCE = 60.0
"""Seconds that one of Flower's commands may take."""


class FlowerError(FedWalkError):
    """One of Flower's commands failed."""


def environment(flower: Path) -> dict[str, str]:
    """Flower's own folder, nothing sent home, and this environment's programs first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**OFFLINE, "FLWR_HOME": str(flower.resolve()), "PATH": path, "PYTHONUNBUFFERED": "1"}


def write_connection(folder: FederationFolder) -> None:
    """Tell Flower's command line where the SuperLink is: on this machine, whatever the holders call it."""
    port = folder.settings().listen.rpartition(":")[2]
    connection = {"address": f"127.0.0.1:{port}", "root-certificates": str((folder.path / "authority.pem").resolve())}
    folder.flower.mkdir(parents=True, exist_ok=True)
    table = {"superlink": {"default": CONNECTION, CONNECTION: connection}}
    write_text(folder.flower / "config.toml", tomli_w.dumps(table))


def start_superlink(folder: FederationFolder) -> Started:
    """The server: Flower's SuperLink with TLS, authenticated SuperNodes, a database, and our doorkeeper."""
    settings = folder.settings()
    write_connection(folder)
    host, _, port = settings.listen.rpartition(":")
    command = [
        sys.executable, "-m", "fedwalk.federation.guarded_superlink", str(settings.largest_answer),
        str(folder.refusals),
        "--ssl-ca-certfile", str(folder.path / "authority.pem"), "--ssl-certfile", str(folder.path / "server.pem"),
        "--ssl-keyfile", str(folder.path / "server.key"), "--enable-supernode-auth",
        "--database", str(folder.database), "--host", host, "--port", port, "--disable-runtime-dependency-installation",
    ]  # fmt: skip
    return start(command, environment(folder.flower), folder.log)


def start_supernode(folder: HolderFolder, server: str, digest: str) -> Started:
    """A holder: Flower's SuperNode, which runs the app of this digest and no other."""
    folder.flower.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, "-m", "fedwalk.federation.guarded_supernode", digest,
        "--superlink", server, "--root-certificates", str(folder.path / "authority.pem"),
        "--auth-supernode-private-key", str(folder.path / "node.key"),
        "--host", "127.0.0.1", "--port", str(free_port()),
        "--node-config", f"folder={json.dumps(str(folder.path.resolve()))}",
    ]  # fmt: skip
    return start(command, environment(folder.flower), folder.log)


def flwr(folder: FederationFolder, *arguments: str) -> dict[str, object]:
    """One of Flower's own commands against this federation's SuperLink; its answer as JSON."""
    command = [str(Path(sys.executable).parent / "flwr"), *arguments, CONNECTION, "--format", "json"]
    try:
        done = subprocess.run(
            command, env={**os.environ, **environment(folder.flower)}, capture_output=True, text=True, timeout=PATIENCE,
            stdin=subprocess.DEVNULL, check=False,
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
