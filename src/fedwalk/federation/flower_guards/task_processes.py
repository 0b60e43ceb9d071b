"""`python -m fedwalk.federation.flower_guards.task_processes NAME …`: Flower's helper processes and its command line.

A SuperLink or SuperNode starts a SuperExec, which starts a process for each task. Here they are started by module
instead of by a name on the PATH, they send the secret of their folder, and a task's token reaches its process through
a pipe: in the arguments every user of the machine could read it.
"""

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from fedwalk.errors import ProtocolError
from fedwalk.federation.flower_guards.hooks import replace
from fedwalk.federation.flower_guards.local_secret import read_secret, send_secret

COMMAND = [sys.executable, "-P", "-m", "fedwalk.federation.flower_guards.task_processes"]
SUPEREXEC, SERVERAPP, CLIENTAPP, FLWR = "flower-superexec", "flwr-serverapp", "flwr-clientapp", "flwr"


def main() -> None:
    """Send the folder's secret from now on, then be the named command."""
    name = sys.argv.pop(1)
    sys.argv[0] = name
    send_secret(read_secret())
    COMMANDS[name]()


def start_superexec_by_module(module: Any) -> None:
    """Let a module of Flower's that starts a SuperExec start ours; it may start nothing else."""

    def starting(command: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        if command[0] != SUPEREXEC:
            raise ProtocolError(f"Flower wants to start {command[0]!r}, which this version of fedwalk doesn't know.")
        return subprocess.Popen([*COMMAND, *command], **options)

    replace(module, "subprocess", SimpleNamespace(Popen=starting, TimeoutExpired=subprocess.TimeoutExpired))


def _superexec() -> None:
    """Flower's SuperExec, launching tasks as `launch` does."""
    from flwr.supercore.cli import flower_superexec
    from flwr.supercore.superexec.executor.subprocess_executor import SubprocessExecutor

    replace(SubprocessExecutor, "launch", launch)
    flower_superexec()


def launch(executor: Any, spec: Any) -> Any:
    """Start the process of a task; its token goes through a pipe."""
    from flwr.supercore.constant import TASK_TYPE_TO_COMMAND
    from flwr.supercore.superexec.executor.types import LaunchResult

    name = TASK_TYPE_TO_COMMAND[spec.task_type]
    if name not in (SERVERAPP, CLIENTAPP):
        return LaunchResult.failed(f"{name} has no place in a federation of fedwalk.")
    command = [*COMMAND, name, "--runtime-api-address", spec.runtime_api_address]
    command += ["--root-certificates", spec.root_certificates_path]
    command += [] if spec.parent_pid is None else ["--parent-pid", str(spec.parent_pid)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(spec.token.encode())
    return LaunchResult.accepted()


def _with_token(command: Callable[[], None]) -> None:
    """Give the command the token that comes through the pipe; the system's list of arguments doesn't change."""
    token = sys.stdin.buffer.read(1 << 16).decode()
    sys.argv += ["--token", token]
    command()


def _serverapp() -> None:
    from flwr.superlink.cli import flwr_serverapp

    _with_token(flwr_serverapp)


def _clientapp() -> None:
    from flwr.supernode.cli import flwr_clientapp

    _with_token(flwr_clientapp)


def _flwr() -> None:
    from flwr.cli.app import app

    app()


COMMANDS = {SUPEREXEC: _superexec, SERVERAPP: _serverapp, CLIENTAPP: _clientapp, FLWR: _flwr}

if __name__ == "__main__":
    main()
