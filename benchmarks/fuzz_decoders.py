"""A table of every decoder of a federation: functions that read another party's bytes, or a file that may be damaged.

A decoder may raise FedWalkError, or what its own contract allows (`Decoder.may_raise`). Its samples are made by
fedwalk's own code, with new keys and signatures at each start.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import h11
import numpy as np
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as ProtoRecordDict
from fuzz_mutations import Recipe

from fedwalk.errors import FedWalkError
from fedwalk.federation.deploy.services import read_tag
from fedwalk.federation.flower_guards.fleet_client import clock_warning, refusal_reason
from fedwalk.federation.flower_guards.request_limits import RefusedError, _claimed_key, claimed_length
from fedwalk.federation.holder.answer_file import ARRAY, PLAIN, SEAL, seal, to_bytes
from fedwalk.federation.holder.answer_store import FORMAT as STORE_FORMAT
from fedwalk.federation.holder.answer_store import AnswerStore, read_names
from fedwalk.federation.holder.answers import answer_reports, vertex_names
from fedwalk.federation.holder.neighbour_lists import KnownNeighbours, OwnNeighbours
from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.certificates import as_private
from fedwalk.federation.membership.folders import FederationSettings, HolderSettings, read_settings, settings_text
from fedwalk.federation.membership.keys import new_authority, new_node_key, new_tls_key
from fedwalk.federation.membership.members import Members
from fedwalk.federation.membership.passes import KIND, Pass, read_pass
from fedwalk.federation.membership.requests import holder_certificate, holder_request, read_request, request_fingerprint
from fedwalk.federation.membership.roster import KIND as ROSTER
from fedwalk.federation.membership.roster import Roster
from fedwalk.federation.names import check_address, check_devices, check_listen
from fedwalk.federation.server.statistics import RunStatistics
from fedwalk.federation.server.walk_phase import check_refusals
from fedwalk.federation.shared_files import (
    read_events,
    read_nodes,
    read_progress,
    read_refusals,
    read_run_id,
    read_run_request,
)
from fedwalk.federation.walking.plan import read_plan, session_digest
from fedwalk.federation.walking.termination import HolderStatus
from fedwalk.federation.wire.flower_records import fields_to_records, from_records, to_records
from fedwalk.federation.wire.questions import (
    MatricesAnswer,
    MatricesQuestion,
    ReportsAnswer,
    ReportsQuestion,
    RollAnswer,
    RollQuestion,
    VectorsAnswer,
    VectorsQuestion,
    WalksAnswer,
    WalksQuestion,
    pack,
)
from fedwalk.federation.wire.token_batches import Receipt, TokenBatch
from fedwalk.privacy.randomness import SystemRandomness
from fedwalk.protocols.paper.messages import KINDS
from fedwalk.protocols.transcript import Transcript
from fedwalk.run.folder import FORMAT, RunFolder
from fedwalk.util.checked_json import parse_json

KEY = bytes(range(16))
UNCHANGED = b"unchanged"
NEIGHBOURS = KnownNeighbours(
    3, np.array([0, 1], np.int32), np.array([0, 2, 4], np.int64), np.array([1, 2, 0, 2], np.int32)
)
OWN = OwnNeighbours(NEIGHBOURS.devices, NEIGHBOURS.indptr, NEIGHBOURS.indices)


class Refused(FedWalkError):  # noqa: N818 - not an error of the program
    """Another library's parser refused the bytes first, or a decoder refused them without an exception."""


@dataclass(frozen=True)
class Decoder:
    """One decoder: its function, what to damage, and what it may raise besides FedWalkError."""

    decode: Callable[[bytes], object]
    recipe: Recipe
    may_raise: tuple[type[Exception], ...] = ()


