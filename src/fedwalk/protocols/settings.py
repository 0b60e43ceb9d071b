"""Every parameter of a run: typed, and validated when a `Settings` is made.

The defaults are the paper's settings (Sec. 5.1). Ranges are checked here; what depends on the protocol is checked by
the protocol's own value (`base.Protocol.check`), which may also declare settings that only it has (`Setting`).

A protocol lists the settings that it reads (`base.Protocol.reads`). Any other one is refused, because it would change
nothing.
"""

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from fedwalk.errors import SettingsError
from fedwalk.protocols.registry import find_protocol, known_protocol, protocol_names
from fedwalk.util.parallel import available_cores
from fedwalk.util.text import listed

if TYPE_CHECKING:
    from fedwalk.protocols.base import Protocol

CHOICES = {
    "predictor": ("tree", "degree", "triad"),
    "tree": ("hybrid", "average"),
    "encoder": ("exponential", "identity"),
    "runtime": ("local", "stepwise"),
    "embed": ("skipgram", "spectral"),
}
"""The named alternatives, as the registries hold them: a test compares the two."""

REGISTERED: dict[str, set[str]] = {"predictor": set()}
"""Alternatives that a program has added to `CHOICES` (`paper.predictors.register`)."""

INPUT = "input"
"""The table of a settings file that names the graph; no setting can have this name."""

READ_BY_EVERY_RUN = ("protocol", "budget", "dim", "seed")
"""Settings that a run reads whatever the protocol: for the ledger, and for the size of the vectors."""

PRESETS: dict[str, dict[str, Any]] = {
    "frugal": {"predictor": "triad", "predict": 1.0, "burst": 4},
}
"""Settings that go together, by name. `frugal` takes 9 hops per walk; the defaults take 33."""

MIN_VALUES = {"num_bins": 1, "walk_length": 1, "num_walks": 1, "burst": 1, "dim": 1, "window": 1, "negative": 1,
              "seed": 0, "threads": 1}  # fmt: skip
