"""A pytest plugin: no test can hang, whatever it is stuck in.

pytest-timeout fails a test at its limit by raising in the main thread; the run goes on with the next test. That doesn't
end a test whose main thread is stuck in C, or whose teardown hangs after the test has failed. So a test that goes on
long after its limit ends pytest itself, and the guard (`helpers.process_guard`) ends what the test has started.
"""

import faulthandler
import os
from typing import Any

import pytest

SLOW_LIMIT = 1200.0
"""Seconds for a slow test that sets no limit of its own. The limit of all others is in pyproject.toml."""
HARD_LIMIT_FACTOR = 1.5
"""How many times its limit a test may take before pytest is ended."""


class TimeLimits:
    """Hooks of pytest and of pytest-timeout."""

    def __init__(self) -> None:
        # While a test runs, pytest captures file descriptor 2; a traceback written there would be lost with it.
        self._stderr = os.dup(2)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Give slow tests more time."""
        for item in items:
            if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(SLOW_LIMIT))

    def pytest_timeout_set_timer(self, settings: Any) -> None:
        """Begin to count when pytest-timeout does."""
        faulthandler.dump_traceback_later(settings.timeout * HARD_LIMIT_FACTOR, exit=True, file=self._stderr)

    def pytest_runtest_logfinish(self) -> None:
        """Stop counting when the test's teardown is over."""
        faulthandler.cancel_dump_traceback_later()

    def pytest_enter_pdb(self) -> None:
        """Stop counting while a person debugs."""
        faulthandler.cancel_dump_traceback_later()
