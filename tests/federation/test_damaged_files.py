"""Damaged and hostile files in a federation's folders: an error of fedwalk or a line of status, never a traceback."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from fedwalk.errors import FedWalkError, InputError, RunFolderError
from fedwalk.federation.deploy.services import read_tag
from fedwalk.federation.membership.admission import admit_holder
from fedwalk.federation.membership.folders import FederationFolder, HolderFolder
from fedwalk.federation.membership.members import Members, write_members
from fedwalk.federation.membership.passes import read_pass, take_pass
from fedwalk.federation.membership.requests import Request, load_request
from fedwalk.federation.membership.roster import Roster
from fedwalk.federation.server.execute import _refused_by_server
from fedwalk.federation.server.statistics import COUNTERS, RunStatistics
from fedwalk.federation.shared_files import (
    read_events,
    read_nodes,
    read_progress,
    read_refusals,
    read_run_id,
    read_run_request,
)
from fedwalk.run.folder import FORMAT, RunFolder, read_json_object
from fedwalk.settings import Settings
from helpers.enrolment import with_fingerprint

CONTENTS: dict[str, bytes] = {
    "empty": b"", "null": b"null", "number": b"1", "text": b'"a"', "list": b"[]", "list of null": b"[null]",
    "object": b"{}", "deep list": b"[" * 100_000, "deep object": b'{"a":' * 100_000, "deep toml": b"a=" + b"[" * 9_000,
    "surrogate": rb'{"tag": "\ud800"}', "not UTF-8": b"\xff\xfe", "nul": b"\0" * 10, "nan": b'{"a": NaN}',
    "infinite": b'{"a": 1e999}', "long integer": b'{"a": ' + b"9" * 5000 + b"}", "cut": b'{"kind": "fedw',
    "twice": b'{"a": 1, "a": 2}',
}  # fmt: skip
FOLDER, UNREADABLE = "folder", "unreadable"
DAMAGES = [*CONTENTS, FOLDER, UNREADABLE]

READERS: dict[str, Callable[[Path], object]] = {
    "nodes.json": read_nodes,
    "run-request-1.json": read_run_request,
    "progress.json": read_progress,
    "refused.json": read_refusals,
    "flower-run": read_run_id,
    "request.json": load_request,
    "pass.json": read_pass,
    "roster.json": Roster.load,
    "federation.json": RunStatistics.load,
    "manifest.json": lambda path: read_json_object(path, ("stages",)),
    "federation.toml": lambda path: FederationFolder(path.parent).settings(),
    "holder.toml": lambda path: HolderFolder(path.parent).settings(),
}
VALID = {("nodes.json", "object"), ("refused.json", "object"), ("flower-run", "number")}


def spoil(path: Path, damage: str) -> None:
    """Put something else in the place of a file."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if damage == FOLDER:
        path.mkdir()
    elif damage == UNREADABLE:
        # A link to itself: a file of mode 0 could still be read by the superuser.
        path.symlink_to(path)
    else:
        path.write_bytes(CONTENTS[damage])


@pytest.mark.parametrize(
    ("name", "damage"), [(name, damage) for name in READERS for damage in DAMAGES if (name, damage) not in VALID]
)
def test_every_reader_raises_a_fedwalk_error_that_names_the_file(name: str, damage: str, tmp_path: Path) -> None:
    spoil(tmp_path / name, damage)
    with pytest.raises(FedWalkError, match=name) as refusal:
        READERS[name](tmp_path / name)
    assert len(str(refusal.value)) < 600


@pytest.mark.parametrize("damage", DAMAGES)
def test_events_of_a_run_are_refused_line_by_line(damage: str, tmp_path: Path) -> None:
    spoil(tmp_path / "progress.jsonl", damage)
    if damage in CONTENTS and damage != "empty":
        (tmp_path / "progress.jsonl").write_bytes(b'{"pid": 1}\n' + CONTENTS[damage] + b"\n")
    elif damage == "empty":
        assert read_events(tmp_path / "progress.jsonl") == ([], 0)
        return
    with pytest.raises(InputError, match=r"progress\.jsonl: can't be read .* --resume"):
        read_events(tmp_path / "progress.jsonl")


