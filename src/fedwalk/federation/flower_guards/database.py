"""Keeps the SuperLink's database small: what ended runs have left is deleted, registered nodes stay.

Flower deletes the messages and objects of a run that ends while its holders are connected, and keeps the rest of its
rows, such as its log. What a killed server leaves is never deleted. SQLite reuses free pages but doesn't give them
back, so the file is compacted where no SuperLink has it open: at the server's start.

The tables are Flower's own affair. Where they have changed the database can't be cleaned, which costs disk space and
nothing else.
"""

import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

from fedwalk.errors import FedWalkWarning

KEPT = 8
"""Ended runs that stay: holders that were away may still send an answer to one of them."""
TIMEOUT = 10.0
"""Seconds to wait while the SuperLink writes."""

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
"""Delete what all ended runs have sent. An object that another run needs stays."""
TASKS = "SELECT task_id FROM task WHERE run_id IN (SELECT run_id FROM ended WHERE old)"
SERIES = "SELECT series_id FROM ended WHERE old AND series_id NOT IN (SELECT ifnull(series_id, 0) FROM run)"
ROWS = (
    *(f"DELETE FROM {table} WHERE task_id IN ({TASKS})" for table in ("task_logs", "task_event", "task_usage")),
    *(f"DELETE FROM {table} WHERE run_id IN (SELECT run_id FROM ended WHERE old)" for table in (
        "task_message", "task", "series_runs", "object_push_sessions", "run",
    )),
    *(f"DELETE FROM {table} WHERE series_id IN ({SERIES})" for table in ("series_context", "run_series")),
)  # fmt: skip
"""Delete all that is known of old runs."""


def forget_ended_runs(database: Path) -> None:
    """Delete what ended runs have left in a SuperLink's database; the SuperLink may be running."""
    if database.exists():
        try:
            with closing(_connect(database)) as connection:
                _delete(connection)
        except sqlite3.Error as error:
            _warn(database, error)


def compact(database: Path) -> None:
    """The same, and give free space back to the system; no SuperLink may be running."""
    if database.exists():
        try:
            with closing(_connect(database)) as connection:
                _delete(connection)
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            _warn(database, error)


def _connect(database: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(database, timeout=TIMEOUT, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _delete(connection: sqlite3.Connection) -> None:
    """In one transaction: all of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(ENDED, {"kept": KEPT})
        for statement in (*CONTENT, *ROWS):
            connection.execute(statement)
        connection.execute("DROP TABLE ended")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _warn(database: Path, error: sqlite3.Error) -> None:
    text = f"{database}: what ended runs left there can't be deleted ({error}). It works all the same; watch its size."
    warnings.warn(text, FedWalkWarning, stacklevel=3)
