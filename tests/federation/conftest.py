"""What several tests of the federation begin with."""

from pathlib import Path

import pytest

from fedwalk.federation.membership.admission import create_federation
from fedwalk.federation.membership.folders import FederationFolder, HolderFolder
from fedwalk.federation.membership.requests import Request
from helpers.enrolment import SERVER, holder


@pytest.fixture
def ward(tmp_path: Path) -> FederationFolder:
    return create_federation(tmp_path / "ward", SERVER, days=30)


@pytest.fixture
def clinic(tmp_path: Path) -> tuple[HolderFolder, Request]:
    return holder(tmp_path, "clinic", "ann bob\nbob ann\n")
