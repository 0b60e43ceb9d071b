"""The reference of the settings as Markdown, read off `Settings`, the protocols and the flags of `fedwalk embed`."""

import argparse
import inspect
import re
from dataclasses import Field, fields
from typing import Any

from command_reference import all_parsers, escape, help_text, option_groups
from fedwalk.cli import build_parser
from fedwalk.protocols.registry import OURS, find_protocol
from fedwalk.protocols.settings import CHOICES, MIN_EPSILON, MIN_VALUES, PRESETS
from fedwalk.settings import Settings

HEAD = "| setting | default | values | read by | meaning |\n|---|---|---|---|---|"


def settings_reference() -> str:
    """A table for each group of settings, then the presets."""
    (parser,) = [one for one in all_parsers(build_parser()) if one.prog == "fedwalk embed"]
    by_name = {field.name: field for field in fields(Settings)}
    parts = []
    for title, options in option_groups(parser):
        rows = [_row(by_name[option.dest], parser, option) for option in options if option.dest in by_name]
        if rows:
            parts.append(f"## {title.capitalize()}\n\n{HEAD}\n" + "\n".join(rows))
    presets = [f"| `{name}` | {_assignments(preset)} |" for name, preset in PRESETS.items()]
    parts.append("## Presets\n\n| preset | settings |\n|---|---|\n" + "\n".join(presets))
    return "\n\n".join(parts) + "\n"


def _row(field: "Field[Any]", parser: argparse.ArgumentParser, option: argparse.Action) -> str:
    help_only, default = _split_default(help_text(parser, option))
    meaning = _documented().get(field.name, help_only)
    shown = f"`{field.default}`" if field.default is not None else default
    readers = [name for name in OURS if field.name in find_protocol(name).reads]
    read_by = ", ".join(f"`{name}`" for name in readers) if readers else "every run"
    return f"| `{field.name}` | {shown} | {_values(field.name)} | {read_by} | {escape(meaning)} |"


def _documented() -> dict[str, str]:
    """What the docstring says about each setting that it describes alone; others are described in groups."""
    parameters = (inspect.getdoc(Settings) or "").partition("Parameters\n----------\n")[2].split("\n\n")[0]
    entries = re.findall(r"^(\w+)(?: : .*)?\n((?:    .*\n?)+)", parameters, re.M)
    return {name: " ".join(text.split()) for name, text in entries}


def _split_default(text: str) -> tuple[str, str]:
    """The help without its default, and the default."""
    match = re.fullmatch(r"(.*) \(default:? (.*)\)", text)
    return (match[1], match[2]) if match else (text, "none")


def _values(name: str) -> str:
    if name == "protocol":
        return ", ".join(f"`{one}`" for one in OURS)
    if name in CHOICES:
        return ", ".join(f"`{choice}`" for choice in CHOICES[name])
    if name in MIN_VALUES:
        return f"whole number from {MIN_VALUES[name]}"
    return f"number from {MIN_EPSILON:g}" if name == "epsilon" else "number"


def _assignments(preset: dict[str, Any]) -> str:
    return ", ".join(f"`{name} = {value!r}`" for name, value in preset.items())
