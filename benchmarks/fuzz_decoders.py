"""Every decoder of a federation, in one table: what reads bytes of another party, or of a file that may be damaged.

A decoder is a function of bytes that may raise FedWalkError, or what its own contract says (`Decoder.may_raise`). Its
samples are made by fedwalk's own code, keys and signatures anew at each start.
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
import tomli_w
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as ProtoRecordDict
from fuzz_mutations import Recipe

from fedwalk.errors import FedWalkError
from fedwalk.federation.account import Account
from fedwalk.federation.certificates import as_private
from fedwalk.federation.checked_json import parse_json
from fedwalk.federation.flower_guards.fleet_client import drift, reason
from fedwalk.federation.flower_guards.request_limits import RefusedError, _claimed_key, claimed_length
from fedwalk.federation.folders import FederationSettings, HolderSettings, _read, _without_none
from fedwalk.federation.holder import Terms, answer_lists, vertex_names
from fedwalk.federation.identity import (
    admit,
    fingerprint,
    holder_request,
    new_authority,
    new_keys,
    new_node_key,
    read_request,
)
from fedwalk.federation.lists import KnownLists, OwnLists
from fedwalk.federation.members import Members
from fedwalk.federation.memory import ARRAY, PLAIN, SEAL, Memory, _seal, _to_bytes, read_names
from fedwalk.federation.naming import check_address, check_devices, check_listen
from fedwalk.federation.parcels import (
    ListsAnswer,
    ListsQuestion,
    MatricesAnswer,
    MatricesQuestion,
    RollAnswer,
    RollQuestion,
    VectorsAnswer,
    VectorsQuestion,
    WalksAnswer,
    WalksQuestion,
    pack,
)
from fedwalk.federation.passes import KIND, Pass, read_pass
from fedwalk.federation.records import fields_to_records, from_records, to_records
from fedwalk.federation.roster import KIND as ROSTER
from fedwalk.federation.roster import Roster
from fedwalk.federation.service import read_tag
from fedwalk.federation.shared_files import (
    read_events,
    read_job,
    read_nodes,
    read_progress,
    read_refusals,
    read_run_id,
)
from fedwalk.federation.termination import Standing
from fedwalk.federation.tokens import Receipt, TokenBatch
from fedwalk.federation.walk_plan import read_plan, session_digest
from fedwalk.federation.walking import check_refusals
from fedwalk.protocol.randomness import SystemRandomness
from fedwalk.protocol.transcript import Transcript
from fedwalk.run_folder import RunFolder

KEY = bytes(range(16))
UNCHANGED = b"unchanged"
LISTS = KnownLists(3, np.array([0, 1], np.int32), np.array([0, 2, 4], np.int64), np.array([1, 2, 0, 2], np.int32))
OWN = OwnLists(LISTS.devices, LISTS.indptr, LISTS.indices)


class Refused(FedWalkError):  # noqa: N818 - no error of the program
    """Another's parser refused the bytes before ours saw them, or a decoder said no without an exception."""


@dataclass(frozen=True)
class Decoder:
    """One decoder: its function, what there is to spoil, and what it may raise beside FedWalkError."""

    decode: Callable[[bytes], object]
    recipe: Recipe
    may_raise: tuple[type[Exception], ...] = ()


class MemoryFile:
    """As much of a Path as the readers use, over bytes: a real file would take most of the time."""

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
        """It is always there."""
        return True

    is_file = exists

    def stat(self) -> SimpleNamespace:
        """Of a file that was changed just now."""
        return SimpleNamespace(st_mtime_ns=1, st_ino=1, st_size=len(self._data))

    def __truediv__(self, name: str) -> "MemoryFile":
        return self


def file(data: bytes) -> Path:
    """The bytes for a function that wants a path."""
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
    """Files that people send each other, and what the operator makes of them."""
    tls_key, node_key = new_keys(), new_node_key()
    requests = [
        holder_request("clinic", "192.0.2.8:7443", ["ada", "Zoë", "10"], tls_key, node_key),
        holder_request("ward-7", "[2001:db8::7]:9", ["9"], new_keys(), new_node_key()),
    ]
    authority = new_authority("demo", 30)
    first, second = map(read_request, requests)
    given = Pass("clinic", "192.0.2.7:9092", authority.certificate.decode(), admit(authority, first, 20).decode())
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
    """A request with whatever content, signed by its holder: a hostile one can sign what it likes."""
    try:
        content = json.loads(data)
        payload = json.dumps({name: content[name] for name in content if name != "signatures"}, sort_keys=True).encode()
        keys = [as_private(load_pem_private_key(tls_key, None)), as_private(load_ssh_private_key(node_key, None))]
        content["signatures"] = [b64encode(key.sign(payload, ec.ECDSA(SHA384()))).decode() for key in keys]
        return json.dumps(content).encode()
    except (ValueError, TypeError, LookupError, RecursionError):
        return data


