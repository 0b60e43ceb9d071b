"""The run folder: complete files only, the run's own files and no others, clear errors for damaged files."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import SETTINGS
from fedwalk.errors import RunFolderError
from fedwalk.estimators import FedWalk
from fedwalk.graph import Graph
from fedwalk.protocols.federated import ROLL
from fedwalk.protocols.ldp import stages as ldp
from fedwalk.protocols.ldp.stages import COLLECTED_REPORTS
from fedwalk.protocols.paper import stages as paper
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.messages import Sequence
from fedwalk.protocols.stages import WALKS, Stage
from fedwalk.protocols.transcript import Transcript
from fedwalk.run.execute import embed_to_folder
from fedwalk.run.folder import (
    MANIFEST,
    PROGRESS,
    RESULTS,
    RunFolder,
    check_free,
    clear,
    open_run_folder,
    write_arrays,
    write_text,
)
from fedwalk.run.stages import Account
from fedwalk.settings import Settings

STORED: dict[str, Stage[Any]] = {
    stage.name: stage for stage in (ROLL, *paper.STAGES, COLLECTED_REPORTS, *ldp.STAGES) if stage.name != "matrices"
} | {"matrices": paper.MATRICES}
FILES = [name for stage in STORED.values() for name in stage.files]


@pytest.fixture(scope="module")
def stage_values(network: Graph) -> dict[str, Any]:
    model, private = FedWalk(**SETTINGS), FedWalk(**SETTINGS, protocol="ldp")
    model.fit(network)
    private.fit(network)
    values = {**model.run_.stages.values, **private.run_.stages.values}
    reports, vectors = values["reports"], values["vectors"]
    present = np.ones(reports.vertices, np.bool_)
    federated = {
        "roll": np.arange(len(vectors), dtype=np.int32),
        "matrices": DegreeMatrices.stack([vectors[:2], vectors[2:3]]),
        "collected_reports": {"starts": reports.starts, "ids": reports.ids, "present": present},
    }
    return {**values, **federated}


@pytest.fixture
def filled(tmp_path: Path, stage_values: dict[str, Any]) -> RunFolder:
    """A folder with every stage saved, as if the run had been interrupted at its very end."""
    folder = RunFolder(tmp_path / "run", "fingerprint")
    folder.begin(Settings())
    transcript = Transcript()
    transcript.record(Sequence(walk=0, entries=(3, 1)))
    for name, stage in STORED.items():
        folder.save(stage, stage_values[name], Account(1.5, transcript))
    return folder


def flat(value: Any) -> bytes:
    """The bytes that make a stage's value what it is."""
    names = (
        "linkage",
        "sequences",
        "hops",
        "starts",
        "outputs",
        "cumulative",
        "ids",
        "rows",
        "indptr",
        "indices",
        "weights",
    )
    if isinstance(value, dict):
        return b"|".join(name.encode() + part.tobytes() for name, part in sorted(value.items()))
    parts = [getattr(value, name) for name in names if hasattr(value, name)] or [value]
    return b"|".join(np.asarray(part).tobytes() for part in parts)


def test_every_stage_is_read_back_as_it_was(filled: RunFolder, stage_values: dict[str, Any]) -> None:
    for name, stage in STORED.items():
        loaded = filled.load(stage)
        assert filled.has(stage)
        assert type(loaded) is type(stage_values[name]) or isinstance(loaded, np.ndarray)
        assert flat(loaded) == flat(stage_values[name])
    assert filled.load(WALKS).hops == stage_values["walks"].hops


def test_accounts_are_read_back_as_they_were(filled: RunFolder) -> None:
    accounts = filled.finished()
    assert list(accounts) == list(STORED)
    assert accounts["tree"].seconds == 1.5
    assert accounts["tree"].transcript.count("sequences") == 1


def test_the_manifest_lists_every_file_that_is_written(filled: RunFolder) -> None:
    written = [path.name for path in (filled.path / PROGRESS).iterdir()]
    listed = json.loads((filled.path / PROGRESS / MANIFEST).read_text())["files"]
    assert sorted(written) == sorted([*listed, MANIFEST])
    assert sorted(listed) == sorted(FILES)


def test_a_stage_is_there_only_once_the_manifest_lists_it(filled: RunFolder) -> None:
    manifest = filled.path / PROGRESS / "manifest.json"
    content = json.loads(manifest.read_text())
    del content["stages"]["walks"]
    manifest.write_text(json.dumps(content))
    assert not filled.has(WALKS)
    (filled.path / PROGRESS / "tree.npz").unlink()
    assert not filled.has(paper.TREE)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("left", [0, 40, -1])
