"""Whether a certificate is valid now, by this machine's clock.

TLS refuses a certificate outside its time in the handshake, with an error that names neither the date nor the remedy.
So the commands check before they start or keep anything. A certificate that isn't valid yet nearly always means that a
clock is wrong; the difference between the clocks is named.
"""

from datetime import UTC, datetime, timedelta

from cryptography import x509

from fedwalk.errors import InputError
from fedwalk.federation.certificates import SLACK, reading
from fedwalk.words import counted


def check_validity(pem: bytes, what: str, advice: str, now: datetime | None = None) -> None:
    """Refuse a certificate (the first one in `pem`) that has ended, or that isn't valid yet.

    `what` names the certificate in the error, `advice` says what to do about one that has ended.
    """
    now = now or datetime.now(UTC)
    with reading(what, advice):
        certificate = x509.load_pem_x509_certificate(pem)
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > end:
        raise InputError(f"{what} ended on {date_text(end)}, {span_text(now - end)} ago. {advice}")
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
    """A time span in the unit that suits it.

    Examples
    --------
    >>> span_text(timedelta(minutes=7)), span_text(timedelta(hours=30)), span_text(timedelta(days=12))
    ('7 minutes', '30 hours', '12 days')
    """
    minutes = max(1, round(span.total_seconds() / 60))
    if minutes < 120:
        return counted(minutes, "minute", "minutes")
    if minutes < 48 * 60:
        return counted(round(minutes / 60), "hour", "hours")
    return counted(round(minutes / 1440), "day", "days")
