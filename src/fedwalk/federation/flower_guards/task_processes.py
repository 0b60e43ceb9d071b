"""`python -m fedwalk.federation.flower_guards.task_processes NAME …`: Flower's helper processes and its command line.

A SuperLink or SuperNode starts a SuperExec, which starts a process for each task. Here they are started by module
instead of by a name on the PATH, and they send the secret of their folder. A task's token reaches its process through a
pipe: every user of the machine can read a process's arguments.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fedwalk.errors import ProtocolError
from fedwalk.federation.flower_guards.hooks import install
from fedwalk.federation.flower_guards.local_secret import read_secret, send_secret
from fedwalk.util.extras import install_hint

# -P keeps the current directory out of sys.path: a file called flwr.py there would otherwise be imported.
COMMAND = [sys.executable, "-P", "-m", "fedwalk.federation.flower_guards.task_processes"]
SUPEREXEC, SERVERAPP, CLIENTAPP, FLWR = "flower-superexec", "flwr-serverapp", "flwr-clientapp", "flwr"
MAX_TOKEN_BYTES = 1 << 16


def main() -> None:
    """Send the folder's secret from now on, then run the named command of Flower's."""
    name = sys.argv.pop(1)
    sys.argv[0] = name
    # Before Flower makes its first HTTP client, because a client gets the header when it is made.
    send_secret(read_secret())
    COMMANDS[name]()


def start_superexec_by_module(target: str) -> None:
    """Replace `subprocess` in a module of Flower's by one that starts our SuperExec and nothing else."""

    def start(command: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        if command[0] != SUPEREXEC:
            raise ProtocolError(
                f"Flower tried to start {command[0]!r}; only {SUPEREXEC} is allowed. Install the version of Flower "
                f"that this fedwalk names: {install_hint('flower')}"
            )
        return subprocess.Popen([*COMMAND, *command], **options)

    install(target, SimpleNamespace(Popen=start, TimeoutExpired=subprocess.TimeoutExpired))


def _superexec() -> None:
    """Run Flower's SuperExec, which launches tasks as `launch` does."""
    from flwr.supercore.cli import flower_superexec

    install("flwr.supercore.superexec.executor.subprocess_executor:SubprocessExecutor.launch", launch)
    flower_superexec()


def launch(executor: Any, spec: Any) -> Any:
    """Start the process of a task and write its token into the process's standard input."""
    from flwr.supercore.constant import TASK_TYPE_TO_COMMAND
    from flwr.supercore.superexec.executor.types import LaunchResult

    name = TASK_TYPE_TO_COMMAND[spec.task_type]
    # Flower has other kinds of tasks, such as simulations, which have no guards here.
    if name not in (SERVERAPP, CLIENTAPP):
        return LaunchResult.failed(f"a fedwalk federation doesn't run {name}.")
    # Flower's --insecure and --allow-runtime-dependency-installation are left out on purpose.
    command = [*COMMAND, name, "--runtime-api-address", spec.runtime_api_address]
    command += ["--root-certificates", spec.root_certificates_path]
    command += [] if spec.parent_pid is None else ["--parent-pid", str(spec.parent_pid)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin is not None
    # Closing the pipe ends the child's `read`.
    with process.stdin as pipe:
        pipe.write(spec.token.encode())
    return LaunchResult.accepted()


def _read_token() -> str:
    """Read the task's token from standard input, where other users can't see it."""
    return sys.stdin.buffer.read(MAX_TOKEN_BYTES).decode()


def _serverapp() -> None:
    from flwr.superlink.cli import flwr_serverapp

    sys.argv += ["--token", _read_token()]
    flwr_serverapp()


def _clientapp() -> None:
    # Not Flower's command `flwr-clientapp`: its package imports the SuperNode's web server and database as well, which
    # takes most of a second, and every question starts a process.
    from flwr.supernode.runtime.run_clientapp import run_clientapp

    parser = argparse.ArgumentParser(CLIENTAPP)
    parser.add_argument("--runtime-api-address", required=True)
    parser.add_argument("--root-certificates", required=True, type=Path)
    parser.add_argument("--parent-pid", type=int)
    options = parser.parse_args()
    run_clientapp(
        options.runtime_api_address, _read_token(), insecure=False, certificates=options.root_certificates.read_bytes(),
        parent_pid=options.parent_pid, runtime_dependency_install=False,
    )  # fmt: skip


def _flwr() -> None:
    from flwr.cli.app import app

    app()


COMMANDS = {SUPEREXEC: _superexec, SERVERAPP: _serverapp, CLIENTAPP: _clientapp, FLWR: _flwr}

if __name__ == "__main__":
    main()
