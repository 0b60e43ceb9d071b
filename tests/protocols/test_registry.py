"""The registry: which values can be added as protocols, and what is said about those that can't."""

import importlib.metadata
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import SETTINGS, SMALL, Command
from fedwalk.errors import SettingsError
from fedwalk.graph import Graph
from fedwalk.privacy.ledger import Release
from fedwalk.privacy.mechanisms import Unprotected
from fedwalk.protocols import registry
from fedwalk.protocols.base import Protocol
from fedwalk.protocols.deepwalk.protocol import PROTOCOL as DEEPWALK
from fedwalk.protocols.registry import FEDERATED, OURS, federated_protocols, find_protocol, protocol_names, register
from fedwalk.protocols.stages import SKIPGRAM, WALKS, array_stage
from fedwalk.run.execute import run
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
            return self.loaded

    def entries(group: str) -> list[Any]:
        assert group == registry.GROUP
        return [
            Entry(name=name, value=f"{package}:PROTOCOL", dist=SimpleNamespace(name=package), loaded=value)
            for (package, name), value in values.items()
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
        (protocol(settings=(Setting("walks", 1, ""),)), "own setting 'walks' has the name of a shared one: rename it"),
        (protocol(reads=("hops",)), "reads 'hops', which is not a setting: remove it from `reads`"),
        (protocol(release_settings=("hops",)), "'hops', which is not a setting: remove it from `release_settings`"),
        (protocol(stages=(WALKS, SKIPGRAM, WALKS)), "two of its stages are named 'walks'"),
        (protocol(stages=(WALKS, array_stage("hops"))), "two of its stages are stored in 'hops.npy'"),
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


def test_a_package_cannot_replace_our_protocols(installed: Installed) -> None:
    installed["a", "deepwalk"] = protocol(name="deepwalk")
    assert find_protocol("deepwalk") is DEEPWALK


def test_a_release_may_depend_on_a_setting_of_the_protocol(network: Graph) -> None:
    register(protocol(settings=(Setting("share", 0.5, "share"),), release_settings=("share", "walks")))
    chosen = Settings.from_mapping({**SETTINGS, "protocol": "other"})
    ledgers = [run(network, chosen.updated({"share": share})).ledger for share in (0.5, 0.5, 0.7)]
    names = {name for ledger in ledgers for name in ledger.releases}
    assert len(names) == 2


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