def _admitted(roster: Roster, data: bytes) -> None:
    """As the operator does: read the request, show its fingerprint, enter the holder."""
    request = read_request(data)
    fingerprint(request)
    roster.admitted(request).digest()


def _read_members(path: Path) -> None:
    if Members(path).node_key("clinic") is None:
        raise Refused


def _store() -> dict[str, Decoder]:
    """A holder's answer store."""
    states = _json({"sha256": "", "devices": _device_states()})
    answers = [
        _to_bytes({"hops": 3, "seconds": 0.5, "refused": "{}", "unreachable": ["ben"], "walks": np.arange(4)}),
        _to_bytes(pack(VectorsAnswer(np.array([0, 1], np.int32), np.ones((2, 3), np.float32)))),
    ]
    snapshots = [_to_bytes(pack(LISTS)), _to_bytes(pack(replace(LISTS, unknown=2, absent=1)))]
    return {
        "names.json": _of_file(read_names, ["ada", "ben", "Zoë"], []),
        "lists.json": Decoder(_read_devices, Recipe([_seal_states(states)], is_json=True, seal=_seal_states)),
        "answer": Decoder(_recall, _of_archives(answers)),
        "answer's values": Decoder(_recall, Recipe(answers, is_json=True, seal=_seal_values, open=_open_values)),
        "snapshot": Decoder(_snapshot, _of_archives(snapshots)),
    }


def _of_archives(samples: list[bytes]) -> Recipe:
    """Archives followed by a digest."""
    return Recipe(samples, seal=lambda data: data + _seal(data), open=lambda data: data[: data.rindex(SEAL)])


def _seal_values(data: bytes) -> bytes:
    """An archive with these values beside an array."""
    content = BytesIO()
    arrays: dict[str, Any] = {PLAIN: np.frombuffer(data, np.uint8), f"{ARRAY}walks": np.arange(2)}
    np.savez(content, **arrays)
    return content.getvalue() + _seal(content.getvalue())


def _open_values(data: bytes) -> bytes:
    with np.load(BytesIO(data[: data.rindex(SEAL)])) as archive:
        return bytes(archive[PLAIN].tobytes())


def _device_states() -> dict[str, Any]:
    """What two devices keep that have answered twice."""
    empty = _seal_states(_json({"sha256": "", "devices": {}}))
    devices = _memory(empty).list_devices(LISTS, SystemRandomness(), 20.0)
    for epoch in (0, 1):
        answer_lists(ListsQuestion("run", 3, 2.0, epoch), LISTS, devices)
    return {str(v): device.state() for v, device in devices.items()}


