"""Settings that operators and owners edit by hand, and folders of other formats."""

from pathlib import Path

import pytest

from fedwalk.errors import FedWalkError, InputError
from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.admission import enrol
from fedwalk.federation.membership.folders import (
    FORMAT,
    FederationFolder,
    FormatError,
    HolderFolder,
    write_settings,
)
from helpers.enrolment import SERVER, settings


@pytest.mark.parametrize(
    "text",
    [
        "no toml", "name = 3", 'name = "a"\naddress = "b:1"', 'name = "a"\naddress = "b:1"\nlisten = 5',
        'name = "a"\naddress = "b:1"\nlisten = "b:1"\nmax_answer = "much"',
        'name = "a"\naddress = "b:1"\nlisten = "b:1"\nmax_answer = true',
        'name = "a"\naddress = "b:1"\nlisten = "b:1"\nother = 1', "\x00",
    ],
)  # fmt: skip
def test_an_invalid_federation_file_is_refused_by_name(text: str, tmp_path: Path) -> None:
    (tmp_path / "federation.toml").write_text(f"format = {FORMAT}\n{text}", encoding="utf-8")
    with pytest.raises(InputError, match=r"federation\.toml: can't be understood"):
        FederationFolder(tmp_path).settings()


def test_an_unknown_missing_or_mistyped_setting_is_named(tmp_path: Path) -> None:
    folder = FederationFolder(tmp_path)
    for text, problem in (
        ('name = "a"\naddress = "b:1"', r"the setting 'listen' is missing"),
        ('name = "a"\naddress = "b:1"\nlisten = "b:1"\nother = 1', r"there is no setting 'other'; known are name, "),
        ('name = "a"\naddress = "b:1"\nlisten = 5', r"listen = 5 has the wrong type"),
    ):
        folder.settings_file.write_text(f"format = {FORMAT}\n{text}", encoding="utf-8")
        with pytest.raises(InputError, match=rf"federation\.toml: can't be understood \({problem}"):
            folder.settings()


def test_an_unknown_term_is_named(tmp_path: Path) -> None:
    folder = HolderFolder(tmp_path)
    write_settings(folder.settings_file, settings("clinic"))
    with folder.settings_file.open("a", encoding="utf-8") as file:
        file.write("more = 1\n")
    with pytest.raises(InputError, match=r"there is no setting 'terms\.more'; known are protocols, "):
        folder.settings()


@pytest.mark.parametrize(
    "terms",
    [
        "terms = 5", "[terms]\nprotocols = 5", '[terms]\nprotocols = "ldp"', "[terms]\nbudget = -1",
        '[terms]\nbudget = "all"', "[terms]\nmax_walks = 0.5", "[terms]\nmore = 1", "",
        "simulation_seed = 1.5\n[terms]", "simulation_seed = true\n[terms]",
    ],
)  # fmt: skip
def test_invalid_terms_are_refused(terms: str, tmp_path: Path) -> None:
    folder = HolderFolder(tmp_path)
    write_settings(folder.settings_file, settings("clinic"))
    plain = folder.settings_file.read_text(encoding="utf-8").partition("\n[terms]")[0]
    folder.settings_file.write_text(f"{plain}\n{terms}\n", encoding="utf-8")
    with pytest.raises(FedWalkError):
        folder.settings()


def test_terms_that_are_left_out_take_the_most_private_default(tmp_path: Path) -> None:
    folder = HolderFolder(tmp_path)
    write_settings(folder.settings_file, settings("clinic", simulation_seed=3))
    assert folder.settings().simulation_seed == 3
    plain = folder.settings_file.read_text(encoding="utf-8").partition("\n[terms]")[0]
    folder.settings_file.write_text(f"{plain}\n[terms]\nbudget = 3\n", encoding="utf-8")
    assert folder.settings().terms == Terms(("ldp",), 3)


