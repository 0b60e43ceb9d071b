"""Settings: valid ones survive TOML, whatever else is refused with one kind of error."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import SettingsError
from fedwalk.protocols import registry
from fedwalk.protocols.ldp.mechanism import MAX_EPSILON as MAX_LDP_EPSILON
from fedwalk.protocols.registry import OURS, find_protocol
from fedwalk.protocols.settings import MAX_WHOLE, MIN_EPSILON, MIN_VALUES
from fedwalk.settings import CHOICES, Settings, load_settings, read_toml
from fedwalk.util.parallel import available_cores

PAPER: dict[str, Any] = {
    "epsilon": 2.0,
    "walk_length": 40,
    "num_walks": 80,
    "predict": 0.2,
    "predictor": "tree",
    "burst": 2,
    "dim": 128,
    "window": 10,
    "negative": 5,
}


def valid_settings() -> st.SearchStrategy[Settings]:
    """Settings of our protocols, with any values for what each reads."""
    choices: dict[str, st.SearchStrategy[Any]] = {name: st.sampled_from(options) for name, options in CHOICES.items()}
    whole = {name: st.integers(least, MAX_WHOLE) for name, least in MIN_VALUES.items()}
    numbers: dict[str, st.SearchStrategy[Any]] = {
        "epsilon": st.floats(MIN_EPSILON, 1e300) | st.integers(1, 100),
        "predict": st.floats(0, 1),
        "walk_length": st.integers(3, MAX_WHOLE),
        "runtime": st.just("local"),
        "seed": st.integers(0, 2**63 - 1),
        "num_bins": st.none() | whole["num_bins"],
        "threads": st.none() | whole["threads"],
    }
    every = {**choices, **whole, **numbers, "budget": st.none() | st.floats(1, 9)}
    narrower: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "paper": {"embed": st.none() | st.just("skipgram")},
        "deepwalk": {},
        "ldp": {"epsilon": st.floats(MIN_EPSILON, MAX_LDP_EPSILON)},
    }
    each = [
        st.builds(Settings, protocol=st.just(name), **{read: {**every, **own}[read] for read in reads_of(name)})
        for name, own in narrower.items()
    ]
    return st.one_of(each)


def reads_of(protocol: str) -> tuple[str, ...]:
    return find_protocol(protocol).reads


def junk() -> st.SearchStrategy[Any]:
    atoms = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates() | st.just(10**400)
    return st.recursive(atoms, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=4)


def attempt(values: dict[str, Any]) -> tuple[Settings | None, str]:
    """Settings, or what is said against them; any other error is the test's."""
    try:
        return Settings.from_mapping(values), ""
    except SettingsError as error:
        return None, str(error)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("toml") / "settings.toml"


def test_defaults_are_those_of_the_paper() -> None:
    assert {name: getattr(Settings(), name) for name in PAPER} == PAPER


@given(settings=valid_settings())
def test_valid_settings_survive_toml(settings: Settings, scratch: Path) -> None:
    scratch.write_text(settings.to_toml(graph='odd "name"\\ #1.edges', format=None), encoding="utf-8")
    assert load_settings(scratch) == settings
    assert read_toml(scratch)["input"] == {"graph": 'odd "name"\\ #1.edges'}


@given(name=st.sampled_from(Settings.__slots__), value=junk())
def test_any_value_is_taken_or_refused_with_a_settings_error(name: str, value: Any) -> None:
    settings, message = attempt({name: value})
    if settings is None:
        assert name.replace("_", "-") in message.replace("_", "-")
    else:
        assert getattr(settings, name) == value


@given(values=st.dictionaries(st.text(max_size=12), junk(), min_size=1, max_size=3))
def test_any_mapping_is_taken_or_refused_with_a_settings_error(values: dict[str, Any]) -> None:
    settings, message = attempt(values)
    assert (settings is None) == bool(message)


@pytest.mark.parametrize("name", MIN_VALUES)
def test_whole_numbers_stop_at_their_least(name: str) -> None:
    least = MIN_VALUES[name]
    with pytest.raises(SettingsError, match=f"{name.replace('_', '-')} = {least - 1}: must be a whole number"):
        Settings().updated({name: least - 1})
    if name != "walk_length":
        assert getattr(Settings().updated({name: least}), name) == least


