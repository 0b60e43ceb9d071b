"""Figure 8: micro-F1 by the noise parameter ε."""

from fedwalk.experiments.outcome import Experiment
from fedwalk.experiments.sweep import Sweep

SWEEP = Sweep(
    "8", "The noise parameter (Figure 8)", "epsilon", "ε",
    {"blogcatalog": (0.5, 4.0, (3.90, 3.33, 2.00, 1.73)), "flickr": (0.5, 4.0, (11.23, 7.14, 1.86, 1.85))},
    "The noise hardly changes the degree matrices of hubs, and the encoder returns nearly every vertex unchanged.",
)  # fmt: skip
EXPERIMENT = Experiment(SWEEP.key, SWEEP.trials, SWEEP.present)
