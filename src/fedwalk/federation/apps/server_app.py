"""Flower's ServerApp: reads the run request that `fedwalk federate run` wrote, does the run, and writes its progress.

The run request is a file on the server's own machine. The command follows `progress.jsonl` beside the run's results.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedwalk.errors import FedWalkError, ProtocolError
from fedwalk.federation.flower_guards.answer_limits import bound_answers
from fedwalk.federation.membership.folders import FederationFolder
from fedwalk.federation.membership.members import Members
from fedwalk.federation.membership.roster import Roster
from fedwalk.federation.server.execute import EVENTS, federate_to_folder
from fedwalk.federation.server.flower_grid import FlowerChannel
from fedwalk.federation.shared_files import read_nodes, read_run_request
from fedwalk.settings import Settings
from fedwalk.util.files import try_lock

MIN_INTERVAL = 0.2
"""Seconds between two events of the same stage."""

app = ServerApp()


class Events:
    """Writes a run's events as lines of JSON: the progress of its stages, and how it ended."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._last: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Write the progress of a stage, a few times a second at most; its begin and its end always."""
        now = time.monotonic()
        if 0 < done < total and now - self._last.get(stage, 0.0) < MIN_INTERVAL:
            return
        self._last[stage] = now
        self.write(stage=stage, done=done, total=total)

    def write(self, **event: Any) -> None:
        """Write one event."""
        self._file.write(json.dumps(event) + "\n")
        # The command reads the file while the run goes on.
        self._file.flush()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Do the run that is requested in the file that the run's configuration names."""
    request = read_run_request(Path(str(context.run_config["run_request"])))
    output = Path(request["output"])
    output.mkdir(parents=True, exist_ok=True)
    events = Events(output / EVENTS)
    # The command watches this process: if it is killed, no event says so.
    events.write(pid=os.getpid())
    try:
        with try_lock(FederationFolder(Path(request["federation"])).run_lock) as free:
            if not free:
                raise ProtocolError("another run of this federation is going on. Wait for its end, or stop it.")
            run(grid, request, events)
    except FedWalkError as error:
        events.write(error=str(error))
        raise
    # Also SystemExit and KeyboardInterrupt: without an event, the command couldn't say how the run ended.
    except BaseException as error:
        events.write(error=f"{type(error).__name__}: {error}. The server's log has the details.")
        raise
    events.write(ended=True)


def run(grid: Grid, request: dict[str, Any], events: Events) -> None:
    """Do the requested run, and write its results into the folder that the request names."""
    folder = FederationFolder(Path(request["federation"]))
    roster = Roster.load(folder.roster)
    max_bytes = folder.settings().max_answer
    bound_answers(max_bytes, request["patience"])
    # Read at each question: the operator may remove a holder during the run.
    members = Members(folder.members)
    nodes = read_nodes(folder.nodes)

    def is_member(name: str) -> bool:
        return members.node_key(name) is not None

    channel = FlowerChannel(grid, nodes, request["patience"], max_bytes, is_member)
    # resume=True also begins a new run in an empty folder; the command has checked which of the two is wanted.
    federate_to_folder(
        channel, roster, Settings.from_mapping(request["settings"]), Path(request["output"]), resume=True,
        patience=request["patience"], keep_walks=request["keep_walks"], refusals=folder.refusals,
        min_holders=request["min_holders"], on_progress=events,
    )  # fmt: skip
