"""The server's part as Flower runs it: read the job that `fedwalk federate run` wrote, do it, say how it goes.

The job is a file on the server's own machine; `progress.jsonl` beside the run's results is what the command follows.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedwalk.errors import FedWalkError, ProtocolError
from fedwalk.federation.folders import FederationFolder
from fedwalk.federation.inflation import bound_answers
from fedwalk.federation.job import EVENTS, federate_to_folder
from fedwalk.federation.locks import held
from fedwalk.federation.members import Members
from fedwalk.federation.post import FlowerPost
from fedwalk.federation.roster import Roster
from fedwalk.federation.shared_files import read_job, read_nodes
from fedwalk.settings import Settings

MOST_OFTEN = 0.2
"""Seconds between two lines about the same stage."""

app = ServerApp()


class Events:
    """Lines of JSON for whoever follows the run: stages as they go, and how it ended."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._spoke: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """A stage's progress; not more often than anybody can read."""
        now = time.monotonic()
        if 0 < done < total and now - self._spoke.get(stage, 0.0) < MOST_OFTEN:
            return
        self._spoke[stage] = now
        self.say(stage=stage, done=done, total=total)

    def say(self, **event: Any) -> None:
        """One line."""
        self._file.write(json.dumps(event) + "\n")
        self._file.flush()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Do the job."""
    job = read_job(Path(str(context.run_config["job"])))
    output = Path(job["output"])
    output.mkdir(parents=True, exist_ok=True)
    events = Events(output / EVENTS)
    events.say(pid=os.getpid())
    try:
        with held(FederationFolder(Path(job["federation"])).run_lock) as free:
            if not free:
                raise ProtocolError("another run of this federation is going on. Wait for it to end, or stop it.")
            run(grid, job, events)
    except FedWalkError as error:
        events.say(error=str(error))
        raise
    except BaseException as error:
        events.say(error=f"{type(error).__name__}: {error}. The server's log has the details.")
        raise
    events.say(ended=True)


def run(grid: Grid, job: dict[str, Any], events: Events) -> None:
    """The run of a job: which federation, which settings, where to."""
    folder = FederationFolder(Path(job["federation"]))
    roster = Roster.load(folder.roster)
    largest = folder.settings().largest_answer
    bound_answers(largest, job["patience"])
    members = Members(folder.members)
    nodes = read_nodes(folder.nodes)
    post = FlowerPost(grid, nodes, job["patience"], largest, lambda name: members.node_key(name) is not None)
    federate_to_folder(
        post, roster, Settings.from_mapping(job["settings"]), Path(job["output"]), patience=job["patience"],
        resume=True, keep_walks=job["keep_walks"], door=folder.refusals, need=job["need"],
        progress=events,
    )  # fmt: skip
