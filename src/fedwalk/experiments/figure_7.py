"""Figure 7: micro-F1 by the number of bins k."""

from fedwalk.experiments.outcome import Experiment
from fedwalk.experiments.sweep import Sweep

SWEEP = Sweep(
    "7", "The number of bins (Figure 7)", "num_bins", "k",
    {"blogcatalog": (3, 9, (18.06, 15.09, 13.73, 10.84)), "flickr": (5, 11, (20.4, 16.90, 11.11, 10.43))},
    "k affects the vectors only through the tree: the pools behind one walk entry in five, and the encoder's table.",
)  # fmt: skip
EXPERIMENT = Experiment(SWEEP.key, SWEEP.trials, SWEEP.present)
