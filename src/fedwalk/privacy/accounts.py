"""What each protocol releases in a run: the entries of its ledger."""

from collections.abc import Iterator

from fedwalk.privacy.ledger import Release
from fedwalk.privacy.mechanisms import NoisedCounts, RandomisedResponse, Unprotected

LISTS = "list of owned pairs"
ONCE = (
    "each pair is reported by its owner alone, as one bit; walks and training only read the reports, so nothing is "
    "added however many there are"
)


def list_release(mechanism: RandomisedResponse) -> Release:
    """Protocol ldp's one release."""
    return Release.of(mechanism, LISTS, ONCE)


def paper_releases(epsilon: float, walks: int, walk_length: int) -> Iterator[tuple[str, Release]]:
    """The paper's releases by phase: one with a nominal ε, and those that take it back."""
    both = "a nominal epsilon; both ends of an edge count it"
    yield "vectors", Release.of(NoisedCounts(epsilon), "degree vector", both, ends=2)
    device, entries = "each device", walks * walk_length
    rows = "its rows are the neighbours' broadcast vectors, and name them"
    for phase, what, by, times, why in (
        ("matrices", "degree matrix", device, 1, rows),
        ("tree", "tree and encoder table", "the server", 1, "computed from the degree matrices"),
        ("sequences", "encoded entry", device, entries, "the encoder's score has no sensitivity bound"),
        ("hops", "hop", device, entries, "who contacts whom is the edge set, to whoever carries the tokens"),
    ):
        yield phase, Release.of(Unprotected(why), what, why, by=by, times=times, ends=2)


def open_release() -> tuple[str, Release]:
    """The baseline's: somebody holds the whole graph."""
    why = "the whole graph lies in one place"
    return "graph", Release.of(Unprotected(why), "the graph itself", why, by="everyone", ends=2)
