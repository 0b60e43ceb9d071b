"""Flower's ServerApp: reads the job that `fedwalk federate run` wrote, does the run, and writes its progress.

The job is a file on the server's own machine. The command follows `progress.jsonl` beside the run's results.
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
from fedwalk.federation.shared_files import read_job, read_nodes
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
    """Do the run of the job that the run's configuration names."""
    job = read_job(Path(str(context.run_config["job"])))
    output = Path(job["output"])
    output.mkdir(parents=True, exist_ok=True)
    events = Events(output / EVENTS)
    # The command watches this process: if it is killed, no event says so.
    events.write(pid=os.getpid())
    try:
        with try_lock(FederationFolder(Path(job["federation"])).run_lock) as free:
            if not free:
                raise ProtocolError("another run of this federation is going on. Wait for its end, or stop it.")
            run(grid, job, events)
    except FedWalkError as error:
        events.write(error=str(error))
        raise
    # Also SystemExit and KeyboardInterrupt: without an event, the command couldn't say how the run ended.
    except BaseException as error:
        events.write(error=f"{type(error).__name__}: {error}. The server's log has the details.")
        raise
    events.write(ended=True)


def run(grid: Grid, job: dict[str, Any], events: Events) -> None:
    """Do the run of a job, and write its results into the job's folder."""
    folder = FederationFolder(Path(job["federation"]))
    roster = Roster.load(folder.roster)
    largest = folder.settings().largest_answer
    bound_answers(largest, job["patience"])
    # Read at each question: the operator may remove a holder during the run.
    members = Members(folder.members)
    nodes = read_nodes(folder.nodes)
    channel = FlowerChannel(grid, nodes, job["patience"], largest, lambda name: members.node_key(name) is not None)
    # resume=True also begins a new run in an empty folder; the command has checked which of the two is wanted.
    federate_to_folder(
        channel, roster, Settings.from_mapping(job["settings"]), Path(job["output"]), patience=job["patience"],
        resume=True, keep_walks=job["keep_walks"], refusals=folder.refusals, min_holders=job["min_holders"],
        on_progress=events,
    )  # fmt: skip
