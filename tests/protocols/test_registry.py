"""The registry: which values can be added as protocols, and what is said about those that can't."""

import importlib.metadata
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from conftest import SETTINGS, SMALL, Command
from fedwalk.errors import FedWalkWarning, ProtocolError, RunFolderError, SettingsError
from fedwalk.graph import Graph
from fedwalk.privacy.ledger import Release
from fedwalk.privacy.mechanisms import Unprotected
from fedwalk.protocols import registry
from fedwalk.protocols.base import Protocol
from fedwalk.protocols.deepwalk.protocol import PROTOCOL as DEEPWALK
from fedwalk.protocols.registry import (
    FEDERATED,
    FEDERATED_DEFAULT,
    OURS,
    federated_protocols,
    find_protocol,
    protocol_names,
    register,
)
from fedwalk.protocols.stages import SKIPGRAM, WALKS, array_stage
from fedwalk.run.execute import embed_to_folder, run
from fedwalk.run.record import read_run
from fedwalk.settings import Setting, Settings

Installed = dict[tuple[str, str], Any]
"""(package, name of the entry point) → what it points to."""


def releases(settings: Settings) -> Iterator[tuple[str, Release]]:
    yield "sample", Release.of(Unprotected("an example"), "sample", "an example")


def protocol(**changes: Any) -> Protocol:
    """A protocol of another package."""
    return replace(DEEPWALK, **{"name": "other", "releases": releases, **changes})


@pytest.fixture(autouse=True)
def _nothing_stays_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    """Values of installed packages: the test fills them in."""
    values: Installed = {}

    class Entry(SimpleNamespace):
        def load(self) -> Any:
            if isinstance(self.loaded, BaseException):
                raise self.loaded
            return self.loaded

    real = importlib.metadata.entry_points

    def entries(**wanted: str) -> Any:
        # Other packages look for their own entry points: numba does, when it compiles for the first time.
        if wanted != {"group": registry.GROUP}:
            return real(**wanted)
        return [
            Entry(name=name, value=f"{one}:PROTOCOL", dist=SimpleNamespace(name=one, version="1.0"), loaded=value)
            for (one, name), value in values.items()
        ]

    monkeypatch.setattr(importlib.metadata, "entry_points", entries)
    registry._entry_points.cache_clear()
    registry._load.cache_clear()
    yield values
    registry._entry_points.cache_clear()
    registry._load.cache_clear()


def test_our_own_protocols_pass_the_checks_for_others() -> None:
    for name in OURS:
        assert registry._checked(find_protocol(name), "fedwalk", name) is find_protocol(name)


def test_a_registered_protocol_is_known_by_its_name_and_may_be_registered_again() -> None:
    register(protocol())
    again = register(protocol())
    assert find_protocol("other") is again
    assert protocol_names()[-1] == "other"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x", r"expected a fedwalk.protocols.base.Protocol, got str. Name the protocol's value.$"),
        (DEEPWALK, "'deepwalk' of this program: this name is already taken"),
        (protocol(settings=(Setting("num_walks", 1, ""),)), "'num_walks' has the name of a shared one: rename it"),
        (protocol(reads=("hops",)), "reads 'hops', which is not a setting: remove it from `reads`"),
        (protocol(release_settings=("hops",)), "'hops', which is not a setting: remove it from `release_settings`"),
        (protocol(stages=(WALKS, SKIPGRAM, WALKS)), "two of its stages are named 'walks'"),
        (protocol(stages=(WALKS, array_stage("hops"))), "two of its stages are stored in 'hops.npy'"),
        (
            protocol(settings=Setting("share", 1, "")),
            r"`settings` must be a tuple of Setting, such as \(Setting\(…\),\)",
        ),
        (protocol(settings=("share",)), "`settings` must be a tuple of Setting"),
        (protocol(stages=[WALKS]), "`stages` must be a tuple of Stage"),
        (protocol(simulate=None), "`simulate` must be a function, not None"),
        (protocol(settings=(Setting("", 1, ""),)), "own setting '' must be a name as in Python"),
        (protocol(settings=(Setting("the-share", 1, ""),)), "own setting 'the-share' must be a name as in Python"),
        (protocol(settings=(Setting("input", "", ""),)), "own setting 'input' has the name of a shared one"),
        (protocol(settings=(Setting("share", None, ""),)), "default of its setting 'share' must be an int, a float"),  # type: ignore[arg-type]
        (protocol(embeddings=()), "`embeddings` must have at least one of skipgram, spectral"),
        (protocol(embeddings=("own",)), "`embeddings` must have at least one of skipgram, spectral, and no others"),
        (protocol(runtimes=("stepwise",)), "`runtimes` must have 'local'"),
        (protocol(stages=(array_stage("total"),)), "a stage can't be named 'total'"),
        (protocol(stages=(array_stage("../evil"),)), "stored in '../evil.npy': use a plain name"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_advice(value: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        register(value)


def test_an_entry_point_must_name_a_protocol_of_its_own_name(installed: Installed) -> None:
    installed["a", "list"], installed["b", "another"], installed["c", "other"] = [], protocol(), protocol()
    with pytest.raises(SettingsError, match=r"a:PROTOCOL of the package a: .* Name the protocol's value in the entry"):
        find_protocol("list")
    with pytest.raises(SettingsError, match=r"is named 'another', but its protocol 'other'. Give both the same name."):
        find_protocol("another")
    assert find_protocol("other") is installed["c", "other"]


def test_two_packages_with_the_same_protocol_name_are_both_named(installed: Installed) -> None:
    installed["second", "other"], installed["first", "other"] = protocol(), protocol()
    assert protocol_names() == (*OURS, "other")
    with pytest.raises(SettingsError, match=r"'other': the packages first and second both have this name. Remove one"):
        find_protocol("other")


@pytest.mark.parametrize("broken", [ImportError("no numpy"), SystemExit(3), AttributeError("PROTOCOL"), [], protocol()])
def test_a_package_that_cannot_be_used_disturbs_no_other_protocol(
    broken: Any, installed: Installed, fedwalk: Command, network_file: Any, tmp_path: Any
) -> None:
    installed["broken", "shaky"], installed["sound", "other"] = (
        broken,
        protocol(settings=(Setting("share", 50, "50%"),)),
    )
    assert "--share" in fedwalk("embed", "--help").out
    assert fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL).code == 0
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "other", *SMALL, "--protocol", "shaky")
    assert outcome.code == 2
    assert outcome.err.startswith("fedwalk: error: ")
    assert "broken" in outcome.err


