"""The command line: parse, call, show. Nothing heavy is imported before a command runs."""

import argparse
import io
import sys
import warnings
from collections.abc import Sequence

from fedwalk._version import __version__
from fedwalk.errors import FedWalkError, FedWalkWarning

DESCRIPTION = """\
Node embeddings of a graph that nobody holds as a whole: the FedWalk protocol.

Every vertex belongs to a device that knows only its own neighbours; a server knows only the vertex ids.
"""

EPILOG = """\
first steps:
  fedwalk demo                          a generated social network, FedWalk beside DeepWalk
  fedwalk embed graph.edges -o run      your own graph: edge list, adjacency list, .mat, .npz
  fedwalk evaluate run --graph graph.edges --labels labels.txt
  fedwalk report run                    one HTML page to look at
  fedwalk embed graph.edges -o private --protocol ldp --epsilon 6
  fedwalk audit private                 what an observer learns, and epsilon measured from outside
  fedwalk reproduce blogcatalog -o results
  fedwalk federate demo                 real processes: a server and four holders, on this machine

What the `paper` protocol gives is not differential privacy, whatever its epsilon; `ldp` has a proof: see
docs/privacy.md.
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    from fedwalk.cli import audit, data, demo, embed, evaluate, federate, links, report, reproduce

    parser = argparse.ArgumentParser(
        prog="fedwalk",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fedwalk {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (demo, embed, evaluate, report, audit, links, reproduce, data, federate):
        module.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if it went well, 2 for bad input, 130 for an interrupt."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # ⌊, ± and → are no reason to fail on a terminal without them
    options = build_parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("always", FedWalkWarning)
        warnings.showwarning = _show_warning
        try:
            return _call(options)
        except FedWalkError as error:
            print(f"fedwalk: error: {error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print(f"fedwalk: interrupted.{_resume_hint(options)}", file=sys.stderr)
            return 130
        except BrokenPipeError:
            sys.stderr.close()
            return 1
        except (OSError, MemoryError) as error:
            print(f"fedwalk: error: {_in_words(error)}", file=sys.stderr)
            return 2


def _call(options: argparse.Namespace) -> int:
    """Call the command. One of a federation has processes to stop, also when it is ended by SIGTERM."""
    if options.command != "federate":
        return int(options.call(options))
    from fedwalk.signals import interruptible

    with interruptible():
        return int(options.call(options))


def _resume_hint(options: argparse.Namespace) -> str:
    if options.command == "reproduce":
        return " Finished trials are kept: run the same command again to go on from them."
    if options.command == "federate" and getattr(options, "action", "") == "run":
        return " The server has stopped the run; finished phases are kept: go on with --resume."
    if options.command != "embed":
        return ""
    flag = "--resume in place of --force" if options.force else "--resume"
    return f" Finished stages are kept: run the same command with {flag} to go on from them."


def _in_words(error: OSError | MemoryError) -> str:
    """What the system refused, on one line."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({error}). Use fewer or shorter walks, fewer dimensions or --tree hybrid."
    return f"{error.filename}: {error.strerror}." if error.filename is not None else f"{error}."


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    label = "note" if issubclass(category, FedWalkWarning) else category.__name__
    print(f"fedwalk: {label}: {message}", file=sys.stderr)
