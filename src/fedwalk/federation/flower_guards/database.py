"""Flower's database: which holders are registered there, and how it is kept small.

Flower deletes the messages and objects of a run that ends while its holders are connected, but keeps the rest of its
rows, such as its log, and never deletes what a killed server leaves. Here the rows of ended runs are deleted, and
registered nodes stay. SQLite reuses free pages but doesn't return them, so the file is compacted when the server
starts: no SuperLink has it open then.

The tables belong to Flower. If they have changed, the database can't be cleaned, which costs disk space and nothing
else.
"""

import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

from fedwalk.errors import FedWalkWarning

NUM_KEPT_RUNS = 8
"""Ended runs that stay in the database: a holder that was away may still send an answer to one of them."""
TIMEOUT = 10.0
"""Seconds to wait while the SuperLink writes."""

# All runs that have ended; `old` is 0 for the newest of them, of which only the content is deleted.
ENDED = """
CREATE TEMP TABLE ended AS
SELECT run.run_id, run.series_id, row_number() OVER (ORDER BY task.pending_at DESC) > :kept AS old
FROM run JOIN task ON task.task_id = run.primary_task_id WHERE task.finished_at IS NOT NULL
"""
CONTENT = (
    "DELETE FROM message_ins WHERE run_id IN (SELECT run_id FROM ended)",
    "DELETE FROM message_res WHERE run_id IN (SELECT run_id FROM ended)",
    "DELETE FROM run_objects WHERE run_id IN (SELECT run_id FROM ended)",
    "DELETE FROM objects WHERE object_id NOT IN (SELECT object_id FROM run_objects)",
    "DELETE FROM object_children WHERE parent_id NOT IN (SELECT object_id FROM objects)",
    "UPDATE objects SET ref_count = (SELECT count(*) FROM object_children WHERE child_id = object_id)",
)
"""Delete everything that ended runs have sent, except objects that another run needs."""
TASKS = "SELECT task_id FROM task WHERE run_id IN (SELECT run_id FROM ended WHERE old)"
# Evaluated after the old runs have left `run`. ifnull, because NOT IN is never true for a list with a NULL.
SERIES = "SELECT series_id FROM ended WHERE old AND series_id NOT IN (SELECT ifnull(series_id, 0) FROM run)"
ROWS = (
    *(f"DELETE FROM {table} WHERE task_id IN ({TASKS})" for table in ("task_logs", "task_event", "task_usage")),
    *(f"DELETE FROM {table} WHERE run_id IN (SELECT run_id FROM ended WHERE old)" for table in (
        "task_message", "task", "series_runs", "object_push_sessions", "run",
    )),
    *(f"DELETE FROM {table} WHERE series_id IN ({SERIES})" for table in ("series_context", "run_series")),
)  # fmt: skip
"""Delete every row of the old ones among the ended runs. Rows that refer to others go first."""


def delete_ended_runs(database: Path, *, compact: bool = False) -> None:
    """Delete what ended runs have left in a SuperLink's database.

    The SuperLink may be running, except with `compact`, which also returns free space to the system.
    """
    if not database.exists():
        return
    try:
        with closing(_connect(database)) as connection:
            _delete(connection)
            if compact:
                connection.execute("VACUUM")
                # The file itself shrinks only when the write-ahead log is merged into it.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.Error as error:
        text = f"{database}: what ended runs left there can't be deleted ({error}). The server works; watch the file's"
        warnings.warn(f"{text} size.", FedWalkWarning, stacklevel=2)


def registered_nodes(database: Path) -> dict[bytes, int]:
    """The node ids that Flower has given to holders, by public key (PEM); none if there is no database yet."""
    query = "SELECT public_key, node_id FROM node WHERE status != 'unregistered'"
    try:
        # Read-only, because connecting would otherwise create a missing database.
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            # Flower's node ids are unsigned, SQLite's integers are signed.
            return {key: node % (1 << 64) for key, node in connection.execute(query)}
    except sqlite3.Error:
        return {}


def _connect(database: Path) -> sqlite3.Connection:
    # isolation_level=None: Python opens no transactions by itself, and VACUUM can't run in one.
    connection = sqlite3.connect(database, timeout=TIMEOUT, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _delete(connection: sqlite3.Connection) -> None:
    """Delete in one transaction, so that an error leaves the database as it was."""
    # Takes the write lock at once: a transaction that begins by reading can fail later, without waiting for TIMEOUT.
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(ENDED, {"kept": NUM_KEPT_RUNS})
        for statement in (*CONTENT, *ROWS):
            connection.execute(statement)
        connection.execute("DROP TABLE ended")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
