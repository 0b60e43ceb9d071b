"""`demo`: a whole federation on this machine, from keys to an embedding; all its processes end with the command."""

import argparse
import shutil
from pathlib import Path

from fedwalk.cli.arguments import Commands
from fedwalk.cli.federate import add_command, json_argument, patience_argument
from fedwalk.errors import InputError
from fedwalk.protocols.registry import FEDERATED, FEDERATED_DEFAULT, federated_protocols
from fedwalk.util.text import counted

MARK = "server/federation.toml"
"""A folder that has this file is that of an earlier demo, and may be replaced."""
PATIENCE = 60.0


def add_parsers(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands, "demo", _demo,
        summary="a whole federation on this machine, in a minute",
        description="Splits a graph among holders, makes keys and certificates for each, starts a server and the "
        "holders as separate processes on loopback, does a run, and stops all of them.",
    )  # fmt: skip
    parser.add_argument("--holders", type=int, default=4, metavar="N", help="number of holders (default 4)")
    parser.add_argument("--protocol", choices=FEDERATED, default=FEDERATED_DEFAULT, help=f"default {FEDERATED_DEFAULT}")
    parser.add_argument("--epsilon", type=float, metavar="E", help="default 6 for ldp, 2 for paper")
    parser.add_argument("--graph", type=Path, metavar="GRAPH", help="a graph file (default: a generated network)")
    parser.add_argument("--vertices", type=int, default=400, metavar="N", help="of a generated network (default 400)")
    parser.add_argument(
        "--num-walks", type=int, default=10, metavar="G", help="walks per device, which ldp doesn't need (default 10)"
    )
    patience_argument(parser, PATIENCE)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("fedwalk-federation"), metavar="DIR",
        help="folder for everything, replaced if it is that of an earlier demo (default fedwalk-federation)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, metavar="S",
        help="simulate: the same walks as `embed --seed S` of the demo's graph (default: real randomness from the "
        "operating system)",
    )  # fmt: skip
    json_argument(parser, "print run.json instead of tables")


def _demo(options: argparse.Namespace) -> int:
    from fedwalk.cli.federate.run import show
    from fedwalk.cli.show import StageBars
    from fedwalk.federation.deploy.follow_run import check_run, run
    from fedwalk.federation.deploy.local_federation import check_num_holders, make_federation
    from fedwalk.graph import load_graph, social_network
    from fedwalk.settings import Settings

    _check_replaceable(options.output)
    graph = load_graph(options.graph) if options.graph else social_network(vertices=options.vertices, seed=0)
    settings = Settings(protocol=options.protocol, num_walks=options.num_walks, seed=options.seed or 0)
    usual = federated_protocols()[options.protocol].usual_epsilon
    settings = settings.updated({"epsilon": usual if options.epsilon is None else options.epsilon})
    # All checks come before the folder of an earlier demo is deleted.
    check_run(settings.resolve(graph.vertices), options.patience)
    check_num_holders(options.holders, graph)
    shutil.rmtree(options.output, ignore_errors=True)
    with StageBars(f"{options.protocol} over {counted(options.holders, 'holder', 'holders')}: {graph}") as bars:
        bars("keys", 0, 1)
        federation = make_federation(options.output, graph, options.holders, options.seed)
        bars("keys", 1, 1)
        bars("start", 0, 1)
        with federation.up():
            bars("start", 1, 1)
            record = run(
                federation.server, settings, options.output / "run", patience=options.patience, on_progress=bars,
                local=federation.holders,
            )  # fmt: skip
            bars("stop", 0, 1)
        bars("stop", 1, 1)
    show(record, options.output / "run", as_json=options.json)
    if not options.json:
        print(f"Folders: {options.output}/server and {options.output}/holder-0 …; all processes have ended.")
        print(
            f"Next:    fedwalk federate status {options.output}/holder-0       what this holder allows and has released"
        )
        print(
            f"         fedwalk federate server {options.output}/server         start the server again, then each holder"
        )
    return 0


def _check_replaceable(path: Path) -> None:
    """Raise InputError if the path is anything but an earlier demo's folder, an empty one, or unused."""
    if path.exists() and (not path.is_dir() or (any(path.iterdir()) and not (path / MARK).exists())):
        raise InputError(f"{path}: exists, and isn't an earlier demo's. Name another folder with -o.")
