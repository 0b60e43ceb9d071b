"""What several tests of the federation begin with."""

from pathlib import Path

import pytest

from enrolling import SERVER, holder
from fedwalk.federation.enrolment import found
from fedwalk.federation.folders import FederationFolder, HolderFolder
from fedwalk.federation.identity import Request


@pytest.fixture
def ward(tmp_path: Path) -> FederationFolder:
    return found(tmp_path / "ward", SERVER, days=30)


@pytest.fixture
def clinic(tmp_path: Path) -> tuple[HolderFolder, Request]:
    return holder(tmp_path, "clinic", "ann bob\nbob ann\n")