MAX_WHOLE = 2**31 - 1
"""For all whole numbers except the seed, so that array sizes fit the integers of numpy and the kernels."""
MAX_SEED = 2**63 - 1
MIN_EPSILON = 1e-9
"""Smaller values make the noise overflow float32 sums."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that one protocol adds to those that all protocols have.

    Parameters
    ----------
    name
        As in TOML files and in Python; the flag is `--name`, with hyphens for underscores.
    default
        Its value unless another one is given. The type of the default (int, float or str) is the type of the setting.
    help
        One line for `--help`.
    check
        Raises SettingsError for a value that can't be used.
    """

    name: str
    default: int | float | str
    help: str
    check: Callable[[Any], None] = lambda value: None

    def parse(self, value: Any) -> int | float | str:
        """The value in the setting's own type, or SettingsError."""
        kind = type(self.default)
        if kind is float:
            value = _real(self.name, value)
        elif type(value) is not kind:
            raise SettingsError(f"{self.name} = {value!r}: must be of type {kind.__name__}.")
        self.check(value)
        parsed: int | float | str = value
        return parsed

    def from_text(self, text: str) -> int | float | str:
        """The value of a flag in the setting's own type, or SettingsError; `parse` checks the value itself."""
        try:
            return type(self.default)(text)
        except ValueError:
            kind = "a whole number" if type(self.default) is int else "a number"
            raise SettingsError(f"{self.name} = {text!r}: must be {kind}.") from None


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of a run.

    Parameters
    ----------
    protocol
        `paper` (FedWalk), `ldp` (ε-edge local differential privacy, proved), `deepwalk` (the centralised baseline on
        plain walks), or one of another package.
    epsilon
        In `ldp` the total ε per edge of the whole run. In `paper` the ε of the Laplace noise and of the encoder:
        nominal, see docs/fidelity.md.
    budget
        The largest ε per edge that may be released, including earlier runs over the same devices; None for no limit.
    embed
        `skipgram` on walks, or `spectral` from the graph that the server holds (`ldp`, `deepwalk`); None for
        the protocol's default.
    num_bins
        k; None for ⌊ln n⌋.
    walk_length, num_walks
        l entries per walk, γ walks per vertex.
    predict, predictor, burst
        p, the probability that a visit writes a burst; the predictor that chooses its entries; the number of entries.
    tree, encoder
        The tree's builder and the encoder.
    dim, window, negative
        SkipGram: dimensions, largest window, negative samples.
    seed
        Everything up to the walks is a function of it; with one thread the embedding is too.
    threads
        None for all cores. Beyond one, SkipGram is Hogwild: equal in quality, not bit for bit.
    runtime
        `local` (arrays, for real sizes) or `stepwise` (device objects, message by message).
    own
        Names and values of settings that only the chosen protocol has; `value` reads them. TOML files, the estimators
        and `from_mapping` take them beside the others.

    Examples
    --------
    >>> Settings(epsilon=1, num_walks=10).resolve(vertices=2000).num_bins
    7
    >>> Settings(epsilon=0)
    Traceback (most recent call last):
    fedwalk.errors.SettingsError: epsilon = 0: must be a finite number above 0 (at least 1e-09).
    """

    protocol: str = "paper"
    epsilon: float = 2.0
    num_bins: int | None = None
    walk_length: int = 40
    num_walks: int = 80
    predict: float = 0.2
    predictor: str = "tree"
    burst: int = 2
    tree: str = "hybrid"
    encoder: str = "exponential"
    dim: int = 128
    window: int = 10
    negative: int = 5
    seed: int = 0
    threads: int | None = None
    runtime: str = "local"
    embed: str | None = None
    budget: float | None = None
    own: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_numbers()
        protocol = find_protocol(self.protocol)
        chosen = dict(self.own)
        known = {
            setting.name: setting.parse(chosen.pop(setting.name, setting.default)) for setting in protocol.settings
        }
        if chosen:
            known_names = f"its own are {', '.join(known)}" if known else "it has none of its own"
            raise SettingsError(f"protocol {self.protocol}: there is no setting {next(iter(chosen))!r}; {known_names}.")
        # The dataclass is frozen, also while it validates itself.
        object.__setattr__(self, "own", tuple(known.items()))
        self._check_unread(protocol)
        for name, supported in (("runtime", protocol.runtimes), ("embed", protocol.embeddings)):
            value = getattr(self, name)
            if value is not None and value not in supported:
                raise SettingsError(
                    f"{name} = {value} with protocol = {self.protocol}: this protocol supports only "
                    f"{' and '.join(supported)}. Leave {name} at its default."
                )
        protocol.check(self)

    def _check_choices(self) -> None:
        for name, options in CHOICES.items():
            value = getattr(self, name)
            if value is None and name == "embed":
                continue
            if value not in (*options, *REGISTERED.get(name, ())):
                raise SettingsError(f"{name} = {value!r}: choose from {', '.join(options)}.")

    def _check_unread(self, protocol: "Protocol") -> None:
        """Refuse another value than the default for a setting that the protocol doesn't read."""
        for field in fields(self):
            if field.name != "own" and getattr(self, field.name) != field.default:
                check_read(protocol, [field.name], f"{flag_name(field.name)} = {getattr(self, field.name)}")

    def _check_numbers(self) -> None:
        for name in MIN_VALUES:
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        for name in ("epsilon", "predict"):
            object.__setattr__(self, name, _real(name, getattr(self, name)))
        if not MIN_EPSILON <= self.epsilon < math.inf:
            raise SettingsError(
                f"epsilon = {self.epsilon:g}: must be a finite number above 0 (at least {MIN_EPSILON:g})."
            )
        if self.budget is not None:
            object.__setattr__(self, "budget", _real("budget", self.budget))
            if not 0 < self.budget < math.inf:
                raise SettingsError(f"budget = {self.budget:g}: must be a finite number above 0, or left out.")
        if not 0 <= self.predict <= 1:
            raise SettingsError(f"predict = {self.predict:g}: must be a probability, from 0 to 1.")

    def value(self, name: str) -> Any:
        """A setting by name, also one that only the protocol has."""
        own = dict(self.own)
        return own[name] if name in own else getattr(self, name)

    def as_dict(self) -> dict[str, Any]:
        """Names and values of what the protocol reads, including settings that only this protocol has."""
        read = read_by(find_protocol(self.protocol))
        shared = {field.name: getattr(self, field.name) for field in fields(self) if field.name in read}
        return {**shared, **dict(self.own)}

    def resolve(self, vertices: int) -> "Settings":
        """These settings with a value for everything that was left open, for a graph with this many vertices."""
        # The bytes of all walks, with 4 per entry, must fit a 64-bit size.
        if 4 * vertices * self.num_walks * self.walk_length >= 2**63:
            raise SettingsError(
                f"num-walks = {self.num_walks}, walk-length = {self.walk_length}: these walks need more memory than "
                "can be addressed. Use fewer or shorter walks."
            )
        protocol = find_protocol(self.protocol)
        left_open = {"threads": self.threads or available_cores(), "embed": self.embed or protocol.embeddings[0]}
        decided: dict[str, Any] = {name: value for name, value in left_open.items() if name in protocol.reads}
        return protocol.resolve(replace(self, **decided), vertices)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], origin: str = "settings") -> "Settings":
        """Settings from names and values.

        The error for an unknown name suggests the nearest known one. A name that the protocol doesn't read is refused,
        whatever its value.
        """
        return cls().updated(values, origin)

    def updated(self, values: Mapping[str, Any], origin: str = "settings") -> "Settings":
        """These settings with some values replaced; names may be written with - or _."""
        chosen = {name.replace("-", "_"): value for name, value in values.items()}
        protocol = find_protocol(chosen.get("protocol", self.protocol))
        shared = {field.name for field in fields(self)} - {"own"}
        added = {setting.name for setting in protocol.settings}
        known = read_by(protocol) | added
        for name in chosen.keys() - shared - added:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(sorted(known))}."
            raise SettingsError(f"{origin}: there is no setting {name!r}. {hint}")
        check_read(protocol, chosen, origin)
        # Settings that only the previous protocol has mean nothing to another one.
        before = dict(self.own) if protocol.name == self.protocol else {}
        own = {**before, **{name: chosen[name] for name in chosen.keys() & added}}
        return replace(self, **{name: chosen[name] for name in chosen.keys() & shared}, own=tuple(own.items()))

    def to_toml(self, **inputs: str | None) -> str:
        """TOML from which `load_settings` reads equal settings; `inputs` go into a table [input]."""
        import tomli_w

        content = {name: value for name, value in self.as_dict().items() if value is not None}
        named = {name: value for name, value in inputs.items() if value is not None}
        return tomli_w.dumps({**content, INPUT: named} if named else content)


