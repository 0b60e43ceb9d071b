"""The SuperLink's database, made by Flower itself: ended runs are deleted, nodes and the current run are not."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flwr.common.constant import SubStatus
from flwr.proto.message_pb2 import ObjectTree
from flwr.server.superlink.linkstate import LinkStateFactory
from flwr.supercore.constant import TaskType
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.superlink.federation import NoOpFederationManager

from fedwalk.errors import FedWalkWarning
from fedwalk.federation.flower_guards import database as module
from fedwalk.federation.flower_guards.database import delete_ended_runs, registered_nodes

pytestmark = pytest.mark.filterwarnings("ignore:No path_separator:DeprecationWarning")  # Flower's own

PER_RUN = ("run", "task", "task_logs", "series_runs", "run_series", "series_context")
CONTENT = ("objects", "object_children", "run_objects", "message_ins", "message_res")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "superlink.db"


@pytest.fixture
def state(database: Path) -> Any:
    """The database as a SuperLink opens it."""
    return LinkStateFactory(str(database), NoOpFederationManager(), ObjectStoreFactory(str(database))).state()


def count(database: Path, *tables: str) -> dict[str, int]:
    with closing(sqlite3.connect(database)) as connection:
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def begin_run(state: Any, name: str, size: int = 1000) -> int:
    """A run with a log, an object of its own and one that all runs share; returns its task."""
    run_id = state.create_run("app", "1", digest("app"), {}, "@none/default", None, "aid", TaskType.SERVER_APP)
    task = state.get_run_info(run_ids=[run_id])[0].primary_task_id
    state.add_task_log(task, f"log of {name}")
    shared = ObjectTree(object_id=digest("shared"))
    state.object_store.preregister(run_id, ObjectTree(object_id=digest(name), children=[shared]))
    with closing(sqlite3.connect(state._engine.url.database)) as connection, connection:
        connection.execute("UPDATE objects SET content = ? WHERE object_id = ?", (bytes(size), digest(name)))
    return int(task)


def test_of_many_ended_runs_a_few_stay_and_nodes_stay_registered(database: Path, state: Any) -> None:
    node = state.create_node("aid", "name", b"a key", 30.0)
    for i in range(20):
        assert state.finish_task(begin_run(state, f"run {i}"), SubStatus.STOPPED, "")
    delete_ended_runs(database)
    counts = count(database, *PER_RUN, *CONTENT, "node")
    assert {table: counts[table] for table in CONTENT} == dict.fromkeys(CONTENT, 0)
    assert {counts[table] for table in PER_RUN} == {module.NUM_KEPT_RUNS}
    assert counts["node"] == 1
    assert registered_nodes(database) == {b"a key": node}
    assert node in {info.node_id for info in state.get_node_info(node_ids=[node])}
    assert len(state.get_run_info()) == module.NUM_KEPT_RUNS


def test_the_current_run_keeps_all_its_rows(database: Path, state: Any) -> None:
    assert state.finish_task(begin_run(state, "ended"), SubStatus.STOPPED, "")
    task = begin_run(state, "current")
    for _ in range(2):
        delete_ended_runs(database)
        assert count(database, "objects", "object_children", "run_objects") == {
            "objects": 2, "object_children": 1, "run_objects": 2,
        }  # fmt: skip
        tree = state.object_store.get_object_tree(digest("current"))
        assert [child.object_id for child in tree.children] == [digest("shared")]
    # Flower's own cleaning works as if nothing had happened.
    run_id = next(run.run_id for run in state.get_run_info() if run.primary_task_id == task)
    assert state.finish_task(task, SubStatus.STOPPED, "")
    state.cleanup_run(run_id)
    assert count(database, "objects", "run_objects") == {"objects": 0, "run_objects": 0}


def test_compacting_shrinks_the_file(database: Path, state: Any) -> None:
    begun = [begin_run(state, f"run {i}", 1 << 20) for i in range(4)]
    state._engine.dispose()
    before = sum(path.stat().st_size for path in database.parent.iterdir())
    for task in begun:
        state.finish_task(task, SubStatus.STOPPED, "")
    state._engine.dispose()
    delete_ended_runs(database, compact=True)
    assert before > 4 << 20
    assert database.stat().st_size < 1 << 20
    assert count(database, "run") == {"run": 4}


def test_a_missing_database_is_no_error_and_another_schema_is_a_warning(database: Path) -> None:
    delete_ended_runs(database, compact=True)
    delete_ended_runs(database)
    assert not database.exists()
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE run (run_id)")
    with pytest.warns(FedWalkWarning, match="can't be deleted .*task"):
        delete_ended_runs(database, compact=True)
    assert count(database, "run") == {"run": 0}