def test_a_damaged_stage_is_named(filled: RunFolder, name: str, left: int) -> None:
    path = filled.path / PROGRESS / name
    path.write_bytes(path.read_bytes()[:left])
    stage = "walks" if name == "hops.npy" else name.split(".")[0]
    with pytest.raises(RunFolderError, match=rf"stage {stage} can't be read back .* --force"):
        flat(filled.load(STORED[stage]))


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"fedwalk": "1", "graph": ""}', "\x00"])
def test_a_damaged_manifest_is_named(filled: RunFolder, content: str) -> None:
    (filled.path / PROGRESS / "manifest.json").write_text(content)
    with pytest.raises(RunFolderError, match=r"manifest.json: .* Start again with --force"):
        filled.finished()
    with pytest.raises(RunFolderError, match=r"manifest.json: .* Start again with --force"):
        filled.check_resumable(Settings())


def test_resuming_needs_the_same_graph_settings_and_version(filled: RunFolder) -> None:
    filled.check_resumable(Settings())
    filled.check_resumable(Settings(threads=3))
    with pytest.raises(RunFolderError, match="the run began with another graph"):
        RunFolder(filled.path, "another").check_resumable(Settings())
    with pytest.raises(RunFolderError, match="the run began with seed = 0, now it is 1"):
        filled.check_resumable(Settings(seed=1))
    manifest = filled.path / PROGRESS / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"fedwalk": "', '"fedwalk": "0.0.0+older.'))
    with pytest.raises(RunFolderError, match=r"the run began with fedwalk 0.0.0"):
        filled.check_resumable(Settings())


@pytest.mark.parametrize("name", ["package", "graph", "stages", "files"])
@pytest.mark.parametrize("value", [None, 1, {"a": 1}, [1]])
def test_a_manifest_with_a_value_of_another_type_is_named(filled: RunFolder, name: str, value: object) -> None:
    manifest = filled.path / PROGRESS / MANIFEST
    content = {**json.loads(manifest.read_text()), name: value}
    manifest.write_text(json.dumps(content))
    with pytest.raises(RunFolderError, match=r"manifest.json: .* Start again with --force"):
        filled.finished()


@pytest.mark.parametrize("number", [None, 1, 2, 4, "3"])
def test_a_run_that_began_in_another_format_is_refused_by_version(filled: RunFolder, number: object) -> None:
    manifest = filled.path / PROGRESS / MANIFEST
    content = {**json.loads(manifest.read_text()), "fedwalk": "0.0.9", "format": number}
    if number is None:
        del content["format"]
    manifest.write_text(json.dumps(content))
    with pytest.raises(RunFolderError, match=r"began with fedwalk 0.0.9 in format [1234]; .* continues format 3"):
        filled.check_resumable(Settings())
    clear(filled.path)
    assert list(filled.path.iterdir()) == []