def _seal_states(data: bytes) -> bytes:
    """With the right checksum, if it is JSON at all."""
    try:
        content = json.loads(data)
        text = json.dumps(content["devices"])
        return json.dumps({**content, "sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()
    except (ValueError, TypeError, LookupError, RecursionError):
        return data


def _memory(data: bytes) -> Memory:
    """An answer store all of whose files have this content."""
    memory: Any = Memory(Path("nowhere"))
    memory._lists = memory._names = file(data)
    memory._run_folder = lambda run: MemoryFile(data)
    return cast(Memory, memory)


def _read_devices(data: bytes) -> None:
    _memory(data).list_devices(LISTS, SystemRandomness(), 8.0)


def _recall(data: bytes) -> None:
    """As a holder does that was asked before: what it kept must be fit to be sent."""
    fields = _memory(data).recall("vectors", "run-question")
    fields_to_records(fields or {})


def _snapshot(data: bytes) -> None:
    lists = _memory(data).snapshot("run")
    if lists is not None:
        lists.restrict(np.arange(min(lists.vertices, 3), dtype=np.int32))


def _own_files() -> dict[str, Decoder]:
    """Files by which the processes of a folder tell each other how things stand, and those that owners edit."""
    account = Account("run", {"ann": 3, "ben": 2}, patience=5.0)
    account.lose("ben", "vectors", "NaN", refused=True)
    account.refused_by_holders.update({"replayed": 3})
    counts = dict.fromkeys(("begun", "finished", "handed", "received", "refused", "bytes"), 7)
    job = {
        "federation": "fed",
        "output": "run",
        "patience": 5.0,
        "keep_walks": False,
        "need": 1,
        "settings": {"walks": 2},
    }
    events = b'{"pid": 7}\n{"stage": "walks", "done": 3, "total": 9}\n{"ended": true}\n{"error": "gone"}\n'
    terms = Terms(("ldp", "paper"), 8.0, 3)
    holder = HolderSettings("clinic", "192.0.2.8:7443", "0.0.0.0:7443", "lists.adj", terms, 3)
    federation = FederationSettings("demo", "192.0.2.7:9092", "0.0.0.0:9092")
    return {
        "nodes": _of_file(read_nodes, {"clinic": 2**64 - 1, "ward-7": 5}),
        "federation.json": _of_file(Account.load, {"secret": account.secret, **account.as_dict()}),
        "progress.json": _of_file(read_progress, {**counts, "began": 1.5, "now": 2.5}),
        "job": _of_file(read_job, job),
        "progress.jsonl": Decoder(lambda data: read_events(file(data)), Recipe([events])),
        "refused.json": _of_file(read_refusals, {"clinic: too much at once": 3}),
        "flower-run": Decoder(lambda data: read_run_id(file(data)), Recipe([b"12345678901234567890", b"7\n"])),
        "state": _of_file(_read_state, {"pid": 7, "tag": "0123456789abcdef", "log": "server.log"}),
        "manifest": _of_file(_read_manifest, {"fedwalk": "1", "graph": "", "stages": {"roll": _stage()}}),
        "holder.toml": _of_settings(holder),
        "federation.toml": _of_settings(federation),
    }


def _of_settings(settings: FederationSettings | HolderSettings) -> Decoder:
    sample = tomli_w.dumps(_without_none(asdict(settings))).encode()
    kind: Any = type(settings)
    return Decoder(lambda data: _read(file(data), kind, "fedwalk"), Recipe([sample]))


def _read_state(path: Path) -> None:
    if read_tag(path) is None:
        raise Refused


def _stage() -> dict[str, Any]:
    return {"seconds": 1.0, "messages": Transcript().as_dict(), "peak_rss_bytes": 5}


def _read_manifest(path: Path) -> None:
    RunFolder(path, "").finished()


def _wire() -> dict[str, Decoder]:
    """What arrives at a port."""
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
        "standing": Decoder(Standing.from_bytes, Recipe([Standing(True, 12).to_bytes()])),
        "request head": Decoder(_read_head, Recipe(heads), (RefusedError, h11.RemoteProtocolError)),
        "claimed length": Decoder(_read_length, Recipe([b"12", b"0", b"99999999999"]), (RefusedError,)),
        "claimed key": Decoder(_read_key, Recipe([b"QUJDRA==", b"AAAA"])),
        "server's words": Decoder(_read_words, Recipe(server)),
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


def _read_words(data: bytes) -> None:
    """What a SuperNode makes of a refusal's body, and of the date in an answer's head."""
    text = data.decode("utf-8", "replace")
    reason(text)
    drift(text, 4200.0)


def _records() -> dict[str, Decoder]:
    """Flower's records as bytes, for each kind of question and answer."""
    ids, rows = np.arange(3, dtype=np.int32), np.ones((3, 2), np.float32)
    parcels: list[Any] = [
        RollQuestion("run", "paper", np.frombuffer(b'["ada", "ben"]', np.uint8), 2.0, 3),
        RollAnswer("ada", ids),
        ListsQuestion("run", 3, 2.0, 0),
        ListsAnswer(ids, np.arange(4), ids),
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
    others = [_to_proto(parcel) for parcel in parcels]
    # As many samples of its own kind as of all others, which are spliced into it.
    readers = {
        f"records {type(parcel).__name__}": Decoder(
            partial(_from_proto, type(parcel)), Recipe([*[sample] * len(others), *others])
        )
        for parcel, sample in zip(parcels, others, strict=True)
    }
    question = _walks_question()
    return {
        **readers,
        "records WalksQuestion": Decoder(_plan_from_proto, Recipe([_to_proto(question)])),
        "walk plan": Decoder(partial(_plan_from_values, question), Recipe([UNCHANGED])),
    }


def _to_proto(parcel: Any) -> bytes:
    return bytes(recorddict_to_proto(to_records(parcel)).SerializeToString())


def _from_proto(kind: type[Any], data: bytes) -> Any:
    try:
        records = recorddict_from_proto(ProtoRecordDict.FromString(data))
    except Exception as error:  # Flower's own parser: its errors never reach ours
        raise Refused from error
    parcel = from_records(kind, records)
    if isinstance(parcel, RollQuestion):
        vertex_names(parcel)
    if isinstance(parcel, WalksAnswer):
        check_refusals("ada", parcel.refused)
    return parcel


def _plan_from_proto(data: bytes) -> None:
    read_plan(_from_proto(WalksQuestion, data), OWN, 0)


def _walks_question() -> WalksQuestion:
    """A triangle: holder 0 has two of its vertices."""
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
    """Another size, or other numbers at a few places."""
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
    """Texts by themselves."""
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
