"""What owners and operators may edit is read with care."""

from pathlib import Path

import pytest

from enrolling import settings
from fedwalk.errors import FedWalkError, InputError
from fedwalk.federation.folders import (
    FederationFolder,
    HolderFolder,
    write_settings,
)
from fedwalk.federation.holder import Terms


@pytest.mark.parametrize(
    "text",
    [
        "no toml", "name = 3", 'name = "a"\naddress = "b:1"', 'name = "a"\naddress = "b:1"\nlisten = 5',
        'name = "a"\naddress = "b:1"\nlisten = "b:1"\nlargest_answer = "much"',
        'name = "a"\naddress = "b:1"\nlisten = "b:1"\nlargest_answer = true',
        'name = "a"\naddress = "b:1"\nlisten = "b:1"\nother = 1', "\x00",
    ],
)  # fmt: skip
def test_a_federations_file_that_was_edited_into_nonsense_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "federation.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"federation\.toml: can't be understood"):
        FederationFolder(tmp_path).settings()


@pytest.mark.parametrize(
    "terms",
    [
        "terms = 5", "[terms]\nprotocols = 5", '[terms]\nprotocols = "ldp"', "[terms]\nbudget = -1",
        '[terms]\nbudget = "all"', "[terms]\nmost_walks = 0.5", "[terms]\nmore = 1", "",
        "simulation_seed = 1.5\n[terms]", "simulation_seed = true\n[terms]",
    ],
)  # fmt: skip
def test_terms_that_cannot_be_understood_are_no_terms(terms: str, tmp_path: Path) -> None:
    folder = HolderFolder(tmp_path)
    write_settings(folder.settings_file, settings("clinic"))
    plain = folder.settings_file.read_text(encoding="utf-8").partition("\n[terms]")[0]
    folder.settings_file.write_text(f"{plain}\n{terms}\n", encoding="utf-8")
    with pytest.raises(FedWalkError):
        folder.settings()


def test_what_is_left_out_of_the_terms_is_the_careful_choice(tmp_path: Path) -> None:
    folder = HolderFolder(tmp_path)
    write_settings(folder.settings_file, settings("clinic", simulation_seed=3))
    assert folder.settings().simulation_seed == 3
    plain = folder.settings_file.read_text(encoding="utf-8").partition("\n[terms]")[0]
    folder.settings_file.write_text(f"{plain}\n[terms]\nbudget = 3\n", encoding="utf-8")
    assert folder.settings().terms == Terms(("ldp",), 3)