class MemoryFile:
    """The part of Path's interface that the readers use, over bytes: real files would take most of the time."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __str__(self) -> str:
        return "fuzzed"

    def open(self, mode: str = "rb") -> BinaryIO:
        """The bytes as a file."""
        return BytesIO(self._data)

    def read_text(self, encoding: str) -> str:
        """The bytes as text."""
        return self._data.decode(encoding)

    def exists(self) -> bool:
        """Always true."""
        return True

    is_file = exists

    def stat(self) -> SimpleNamespace:
        """The values of a file that has just changed."""
        return SimpleNamespace(st_mtime_ns=1, st_ino=1, st_size=len(self._data))

    def __truediv__(self, name: str) -> "MemoryFile":
        return self


def file(data: bytes) -> Path:
    """The bytes as an argument for functions that take a path."""
    return cast(Path, MemoryFile(data))


def table() -> dict[str, Decoder]:
    """All decoders by name."""
    return {**_sent_files(), **_store(), **_own_files(), **_wire(), **_records(), **_names()}


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


def _of_file(read: Callable[[Path], object], *samples: Any) -> Decoder:
    """A decoder of a JSON file."""
    return Decoder(lambda data: read(file(data)), Recipe([_json(sample) for sample in samples], is_json=True))


def _sent_files() -> dict[str, Decoder]:
    """Files that owners and the operator send each other, and the operator's handling of them."""
    tls_key, node_key = new_tls_key(), new_node_key()
    requests = [
        holder_request("clinic", "192.0.2.8:7443", ["ada", "Zoë", "10"], tls_key, node_key),
        holder_request("ward-7", "[2001:db8::7]:9", ["9"], new_tls_key(), new_node_key()),
    ]
    authority = new_authority("demo", 30)
    first, second = map(read_request, requests)
    given = Pass(
        "clinic", "192.0.2.7:9092", authority.certificate.decode(), holder_certificate(authority, first, 20).decode()
    )
    roster = Roster().admitted(first).admitted(second)
    members = {holder.name: holder.node_key for holder in roster.holders}
    signed = Recipe(requests[:1], is_json=True, seal=partial(_signed, tls_key, node_key))
    return {
        "request": Decoder(read_request, Recipe(requests, is_json=True)),
        "signed request": Decoder(partial(_admitted, Roster().admitted(second)), signed),
        "pass": _of_file(read_pass, {"kind": KIND, **asdict(given)}),
        "roster": _of_file(Roster.load, {"kind": ROSTER, **asdict(roster)}, {"kind": ROSTER, **asdict(Roster())}),
        "members": _of_file(_read_members, members),
    }


def _signed(tls_key: bytes, node_key: bytes, data: bytes) -> bytes:
    """A request with any content, signed by its holder: a hostile holder can sign anything."""
    try:
        content = json.loads(data)
        payload = json.dumps({name: content[name] for name in content if name != "signatures"}, sort_keys=True).encode()
        keys = [as_private(load_pem_private_key(tls_key, None)), as_private(load_ssh_private_key(node_key, None))]
        content["signatures"] = [b64encode(key.sign(payload, ec.ECDSA(SHA384()))).decode() for key in keys]
        return json.dumps(content).encode()
    except (ValueError, TypeError, LookupError, RecursionError):
        return data


def _admitted(roster: Roster, data: bytes) -> None:
    """Do what the operator does: read the request, show its fingerprint, admit the holder."""
    request = read_request(data)
    request_fingerprint(request)
    roster.admitted(request).digest()


def _read_members(path: Path) -> None:
    if Members(path).node_key("clinic") is None:
        raise Refused


def _store() -> dict[str, Decoder]:
    """A holder's answer store."""
    states = _json({"format": STORE_FORMAT, "sha256": "", "devices": _device_states()})
    answers = [
        to_bytes({"hops": 3, "seconds": 0.5, "refused": "{}", "unreachable": ["ben"], "walks": np.arange(4)}),
        to_bytes(pack(VectorsAnswer(np.array([0, 1], np.int32), np.ones((2, 3), np.float32)))),
    ]
    snapshots = [to_bytes(pack(NEIGHBOURS)), to_bytes(pack(replace(NEIGHBOURS, unknown=2, absent=1)))]
    return {
        "names.json": _of_file(read_names, ["ada", "ben", "Zoë"], []),
        "devices.json": Decoder(_read_devices, Recipe([_seal_states(states)], is_json=True, seal=_seal_states)),
        "answer": Decoder(_recall, _of_archives(answers)),
        "answer's values": Decoder(_recall, Recipe(answers, is_json=True, seal=_seal_values, open=_open_values)),
        "snapshot": Decoder(_snapshot, _of_archives(snapshots)),
    }


def _of_archives(samples: list[bytes]) -> Recipe:
    """Archives followed by a digest."""
    return Recipe(samples, seal=lambda data: data + seal(data), open=lambda data: data[: data.rindex(SEAL)])


def _seal_values(data: bytes) -> bytes:
    """An archive with these values and an array."""
    content = BytesIO()
    arrays: dict[str, Any] = {PLAIN: np.frombuffer(data, np.uint8), f"{ARRAY}walks": np.arange(2)}
    np.savez(content, **arrays)
    return content.getvalue() + seal(content.getvalue())


def _open_values(data: bytes) -> bytes:
    with np.load(BytesIO(data[: data.rindex(SEAL)])) as archive:
        return bytes(archive[PLAIN].tobytes())


