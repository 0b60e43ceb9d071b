"""The command line: each command parses its arguments, calls the library and prints the result.

Heavy modules (numpy, numba, rich) are imported inside the commands, so that `fedwalk --help` is fast.
"""

import argparse
import io
import sys
import warnings
from collections.abc import Sequence

from fedwalk._version import __version__
from fedwalk.cli.arguments import print_help
from fedwalk.cli.parser import Parser
from fedwalk.errors import FedWalkError, FedWalkWarning

DESCRIPTION = """\
Node embeddings of a graph whose neighbour lists stay on devices: FedWalk.

Every vertex belongs to a device that knows only its own neighbours. The server
begins with nothing but the vertex ids.
"""

EPILOG = """\
first steps:
  fedwalk demo                          compare FedWalk with DeepWalk on a generated network
  fedwalk embed graph.edges -o run      your own graph: edge list, CSV, GraphML, .mat and others
  fedwalk evaluate run --graph graph.edges --labels labels.txt
  fedwalk report run                    show a run as one HTML page
  fedwalk embed graph.edges -o private --protocol ldp --epsilon 6
  fedwalk audit private                 measure what each observer learns, and epsilon
  fedwalk sweep graph.edges --protocol ldp --vary epsilon=2,4,6 -o sweep
  fedwalk reproduce blogcatalog -o results
  fedwalk federate demo                 a server and four holders as processes on this machine

The `paper` protocol is not differentially private, whatever its epsilon. `ldp` is, with a proof: see docs/privacy.md.
"""


def build_parser() -> argparse.ArgumentParser:
    """Build the parser with all commands."""
    from fedwalk.cli import audit, data, demo, embed, evaluate, federate, links, report, reproduce, sweep

    parser = Parser(
        prog="fedwalk",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fedwalk {__version__}")
    parser.set_defaults(call=print_help(parser))
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for module in (demo, embed, evaluate, report, audit, links, sweep, reproduce, data, federate):
        module.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 for success, 2 for an error, 130 for an interrupt."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks ⌊, ± or → shows "?"
    with warnings.catch_warnings():
        # By default Python prints a warning only once for each line of code that issues it.
        warnings.simplefilter("always", FedWalkWarning)
        warnings.showwarning = _show_warning
        options = argparse.Namespace(command=None)
        try:
            # The parser asks installed packages for their protocols, which can fail as well.
            options = build_parser().parse_args(arguments)
            return _call(options)
        except FedWalkError as error:
            print(f"fedwalk: error: {error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            # CPython notes an interrupt inside code that `exec` runs, as parts of numba are, and at its exit ends the
            # process with SIGINT instead of this exit code. The next `exec` clears the note.
            exec("")
            print(f"fedwalk: interrupted.{_resume_hint(options)}", file=sys.stderr)
            return 130
        except BrokenPipeError:
            # The reader, for example `head`, has closed standard output. Without standard error, Python can't complain
            # about it again at exit.
            sys.stderr.close()
            return 1
        except (OSError, MemoryError) as error:
            print(f"fedwalk: error: {_in_words(error)}", file=sys.stderr)
            return 2


def _call(options: argparse.Namespace) -> int:
    """Call the command. Commands of a federation must stop their processes, so SIGTERM interrupts them like Ctrl-C."""
    if options.command != "federate":
        return int(options.call(options))
    from fedwalk.util.signals import interruptible

    with interruptible():
        return int(options.call(options))


def _resume_hint(options: argparse.Namespace) -> str:
    """How to continue after an interrupt."""
    if options.command in ("reproduce", "sweep"):
        return " Finished trials are kept: run the same command again to continue."
    if options.command == "federate" and getattr(options, "action", "") == "run":
        return " The server has stopped the run. Finished phases are kept: continue with --resume."
    if options.command != "embed":
        return ""
    flag = "--resume in place of --force" if options.force else "--resume"
    return f" Finished stages are kept: run the same command with {flag} to continue."


def _in_words(error: OSError | MemoryError) -> str:
    """An error of the operating system, on one line."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({error}). Use fewer or shorter walks, fewer dimensions or --tree hybrid."
    return f"{error.filename}: {error.strerror}." if error.filename is not None else f"{error}."


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    label = "note" if issubclass(category, FedWalkWarning) else category.__name__
    print(f"fedwalk: {label}: {message}", file=sys.stderr)
