"""What the protocols' parts in a federation share."""

from types import SimpleNamespace
from typing import Any

import pytest

from fedwalk.errors import ProtocolError
from fedwalk.protocols.federated import check_enough


@pytest.mark.parametrize(("num_devices", "left"), [(0, "0 devices are"), (1, "1 device is")])
def test_too_few_devices_are_refused_with_the_losses(num_devices: int, left: str) -> None:
    fleet: Any = SimpleNamespace(losses=lambda: "b: no answer")
    with pytest.raises(ProtocolError, match=rf"^{left} left \(b: no answer\): an embedding needs at least 2"):
        check_enough(fleet, num_devices)
    assert check_enough(fleet, 2) == 2