@pytest.mark.parametrize("event", [
    {"pid": 0}, {"pid": -1}, {"pid": 2**40}, {"pid": "1"}, {"pid": True}, {"stage": "walks"}, {"ended": 1},
    {"stage": "[/bold]", "done": 1, "total": 1}, {"stage": "walks", "done": -1, "total": 1}, {"error": None},
    {"stage": 1, "done": 1, "total": 1}, {"stage": "walks", "done": 1.5, "total": 1},
])  # fmt: skip
def test_an_event_of_another_form_is_refused(event: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "events").write_text(json.dumps(event) + "\n")
    with pytest.raises(InputError, match="events: can't be read"):
        read_events(tmp_path / "events")


def test_a_line_that_is_still_being_written_is_left_for_later(tmp_path: Path) -> None:
    (tmp_path / "events").write_bytes(b'{"pid": 7}\n{"ended"')
    events, place = read_events(tmp_path / "events")
    assert (events, place) == ([{"pid": 7}], 11)
    (tmp_path / "events").write_bytes(b'{"pid": 7}\n{"ended": true}\n')
    assert read_events(tmp_path / "events", place)[0] == [{"ended": True}]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_that_only_inform_count_as_missing(
    damage: str, tmp_path: Path, ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    """A state that can't be read names no process, members that can't be read have no key, and no run is lost."""
    for name in ("server.json", "members.json", "refused.json"):
        spoil(tmp_path / name, damage)
    assert read_tag(tmp_path / "server.json") is None
    assert Members(tmp_path / "members.json").node_key("clinic") is None
    [count] = _refused_by_server(tmp_path / "refused.json").values() or [1]
    assert count == 1


@pytest.mark.parametrize("content", [
    {"clinic": 1}, {"clinic": None}, {"clinic": ["a"]}, {"clinic": "ssh-rsa AAAA"}, {"clinic": "ecdsa-sha2-nistp384 A"},
    {"clinic": {"a": 1}}, ["clinic"],
])  # fmt: skip
def test_a_member_without_a_key_is_no_member(content: object, tmp_path: Path) -> None:
    (tmp_path / "members.json").write_text(json.dumps(content))
    assert Members(tmp_path / "members.json").node_key("clinic") is None


def test_members_are_accepted_again_when_their_file_is_restored(
    tmp_path: Path, ward: FederationFolder, clinic: tuple[HolderFolder, Request]
) -> None:
    admit_holder(ward, clinic[1], days=20)
    members = Members(tmp_path / "members.json")
    spoil(members.path, "deep list")
    assert members.node_key("clinic") is None
    write_members(members.path, Roster.load(ward.roster))
    assert members.node_key("clinic") is not None


@pytest.mark.parametrize(
    ("name", "size"), [("request.json", 300 << 20), ("pass.json", 1 << 30), ("holder.toml", 1 << 30)]
)
def test_a_huge_file_is_refused_before_it_is_read(name: str, size: int, tmp_path: Path) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(size)
    with pytest.raises(InputError, match=rf"{name}: .*larger than .*, the maximum"):
        READERS[name](tmp_path / name)


WRONG: list[Any] = [None, -1, "", "a", [], [1], {}, {"a": None}, {"a": -1}, {"a": 1.5}, {"a": []}, True, 1e300]
FITS: dict[str, list[Any]] = {
    "run": ["", "a"], "patience": [1e300], "simulated": [[]],
    **{name: [{}] for name in ("holders", "lost", "invalid", *COUNTERS)},
}  # fmt: skip


@pytest.mark.parametrize("field", RunStatistics.__slots__)
def test_statistics_of_other_types_are_refused(field: str, tmp_path: Path) -> None:
    statistics = RunStatistics("run", {"ann": 3})
    whole = {"secret": statistics.secret, **statistics.as_dict()}
    for value in WRONG:
        (tmp_path / "federation.json").write_text(json.dumps({**whole, field: value}))
        if value in FITS.get(field, []):
            assert getattr(RunStatistics.load(tmp_path / "federation.json"), field) == value
        else:
            with pytest.raises(RunFolderError, match=r"federation\.json: can't be read"):
                RunStatistics.load(tmp_path / "federation.json")


@pytest.mark.parametrize("stages", [
    None, [], "a", {"roll": None}, {"roll": {}}, {"roll": {"seconds": "a", "messages": {}}},
    {"roll": {"seconds": 1, "messages": []}},
    {"roll": {"seconds": 1, "messages": {"no phase": {"count": 1, "bytes": 1}}}},
    {"roll": {"seconds": 1, "messages": {"hops": {"count": None, "bytes": 1}}}},
    {"roll": {"seconds": 1, "messages": {}, "peak_rss_bytes": "a"}}, {"roll": {"seconds": 10**400, "messages": {}}},
])  # fmt: skip
def test_a_manifest_of_other_types_is_refused(stages: Any, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "graph")
    folder.begin(Settings())
    (tmp_path / "stages" / "manifest.json").write_text(
        json.dumps({"fedwalk": "1", "format": FORMAT, "graph": "", "stages": stages})
    )
    with pytest.raises(RunFolderError, match=r"manifest\.json: isn't what fedwalk wrote"):
        folder.finished()


@pytest.mark.parametrize("name", ["federation.toml", "roster.json", "nodes.json", "server.pem", "server.json"])
@pytest.mark.parametrize("damage", ["empty", "deep list", "not UTF-8", FOLDER, UNREADABLE])
def test_the_status_of_a_federation_shows_everything_but_the_damaged_file(
    name: str, damage: str, ward: FederationFolder, clinic: tuple[HolderFolder, Request], fedwalk: Command
) -> None:
    admit_holder(ward, clinic[1], days=20)
    spoil(ward.path / name, damage)
    for options in ((), ("--json",)):
        shown = fedwalk("federate", "status", ward.path, *options)
        if name == "federation.toml" and damage == UNREADABLE:
            assert "is neither a federation nor a holder" in shown.err
            continue
        assert (shown.code, shown.err) == (0, "")
        assert "Traceback" not in shown.out
        assert ("can't be read: " in shown.out) == (name != "server.json")
        assert ("clinic" in shown.out) == (name != "roster.json")


@pytest.mark.parametrize(
    "name", ["holder.toml", "answers/names.json", "answers/devices.json", "progress.json", "holder.pem", "holder.json"]
)
@pytest.mark.parametrize("damage", ["null", "deep object", "surrogate", "cut", FOLDER])
def test_the_status_of_a_holder_shows_everything_but_the_damaged_file(
    name: str, damage: str, ward: FederationFolder, clinic: tuple[HolderFolder, Request], fedwalk: Command
) -> None:
    folder = clinic[0]
    take_pass(folder, admit_holder(ward, clinic[1], days=20))
    spoil(folder.path / name, damage)
    for options in ((), ("--json",)):
        shown = fedwalk("federate", "status", folder.path, *options)
        assert (shown.code, shown.err) == (0, "")
        assert ("can't be read: " in shown.out) == (name != "holder.json")
        assert ("agrees to" in shown.out) == (not options)


@pytest.mark.parametrize("damage", ["null", "deep list", "not UTF-8", "cut", FOLDER, UNREADABLE])
def test_commands_end_with_one_line_that_names_the_file(
    damage: str, ward: FederationFolder, clinic: tuple[HolderFolder, Request], fedwalk: Command, tmp_path: Path
) -> None:
    folder, bad = clinic[0], tmp_path / "bad.json"
    spoil(bad, damage)
    for arguments in (("admit", ward.path, bad), ("holder", folder.path, "--pass", bad)):
        ended = fedwalk("federate", *arguments)
        assert ended.code == 2
        assert ended.err.startswith(f"fedwalk: error: {bad}: ")
        assert ended.err.count("\n") == 1
    spoil(ward.roster, damage)
    ended = fedwalk("federate", "admit", ward.path, *with_fingerprint(folder.request))
    assert ended.code == 2
    assert ended.err.startswith(f"fedwalk: error: {ward.roster}: ")


def test_a_damaged_run_request_is_reported_in_the_line_of_the_run(ward: FederationFolder, fedwalk: Command) -> None:
    (ward.path / "run-request-1.json").write_bytes(b"[" * 100_000)
    shown = fedwalk("federate", "status", ward.path)
    assert shown.code == 0
    assert "can't be read: " in shown.out
    assert "nested too deeply" in shown.out