@pytest.mark.parametrize("epsilon", [0, -1, -0.0, math.inf, -math.inf, math.nan, 1e-40])
def test_epsilon_must_be_above_zero_and_finite(epsilon: float) -> None:
    with pytest.raises(SettingsError, match=r"epsilon = .*: must be a finite number above 0"):
        Settings(epsilon=epsilon)


@pytest.mark.parametrize("predict", [-0.1, 1.1, math.nan, math.inf])
def test_predict_must_be_a_probability(predict: float) -> None:
    with pytest.raises(SettingsError, match=r"predict = .*: must be a probability, from 0 to 1"):
        Settings(predict=predict)


@pytest.mark.parametrize("name", ["epsilon", "predict", "num_walks"])
@pytest.mark.parametrize("value", ["1", True, [1], {}])
def test_a_number_of_another_type_is_shown_as_it_was_written(name: str, value: Any) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings().updated({name: value})
    shown = name.replace("_", "-")
    assert f"{shown} = {value!r}: must be a " in str(caught.value)


def test_numpy_numbers_become_plain_ones_that_toml_can_hold() -> None:
    settings = Settings(epsilon=float(np.float64(1.5))).updated({"dim": np.int64(4), "predict": np.float32(0.5)})
    assert (type(settings.dim), type(settings.predict)) == (int, float)
    assert "dim = 4\n" in settings.to_toml()


@pytest.mark.parametrize("length", [1, 2])
def test_short_walks_need_a_silent_predictor(length: int) -> None:
    with pytest.raises(SettingsError, match=f"walk-length = {length} with predict = 0.2: .*at least 3"):
        Settings(walk_length=length)
    assert Settings(walk_length=length, predict=0).walk_length == length


def test_deepwalk_needs_two_entries_and_no_devices() -> None:
    assert Settings(protocol="deepwalk", walk_length=2).walk_length == 2
    with pytest.raises(SettingsError, match="walk-length = 1"):
        Settings(protocol="deepwalk", walk_length=1)
    with pytest.raises(SettingsError, match="runtime = stepwise: protocol deepwalk doesn't read runtime"):
        Settings(protocol="deepwalk", runtime="stepwise")


@pytest.mark.parametrize("name", CHOICES)
def test_an_unknown_choice_is_told_the_known_ones(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} = 'best': choose from {CHOICES[name][0]}, {CHOICES[name][1]}"):
        Settings().updated({name: "best"})


def test_an_unknown_name_is_told_its_nearest_and_its_origin() -> None:
    with pytest.raises(SettingsError, match=r"my.toml: there is no setting 'epsilom'. Did you mean epsilon?"):
        Settings.from_mapping({"epsilom": 1}, "my.toml")
    with pytest.raises(SettingsError, match=r"no setting 'xyzzy'. Known are budget, burst, dim"):
        Settings.from_mapping({"xyzzy": 1})


def test_names_may_be_written_with_hyphens() -> None:
    assert Settings.from_mapping({"walk-length": 7}).walk_length == 7


