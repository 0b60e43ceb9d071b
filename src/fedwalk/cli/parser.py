"""The command line's parser: argparse, with suggestions for mistyped names and arguments that are added late."""

import argparse
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest name for a mistyped command, flag or choice, and prints errors as one line.

    It can also add some of its arguments when it is first used. The flags of the settings need the list of installed
    protocols; `fedwalk --help` doesn't show them, and is faster without.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._later: list[Callable[[argparse.ArgumentParser], None]] = []

    def add_later(self, add: Callable[[argparse.ArgumentParser], None]) -> None:
        """Call `add(parser)` before this parser parses or prints its help for the first time."""
        self._later.append(add)

    def _add_now(self) -> None:
        # Removed before it is called: argparse refuses an argument that is added twice.
        while self._later:
            self._later.pop(0)(self)

    def parse_known_args(self, *args: Any, **options: Any) -> Any:
        """Parse, as argparse does, after adding all arguments; an unknown flag is an error of the command it is for."""
        self._add_now()
        # argparse itself passes both of its arguments by position.
        given, *namespace = args or (None,)
        given = sys.argv[1:] if given is None else list(given)
        # A parser with commands leaves their flags to them. The others check before argparse does: it would complain
        # first about a required argument that is missing only because its flag is mistyped.
        if self._subparsers is None:
            self._refuse(self._unknown_flags(given))
        parsed, rest = super().parse_known_args(given, *namespace, **options)
        self._refuse(rest)
        return parsed, rest

    def format_help(self) -> str:
        """The help text, after adding all arguments."""
        self._add_now()
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print the message and how to get help, and exit; the usage of some commands would fill the terminal."""
        end = "" if message.endswith((".", "?")) else "."
        self.exit(2, f"{self.prog}: error: {message}{end} See `{self.prog} --help`.\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ArgumentError for a value that isn't one of the action's choices; argparse calls this."""
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            hint = suggestion(str(value), names) or f"Choose from {', '.join(names)}"
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}. {hint}")

    def _unknown_flags(self, given: list[str]) -> list[str]:
        """The long flags that this parser doesn't have; argparse accepts a beginning of a flag for the flag."""
        known = self._option_string_actions
        before = given[: given.index("--")] if "--" in given else given
        names = [word.partition("=")[0] for word in before if word.startswith("--") and " " not in word]
        return [name for name in names if not any(flag.startswith(name) for flag in known)]

    def _refuse(self, words: list[str]) -> None:
        """End with an error for words that this parser doesn't know."""
        if words:
            hints = filter(
                None, (suggestion(word, self._option_string_actions) for word in words if word.startswith("-"))
            )
            self.error(" ".join([f"unrecognized arguments: {' '.join(words)}.", *hints]))


def suggestion(name: str, known: Iterable[str]) -> str:
    """A question that names the nearest known name; empty if none is near.

    >>> suggestion("emebd", ["embed", "evaluate"]), suggestion("xyzzy", ["embed"])
    ("Did you mean 'embed'?", '')
    """
    near = get_close_matches(name, list(known), 1)
    return f"Did you mean {near[0]!r}?" if near else ""