def with_format(path: Path, line: str) -> None:
    """Replace the line of the format number in a file of settings."""
    text = path.read_text(encoding="utf-8")
    assert text.count(f"format = {FORMAT}\n") == 1
    path.write_text(text.replace(f"format = {FORMAT}\n", line), encoding="utf-8")


OTHER_FORMATS = [
    ("", "has no format number"), ("format = 1\n", "has format 1, which is older"),
    ("format = 0\n", "has format 0, which is older"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "problem"), OTHER_FORMATS)
def test_a_federation_of_an_older_format_is_refused(line: str, problem: str, tmp_path: Path) -> None:
    folder = FederationFolder(tmp_path)
    write_settings(folder.settings_file, SERVER)
    with_format(folder.settings_file, line)
    with pytest.raises(FormatError, match=rf"federation\.toml: {problem}.*reads format 2.*`fedwalk federate init`"):
        folder.settings()


@pytest.mark.parametrize(("line", "problem"), OTHER_FORMATS)
def test_the_refusal_of_an_older_holder_says_to_keep_its_folder(line: str, problem: str, tmp_path: Path) -> None:
    folder = HolderFolder(tmp_path)
    write_settings(folder.settings_file, settings("clinic"))
    with_format(folder.settings_file, line)
    keep = "Do not delete the old folder, which holds what the devices have already released"
    with pytest.raises(
        FormatError, match=rf"holder\.toml: {problem}.*reads format 2.*`fedwalk federate enrol`.*{keep}"
    ):
        folder.settings()


@pytest.mark.parametrize("line", ["format = 3\n", "format = 9223372036854775807\n"])
def test_folders_of_a_newer_format_ask_for_a_newer_fedwalk(line: str, tmp_path: Path) -> None:
    operators, owners = FederationFolder(tmp_path), HolderFolder(tmp_path)
    write_settings(operators.settings_file, SERVER)
    write_settings(owners.settings_file, settings("clinic"))
    for folder in (operators, owners):
        with_format(folder.settings_file, line)
        with pytest.raises(FormatError, match=r"which is newer; .* reads format 2\. Install the newer fedwalk"):
            folder.settings()


@pytest.mark.parametrize("line", ["format = true\n", 'format = "2"\n', "format = 2.0\n", "format = []\n"])
def test_a_format_that_is_not_a_whole_number_is_refused(line: str, tmp_path: Path) -> None:
    folder = FederationFolder(tmp_path)
    write_settings(folder.settings_file, SERVER)
    with_format(folder.settings_file, line)
    with pytest.raises(FormatError, match=r"federation\.toml: format = .* isn't a whole number"):
        folder.settings()


def test_a_holder_file_of_format_1_is_refused_for_its_format_not_its_names(tmp_path: Path) -> None:
    (tmp_path / "holder.toml").write_text(
        'name = "clinic"\naddress = ""\nlisten = ""\nlists = "lists.adj"\n\n[terms]\nprotocols = ["ldp"]\n',
        encoding="utf-8",
    )
    with pytest.raises(FormatError, match="has no format number"):
        HolderFolder(tmp_path).settings()


@pytest.mark.parametrize("name", ["memory", "memory-simulated"])
def test_an_old_answer_store_is_never_silently_replaced_by_an_empty_one(tmp_path: Path, name: str) -> None:
    folder = HolderFolder(tmp_path)
    (tmp_path / name).mkdir()
    (tmp_path / "neighbours.adj").write_text("ann bob\n", encoding="utf-8")
    refusal = rf"{name}: is an answer store of format 1; .* reads format 2\..* Do not delete the old folder"
    with pytest.raises(FormatError, match=refusal):
        enrol(tmp_path, settings("clinic"))
    # Neither does a file of settings that was edited to look like the present format.
    write_settings(folder.settings_file, settings("clinic"))
    for read in (folder.settings, lambda: folder.answer_store):
        with pytest.raises(FormatError, match=refusal):
            read()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["holder.toml", name, "neighbours.adj"]