def test_without_a_readable_manifest_everything_that_looks_like_a_stage_is_cleared(filled: RunFolder) -> None:
    (filled.path / PROGRESS / MANIFEST).write_text("{")
    (filled.path / PROGRESS / "walks.npy.partial").write_text("half")
    (filled.path / PROGRESS / "notes.txt").write_text("mine")
    clear(filled.path)
    assert [path.name for path in (filled.path / PROGRESS).iterdir()] == ["notes.txt"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("array.npy", lambda path: write_arrays(path, np.zeros(100_000))),
        ("arrays.npz", lambda path: write_arrays(path, {"a": np.zeros(100_000)})),
        ("text.json", lambda path: write_text(path, "text")),
    ],
)
def test_a_full_disk_is_named_in_the_error(name: str, write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")
    (tmp_path / f"{name}.partial").symlink_to("/dev/full")
    with pytest.raises(RunFolderError, match=rf"{name}: can't be written: No space left .*disk is full.*--resume"):
        write(path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {name: b"old"}


def test_arrays_and_text_are_written_as_they_are(tmp_path: Path) -> None:
    table = np.arange(6, dtype=np.int32).reshape(2, 3)
    write_arrays(tmp_path / "a.npy", table)
    write_arrays(tmp_path / "b.npz", {"x": table, "names": np.array(["ä", "b"])})
    write_text(tmp_path / "c.txt", "ε\n")
    assert np.array_equal(np.load(tmp_path / "a.npy"), table)
    with np.load(tmp_path / "b.npz") as arrays:
        assert arrays["names"].tolist() == ["ä", "b"]
    assert (tmp_path / "c.txt").read_bytes() == "ε\n".encode()


def test_stages_are_for_their_owner_only_regardless_of_the_umask(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "graph")
    (tmp_path / PROGRESS).mkdir(mode=0o755)
    (tmp_path / PROGRESS / "bins.npy.partial").write_bytes(b"of an earlier run")
    umask = os.umask(0)
    try:
        folder.begin(Settings())
        folder.save(paper.BINS, np.arange(3, dtype=np.int32), Account(1.0, Transcript()))
        folder.save(COLLECTED_REPORTS, {"ids": np.arange(3)}, Account(1.0, Transcript()))
    finally:
        os.umask(umask)
    assert (tmp_path / PROGRESS).stat().st_mode & 0o777 == 0o700
    kept = list((tmp_path / PROGRESS).iterdir())
    assert {path.name for path in kept} == {"manifest.json", "bins.npy", "collected_reports.npz"}
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    assert (tmp_path / "settings.toml").stat().st_mode & 0o777 == 0o666


def test_an_interrupted_run_leaves_private_stages(
    tmp_path: Path, network: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = RunFolder.save

    def breaking(folder: RunFolder, stage: Stage[Any], value: object, account: Account) -> None:
        save(folder, stage, value, account)
        if stage is paper.TREE:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "save", breaking)
    umask = os.umask(0)
    try:
        with pytest.raises(KeyboardInterrupt):
            embed_to_folder(network, Settings(num_walks=1, walk_length=5, dim=4, threads=1), tmp_path / "run")
    finally:
        os.umask(umask)
    stages = tmp_path / "run" / PROGRESS
    assert stages.stat().st_mode & 0o777 == 0o700
    assert (stages / "tree.npz").exists()
    assert {path.stat().st_mode & 0o777 for path in stages.iterdir()} == {0o600}


def test_results_follow_the_umask(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        write_arrays(tmp_path / "a.npy", np.zeros(2))
    finally:
        os.umask(umask)
    assert (tmp_path / "a.npy").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("name", [*RESULTS, PROGRESS])
def test_a_folder_with_a_file_of_a_run_is_not_free(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(RunFolderError, match=rf"already holds a run \({name}\).*--resume.*--force"):
        open_run_folder(tmp_path, force=False, resume=False)
    assert (tmp_path / name).read_text() == "mine"
    check_free(tmp_path, force=True, resume=False)


def test_a_folder_with_other_files_is_free(tmp_path: Path) -> None:
    (tmp_path / "graph.edges").write_text("1 2\n")
    assert open_run_folder(tmp_path, force=False, resume=False) is False
    assert open_run_folder(tmp_path, force=False, resume=True) is False


@pytest.mark.parametrize("name", ["embedding.npz", "tree.npz", "walks.npy"])
def test_resuming_never_overwrites_results_of_unknown_origin(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(RunFolderError, match=f"holds {name}, but neither a finished run nor one to continue"):
        open_run_folder(tmp_path, force=False, resume=True)


def test_clearing_removes_a_runs_own_files_and_no_others(filled: RunFolder) -> None:
    strangers = ["notes.txt", "graph.edges", "stages/notes.txt", "stages/sub/walks.npy", "run.json.bak"]
    (filled.path / PROGRESS / "sub").mkdir()
    for name in strangers:
        (filled.path / name).write_text("mine")
    for name in (*RESULTS, "embedding.npz.partial", "stages/walks.npy.partial"):
        (filled.path / name).write_text("the run's")
    clear(filled.path)
    assert sorted(str(p.relative_to(filled.path)) for p in filled.path.rglob("*") if p.is_file()) == sorted(strangers)


def test_clearing_leaves_no_empty_folder_of_stages(filled: RunFolder) -> None:
    clear(filled.path)
    assert list(filled.path.iterdir()) == []
    clear(filled.path)


def test_a_folder_in_the_place_of_a_file_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "walks.npy").mkdir()
    with pytest.raises(RunFolderError, match=r"walks.npy: can't be removed"):
        clear(tmp_path)
    assert (tmp_path / "walks.npy").is_dir()


def test_a_file_where_the_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    with pytest.raises(RunFolderError, match=r"is a file. Name a folder"):
        open_run_folder(tmp_path / "run", force=True, resume=False)
    with pytest.raises(RunFolderError, match="can't be made"):
        open_run_folder(tmp_path / "run" / "inner", force=False, resume=False)
    assert (tmp_path / "run").read_text() == "mine"
