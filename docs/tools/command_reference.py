"""The reference of the command line as Markdown, read off the parsers that the commands use."""

import argparse
import os
import re
from collections.abc import Iterator
from unittest.mock import patch

from fedwalk.cli import build_parser

WIDTH = "80"
"""Columns of the usage lines."""


def command_reference() -> str:
    """A section for every command: its description, its usage, its options and its examples."""
    with patch.dict(os.environ, COLUMNS=WIDTH):
        return "\n\n".join(_section(parser) for parser in all_parsers(build_parser())) + "\n"


def all_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, then those of its commands, complete with the options that are added when they are needed."""
    parser.format_help()
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from all_parsers(command)


def option_groups(parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[argparse.Action]]]:
    """The title and the options of each group that has any, without --help."""
    for group in parser._action_groups:
        shown = [
            action
            for action in group._group_actions
            if action.help is not argparse.SUPPRESS
            and not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
        ]
        if shown:
            yield group.title or "", shown


def help_text(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """An option's help with its values filled in."""
    return parser._get_formatter()._expand_help(action)


def escape(text: str) -> str:
    """Text whose characters have no meaning in Markdown, except that backticks still mark code."""
    parts = text.split("`")
    # Between a first and a second backtick is code, in which nothing has to be escaped.
    parts[::2] = [re.sub(r"([*_<>\[\]|])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def _section(parser: argparse.ArgumentParser) -> str:
    usage = re.sub("^(usage: |       )", "", parser.format_usage(), flags=re.M).rstrip()
    parts = [f"## {parser.prog}", _unwrapped(parser.description or ""), f"```text\n{usage}\n```"]
    parts += [_commands(action) for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for title, options in option_groups(parser):
        parts += [f"**{title.capitalize()}**", *(_option(parser, option) for option in options)]
    if parser.epilog:
        parts.append(f"```text\n{parser.epilog.rstrip()}\n```")
    return "\n\n".join(parts)


def _commands(action: "argparse._SubParsersAction[argparse.ArgumentParser]") -> str:
    """The commands with their summaries, each a link to its section."""
    rows = [
        f"| [{choice.dest}](#{action.choices[choice.dest].prog.replace(' ', '-')}) | {escape(choice.help or '')} |"
        for choice in action._choices_actions
    ]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """An entry of a definition list."""
    values = "" if action.nargs == 0 else _values(action)
    name = ", ".join(action.option_strings) or values
    shown = f"{name} {values}" if action.option_strings and values else name
    return f"`{shown}`\n:   {escape(help_text(parser, action))}"


def _values(action: argparse.Action) -> str:
    if action.metavar is not None:
        return action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar)
    if action.choices is not None:
        return "{" + ",".join(str(choice) for choice in action.choices) + "}"
    return action.dest if not action.option_strings else action.dest.upper()


def _unwrapped(text: str) -> str:
    """Paragraphs without line breaks."""
    return "\n\n".join(escape(" ".join(paragraph.split())) for paragraph in text.split("\n\n"))
