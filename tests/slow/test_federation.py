"""The paper's first dataset over four holders: real processes, real hops, and the counts of the simulation."""

import os
from pathlib import Path

import numpy as np
import pytest

from fedwalk import FedWalk, load_graph
from fedwalk.settings import Settings
from helpers.flower_federation import running

PATH = os.environ.get("FEDWALK_BLOGCATALOG", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path(PATH).is_file(), reason="FEDWALK_BLOGCATALOG doesn't name blogcatalog.mat"),
]
WALKS, SEED = 10, 0


def test_four_holders_carry_blogcatalog_with_the_messages_of_local(tmp_path: Path) -> None:
    graph = load_graph(PATH)
    with running(tmp_path / "federation", graph, seed=SEED) as up:
        record = up.run(Settings(num_walks=WALKS, seed=SEED), tmp_path / "run", patience=120.0)
    model = FedWalk(num_walks=WALKS, seed=SEED)
    model.fit(graph)
    federation = record["federation"]
    wire, finished = federation["wire"], federation["walks"]["finished"]
    hops = record["messages"]["hops"]["count"]
    print(f"{hops / wire['seconds']:,.0f} hops a second, {wire['bytes'] / finished:,.0f} bytes a walk on the wire")
    assert record["messages"] == model.transcript_.as_dict()
    assert np.array_equal(np.load(tmp_path / "run" / "walks.npy"), model.walks_.sequences)
    assert finished == WALKS * graph.vertices
    assert federation["embedded"] == graph.vertices
    assert federation["lost"] == federation["refused_by_holders"] == federation["unreachable"] == {}
    # What travels between holders are the tokens that leave a holder: fewer than all hops, in batches of hundreds.
    assert 0 < wire["bytes"] < record["messages"]["hops"]["bytes"]
    assert wire["batches"] < hops / 100
