"""`fedwalk demo`: FedWalk beside DeepWalk on a generated social network."""

import argparse
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from fedwalk.errors import SettingsError

TRAIN_RATIO = 0.5
LEAST_VERTICES = 80
"""A mean degree of 20 among fewer would be a crowd, not a network."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Enter the command."""
    parser = commands.add_parser(
        "demo",
        help="see it work: a generated social network, FedWalk beside DeepWalk",
        description="Generates a social network (overlapping communities as labels, heavy-tailed degrees), simulates "
        "every device and the server in this process at the paper's settings, and scores the result.",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("fedwalk-demo"), metavar="DIR",
                        help="folder for the results, replaced if there is one (default fedwalk-demo)")  # fmt: skip
    parser.add_argument("--vertices", type=int, default=2000, metavar="N", help="devices (default 2000)")
    parser.add_argument("--walks", type=int, default=80, metavar="G", help="walks per device (default 80)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the network and the runs (default 0)")
    parser.add_argument("--threads", type=int, default=None, metavar="T", help="default all cores")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Generate, run both, score both, show."""
    from fedwalk.cli.show import (
        StageBars,
        loss_texts,
        message_rows,
        print_facts,
        print_table,
        run_facts,
        score_texts,
    )
    from fedwalk.embedding import Embedding
    from fedwalk.evaluation import Score, evaluate, losses
    from fedwalk.graph import social_network
    from fedwalk.graph.save import save_edge_list, save_labels
    from fedwalk.job import embed_to_folder
    from fedwalk.settings import Settings

    if options.vertices < LEAST_VERTICES:
        raise SettingsError(f"vertices = {options.vertices}: the demo's network needs at least {LEAST_VERTICES}.")
    graph = social_network(vertices=options.vertices, seed=options.seed)
    folder = options.output
    folder.mkdir(parents=True, exist_ok=True)
    save_edge_list(graph, folder / "graph.edges")
    save_labels(graph, folder / "labels.txt")
    records: dict[str, Any] = {}
    scores: dict[str, Score] = {}
    for protocol, title in (("paper", "FedWalk"), ("deepwalk", "DeepWalk")):
        settings = Settings(protocol=protocol, walks=options.walks, seed=options.seed, threads=options.threads)
        with StageBars(f"{title}: {graph}") as bars:
            record = embed_to_folder(
                graph,
                settings,
                folder / protocol,
                force=True,
                progress=bars,
                inputs={"graph": str(folder / "graph.edges")},
            )
            (scores[protocol],) = evaluate(
                Embedding.load(folder / protocol / "embedding.npz"), graph, train_ratios=[TRAIN_RATIO],
                report=partial(bars, "evaluate"),
            )  # fmt: skip
        f1 = {name: value for name, value in asdict(scores[protocol]).items() if "f1" in name}
        records[protocol] = {**record, **f1}
    if options.json:
        print(json.dumps(records, indent=2, ensure_ascii=False))
        return 0
    print_facts("FedWalk on a generated social network", run_facts(records["paper"]))
    print_table("Messages", ["phase", "messages", "bytes", "route"], message_rows(records["paper"]))
    names = {"paper": "FedWalk", "deepwalk": "DeepWalk, who sees the whole graph"}
    rows = [[name, *score_texts(scores[protocol])] for protocol, name in names.items()]
    rows.append(["lost, absolute and relative", *loss_texts(losses(scores["paper"], scores["deepwalk"]))])
    print_table(f"F1 at train ratio {TRAIN_RATIO}, 10 splits", ["", "micro-F1", "macro-F1"], rows)
    print(f"Results: {folder}/paper and {folder}/deepwalk; the network: {folder}/graph.edges, {folder}/labels.txt")
    print(f"Next:    fedwalk evaluate {folder}/paper --graph {folder}/graph.edges --labels {folder}/labels.txt")
    print(f"         fedwalk report {folder}/paper --labels {folder}/labels.txt   one page to look at")
    return 0
