"""Download one file over HTTP, completely or not at all, with errors that say what to do."""

from dataclasses import dataclass
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.util.parallel import Progress

CHUNK = 1 << 16
"""Bytes between two calls of `on_progress`."""


def download(url: str, output: Path, on_progress: Progress | None = None) -> None:
    """Download into a file; on failure, an InputError names the address and the reason.

    Progress is in bytes; the total is 0 if the server doesn't announce it.
    """
    import pooch
    import requests

    meter = _Meter(on_progress)
    # pooch's temporary file is readable by its owner only. A newly created one gets the usual permissions, so that
    # other users can read it in a shared cache folder.
    output.unlink(missing_ok=True)
    # A compressed transfer announces the compressed size, which says nothing about the file's.
    fetch = pooch.HTTPDownloader(meter, chunk_size=CHUNK, headers={"Accept-Encoding": "identity"})
    try:
        fetch(url, str(output), None)
    except requests.RequestException as error:
        raise InputError(f"{url}: {_reason(error)}") from error
    size = output.stat().st_size
    if size < meter.total:  # not every version of requests and urllib3 notices
        raise InputError(f"{url}: the connection was lost after {size:,} of {meter.total:,} bytes")


@dataclass(slots=True)
class _Meter:
    """The interface of a progress bar, as pooch calls it."""

    on_progress: Progress | None
    total: int = 0
    done: int = 0

    def update(self, count: int) -> None:
        """Count bytes. pooch counts whole chunks, so the last call may exceed the total."""
        self.done += count
        if self.on_progress is not None:
            self.on_progress(min(self.done, self.total) if self.total else self.done, self.total)

    def reset(self) -> None:
        """Start from zero; at the end pooch resets the bar and then counts the whole file at once."""
        self.done = 0

    def close(self) -> None:
        """Do nothing: required by pooch."""


def _reason(error: OSError) -> str:
    """A failed request in a few words."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answers {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "the server doesn't answer in time"
    if isinstance(error, requests.ConnectionError):
        return "the server can't be reached"
    return "the connection was lost"
