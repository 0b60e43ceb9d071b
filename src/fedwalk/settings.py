"""Every parameter of a run: typed, validated at the door, read from TOML and flags, written back to TOML.

The defaults are the paper's settings (Sec. 5.1).
"""

import difflib
import math
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from fedwalk.errors import SettingsError

CHOICES = {
    "protocol": ("paper", "ldp", "deepwalk"),
    "predictor": ("tree", "degree", "triad"),
    "tree": ("hybrid", "average"),
    "encoder": ("exponential", "identity"),
    "runtime": ("local", "stepwise"),
    "embed": ("skipgram", "spectral"),
}
"""The named alternatives, as the registries hold them: a test compares the two."""

PRESETS: dict[str, dict[str, Any]] = {
    "frugal": {"predictor": "triad", "predict": 1.0, "burst": 4},
}
"""Settings that go together, by name. `frugal` hands a walk on 9 times, not 39 (`fedwalk reproduce`, the frontier)."""

AT_LEAST = {"bins": 1, "walk_length": 1, "walks": 1, "burst": 1, "dim": 1, "window": 1, "negative": 1,
            "seed": 0, "threads": 1}  # fmt: skip
MOST = 2**31 - 1
"""Of any whole number but the seed: array sizes stay what numpy and the kernels can count."""
LEAST_EPSILON = 1e-9
"""Below, the noise leaves what 32-bit numbers can add up."""