def read_by(protocol: "Protocol") -> set[str]:
    """The names of the shared settings that a run of this protocol reads."""
    return {*protocol.reads, *READ_BY_EVERY_RUN} - {"own"}


def check_read(protocol: "Protocol", names: Iterable[str], origin: str) -> None:
    """Raise SettingsError if one of these names is a shared setting that the protocol doesn't read."""
    unread = {field.name for field in fields(Settings)} - {"own"} - read_by(protocol)
    for name in sorted(unread & {name.replace("-", "_") for name in names}):
        others = filter(None, map(known_protocol, protocol_names()))
        readers = [other.name for other in others if name in other.reads]
        advice = f"Leave it out; {listed(readers)} read{'s' if len(readers) == 1 else ''} it." if readers else ""
        raise SettingsError(
            f"{origin}: protocol {protocol.name} doesn't read {flag_name(name)}. {advice or 'Leave it out.'}"
        )


def flag_name(name: str) -> str:
    """A setting as flags and TOML files write it.

    >>> flag_name("walk_length")
    'walk-length'
    """
    return name.replace("_", "-")


def _real(name: str, value: Any) -> float:
    """A number of any kind, numpy's too, as a float."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise SettingsError(f"{name} = {value!r}: must be a number.")
    try:
        return float(value)
    except OverflowError:
        raise SettingsError(f"{name}: must be a finite number; this one is too large for a float.") from None


def _whole(name: str, value: Any) -> int | None:
    """A whole number of any kind, numpy's too, within its range; None if the setting is to be decided later."""
    if value is None and name in ("num_bins", "threads"):
        return None
    smallest, largest = MIN_VALUES[name], MAX_SEED if name == "seed" else MAX_WHOLE
    if isinstance(value, Integral) and not isinstance(value, bool) and smallest <= int(value) <= largest:
        return int(value)
    label = name.replace("_", "-")
    raise SettingsError(f"{label} = {value!r}: must be a whole number from {smallest} to {largest}.")
