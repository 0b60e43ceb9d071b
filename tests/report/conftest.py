"""A small run of each protocol for the tests of the report."""

from pathlib import Path

import pytest

from fedwalk.graph import Graph
from helpers.run_folders import embed


@pytest.fixture(scope="package")
def runs(network: Graph, network_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        protocol: embed(network, folder / protocol, origin=network_file, keep_walks=True, protocol=protocol)
        for protocol in ("paper", "deepwalk")
    }
