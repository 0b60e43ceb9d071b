"""The privacy box: what is nominal, what is proved, and what leaks, as the protocol itself states it.

It says no more than is proved. A protocol that isn't installed here is described by the verdict that its run recorded.
"""

from fedwalk.protocols.base import PrivacyStatement
from fedwalk.protocols.registry import find_protocol
from fedwalk.report.source import Source
from fedwalk.util.text import sentence


def privacy_of(source: Source) -> PrivacyStatement:
    """The privacy statement of this run."""
    verdict = sentence(source.record.privacy)
    settings = source.settings
    if settings is None:
        return PrivacyStatement(verdict)
    stated = find_protocol(settings.protocol).privacy(settings, source.record.simulation)
    # The verdict comes from the record, because the version that made the run wrote it.
    return PrivacyStatement(verdict, nominal=stated.nominal, proved=stated.proved, leaks=stated.leaks)
