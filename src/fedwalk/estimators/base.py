"""What `FedWalk` and `DeepWalk` share: parameters to settings, the run, and its results."""

from collections.abc import Mapping
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from fedwalk.embedding import Embedding
from fedwalk.errors import SettingsError
from fedwalk.estimators.given_stages import checked_stages
from fedwalk.graph import load_graph
from fedwalk.privacy.ledger import Ledger
from fedwalk.protocols.registry import find_protocol
from fedwalk.protocols.stages import Stage
from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.run.execute import Run, run
from fedwalk.run.stages import StageProgress, StageRunner
from fedwalk.settings import Settings

T = TypeVar("T")

NOT_SETTINGS = ("on_progress", "options")
"""Parameters of the estimators that aren't `Settings` themselves."""


class GraphEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that embeds a graph with one of the protocols."""

    _centralised: bool
    """Whether it runs the protocols in which one party holds the graph, or the others."""
    protocol: str
    on_progress: StageProgress | None
    options: Mapping[str, Any] | None

    @property
    def settings(self) -> Settings:
        """The parameters as checked `Settings`; SettingsError if one of them can't be used."""
        default = type(self)().get_params()
        # A default isn't a choice: the protocol has to read only what the user has set.
        chosen = {name: value for name, value in self.get_params().items() if value != default[name]}
        for name in NOT_SETTINGS:
            chosen.pop(name, None)
        chosen["protocol"] = self.protocol
        return self._checked(Settings.from_mapping({**chosen, **(self.options or {})}, type(self).__name__))

    def _checked(self, settings: Settings) -> Settings:
        """The settings, unless they are of a protocol that the other estimator runs."""
        if find_protocol(settings.protocol).centralised != self._centralised:
            ours, theirs = (
                "one party holds the graph" if centralised else "devices keep their neighbour lists"
                for centralised in (self._centralised, not self._centralised)
            )
            raise SettingsError(
                f"protocol = {settings.protocol!r}: {type(self).__name__} runs protocols in which {ours}. "
                f"{'FedWalk' if self._centralised else 'DeepWalk'} runs those in which {theirs}."
            )
        return settings

    def _run(self, graph: Any, **given: Any) -> Self:
        settings = self.settings
        loaded = load_graph(graph)
        stages = StageRunner(on_progress=self.on_progress)
        stages.values.update(checked_stages(loaded, settings, given))
        self.run_ = run(loaded, settings, stages)
        return self

    @property
    def embedding_(self) -> Embedding:
        """One vector per node, in the order of the graph's nodes."""
        return self._fitted().embedding

    @property
    def walks_(self) -> Walks:
        """The finished walks; empty for a spectral embedding."""
        return self._fitted().walks

    @property
    def ledger_(self) -> Ledger:
        """What was released, and what it costs per edge."""
        return self._fitted().ledger

    @property
    def taking_part_(self) -> NDArray[np.int64]:
        """Rows of the nodes that took part: in `ldp` all, otherwise those with a neighbour."""
        return self._fitted().taking_part

    @property
    def transcript_(self) -> Transcript:
        """Messages and bytes per phase."""
        return self._fitted().stages.total()

    @property
    def seconds_(self) -> dict[str, float]:
        """Seconds per stage."""
        return self._fitted().stages.seconds()

    @property
    def settings_(self) -> Settings:
        """The settings as resolved for the graph: bins, embed and threads decided."""
        return self._fitted().settings

    def stage(self, stage: Stage[T]) -> T:
        """The value of a stage of the protocol."""
        stages = self._fitted().stages
        if not stages.has(stage):
            raise AttributeError(f"this run had no stage {stage.name!r}; it had {', '.join(stages.values)}.")
        return stages.get(stage)

    def _fitted(self) -> Run:
        if not hasattr(self, "run_"):
            raise NotFittedError(f"{type(self).__name__} isn't fitted yet: call fit(graph) first.")
        fitted: Run = self.run_
        return fitted
