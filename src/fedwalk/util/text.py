"""Numbers and sentences formatted for people."""

from collections.abc import Sequence


def count_text(count: float) -> str:
    """A whole number with thousands separators.

    >>> count_text(10312)
    '10,312'
    """
    return f"{count:,.0f}"


def counted(count: int, one: str, many: str) -> str:
    """A count and its noun.

    >>> counted(1, "vertex", "vertices"), counted(1200, "vertex", "vertices")
    ('1 vertex', '1,200 vertices')
    """
    return f"{count:,} {one if count == 1 else many}"


def mean_text(mean: float, deviation: float | None, digits: int = 4) -> str:
    """A mean with its standard deviation; alone if there is none, as for a single sample.

    >>> mean_text(0.5, 0.01), mean_text(0.5, None, 2)
    ('0.5000 ± 0.0100', '0.50')
    """
    return f"{mean:.{digits}f}" if deviation is None else f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["bins"]), listed(["bins", "tree"]), listed(["bins", "tree", "walks"])
    ('bins', 'bins and tree', 'bins, tree and walks')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def short_text(value: float) -> str:
    """A number for an axis, in about five characters.

    >>> [short_text(value) for value in (0, 0.25, 7, 1500, 20_000, 3_000_000, 1e-4)]
    ['0', '0.25', '7', '1.5k', '20k', '3M', '0.0001']
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def bytes_text(count: float) -> str:
    """A size in bytes, in a suitable unit.

    >>> bytes_text(532), bytes_text(1_530_000)
    ('532 B', '1.5 MB')
    """
    units = ("B", "kB", "MB", "GB", "TB")
    power = min(sum(count >= 1000**i for i in range(1, len(units))), len(units) - 1)
    return f"{count / 1000**power:.{min(power, 1)}f} {units[power]}"


def seconds_text(seconds: float) -> str:
    """A duration, in milliseconds, seconds or minutes.

    >>> seconds_text(0.0042), seconds_text(0.31), seconds_text(29.93), seconds_text(754)
    ('4 ms', '310 ms', '29.9 s', '12 min 34 s')
    """
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:,} min {rest} s"


def epsilon_text(epsilon: float | str, nominal: bool = False) -> str:
    """An ε from a ledger: a bound, a nominal value that only gives the scale of the noise, or a word ("unbounded").

    >>> epsilon_text(2.0), epsilon_text(2.0, nominal=True), epsilon_text("unbounded")
    ('2', '2 (nominal)', 'unbounded')
    """
    if isinstance(epsilon, str):
        return epsilon
    return f"{epsilon:g} (nominal)" if nominal else f"{epsilon:g}"


def sentence(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
