"""One file over HTTP, whole or not at all, and failures in words a person can act on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fedwalk.errors import InputError

CHUNK = 1 << 16
"""Bytes between two reports of progress."""

Progress = Callable[[int, int], None]
"""Called with the bytes that have come and the bytes there are, 0 if the server doesn't say."""


def download(url: str, output: Path, progress: Progress | None = None) -> None:
    """Download into a file; an `InputError` names the address and the reason, if it can't be done."""
    import pooch
    import requests

    meter = _Meter(progress)
    # A temporary file is its owner's alone; written anew it can be read by all who may use a shared folder.
    output.unlink(missing_ok=True)
    # Packed for the way, a file could not be compared with its announced size.
    fetch = pooch.HTTPDownloader(meter, chunk_size=CHUNK, headers={"Accept-Encoding": "identity"})
    try:
        fetch(url, str(output), None)
    except requests.RequestException as error:
        raise InputError(f"{url}: {_reason(error)}") from error
    size = output.stat().st_size
    if size < meter.total:  # not every version of the libraries below notices
        raise InputError(f"{url}: the connection broke off after {size:,} of {meter.total:,} bytes")


@dataclass(slots=True)
class _Meter:
    """What pooch takes for a progress bar."""

    report: Progress | None
    total: int = 0
    done: int = 0

    def update(self, count: int) -> None:
        """Count bytes; pooch counts whole chunks, so the last one may be too many."""
        self.done += count
        if self.report is not None:
            self.report(min(self.done, self.total) if self.total else self.done, self.total)

    def reset(self) -> None:
        """Begin again; pooch then counts the whole file once, if it knows how long it is."""
        self.done = 0

    def close(self) -> None:
        """Nothing to close, but pooch asks for it."""


def _reason(error: OSError) -> str:
    """A failed request in a few words."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answers {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "the server doesn't answer in time"
    if isinstance(error, requests.ConnectionError):
        return "the server can't be reached"
    return "the connection broke off"
