"""The transcript of a run, as it shows itself: its totals, and in a notebook each phase."""

from fedwalk.protocols.paper.messages import Sequence, Start
from fedwalk.protocols.transcript import Transcript


def test_a_transcript_shows_its_totals_and_in_a_notebook_each_phase() -> None:
    transcript = Transcript.of([Start, Sequence])
    assert repr(transcript) == "Transcript(0 messages, 0 bytes)"
    message = Sequence(walk=0, entries=(3, 1, 2))
    transcript.record(message)
    assert repr(transcript) == f"Transcript(1 message, {message.nbytes} bytes)"
    page = transcript._repr_html_()
    observers = ", ".join(Sequence.observers)
    row = f"<td>sequences</td><td>{Sequence.route}</td><td>1</td><td>{message.nbytes}</td><td>{observers}</td>"
    assert row in page
    assert page.count("<tr>") == 3