MOST_LDP_EPSILON = 30.0
"""Beyond, a fake is rarer than one in 10¹³ pairs, and the integers of the mechanism run out."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of a run.

    Parameters
    ----------
    protocol
        `paper` (FedWalk), `ldp` (ε-edge local differential privacy, proved) or `deepwalk` (the centralised baseline on
        plain uniform walks).
    epsilon
        In `ldp` the total ε per edge of the whole run. In `paper` the ε of the Laplace noise and of the encoder:
        nominal, see docs/fidelity.md.
    budget
        The most ε per edge that a run may release, earlier runs over the same devices included; None for no limit.
    embed
        `skipgram` on walks, or `spectral` from the graph that the server holds (`ldp`, `deepwalk`); None for the
        better one: spectral in `ldp`, else skipgram.
    bins
        k; None for ⌊ln n⌋.
    walk_length, walks
        l entries per walk, γ walks per vertex.
    predict, predictor, burst
        p, the chance that a visit writes a burst; who predicts its entries; how many there are in all.
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

    Examples
    --------
    >>> Settings(epsilon=1, walks=10).resolve(vertices=2000).bins
    7
    >>> Settings(epsilon=0)
    Traceback (most recent call last):
    fedwalk.errors.SettingsError: epsilon = 0: must be a finite number above 0 (at least 1e-09).
    """

    protocol: str = "paper"
    epsilon: float = 2.0
    bins: int | None = None
    walk_length: int = 40
    walks: int = 80
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

    def __post_init__(self) -> None:
        for name, options in CHOICES.items():
            if name == "embed" and self.embed is None:
                continue
            if getattr(self, name) not in (*options, *_registered(name)):
                raise SettingsError(f"{name} = {getattr(self, name)!r}: choose from {', '.join(options)}.")
        for name in AT_LEAST:
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        for name in ("epsilon", "predict"):
            object.__setattr__(self, name, _real(name, getattr(self, name)))
        if not LEAST_EPSILON <= self.epsilon < math.inf:
            raise SettingsError(
                f"epsilon = {self.epsilon:g}: must be a finite number above 0 (at least {LEAST_EPSILON:g})."
            )
        if self.budget is not None:
            object.__setattr__(self, "budget", _real("budget", self.budget))
            if not 0 < self.budget < math.inf:
                raise SettingsError(f"budget = {self.budget:g}: must be a finite number above 0, or left out.")
        if not 0 <= self.predict <= 1:
            raise SettingsError(f"predict = {self.predict:g}: a probability, so from 0 to 1.")
        self._check_together()

    def _check_together(self) -> None:
        """Settings that contradict each other."""
        if self.protocol == "paper" and self.predict > 0 and self.walk_length < 3:
            raise SettingsError(
                f"walk-length = {self.walk_length} with predict = {self.predict}: the predictor needs walks of "
                "at least 3 entries. Use a longer walk, or predict = 0."
            )
        if self.protocol == "deepwalk" and self.runtime == "stepwise":
            raise SettingsError(
                "runtime = stepwise with protocol = deepwalk: DeepWalk is centralised, no device takes a step. "
                "Leave the runtime at local."
            )
        if self.protocol != "paper" and self.walk_length < 2:
            raise SettingsError(
                f"walk-length = 1 with protocol = {self.protocol}: such a walk is its start vertex alone."
            )
        if self.protocol == "paper" and self.embed == "spectral":
            raise SettingsError(
                "embed = spectral with protocol = paper: that server holds walks and no graph. Use skipgram."
            )
        if self.protocol == "ldp" and self.epsilon > MOST_LDP_EPSILON:
            raise SettingsError(
                f"epsilon = {self.epsilon:g} with protocol = ldp: up to {MOST_LDP_EPSILON:g}; beyond, there is no "
                "noise worth the name."
            )

    def resolve(self, vertices: int) -> "Settings":
        """The same settings with bins and threads decided for a graph of so many vertices."""
        from fedwalk.protocol.bins import check_bins, default_bins

        bins = default_bins(vertices) if self.bins is None else self.bins
        if self.protocol == "paper":
            check_bins(bins, vertices)
        if 4 * vertices * self.walks * self.walk_length >= 2**63:
            raise SettingsError(f"walks = {self.walks}, walk-length = {self.walk_length}: more than fits any memory.")
        embed = self.embed or ("spectral" if self.protocol == "ldp" else "skipgram")
        return replace(self, bins=bins, threads=self.threads or available_cores(), embed=embed)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], origin: str = "settings") -> "Settings":
        """Settings from names and values; an unknown name is an error that suggests the nearest."""
        return cls().updated(values, origin)

    def updated(self, values: Mapping[str, Any], origin: str = "settings") -> "Settings":
        """These settings with some values replaced; names may be written with - or _."""
        known = {field.name for field in fields(self)}
        chosen = {name.replace("-", "_"): value for name, value in values.items()}
        for name in chosen:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f" Did you mean {near[0]}?" if near else f" Known are {', '.join(sorted(known))}."
                raise SettingsError(f"{origin}: there is no setting {name!r}.{hint}")
        return replace(self, **chosen)

    @classmethod
    def load(cls, path: str | Path) -> "Settings":
        """Settings from a TOML file; its table [input], which names the graph, is not theirs."""
        return cls.from_mapping({k: v for k, v in read_toml(path).items() if k != "input"}, str(path))

    def to_toml(self, **inputs: str | None) -> str:
        """TOML that `load` reads back to equal settings, with the inputs' names in a table of their own."""
        import tomli_w

        content: dict[str, Any] = {name: value for name, value in asdict(self).items() if value is not None}
        named = {name: value for name, value in inputs.items() if value is not None}
        return tomli_w.dumps({**content, "input": named} if named else content)


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML file as a mapping, or an error that says where it is wrong."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: is not valid TOML: {error}.") from error


def _registered(name: str) -> tuple[str, ...]:
    """Predictors added from outside; only a program that has imported the registry can have added one."""
    registry = sys.modules.get("fedwalk.protocol.predictor")
    return tuple(registry.predictors()) if name == "predictor" and registry else ()


def _real(name: str, value: Any) -> float:
    """A number of any kind, numpy's too, as a float."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise SettingsError(f"{name} = {value!r}: must be a number.")
    try:
        return float(value)
    except OverflowError:
        raise SettingsError(f"{name}: must be a finite number; this one is too large for a float.") from None


def _whole(name: str, value: Any) -> int | None:
    """A whole number of any kind, numpy's too, within its range; None where that means "decide later"."""
    if value is None and name in ("bins", "threads"):
        return None
    least, most = AT_LEAST[name], 2**63 - 1 if name == "seed" else MOST
    if isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most:
        return int(value)
    label = name.replace("_", "-")
    raise SettingsError(f"{label} = {value!r}: must be a whole number from {least} to {most}.")