def _device_states() -> dict[str, Any]:
    """The stored state of two devices that have each answered twice."""
    empty = _seal_states(_json({"format": STORE_FORMAT, "sha256": "", "devices": {}}))
    devices = _store_of(empty).report_devices(NEIGHBOURS, SystemRandomness(), 20.0)
    for epoch in (0, 1):
        answer_reports(ReportsQuestion("run", 3, 2.0, epoch), NEIGHBOURS, devices)
    return {str(v): device.state() for v, device in devices.items()}


def _seal_states(data: bytes) -> bytes:
    """The data with a valid checksum, if it is JSON."""
    try:
        content = json.loads(data)
        text = json.dumps(content["devices"])
        return json.dumps({**content, "sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()
    except (ValueError, TypeError, LookupError, RecursionError):
        return data


def _store_of(data: bytes) -> AnswerStore:
    """An answer store all of whose files have this content."""
    store: Any = AnswerStore(Path("nowhere"))
    store._devices = store._names = file(data)
    store._run_folder = lambda run: MemoryFile(data)
    return cast(AnswerStore, store)


def _read_devices(data: bytes) -> None:
    _store_of(data).report_devices(NEIGHBOURS, SystemRandomness(), 8.0)


def _recall(data: bytes) -> None:
    """Read a stored answer as a holder does when a question is repeated; it must be fit to be sent."""
    fields = _store_of(data).recall("vectors", "run-question")
    fields_to_records(fields or {})


def _snapshot(data: bytes) -> None:
    neighbours = _store_of(data).snapshot("run")
    if neighbours is not None:
        neighbours.restrict(np.arange(min(neighbours.vertices, 3), dtype=np.int32))


def _own_files() -> dict[str, Decoder]:
    """Files by which the processes of a folder tell each other how things stand, and those that owners edit."""
    statistics = RunStatistics("run", {"ann": 3, "ben": 2}, patience=5.0)
    statistics.lose("ben", "vectors", "NaN", invalid=True)
    statistics.refused_by_holders.update({"replayed": 3})
    counts = dict.fromkeys(("begun", "finished", "handed", "received", "refused", "bytes"), 7)
    request = {
        "federation": "fed",
        "output": "run",
        "patience": 5.0,
        "keep_walks": False,
        "min_holders": 1,
        "settings": {"num_walks": 2},
    }
    events = b'{"pid": 7}\n{"stage": "walks", "done": 3, "total": 9}\n{"ended": true}\n{"error": "gone"}\n'
    terms = Terms(("ldp", "paper"), 8.0, 3)
    holder = HolderSettings("clinic", "192.0.2.8:7443", "0.0.0.0:7443", "neighbours.adj", terms, 3)
    federation = FederationSettings("demo", "192.0.2.7:9092", "0.0.0.0:9092")
    return {
        "nodes": _of_file(read_nodes, {"clinic": 2**64 - 1, "ward-7": 5}),
        "federation.json": _of_file(RunStatistics.load, {"secret": statistics.secret, **statistics.as_dict()}),
        "progress.json": _of_file(read_progress, {**counts, "began": 1.5, "now": 2.5}),
        "run request": _of_file(read_run_request, request),
        "progress.jsonl": Decoder(lambda data: read_events(file(data)), Recipe([events])),
        "refused.json": _of_file(read_refusals, {"clinic: too much at once": 3}),
        "flower-run": Decoder(lambda data: read_run_id(file(data)), Recipe([b"12345678901234567890", b"7\n"])),
        "state": _of_file(_read_state, {"pid": 7, "tag": "0123456789abcdef", "log": "server.log"}),
        "manifest": _of_file(_read_manifest, _manifest()),
        "holder.toml": _of_settings(holder),
        "federation.toml": _of_settings(federation),
    }


def _of_settings(settings: FederationSettings | HolderSettings) -> Decoder:
    sample = settings_text(settings).encode()
    kind: Any = type(settings)
    return Decoder(lambda data: read_settings(file(data), kind), Recipe([sample]))


def _read_state(path: Path) -> None:
    if read_tag(path) is None:
        raise Refused


def _manifest() -> dict[str, Any]:
    stage = {"seconds": 1.0, "messages": Transcript.of(KINDS).as_dict(), "peak_rss_bytes": 5}
    head = {"fedwalk": "1", "format": FORMAT, "package": "", "graph": ""}
    return {**head, "stages": {"roll": stage}, "files": ["roll.npy"]}


def _read_manifest(path: Path) -> None:
    RunFolder(path, "").finished()


def _wire() -> dict[str, Decoder]:
    """Data that arrives at a port."""
    batch = TokenBatch(
        np.array([3, 5], np.int32),
        np.array([0, 7], np.int64),
        np.array([1, 2], np.int32),
        np.array([9, 8, 8], np.int32),
    )
    heads = [
        b"POST /v1/fleet/pull HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\nflwr-public-key: QUJD\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    ]
    server = [b'{"detail": "not a member"}', b"Thu, 01 Jan 1970 00:10:00 GMT", b"fedwalk: refused"]
    return {
        "token batch": Decoder(partial(TokenBatch.from_bytes, key=KEY), Recipe([batch.to_bytes(KEY, 4)])),
        "receipt": Decoder(
            partial(Receipt.from_bytes, tokens=3),
            Recipe([Receipt(np.zeros(3, np.uint8)).to_bytes(), Receipt(np.array([0, 5, 0], np.uint8), 2).to_bytes()]),
        ),
        "status": Decoder(HolderStatus.from_bytes, Recipe([HolderStatus(True, 12).to_bytes()])),
        "request head": Decoder(_read_head, Recipe(heads), (RefusedError, h11.RemoteProtocolError)),
        "claimed length": Decoder(_read_length, Recipe([b"12", b"0", b"99999999999"]), (RefusedError,)),
        "claimed key": Decoder(_read_key, Recipe([b"QUJDRA==", b"AAAA"])),
        "server's response": Decoder(_read_response, Recipe(server)),
    }


def _read_head(data: bytes) -> None:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=16 << 10)
    connection.receive_data(data)
    event = connection.next_event()
    if not isinstance(event, h11.Request):
        raise Refused
    claimed_length(event.headers)
    _claimed_key(event.headers)


def _read_length(data: bytes) -> None:
    claimed_length([(b"content-length", data)])


def _read_key(data: bytes) -> None:
    if _claimed_key([(b"flwr-public-key", data)]) is None:
        raise Refused


def _read_response(data: bytes) -> None:
    """A SuperNode's reading of a refusal's body, and of the date in a response's header."""
    text = data.decode("utf-8", "replace")
    refusal_reason(text)
    clock_warning(text, 4200.0)


def _records() -> dict[str, Decoder]:
    """Flower's records as bytes, for each kind of question and answer."""
    ids, rows = np.arange(3, dtype=np.int32), np.ones((3, 2), np.float32)
    messages: list[Any] = [
        RollQuestion("run", "paper", np.frombuffer(b'["ada", "ben"]', np.uint8), 2.0, 3),
        RollAnswer("ada", ids),
        ReportsQuestion("run", 3, 2.0, 0),
        ReportsAnswer(ids, np.arange(4), ids),
        VectorsQuestion("run", 2, 2.0, ids, ids % np.int32(2)),
        VectorsAnswer(ids, rows),
        MatricesQuestion("run", ids, rows),
        MatricesAnswer(ids, np.arange(4), rows),
        WalksAnswer(
            1,
            2,
            1,
            90,
            0.5,
            False,
            '{"ben: replayed": 1}',
            ["ben"],
            np.arange(3),
            ids,
            ids,
            np.arange(3),
            np.zeros((3, 4), np.int32),
        ),
    ]
    others = [_to_proto(message) for message in messages]
    # As many samples of its own kind as of all others, which are spliced into it.
    readers = {
        f"records {type(message).__name__}": Decoder(
            partial(_from_proto, type(message)), Recipe([*[sample] * len(others), *others])
        )
        for message, sample in zip(messages, others, strict=True)
    }
    question = _walks_question()
    return {
        **readers,
        "records WalksQuestion": Decoder(_plan_from_proto, Recipe([_to_proto(question)])),
        "walk plan": Decoder(partial(_plan_from_values, question), Recipe([UNCHANGED])),
    }


def _to_proto(message: Any) -> bytes:
    return bytes(recorddict_to_proto(to_records(message)).SerializeToString())


def _from_proto(kind: type[Any], data: bytes) -> Any:
    try:
        records = recorddict_from_proto(ProtoRecordDict.FromString(data))
    except Exception as error:  # raised by Flower's own parser, before our code runs
        raise Refused from error
    message = from_records(kind, records)
    if isinstance(message, RollQuestion):
        vertex_names(message)
    if isinstance(message, WalksAnswer):
        check_refusals("ada", message.refused)
    return message


def _plan_from_proto(data: bytes) -> None:
    read_plan(_from_proto(WalksQuestion, data), OWN, 0)


def _walks_question() -> WalksQuestion:
    """A question about a triangle, of which holder 0 has two vertices."""
    ids, all_true = np.arange(3, dtype=np.int32), np.ones(3, np.bool_)
    return WalksQuestion(
        run="run", key=KEY.hex(), session=KEY.hex(), sessions=[session_digest(KEY.hex())] * 2, predictor="tree",
        burst=2, length=4, count=6, epsilon=2.0, predict=0.5, patience=10.0, holders=["ada", "ben"],
        addresses=["192.0.2.8:1", "192.0.2.9:1"], participants=ids,
        owner=np.array([0, 0, 1], np.int32), alive=all_true, walks=np.array([0, 1, 3, 4], np.int64),
        bins=np.array([0, 1, 0], np.int32), vectors=np.ones((3, 2), np.float32),
        joins=np.array([[0, 1], [2, 3]], np.int32), encoder_starts=np.arange(4), encoder_outputs=ids,
        encoder_cumulative=np.ones(3), encoder_kin=ids, encoder_kin_starts=np.arange(4), encoder_kin_members=ids,
        encoder_certain=all_true,
    )  # fmt: skip


def _plan_from_values(question: WalksQuestion, data: bytes) -> None:
    """The question with random values of the right types in some fields; the bytes are a seed."""
    random, fields = Random(data), pack(question)
    for name in random.sample(sorted(fields), random.choice((1, 1, 2, 4)) if data != UNCHANGED else 0):
        fields[name] = _other_value(fields[name], random)
    read_plan(WalksQuestion(**fields), OWN, 0)


def _other_value(value: Any, random: Random) -> Any:
    if isinstance(value, np.ndarray):
        return _other_array(value, random)
    if isinstance(value, bool | int):
        return random.choice((0, 1, -1, 2, 2**31, 2**63, 10**30, value + 1))
    if isinstance(value, float):
        return random.choice((0.0, -1.0, float("nan"), float("inf"), 1e308, 5e-324, 0.3))
    if isinstance(value, list):
        return random.choice(([], value[:1], [*value, "a"], ["", ""], ["169.254.169.254:80", "a:1"], ["\0:1", "a:1"]))
    return random.choice(("", "tree", "degree", "triad", "\ud800", "a" * 400, "00" * 16, "ada"))


def _other_array(array: np.ndarray, random: Random) -> Any:
    """The array with another size, or with other numbers in a few places."""
    kinds = random.random()
    if kinds < 0.15:
        return array[: random.randrange(len(array) + 1)]
    if kinds < 0.3:
        return np.concatenate([array, array[: random.randrange(len(array) + 1)]])
    if kinds < 0.4:
        return array[:0].reshape(0, *array.shape[1:])
    if kinds < 0.5 and array.ndim == 2:
        return np.ascontiguousarray(array[:, : random.randrange(array.shape[1] + 1)])
    changed = array.copy()
    extremes: list[Any] = [0, 1, 2, 3]
    if array.dtype.kind == "i":
        limits = np.iinfo(array.dtype)
        extremes += [-1, limits.min, limits.max]
    elif array.dtype.kind == "f":
        extremes += [float("nan"), float("inf"), -1.0, 1e30, 0.5]
    for _ in range(random.choice((1, 1, 3))):
        changed.flat[random.randrange(changed.size)] = random.choice(extremes)
    return changed


def _names() -> dict[str, Decoder]:
    """Decoders of single texts."""
    return {
        "vertex names": Decoder(_read_vertex_names, Recipe([b'["ada","ben","Zo\xc3\xab"]'], is_json=True)),
        "refusals": Decoder(_read_refusals, Recipe([b'{"replayed": 3, "too large": 1}', b"{}"], is_json=True)),
        "device name": Decoder(lambda data: check_devices([_text(data)]), Recipe([b"ada", "Zoë น้ำ カ".encode()])),
        "address": Decoder(_read_address, Recipe([b"192.0.2.8:7443", b"[2001:db8::7]:9", b"holder.example.org:1"])),
        "any JSON": Decoder(parse_json, Recipe([b'{"a": [1, 2.5, "b"]}', b"[]"], is_json=True), (ValueError,)),
    }


def _text(data: bytes) -> str:
    """Any text, lone surrogates included."""
    return data.decode("utf-8", "surrogateescape")


def _read_vertex_names(data: bytes) -> None:
    vertex_names(RollQuestion("run", "ldp", np.frombuffer(data, np.uint8)))


def _read_refusals(data: bytes) -> None:
    check_refusals("ada", data.decode("utf-8", "replace"))


def _read_address(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    check_listen(text)
    check_address(text)
