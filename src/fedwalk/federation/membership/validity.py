"""Whether a certificate is valid now, according to this machine's clock.

TLS refuses an expired or future certificate in the handshake, with an error that names neither the date nor the remedy.
So the commands check certificates before they start anything. A certificate that isn't valid yet nearly always means
that a clock is wrong; the error names the difference between the clocks.
"""

from datetime import UTC, datetime, timedelta

from cryptography import x509

from fedwalk.errors import InputError
from fedwalk.federation.membership.certificates import SLACK, reading
from fedwalk.util.text import counted


def check_validity(pem: bytes, what: str, advice: str, now: datetime | None = None) -> None:
    """Refuse a certificate (the first one in `pem`) that has expired or isn't valid yet.

    `what` names the certificate in the error, `advice` says what to do if it has expired.
    """
    now = now or datetime.now(UTC)
    with reading(what, advice):
        # Of the authority's bundle only the first counts here: a former authority may have expired as planned.
        certificate = x509.load_pem_x509_certificate(pem)
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > end:
        raise InputError(f"{what} expired on {date_text(end)}, {span_text(now - end)} ago. {advice}")
    if now < begin:
        # The issuer dates certificates back by SLACK, so its clock was at least this far ahead of ours.
        raise InputError(
            f"{what} isn't valid before {date_text(begin)}: this machine's clock is "
            f"{span_text(begin + SLACK - now)} behind the operator's, or the operator's was that far ahead when it was "
            "issued. Set the clock that is wrong; if it was the operator's, ask for a new certificate."
        )


def date_text(date: datetime) -> str:
    """A date in UTC, to the minute.

    Examples
    --------
    >>> date_text(datetime(2026, 3, 1, 9, 5, tzinfo=UTC))
    '2026-03-01 09:05 UTC'
    """
    return f"{date:%Y-%m-%d %H:%M} UTC"


def span_text(span: timedelta) -> str:
    """A time span in minutes, hours or days.

    Examples
    --------
    >>> span_text(timedelta(minutes=7)), span_text(timedelta(hours=30)), span_text(timedelta(days=12))
    ('7 minutes', '30 hours', '12 days')
    """
    # At least one minute: "0 minutes ago" would look like an error.
    minutes = max(1, round(span.total_seconds() / 60))
    if minutes < 120:
        return counted(minutes, "minute", "minutes")
    if minutes < 48 * 60:
        return counted(round(minutes / 60), "hour", "hours")
    return counted(round(minutes / 1440), "day", "days")
