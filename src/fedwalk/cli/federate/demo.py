"""`demo`: a whole federation on this machine, from keys to an embedding, and nothing left running."""

import argparse
import shutil
from pathlib import Path

from fedwalk.cli.federate import need_flower
from fedwalk.errors import InputError

MARK = "server/federation.toml"


def add_parsers(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command."""
    parser = commands.add_parser(
        "demo", help="a whole federation on this machine, in a minute",
        description="Cuts a graph into pieces, makes a holder of each with keys and certificates, starts a server and "
        "the holders as processes of their own on loopback, does a run, and stops everything.",
    )  # fmt: skip
    parser.add_argument("--holders", type=int, default=4, metavar="N", help="holders (default 4)")
    parser.add_argument("--protocol", choices=("paper", "ldp"), default="paper", help="default paper")
    parser.add_argument("--epsilon", type=float, metavar="E", help="default 2 for paper, 6 for ldp")
    parser.add_argument("--graph", type=Path, metavar="GRAPH", help="a graph file (default: a generated network)")
    parser.add_argument("--vertices", type=int, default=400, metavar="N", help="of a generated network (default 400)")
    parser.add_argument("--walks", type=int, default=10, metavar="G", help="walks per device (default 10)")
    parser.add_argument("--patience", type=float, default=60, metavar="S", help="for a silent holder (default 60)")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("fedwalk-federation"), metavar="DIR",
        help="folder for everything, replaced if it is an earlier demo's (default fedwalk-federation)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, metavar="S",
        help="simulate, with the walks of `embed --seed S` (default: the operating system's randomness, as for real)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print run.json instead of tables")
    parser.set_defaults(call=_demo)


def _demo(options: argparse.Namespace) -> int:
    need_flower()
    from fedwalk.cli.federate.running import show
    from fedwalk.cli.show import StageBars
    from fedwalk.federation.demo import make_federation
    from fedwalk.federation.running import run
    from fedwalk.graph import load_graph, social_network
    from fedwalk.settings import Settings

    _clear(options.output)
    graph = load_graph(options.graph) if options.graph else social_network(vertices=options.vertices, seed=0)
    usual = 2.0 if options.protocol == "paper" else 6.0
    epsilon = usual if options.epsilon is None else options.epsilon
    settings = Settings(protocol=options.protocol, epsilon=epsilon, walks=options.walks, seed=options.seed or 0)
    with StageBars(f"{options.protocol} over {options.holders} holders: {graph}") as bars:
        bars("keys", 0, 1)
        federation = make_federation(options.output, graph, options.holders, options.seed)
        bars("keys", 1, 1)
        bars("start", 0, 1)
        with federation.up():
            bars("start", 1, 1)
            record = run(
                federation.server, settings, options.output / "run", patience=options.patience, progress=bars,
                local=federation.holders,
            )  # fmt: skip
            bars("stop", 0, 1)
        bars("stop", 1, 1)
    show(record, options.output / "run", as_json=options.json)
    if not options.json:
        print(f"Its folders: {options.output}/server and {options.output}/holder-0 …; all processes have ended.")
        print(f"Next:    fedwalk federate status {options.output}/holder-0       what a holder agreed to and released")
        print(f"         fedwalk federate server {options.output}/server         start it again; holders likewise")
    return 0


def _clear(path: Path) -> None:
    """Make room for the demo where an earlier one was, and nowhere else."""
    if path.exists() and (not path.is_dir() or (any(path.iterdir()) and not (path / MARK).exists())):
        raise InputError(f"{path}: is there, and isn't an earlier demo's. Name another folder with -o.")
    shutil.rmtree(path, ignore_errors=True)
