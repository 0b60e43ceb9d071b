"""The result of an attack: its observer, what it reads, its success, and a baseline that reads nothing."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol


class View(Protocol):
    """What one observer has. The class names the observer, the kinds of messages it was made from, and the rest.

    Whether the observer may see those messages is declared at the messages themselves (`observers`); a test compares
    the two. Vertices are numbered as the parties number them: 0 … n − 1 among those that take part.
    """

    observer: ClassVar[str]
    messages: ClassVar[tuple[type[Any], ...]]
    beside: ClassVar[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Finding:
    """One attack on one run.

    Parameters
    ----------
    attack, protocol
        Its name, and the protocol attacked.
    observer, sees
        The attacker, and what it reads: phases of the transcript, and other data.
    success, baseline
        Metrics by name: of the attack, and of guesses without any view.
    sentence
        The result in words.
    """

    attack: str
    protocol: str
    observer: str
    sees: tuple[str, ...]
    success: dict[str, float]
    baseline: dict[str, float]
    sentence: str

    @classmethod
    def of(
        cls,
        attack: str,
        protocol: str,
        view: View | type[View],
        success: dict[str, float],
        baseline: dict[str, float],
        sentence: str,
    ) -> "Finding":
        """The finding of an attack on a view, which knows its observer and messages."""
        sees = (*(kind.phase for kind in view.messages), *view.beside)
        return cls(attack, protocol, view.observer, sees, success, baseline, sentence)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


_WORDS = {
    "recall": "{} of edges", "precision": "{} right", "limit": "limit {}", "named": "{} named",
    "cosine_auc": "AUC {}", "dot_auc": "dot {}", "auc": "AUC {}", "degree_auc": "degrees {}",
    "rank_correlation": "rank correlation {}", "epsilon": "ε ≥ {}", "ledger": "ledger {}", "nominal": "nominal {}",
}  # fmt: skip
"""The metrics that tables show; audit.json has counts, too."""
_SHARES = ("recall", "precision", "limit", "named")


def metrics_text(metrics: Mapping[str, float]) -> str:
    """Metrics in a few words, for a table.

    >>> metrics_text({"recall": 1.0, "precision": 0.97512, "guesses": 400})
    '100% of edges, 97.5% right'
    >>> metrics_text({"epsilon": 5.81}), metrics_text({"ledger": 4.0}), metrics_text({})
    ('ε ≥ 5.81', 'ledger 4', '–')
    """
    shown = [_WORDS[name].format(_number(name, value)) for name, value in metrics.items() if name in _WORDS]
    return ", ".join(shown) or "–"


def _number(name: str, value: float) -> str:
    return f"{100 * value:.3g}%" if name in _SHARES else f"{value:.3g}"
