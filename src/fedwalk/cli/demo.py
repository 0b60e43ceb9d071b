"""`fedwalk demo`: compare FedWalk with DeepWalk on a generated social network."""

import argparse
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedwalk.cli.arguments import Commands, add_command, add_json, add_seed, add_threads
from fedwalk.errors import SettingsError

if TYPE_CHECKING:
    from fedwalk.evaluation import Score

TRAIN_RATIO = 0.5
MIN_VERTICES = 80
"""The generator needs four times as many vertices as the mean degree, which is 20."""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "demo",
        call,
        summary="compare FedWalk with DeepWalk on a generated network",
        description="Generates a social network (overlapping communities as labels, heavy-tailed degrees), simulates "
        "every device and the server in this process with the paper's settings, and scores the result.",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("fedwalk-demo"), metavar="DIR",
                        help="folder for the results; existing ones are replaced (default fedwalk-demo)")  # fmt: skip
    parser.add_argument("--vertices", type=int, default=2000, metavar="N", help="number of devices (default 2000)")
    parser.add_argument("--num-walks", type=int, default=80, metavar="G", help="walks per device (default 80)")
    add_seed(parser, "the network and the runs")
    add_threads(parser)
    add_json(parser, "tables")


def call(options: argparse.Namespace) -> int:
    """Generate a network, run and score both methods, and print the comparison."""
    from fedwalk.cli.show import (
        StageBars,
        loss_texts,
        print_facts,
        print_json,
        print_messages,
        print_table,
        run_facts,
        score_texts,
    )
    from fedwalk.embedding import Embedding
    from fedwalk.evaluation import evaluate, losses
    from fedwalk.graph import load_graph, social_network
    from fedwalk.graph.save import save_edge_list, save_labels
    from fedwalk.run.execute import embed_to_folder
    from fedwalk.run.record import RunRecord
    from fedwalk.settings import Settings

    if options.vertices < MIN_VERTICES:
        raise SettingsError(f"vertices = {options.vertices}: the demo's network needs at least {MIN_VERTICES}.")
    graph = social_network(vertices=options.vertices, seed=options.seed)
    folder = options.output
    folder.mkdir(parents=True, exist_ok=True)
    save_edge_list(graph, folder / "graph.edges")
    save_labels(graph, folder / "labels.txt")
    # Read again, because the file's order of vertices decides the draws: the suggested commands then repeat these runs.
    graph = load_graph(folder / "graph.edges", labels=folder / "labels.txt")
    records: dict[str, RunRecord] = {}
    scores: dict[str, Score] = {}
    ours, baseline = "paper", "deepwalk"
    for protocol, title in ((ours, "FedWalk"), (baseline, "DeepWalk")):
        settings = Settings(protocol=protocol, num_walks=options.num_walks, seed=options.seed, threads=options.threads)
        with StageBars(f"{title}: {graph}") as bars:
            records[protocol] = embed_to_folder(
                graph,
                settings,
                folder / protocol,
                force=True,
                on_progress=bars,
                # Recorded in run.json, where `fedwalk report` and `fedwalk audit` find the graph.
                inputs={"graph": str(folder / "graph.edges")},
            )
            (scores[protocol],) = evaluate(
                Embedding.load(folder / protocol), graph, train_ratios=[TRAIN_RATIO],
                threads=options.threads, on_progress=partial(bars, "evaluate"),
            )  # fmt: skip
            bars("evaluate", 1, 1)
    if options.json:
        print_json({name: {**record.as_dict(), **_f1(scores[name])} for name, record in records.items()})
        return 0
    print_facts("FedWalk on a generated social network", run_facts(records[ours]))
    print_messages(records[ours])
    names = {ours: "FedWalk", baseline: "DeepWalk, which sees the whole graph"}
    rows = [[name, *score_texts(scores[protocol])] for protocol, name in names.items()]
    rows.append(["loss, absolute and relative", *loss_texts(losses(scores[ours], scores[baseline]))])
    print_table(f"F1 at train ratio {TRAIN_RATIO}, 10 splits", ["", "micro-F1", "macro-F1"], rows)
    print(f"Results: {folder}/{ours} and {folder}/{baseline}; the network: {folder}/graph.edges, {folder}/labels.txt")
    print(f"Next:    fedwalk evaluate {folder}/{ours} --graph {folder}/graph.edges --labels {folder}/labels.txt")
    print(f"         fedwalk report {folder}/{ours} --labels {folder}/labels.txt   shows it as one page")
    return 0


def _f1(score: "Score") -> dict[str, Any]:
    """The F1 values of a score, by name."""
    return {name: value for name, value in asdict(score).items() if "f1" in name}