def test_two_protocols_may_have_a_setting_of_the_same_name_and_another_type(
    installed: Installed, fedwalk: Command, network_file: Any, tmp_path: Any
) -> None:
    installed["a", "first"] = protocol(name="first", settings=(Setting("share", 4, "a whole number"),))
    installed["b", "second"] = protocol(name="second", settings=(Setting("share", 0.5, "a number"),))
    for name, text, shown in (("first", "4", '"share": 4,'), ("second", "0.25", '"share": 0.25,')):
        flags = (*SMALL, "--protocol", name, "--share", text, "--json")
        assert shown in fedwalk("embed", network_file, "-o", tmp_path / name, *flags).out.replace("\n", ",")
    refused = fedwalk("embed", network_file, "-o", tmp_path / "no", *SMALL, "--protocol", "first", "--share", "0.25")
    assert (refused.code, "share = '0.25': must be a whole number" in refused.err) == (2, True)


def test_a_package_cannot_replace_our_protocols(installed: Installed) -> None:
    installed["a", "deepwalk"] = protocol(name="deepwalk")
    with pytest.warns(FedWalkWarning, match="protocol 'deepwalk' of the package a is ignored"):
        assert find_protocol("deepwalk") is DEEPWALK


def test_a_release_may_depend_on_a_setting_of_the_protocol(network: Graph) -> None:
    register(protocol(settings=(Setting("share", 0.5, "share"),), release_settings=("share", "num_walks")))
    chosen = Settings.from_mapping({**SETTINGS, "protocol": "other"})
    ledgers = [run(network, chosen.updated({"share": share})).ledger for share in (0.5, 0.5, 0.7)]
    names = {name for ledger in ledgers for name in ledger.releases}
    assert len(names) == 2


def test_another_version_of_the_package_is_another_release_and_resumes_nothing(
    installed: Installed, network: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    installed["a", "other"] = protocol()
    chosen = Settings.from_mapping({**SETTINGS, "protocol": "other"})
    assert embed_to_folder(network, chosen, tmp_path / "run").package == "a 1.0"
    before = run(network, chosen).ledger.releases.keys()
    assert run(network, chosen).ledger.releases.keys() == before
    monkeypatch.setattr(registry._entry_points()["other"][0].dist, "version", "1.1")
    assert run(network, chosen).ledger.releases.keys().isdisjoint(before)
    with pytest.raises(RunFolderError, match=r"began with the protocol other of a 1\.0, now it is that of a 1\.1"):
        embed_to_folder(network, chosen, tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda graph, settings, stages: np.zeros((3, 2)), r"vectors of the shape \(3, 2\); expected \(60, 8\)"),
        (lambda graph, settings, stages: np.full((60, 8), np.nan), "expected .*, all finite"),
        (lambda graph, settings, stages: None, r"vectors of the shape \(\)"),
    ],
)
def test_vectors_that_are_none_are_the_protocols_fault(wrong: Any, message: str, network: Graph) -> None:
    register(protocol(simulate=wrong))
    with pytest.raises(ProtocolError, match=message):
        run(network, Settings.from_mapping({**SETTINGS, "protocol": "other"}))


def test_a_protocols_own_numbers_are_those_that_json_has(network: Graph, tmp_path: Any) -> None:
    numbers = {"count": np.int64(3), "share": np.float32(0.5), "none": np.nan, "plain": 2.5}
    register(protocol(describe=lambda stages: numbers))
    embed_to_folder(network, Settings.from_mapping({**SETTINGS, "protocol": "other"}), tmp_path)
    assert read_run(tmp_path).details == {"count": 3, "share": 0.5, "plain": 2.5}


def test_a_setting_named_like_one_of_our_flags_disturbs_no_other_protocol(
    fedwalk: Command, network_file: Any, tmp_path: Any
) -> None:
    own = (Setting("force", "weak", "how strongly"), Setting("json", 1, "a number"), Setting("share", 0.5, "share"))
    register(protocol(settings=own))
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "paper", *SMALL, "--json")
    assert (outcome.code, outcome.err.count("error")) == (0, 0)
    flags = ("--protocol", "other", "--share", "0.7", "--json")
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "other", *SMALL, *flags)
    assert outcome.code == 0
    assert '"share": 0.7' in outcome.out
    assert '"force": "weak"' in outcome.out


def test_a_flag_that_a_protocol_does_not_have_is_refused_without_naming_a_file(
    fedwalk: Command, network_file: Any, tmp_path: Any
) -> None:
    register(protocol(settings=(Setting("share", 0.5, "share"),)))
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", "--share", "0.7")
    assert outcome.code == 2
    assert "command line: there is no setting 'share'" in outcome.err


def test_the_names_for_the_command_line_are_those_that_holders_can_run() -> None:
    assert tuple(federated_protocols()) == FEDERATED
    assert [name for name, one in federated_protocols().items() if one.allowed_by_default] == [FEDERATED_DEFAULT]