def test_resolving_decides_bins_threads_and_embedding_and_nothing_else() -> None:
    resolved = Settings(seed=3).resolve(2000)
    assert (resolved.num_bins, resolved.threads, resolved.embed) == (7, available_cores(), "skipgram")
    assert resolved.updated({"num_bins": None, "threads": None, "embed": None}) == Settings(seed=3)
    assert resolved.resolve(10) == resolved
    assert Settings(protocol="ldp").resolve(2000).embed == "spectral"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"protocol": "ldp", "epsilon": 31}, "epsilon = 31 with protocol = ldp: must be at most 30"),
        (
            {"protocol": "paper", "embed": "spectral"},
            "embed = spectral with protocol = paper: .* only skipgram",
        ),
        ({"protocol": "ldp", "walk_length": 1}, "walk-length = 1 with protocol = ldp"),
        ({"embed": "word2vec"}, "embed = 'word2vec': choose from skipgram, spectral"),
        ({"budget": 0}, "budget = 0: must be a finite number above 0, or left out"),
        ({"budget": math.inf}, "budget = inf: must be a finite number above 0, or left out"),
        ({"budget": "much"}, "budget = 'much': must be a number"),
    ],
)
def test_settings_of_private_runs_are_checked(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings(**values)


def test_more_bins_than_vertices_are_refused() -> None:
    assert Settings(num_bins=5).resolve(5).num_bins == 5
    with pytest.raises(SettingsError, match="num-bins = 6"):
        Settings(num_bins=6).resolve(5)


def test_toml_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no.toml: can't be read: No such file"):
        load_settings(tmp_path / "no.toml")
    with pytest.raises(SettingsError, match="can't be read: Is a directory"):
        load_settings(tmp_path)
    broken = tmp_path / "broken.toml"
    broken.write_text("num_walks = 3\nepsilon =\n")
    with pytest.raises(SettingsError, match=r"broken.toml: is not valid TOML: .*line 2"):
        load_settings(broken)
    for content in (b"num_walks = \xff", b"num_walks = " + b"[" * 9000, b"num_walks = " + b"9" * 5000):
        broken.write_bytes(content)
        with pytest.raises(SettingsError, match=r"broken.toml: is not valid TOML"):
            load_settings(broken)


def test_a_table_where_a_number_belongs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(tomli_w.dumps({"num_walks": {"per_vertex": 3}}))
    with pytest.raises(SettingsError, match=r"num-walks = {'per_vertex': 3}: must be a whole number"):
        load_settings(path)


def test_a_setting_of_its_own_that_a_protocol_does_not_have_is_refused() -> None:
    with pytest.raises(SettingsError, match="protocol paper: there is no setting 'keep'; it has none of its own"):
        Settings(own=(("keep", 0.5),))


@pytest.mark.parametrize("protocol", ["ldp", "deepwalk"])
def test_walks_without_a_step_are_refused_with_advice(protocol: str) -> None:
    message = f"walk-length = 1 with protocol = {protocol}: such a walk has only its start vertex. Use at least 2."
    with pytest.raises(SettingsError, match=message):
        Settings(protocol=protocol, walk_length=1)


UNREAD = [(protocol, name) for protocol in OURS for name in PAPER if name not in reads_of(protocol)]


def test_some_settings_are_read_by_some_protocols_only() -> None:
    assert ("deepwalk", "epsilon") in UNREAD
    assert ("ldp", "predict") in UNREAD
    assert ("ldp", "epsilon") not in UNREAD


@pytest.mark.parametrize(("protocol", "name"), UNREAD)
def test_a_setting_that_the_protocol_does_not_read_is_refused_by_name(protocol: str, name: str) -> None:
    advice = rf"protocol {protocol} doesn't read {name}\. Leave it out; paper( and ldp read|.* reads) it\.$"
    other: dict[str, Any] = {"predict": 0.5, "predictor": "triad"}
    changed = other.get(name, 3)
    # Given explicitly, it is refused even with its default value.
    for value in (PAPER[name], changed):
        with pytest.raises(SettingsError, match=rf"^my\.toml: {advice}"):
            Settings.from_mapping({"protocol": protocol, name: value}, "my.toml")
    with pytest.raises(SettingsError, match=f"^{name} = .*: {advice}"):
        Settings(**{"protocol": protocol, name: changed})
    assert Settings(**{"protocol": protocol, name: PAPER[name]}) == Settings(protocol=protocol)


def test_a_setting_is_kept_or_refused_when_the_protocol_changes() -> None:
    assert Settings(dim=4).updated({"protocol": "ldp"}) == Settings(protocol="ldp", dim=4)
    with pytest.raises(SettingsError, match=r"predict = 0\.5: protocol ldp doesn't read predict"):
        Settings(predict=0.5).updated({"protocol": "ldp"})


@pytest.mark.parametrize("protocol", OURS)
def test_settings_list_what_their_protocol_reads_and_nothing_else(protocol: str) -> None:
    settings = Settings(protocol=protocol).resolve(2000)
    assert settings.as_dict().keys() == {"protocol", *reads_of(protocol)}
    assert Settings.from_mapping(settings.as_dict()) == settings


def test_what_every_run_reads_can_be_set_whatever_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    registry.register(replace(find_protocol("deepwalk"), name="plain", reads=("num_walks",)))
    resolved = Settings(protocol="plain", budget=3, dim=4, seed=5).resolve(20)
    assert (resolved.threads, resolved.embed) == (None, None)
    assert resolved.as_dict() == {"protocol": "plain", "num_walks": 80, "dim": 4, "seed": 5, "budget": 3}
    with pytest.raises(SettingsError, match=r"no setting 'threds'\. Known are budget, dim, num_walks, protocol, seed"):
        Settings.from_mapping({"protocol": "plain", "threds": 1}, "x")
