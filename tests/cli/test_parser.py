"""The parser: a flag for every setting, help that prints anywhere, usage errors that exit with 2."""

import argparse
import os
import subprocess
import sys

import pytest

from conftest import Command
from fedwalk import __version__
from fedwalk.cli import build_parser
from fedwalk.cli.embed import add_settings, chosen_settings
from fedwalk.cli.parser import Parser
from fedwalk.protocols.registry import OURS, find_protocol
from fedwalk.protocols.settings import READ_BY_EVERY_RUN
from fedwalk.settings import Settings

FLAGS = {
    "protocol": "deepwalk",
    "epsilon": "0.5",
    "num_bins": "3",
    "walk_length": "11",
    "num_walks": "7",
    "predict": "0.75",
    "predictor": "triad",
    "burst": "4",
    "tree": "average",
    "encoder": "identity",
    "dim": "9",
    "window": "6",
    "negative": "8",
    "seed": "13",
    "threads": "2",
    "runtime": "local",
    "embed": "skipgram",
    "budget": "3.5",
}


def parse(*arguments: str) -> argparse.Namespace:
    return build_parser().parse_args(arguments)


def test_every_setting_has_a_flag_that_reaches_it() -> None:
    assert {*FLAGS, "own"} == set(Settings.__slots__)
    for name, text in FLAGS.items():
        settings, inputs = chosen_settings(parse("embed", "g", "-o", "run", f"--{name.replace('_', '-')}", text))
        assert str(getattr(settings, name)) == text
        assert settings.updated({name: getattr(Settings(), name)}) == Settings()
        assert inputs == {"graph": "g", "format": None}


def test_without_flags_the_settings_are_the_defaults() -> None:
    assert chosen_settings(parse("embed", "g", "-o", "run"))[0] == Settings()


def test_the_version_is_printed(fedwalk: Command) -> None:
    assert fedwalk("--version").out == f"fedwalk {__version__}\n"


@pytest.mark.parametrize("command", ["embed", "evaluate", "demo"])
def test_help_names_every_flag_and_prints_where_only_ascii_does(command: str, fedwalk: Command) -> None:
    told = fedwalk(command, "--help")
    assert told.code == 0
    ask = [sys.executable, "-c", f"from fedwalk.cli import main; main(['{command}', '--help'])"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    plain = subprocess.run(ask, env=env, capture_output=True, text=True, check=False)
    assert (plain.returncode, plain.stderr) == (0, "")
    assert "--json" in plain.stdout
    assert "--json" in told.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["embed"],
        ["embed", "g"],
        ["embed", "g", "-o", "run", "--num-walks", "many"],
        ["embed", "g", "-o", "run", "--predictor", "oracle"],
        ["embed", "g", "-o", "run", "--format", "xml"],
        ["embed", "g", "-o", "run", "--resume", "--force"],
        ["evaluate", "run"],
        ["evaluate", "run", "--graph", "g", "--format", "xml"],
        ["walk"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], fedwalk: Command) -> None:
    outcome = fedwalk(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "error: " in outcome.err.splitlines()[-1]


@pytest.mark.parametrize("command", [(), ("federate",), ("data",)])
def test_a_command_without_an_action_prints_its_help(command: tuple[str, ...], fedwalk: Command) -> None:
    outcome = fedwalk(*command)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == fedwalk(*command, "--help").out


MISTYPED = {
    ("emebd",): "fedwalk: error: argument COMMAND: invalid choice: 'emebd'. Did you mean 'embed'?",
    (
        "federate",
        "stauts",
    ): "fedwalk federate: error: argument ACTION: invalid choice: 'stauts'. Did you mean 'status'?",
    ("data", "lst"): "fedwalk data: error: argument ACTION: invalid choice: 'lst'. Did you mean 'list'?",
    ("--vesion",): "fedwalk: error: unrecognized arguments: --vesion. Did you mean '--version'?",
    ("embed", "g", "-o", "r", "--epsilom=3"): "unrecognized arguments: --epsilom. Did you mean '--epsilon'?",
    # The output is missing because its flag is mistyped.
    ("embed", "g", "--outptu", "r"): "fedwalk embed: error: unrecognized arguments: --outptu. Did you mean '--output'?",
    ("embed", "g", "-o", "r", "--tree", "hybird"): "argument --tree: invalid choice: 'hybird'. Did you mean 'hybrid'?",
    ("federate", "demo", "--protocol", "papr"): "argument --protocol: invalid choice: 'papr'. Did you mean 'paper'?",
    ("federate", "demo", "--holder", "4", "--sede", "3"): "unrecognized arguments: --sede. Did you mean '--seed'?",
    ("xyzzy",): "invalid choice: 'xyzzy'. Choose from demo, embed, evaluate,",
    ("embed", "g", "h", "-o", "r"): "fedwalk embed: error: unrecognized arguments: h. See `fedwalk embed --help`.",
}


@pytest.mark.parametrize("words", MISTYPED)
def test_a_mistyped_name_gets_one_line_with_a_suggestion(words: tuple[str, ...], fedwalk: Command) -> None:
    outcome = fedwalk(*words)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert MISTYPED[words] in outcome.err
    assert outcome.err.endswith(" --help`.\n")


def test_values_that_look_like_flags_and_beginnings_of_flags_are_accepted() -> None:
    assert parse("embed", "g", "-o", "r", "--eps", "3").epsilon == 3
    assert parse("embed", "-o", "r", "--", "--graph").graph == "--graph"
    assert parse("report", "run", "--title", "-- a title --").title == "-- a title --"


def test_the_help_of_a_flag_names_the_protocols_that_read_it() -> None:
    parser = Parser()
    add_settings(parser)
    helps = {action.dest: action.help or "" for action in parser._actions}
    for name in FLAGS.keys() - set(READ_BY_EVERY_RUN):
        readers = [protocol for protocol in OURS if name in find_protocol(protocol).reads]
        told = helps[name].rpartition(":")[0]
        assert len(readers) == len(OURS) or all(reader in told for reader in readers), name
